"""Commands that ask a running service, against a real one on loopback."""

import contextlib
import io
import json
import os
import pty
import select
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from rich.console import Console
from rich.style import Style

from gadget.api.app import build_app
from gadget.api.server import Server
from gadget.cli.live_jobs import find_new_lines
from gadget.cli.live_screen import COLOURS, Marks, Shot, draw
from gadget.engine.events import JobFinished, Noted
from gadget.live.view import Fault
from gadget.model.codec import read_scenario, read_snapshot
from tests.live_service import BEGAN, FoldedService, KnownTokens
from tests.unit.api.worlds import RACKS, job, jobs
from tests.unit.cli.conftest import Gadget


@pytest.fixture
def service(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[FoldedService]:
    """A service that the commands find by its files."""
    made = FoldedService(RACKS)
    server = Server(build_app(made, KnownTokens()))
    server.start()
    home = tmp_path / "home"
    home.mkdir()
    (home / "address").write_text(server.address)
    (home / "token").write_text("admin")
    monkeypatch.setenv("GADGET_HOME", str(home))
    monkeypatch.delenv("GADGET_ADDRESS", raising=False)
    monkeypatch.delenv("GADGET_TOKEN", raising=False)
    yield made
    server.stop()


@pytest.fixture
def files(tmp_path: Path) -> Path:
    (tmp_path / "jobs.json").write_bytes(jobs(job("a", workers=6), job("b/2", workers=4)))
    (tmp_path / "more.json").write_bytes(jobs(job("c", workers=9)))
    return tmp_path


def test_jobs_of_several_files_are_submitted_together(
    gadget: Gadget, files: Path, service: FoldedService
) -> None:
    ended = gadget("submit", "jobs.json", "more.json")
    assert (ended.code, ended.out) == (0, "a\nb/2\nc\n")
    assert list(service.view().state.active) == ["a", "b/2", "c"]
    assert len(service.read_entries(0, 10)) == 1
    again = gadget("submit", "more.json")
    assert (again.code, again.out) == (1, "")
    assert again.err == "error: a job named 'c' has arrived already. Give the new one another name.\n"


def test_bad_files_are_said_before_anything_is_sent(
    gadget: Gadget, files: Path, service: FoldedService
) -> None:
    (files / "bad.json").write_bytes(jobs({**job("x"), "rate": -1}))
    for arguments, word in (
        (("jobs.json", "bad.json"), "bad.json:1: jobs[0].rate is -1"),
        (("jobs.json", "jobs.json"), "jobs[2].name is 'a', as is jobs[0].name"),
        (("nothing.json",), "there is no such file"),
        (("jobs.json", "--wait", "--dry-run"), "Give one of them"),
    ):
        ended = gadget("submit", *arguments)
        assert (ended.code, ended.out) == (2, "")
        assert word in ended.err
    assert not service.view().state.active


def test_a_dry_run_tells_what_the_jobs_would_get_and_submits_nothing(
    gadget: Gadget, files: Path, service: FoldedService
) -> None:
    gadget("submit", "jobs.json")
    service.decide()
    (files / "small.json").write_bytes(jobs(job("small", workers=2), job("large", workers=3)))
    ended = gadget("submit", "small.json", "--dry-run", "--policy", "fifo:backfill=true", "-o", "json")
    decision = json.loads(ended.out)
    assert {ring["job"] for ring in decision["rings"]} == {"a", "small"}
    assert {one["job"] for one in decision["waiting"]} == {"b/2", "large"}
    table = gadget("submit", "small.json", "--dry-run", "--policy", "fifo:backfill=true")
    assert "1 of 2 new jobs would have a ring" in table.err
    assert "small" in table.out
    assert list(service.view().state.active) == ["a", "b/2"]
    taken = gadget("submit", "jobs.json", "--dry-run")
    assert (taken.code, "is there already" in taken.err) == (2, True)


def test_waiting_ends_when_all_jobs_have(gadget: Gadget, files: Path, service: FoldedService) -> None:
    def live() -> None:
        while "a" not in service.view().state.active:
            time.sleep(0.01)
        service.decide()
        service.happen(JobFinished("a", 100.0, 0.5))
        service.cancel("b/2")

    thread = threading.Thread(target=live)
    thread.start()
    ended = gadget("submit", "jobs.json", "--wait", "-o", "json")
    thread.join()
    assert ended.code == 1
    assert ended.err == "b/2: left\n"
    found = json.loads(ended.out)
    assert [(one["name"], one["status"]) for one in found["jobs"]] == [("a", "finished"), ("b/2", "left")]


def test_the_queue_tells_who_waits_and_why(gadget: Gadget, files: Path, service: FoldedService) -> None:
    assert "nobody waits" in gadget("queue").out
    gadget("submit", "jobs.json", "more.json")
    service.decide()
    table = gadget("queue").out
    assert "b/2" in table
    assert "too-large" in table
    found = json.loads(gadget("queue", "-o", "json").out)
    assert [one["name"] for one in found["jobs"]] == ["b/2", "c"]


def test_why_tells_reason_evidence_and_what_would_help(
    gadget: Gadget, files: Path, service: FoldedService
) -> None:
    gadget("submit", "jobs.json", "more.json")
    service.decide()
    told = gadget("why", "c").out
    assert told.startswith("c waits: too-large, number 2 by arrival\n")
    assert "what would let it run: Lower its resources" in told
    assert gadget("why", "a").out.startswith("a does not wait: it is running with 6 workers on s")
    assert json.loads(gadget("why", "c", "-o", "json").out)["waiting"]["reason"] == "too-large"
    nobody = gadget("why", "aa")
    assert (nobody.code, nobody.err) == (1, "error: no job is named 'aa' (nearest: 'a').\n")


def test_a_job_is_shown_cancelled_and_gone(gadget: Gadget, files: Path, service: FoldedService) -> None:
    gadget("submit", "jobs.json")
    service.decide()
    shown = gadget("job", "show", "a").out
    assert "0 of 100 (0.0%)" in shown
    assert "number 0, running, 6 workers" in shown
    assert json.loads(gadget("job", "show", "b/2", "-o", "json").out)["waiting"]["position"] == 1
    assert gadget("job", "cancel", "b/2").out == "cancelled: b/2\n"
    again = gadget("job", "cancel", "b/2", "-o", "json")
    assert (again.code, again.out) == (1, "")
    assert "has left" in again.err


def test_logs_are_printed_and_cannot_move_the_cursor(
    gadget: Gadget, files: Path, service: FoldedService
) -> None:
    gadget("submit", "jobs.json")
    service.logs["a", 1] = "one\n\x1b[2Jtwo [red]\tx\n"
    assert gadget("job", "logs", "a", "--rank", 1).out == "one\n\\x1b[2Jtwo [red]   x\n"
    assert gadget("job", "logs", "a", "--rank", 1, "-n", 1, "-o", "json").out.count("two") == 1
    none = gadget("job", "logs", "a", "--rank", 3)
    assert (none.code, "rank 3" in none.err) == (1, True)


def test_a_log_is_followed_to_the_end_of_its_job(gadget: Gadget, files: Path, service: FoldedService) -> None:
    gadget("submit", "jobs.json")
    service.logs["a", 0] = "step 1\nste"

    def live() -> None:
        time.sleep(0.5)
        service.logs["a", 0] = "step 1\nstep 2\nstep 3\n"
        service.cancel("a")

    thread = threading.Thread(target=live)
    thread.start()
    ended = gadget("job", "logs", "a", "-f")
    thread.join()
    assert (ended.code, ended.out) == (0, "step 1\nstep 2\nstep 3\n")


def test_new_lines_are_those_behind_what_was_seen() -> None:
    log = [str(n) for n in range(50)]
    for window in (1, 3, 10, 100):
        for before in range(0, 50, 7):
            for after in range(before, min(50, before + window)):
                seen, newest = log[:before][-window:], log[:after][-window:]
                assert find_new_lines(seen, newest) == log[before:after]
    assert find_new_lines(["a", "b"], ["x", "y"]) == ["x", "y"]


def test_servers_are_shown_drained_and_brought_back(
    gadget: Gadget, files: Path, service: FoldedService
) -> None:
    gadget("submit", "jobs.json")
    service.decide()
    assert "2 of 2 gpu" in gadget("nodes").out
    assert gadget("node", "drain", "s3").out == "drained: s3\n"
    assert service.view().state.drained == {"s3"}
    assert [one["state"] for one in json.loads(gadget("nodes", "-o", "json").out)["nodes"]] == [
        *("up", "up", "up"),
        "drained",
    ]
    assert gadget("node", "drain", "s3").code == 1
    assert json.loads(gadget("node", "undrain", "s3", "-o", "json").out) == {
        "name": "s3",
        "done": "undrained",
    }
    assert gadget("node", "drain", "s11").err == "error: no server is named 's11' (nearest: 's1').\n"


def test_events_are_told_in_words_and_as_they_are(
    gadget: Gadget, files: Path, service: FoldedService
) -> None:
    gadget("submit", "jobs.json")
    service.decide()
    gadget("node", "drain", "s3")
    service.happen(Noted("solver", "late\x1b"))
    table = gadget("events").out
    for words in ("a, b/2 came", "slot 0: 1 ring, 1 waiting", "server s3 is drained", "solver: late\\x1b"):
        assert words in table
    found = json.loads(gadget("events", "--after", 1, "-n", 2, "-o", "json").out)
    assert [one["kind"] for one in found["events"]] == ["slot-decided", "server-drained"]


def test_the_snapshot_is_read_by_other_commands(gadget: Gadget, files: Path, service: FoldedService) -> None:
    gadget("submit", "jobs.json")
    service.decide()
    service.serve({"a": 25.0})
    assert gadget("snapshot", "-o", "now.yaml").err == "written: now.yaml\n"
    assert read_snapshot("now.yaml").job_by_name["a"].work_done == 25
    assert gadget("solve", "now.yaml", "--policy", "fifo").code == 0
    (files / "out.json").write_text(gadget("snapshot").out)
    assert read_snapshot("out.json") == read_snapshot("now.yaml")
    assert gadget("snapshot", "--scenario", "--slots", 5, "-o", "left.json").code == 0
    assert read_scenario("left.json").jobs[0].work == 75
    assert gadget("simulate", "left.json", "--policy", "fifo", "-o", "results", "--processes", 0).code == 0
    assert gadget("snapshot", "--slots", 5).code == 2


def test_watch_prints_one_picture_into_a_pipe(gadget: Gadget, files: Path, service: FoldedService) -> None:
    gadget("submit", "jobs.json", "more.json")
    service.decide()
    gadget("node", "drain", "s0")
    service.show(faults=(Fault("solver", BEGAN, "late by 3 s"),))
    shown = gadget("watch").out
    for words in (
        "slot 0",
        "fault: solver: late by 3 s",
        "1 running",
        "2 waiting",
        "too-large",
        "AA",
        "drained",
    ):
        assert words in shown
    assert "\x1b" not in shown
    found = json.loads(gadget("watch", "-o", "json").out)
    assert set(found) == {"status", "running", "queue", "nodes", "events"}


def test_a_narrow_screen_shows_every_name_and_breaks_no_line(
    gadget: Gadget, files: Path, service: FoldedService
) -> None:
    long = "n" * 300
    (files / "long.json").write_bytes(
        jobs(job(long, workers=2), job("b", workers=4), job("c" * 99, workers=9))
    )
    gadget("submit", "long.json")
    service.decide()
    found = json.loads(gadget("watch", "-o", "json").out)
    shot = Shot(found["status"], found["running"], found["queue"], found["nodes"], found["events"])
    console = Console(width=80, record=True, file=io.StringIO())
    console.print(draw(shot, Marks(), rows=24))
    lines = console.export_text().splitlines()
    assert max(map(len, lines)) <= 80
    for words in ("nnnnnnnnnn", "cccccccccc", "b  ", "×4", "AA", "too-large"):
        assert any(words in line for line in lines), words
    assert len(lines) <= 24


@pytest.mark.parametrize(
    "command",
    [
        *("submit", "queue", "why", "nodes", "events", "snapshot", "watch"),
        *("job show", "job cancel", "job logs", "node drain", "node undrain"),
    ],
)
def test_every_help_text_has_an_example(command: str, gadget: Gadget) -> None:
    ended = gadget(*command.split(), "--help")
    assert ended.code == 0
    assert f"Example:  gadget {command}" in ended.out


def test_letters_of_rings_stay_and_differ() -> None:
    marks = Marks()
    marks.renew(["a", "b", "c"])
    before = marks.letter("c")
    marks.renew(["c", "d", "e"])
    assert marks.letter("c") == before
    assert len({marks.letter(job) for job in "cde"}) == 3


@pytest.mark.parametrize("command", [["queue"], ["nodes"], ["events"], ["watch"], ["why", "x"], ["snapshot"]])
def test_without_a_service_there_is_one_line_and_exit_code_2(
    command: list[str], gadget: Gadget, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("GADGET_HOME", str(tmp_path))
    monkeypatch.delenv("GADGET_ADDRESS", raising=False)
    ended = gadget(*command)
    assert (ended.code, ended.out, ended.err.count("\n")) == (2, "", 1)
    assert "gadget serve" in ended.err


def test_a_refused_token_is_one_line_and_exit_code_2(gadget: Gadget, service: FoldedService) -> None:
    ended = gadget("queue", "--token", "wrong")
    assert (ended.code, ended.err.count("\n")) == (2, 1)
    assert "the token is not known here" in ended.err
    weak = gadget("node", "drain", "s0", "--token", "viewer")
    assert (weak.code, "needs the role operator" in weak.err) == (2, True)


def start(*arguments: str, out: int) -> subprocess.Popen[bytes]:
    code = "from gadget.cli.main import main; main()"
    return subprocess.Popen(
        [sys.executable, "-c", code, *arguments], stdin=subprocess.DEVNULL, stdout=out, stderr=subprocess.PIPE
    )


def read_until(file: int, word: bytes, seconds: float = 30.0) -> bytes:
    text, deadline = b"", time.monotonic() + seconds
    while word not in text:
        left = deadline - time.monotonic()
        assert left > 0, text
        if select.select([file], [], [], left)[0]:
            text += os.read(file, 65536)
    return text


def read_rest(file: int) -> bytes:
    """What is left until the other side is closed."""
    text = b""
    with contextlib.suppress(OSError):
        while piece := os.read(file, 65536):
            text += piece
    return text


@pytest.mark.parametrize("moment", [b"\x1b[?1049h", b"\x1b[?25l", b"gadget", b"servers", b"what happened"])
def test_ctrl_c_ends_the_live_screen_and_restores_the_terminal(moment: bytes, service: FoldedService) -> None:
    service.submit(())
    ours, theirs = pty.openpty()
    with start("watch", out=theirs) as process:
        os.close(theirs)
        seen = read_until(ours, moment)
        assert b"\x1b[?1049h" in seen  # a screen of its own
        process.send_signal(signal.SIGINT)
        seen += read_rest(ours)
        assert seen.rindex(b"\x1b[?1049l") > seen.rindex(b"\x1b[?1049h")
        assert seen.rindex(b"\x1b[?25h") > seen.rfind(b"\x1b[?25l")
        assert process.wait(10) == 130
        assert process.stderr is not None
        assert process.stderr.read() == b""
    os.close(ours)


def test_events_are_followed_until_ctrl_c(service: FoldedService) -> None:
    service.happen(Noted("test", "first"))
    with start("events", "-f", "-o", "json", out=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert json.loads(process.stdout.readline())["event"]["text"] == "first"
        service.happen(Noted("test", "second"))
        assert json.loads(process.stdout.readline())["number"] == 2
        process.send_signal(signal.SIGINT)
        assert process.wait(10) == 130


def test_every_colour_of_the_screen_is_one() -> None:
    for colour in COLOURS:
        assert Style.parse(f"bold {colour}").color is not None
