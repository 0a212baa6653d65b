"""Jobs over HTTP: what is submitted is there, what cannot be is said, what happened is shown."""

from dataclasses import replace
from pathlib import Path

import httpx
import pytest

from gadget.api.client import quote_name
from gadget.api.shown_jobs import show_queue
from gadget.backends.backend import RingPhase
from gadget.engine.events import JobFinished, RingFailed, ServerFailed
from gadget.live.view import Mode
from gadget.model.codec import read_jobs_content
from tests.live_service import FoldedService
from tests.unit.api.conftest import Ask
from tests.unit.api.worlds import RACKS, job, jobs

JSON = {"Content-Type": "application/json"}


def submit(ask: Ask, *documents: dict[str, object]) -> httpx.Response:
    return ask("POST", "/jobs", content=jobs(*documents), headers=JSON)


def test_what_is_submitted_is_in_the_queue(ask: Ask, service: FoldedService) -> None:
    answer = submit(ask, job("a"), job("b"))
    assert (answer.status_code, answer.json()) == (201, {"names": ["a", "b"]})
    assert list(service.view().state.active) == ["a", "b"]
    assert [one["name"] for one in ask("GET", "/queue").json()["jobs"]] == ["a", "b"]


@pytest.mark.parametrize("kind", ["application/yaml", "text/yaml; charset=utf-8", "", "text/plain"])
def test_jobs_may_be_yaml(kind: str, ask: Ask, service: FoldedService) -> None:
    text = """
    version: 1
    jobs:
      - {name: y, workers: {max: 2}, resources: {gpu: 1}, bandwidth_gbps: 1, rate: 3, utility: {kind: sqrt}}
    """
    assert ask("POST", "/jobs", content=text.encode(), headers={"Content-Type": kind}).status_code == 201
    assert service.view().state.active["y"].job.rate == 3


def test_a_byte_order_mark_is_no_part_of_the_jobs(ask: Ask) -> None:
    content = b"\xef\xbb\xbf" + jobs(job("a"))
    assert ask("POST", "/jobs", content=content, headers=JSON).status_code == 201


@pytest.mark.parametrize(
    ("content", "word"),
    [
        (b"", "empty"),
        (b"{", "not JSON"),
        (b"\xff\xfe", "not JSON"),
        (b'{"version": 1, "jobs": []}', "jobs is []"),
        (jobs({**job("a"), "worker": 1}), "jobs[0].worker is not a known key"),
        (jobs({**job("a"), "rate": -1}), "jobs[0].rate is -1"),
        (jobs(job("a"), job("a")), "Rename one of them"),
        (b"[" * 50_000, "not JSON"),
    ],
)
def test_bad_jobs_are_answered_with_what_is_wrong(
    content: bytes, word: str, ask: Ask, service: FoldedService
) -> None:
    answer = ask("POST", "/jobs", content=content, headers=JSON)
    assert answer.status_code == 422
    assert answer.json()["error"] == "bad-input"
    assert word in answer.json()["message"]
    assert not service.view().state.active


def test_a_taken_name_is_a_conflict_and_nothing_is_taken(ask: Ask, service: FoldedService) -> None:
    submit(ask, job("a"))
    answer = submit(ask, job("b"), job("a"))
    assert answer.status_code == 409
    assert answer.json() == {
        "error": "conflict",
        "message": "a job named 'a' has arrived already. Give the new one another name.",
    }
    assert list(service.view().state.active) == ["a"]


def test_other_kinds_of_bodies_are_not_read(ask: Ask) -> None:
    answer = ask("POST", "/jobs", files={"file": jobs(job("a"))})
    assert answer.status_code == 415
    assert "multipart/form-data" in answer.json()["message"]


def test_large_bodies_are_refused_with_and_without_a_length(ask: Ask, service: FoldedService) -> None:
    large = jobs(job("a")) + b" " * 100_000
    assert ask("POST", "/jobs", content=large, headers=JSON).status_code == 413
    pieces = (large[at : at + 1000] for at in range(0, len(large), 1000))
    answer = ask("POST", "/jobs", content=pieces, headers=JSON)  # chunked: no length is told
    assert (answer.status_code, answer.json()["error"]) == (413, "too-large")
    assert not service.view().state.active


def test_lists_are_filtered_and_paged(ask: Ask, service: FoldedService) -> None:
    submit(ask, *(job(f"j{n}", workers=4) for n in range(4)))
    service.decide()
    ask("DELETE", "/jobs/j3")
    everything = ask("GET", "/jobs").json()
    assert [(one["name"], one["status"]) for one in everything["jobs"]] == [
        ("j0", "running"),
        ("j1", "running"),
        ("j2", "waiting"),
        ("j3", "left"),
    ]
    running = ask("GET", "/jobs", params={"status": "running"}).json()
    assert (running["total"], [one["name"] for one in running["jobs"]]) == (2, ["j0", "j1"])
    page = ask("GET", "/jobs", params={"offset": 1, "limit": 2}).json()
    assert (page["total"], [one["name"] for one in page["jobs"]]) == (4, ["j1", "j2"])
    assert ask("GET", "/jobs", params={"status": "asleep"}).status_code == 422
    assert ask("GET", "/jobs", params={"limit": 0}).status_code == 422


def test_a_running_job_shows_the_ring_that_is_really_there(ask: Ask, service: FoldedService) -> None:
    submit(ask, job("a"))
    service.decide()
    ring = service.view().rings["a"]
    told = replace(ring, work=40.0, safe_work=30.0, step_seconds=0.2, predicted_step_seconds=0.1)
    service.show(rings={"a": replace(told, work_per_second=9.0, predicted_work_per_second=8.0)})
    shown = ask("GET", "/jobs/a").json()
    assert (shown["status"], shown["phase"], shown["size"]) == ("running", "running", 2)
    assert shown["ring"]["workers"] == list(ring.ring.workers)
    assert shown["ring"]["number"] == 0
    assert shown["work"] == {"done": 40.0, "total": 100.0, "safe": 30.0, "lost": 0.0}
    assert shown["step_seconds"] == {"measured": 0.2, "predicted": 0.1}
    assert shown["work_per_second"] == {"measured": 9.0, "predicted": 8.0}
    assert shown["waiting"] is None
    assert shown["decided_ring"]["workers"] == shown["ring"]["workers"]


def test_work_of_a_ring_that_is_over_is_what_the_journal_has(ask: Ask, service: FoldedService) -> None:
    submit(ask, job("a"))
    service.decide()
    service.serve({"a": 20.0})
    ring = service.view().rings["a"]
    service.show(rings={"a": replace(ring, work=40.0, phase=RingPhase.FAILED)})
    service.happen(RingFailed("a", 10.0, "worker 1 \ud800 died\nbadly"))
    shown = ask("GET", "/jobs/a").json()
    assert (shown["work"]["done"], shown["work"]["lost"]) == (10.0, 10.0)
    assert (shown["failures"], shown["last_failure"]) == (1, "worker 1 \\ud800 died\\nbadly")
    assert shown["waiting"]["reason"] == "ring-lost"
    assert "checkpoint" in shown["waiting"]["advice"]


def test_history_numbers_are_those_of_the_engine(ask: Ask, service: FoldedService) -> None:
    submit(ask, job("a"))
    service.decide()
    service.serve({"a": 20.0})
    service.decide()
    service.happen(JobFinished("a", 100.0, 0.5))
    shown = ask("GET", "/jobs/a").json()
    assert shown["status"] == "finished"
    assert shown["slots_served"] == 1.5
    assert shown["worker_slots"] == 3
    assert shown["finished_at"] == 1.5
    assert shown["utility"] == 100
    assert shown["first_start"] == 0


def test_what_is_shown_of_a_job_can_be_submitted(ask: Ask) -> None:
    submit(ask, job("a", run={"command": ["python", "train.py"], "env": {"A": "1"}}))
    shown = ask("GET", "/jobs/a").json()["job"]
    again = jobs({**shown, "name": "b"})
    assert ask("POST", "/jobs", content=again, headers=JSON).status_code == 201


def test_reasons_come_from_the_newest_decision_or_tell_that_there_is_none(
    ask: Ask, service: FoldedService
) -> None:
    submit(ask, job("a", workers=8), job("b"), job("huge", workers=9))
    [a, b, huge] = ask("GET", "/queue").json()["jobs"]
    assert {one["reason"] for one in (a, b, huge)} == {"undecided"}
    decision = service.decide()
    queue = ask("GET", "/queue").json()
    told = {one.job: one for one in decision.waiting}
    assert [one["name"] for one in queue["jobs"]] == ["b", "huge"]
    for position, one in enumerate(queue["jobs"], 1):
        assert one["position"] == position
        assert (one["reason"], one["detail"]) == (told[one["name"]].reason, told[one["name"]].detail)
        assert one["advice"]
    assert ask("GET", "/jobs/huge").json()["waiting"]["reason"] == "too-large"


def test_a_ring_whose_server_went_away_is_lost(ask: Ask, service: FoldedService) -> None:
    submit(ask, job("a"))
    decision = service.decide()
    service.happen(ServerFailed(decision.allocation.rings[0].workers[0], "gone"))
    assert ask("GET", "/queue").json()["jobs"][0]["reason"] == "ring-lost"


def test_who_only_observes_tells_what_would_run() -> None:
    service = FoldedService(RACKS, mode=Mode.OBSERVE)
    service.submit(read_jobs_content(Path("jobs.json"), jobs(job("a"))))
    service.decide()
    [waiting] = show_queue(service.view()).jobs
    assert waiting.reason == "observed"
    assert "2 workers" in waiting.detail


def test_cancelling_ends_a_job_once(ask: Ask, service: FoldedService) -> None:
    submit(ask, job("a"))
    assert ask("DELETE", "/jobs/a").json() == {"name": "a", "done": "cancelled"}
    assert service.view().state.ended["a"].ending == "left"
    assert ask("DELETE", "/jobs/a").status_code == 409


@pytest.mark.parametrize("method", ["GET", "DELETE"])
def test_a_job_that_nobody_has_is_not_found_and_the_nearest_is_named(method: str, ask: Ask) -> None:
    submit(ask, job("resnet-7"))
    answer = ask(method, "/jobs/resnet7")
    assert answer.status_code == 404
    assert answer.json() == {
        "error": "not-found",
        "message": "no job is named 'resnet7' (nearest: 'resnet-7').",
    }


ODD_NAMES = [
    "a/b",
    "a/logs",
    "/",
    "..",
    ".",
    "a b",
    "50%",
    "%2F",
    "ä→ß",
    "?x=1#y",
    "a\\b",
    "logs",
    "x/../y",
    "'\"",
]


@pytest.mark.parametrize("name", ODD_NAMES)
def test_any_printable_name_is_reached(name: str, ask: Ask, service: FoldedService) -> None:
    # A job beside it that a sloppy route would take it for.
    submit(ask, job(name), job("other"), job("a"))
    path = f"/jobs/{quote_name(name)}"
    assert ask("GET", path).json()["name"] == name
    service.logs[name, 0] = "one\ntwo\n"
    log = ask("GET", f"{path}/logs", params={"lines": 1}).json()
    assert log == {"job": name, "rank": 0, "text": "two\n"}
    assert ask("DELETE", path).json()["name"] == name


def test_a_plain_slash_in_a_name_works_too(ask: Ask) -> None:
    submit(ask, job("team/a"))
    assert ask("GET", "/jobs/team/a").json()["name"] == "team/a"


def test_logs_are_those_of_the_rank(ask: Ask, service: FoldedService) -> None:
    submit(ask, job("a"))
    service.logs["a", 1] = "step 1\nbytes \udcff\n"
    assert ask("GET", "/jobs/a/logs", params={"rank": 1}).json()["text"] == "step 1\nbytes ?\n"
    none = ask("GET", "/jobs/a/logs", params={"rank": 2})
    assert none.status_code == 404
    assert "rank 2" in none.json()["message"]
    assert ask("GET", "/jobs/b/logs").status_code == 404
    assert ask("GET", "/jobs/a/logs", params={"rank": -1}).status_code == 422
    assert ask("GET", "/jobs/a/logs", params={"lines": 10**9}).status_code == 422
