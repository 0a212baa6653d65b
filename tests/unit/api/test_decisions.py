"""Decisions of the past, and the present as files that other commands read."""

from pathlib import Path

import pytest

from gadget.api.history import find_decision, list_decisions
from gadget.engine.decide import snapshot_of
from gadget.engine.events import Noted, ServerFailed
from gadget.model.codec import read_content
from gadget.model.encoding import to_document
from gadget.model.snapshot import Scenario, Snapshot
from gadget.policies.policy import ask as ask_policy
from gadget.policies.registry import build_policy
from gadget.simulate.loop import run_slots
from tests.live_service import FoldedService
from tests.unit.api.conftest import Ask
from tests.unit.api.worlds import RACKS, job, jobs


def run(service: FoldedService, slots: int, *, notes: int = 0) -> None:
    for _ in range(slots):
        service.decide()
        service.happen(*(Noted("test", "…") for _ in range(notes)))
        service.serve()


def test_decisions_come_newest_first_page_by_page(ask: Ask, service: FoldedService) -> None:
    ask("POST", "/jobs", content=jobs(job("a")))
    run(service, 7, notes=3)
    seen: list[int] = []
    before = None
    while True:
        page = ask("GET", "/decisions", params={"limit": 3, **({"before": before} if before else {})}).json()
        seen += [one["slot"] for one in page["decisions"]]
        before = page["before"]
        if before is None:
            break
    assert seen == [6, 5, 4, 3, 2, 1, 0]
    newest = ask("GET", "/decisions", params={"limit": 1}).json()["decisions"][0]
    assert (newest["policy"], newest["rings"], newest["carried_out"]) == ("fifo", 1, True)


@pytest.mark.parametrize("notes", [0, 40, 1200])
def test_any_decision_is_found_in_a_long_journal(notes: int) -> None:
    service = FoldedService(RACKS)
    slots = 60 if notes < 1000 else 12
    run(service, slots, notes=notes)
    for slot in range(slots):
        found = find_decision(service, slot)
        assert found is not None
        assert found.slot == slot
    assert find_decision(service, slots) is None


def test_pages_lead_to_every_decision_however_far_apart_they_are() -> None:
    service = FoldedService(RACKS)
    run(service, 3, notes=15_000)
    seen: list[int] = []
    before = None
    for _ in range(20):
        page = list_decisions(service, before, 10)
        seen += [one.slot for one in page.decisions]
        before = page.before
        if before is None:
            break
    assert seen == [2, 1, 0]


def test_a_decision_is_the_document_that_other_commands_read(ask: Ask, service: FoldedService) -> None:
    ask("POST", "/jobs", content=jobs(job("a"), job("b", workers=8)))
    decision = service.decide()
    service.serve()
    run(service, 2)
    answer = ask("GET", "/decisions/0")
    assert answer.json() == to_document(decision)
    assert read_content(Path("decision.json"), answer.content) == decision
    for slot, status in (("9", 404), ("-1", 422), ("x", 422), ("99999999999999999999", 422)):
        assert ask("GET", f"/decisions/{slot}").status_code == status


def test_the_snapshot_is_what_a_decision_would_see(ask: Ask, service: FoldedService) -> None:
    ask("POST", "/jobs", content=jobs(job("a"), job("b", workers=4, work=1000), job("c")))
    service.decide()
    service.serve({"a": 30.0, "b": 12.5})
    ask("POST", "/nodes/s3/drain")
    content = ask("GET", "/snapshot").content
    read = read_content(Path("snapshot.json"), content)
    assert isinstance(read, Snapshot)
    assert read == snapshot_of(service.view().state)
    policy = build_policy("fifo")
    assert ask_policy(policy, read, 0).allocation == service.decide().allocation


def test_as_a_scenario_it_holds_what_is_left_and_can_be_simulated(ask: Ask, service: FoldedService) -> None:
    sigmoid = {"kind": "sigmoid", "priority": 5, "sensitivity": 0.1, "target": 90}
    ask(
        "POST",
        "/jobs",
        content=jobs(job("a", utility=sigmoid, budget={"gpu": 40}, deadline=9), job("b", workers=4)),
    )
    service.decide()
    service.serve({"a": 30.0, "b": 99.0})
    content = ask("GET", "/snapshot", params={"as": "scenario", "slots": 20}).content
    read = read_content(Path("scenario.json"), content)
    assert isinstance(read, Scenario)
    assert (read.slots, read.slot_seconds) == (20, 30)
    a, b = read.jobs
    assert (a.work, a.budget, a.deadline, a.arrival) == (70, {"gpu": 38}, 8, 0)
    assert a.utility.target == 60  # type: ignore[attr-defined]
    assert b.work == 1
    last = list(run_slots(read, build_policy("fifo"), seed=0))[-1]
    assert set(last.state.ended) == {"a", "b"}


def test_what_no_file_can_hold_is_said(ask: Ask, service: FoldedService) -> None:
    for server in ("s0", "s1", "s2", "s3"):
        service.happen(ServerFailed(server))
    answer = ask("GET", "/snapshot")
    assert answer.status_code == 409
    assert "Bring servers back" in answer.json()["message"]
    assert ask("GET", "/snapshot", params={"as": "picture"}).status_code == 422
    assert ask("GET", "/snapshot", params={"as": "scenario", "slots": 0}).status_code == 422
