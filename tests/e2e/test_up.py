"""`scripts/run` as a user calls it: six jobs that really train, Ctrl-C in the middle, and a second start."""

import json
import os
import re
import signal
import sqlite3
import subprocess
import time
from contextlib import closing
from pathlib import Path

ROOT = Path(__file__).parents[2]
LINE = re.compile(r"slot \d+, (.*)")


def start(home: Path) -> subprocess.Popen[str]:
    command = [ROOT / "scripts/run", "--home", home, "--length", "0.4"]
    return subprocess.Popen(command, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)


def wait_for(process: subprocess.Popen[str], pattern: str, seconds: float) -> list[str]:
    """Its lines up to the first that matches."""
    assert process.stdout is not None
    lines, deadline = [], time.monotonic() + seconds
    for line in process.stdout:
        lines.append(line)
        if re.search(pattern, line):
            return lines
        assert time.monotonic() < deadline, lines[-5:]
    raise AssertionError(f"it ended without {pattern!r}: {lines[-10:]}")


def find_processes(home: Path) -> list[str]:
    """Processes that were started with a checkpoint folder in this home."""
    found = []
    for entry in Path("/proc").iterdir():
        try:
            if entry.name.isdigit() and str(home).encode() in (entry / "environ").read_bytes():
                found.append(entry.name)
        except OSError:  # it ended meanwhile
            continue
    return found


def read_events(home: Path) -> list[tuple[str, dict[str, object]]]:
    rows = ask_journal(home, "select kind, body from events order by number")
    return [(str(kind), json.loads(str(body))) for kind, body in rows]


def ask_journal(home: Path, query: str) -> list[tuple[object, ...]]:
    with closing(sqlite3.connect(f"file:{home}/journal.db?mode=ro", uri=True)) as journal:
        return journal.execute(query).fetchall()


def test_a_demo_that_is_stopped_goes_on_and_finishes_with_nothing_left(tmp_path: Path) -> None:
    home = tmp_path / "demo"
    first = start(home)
    try:
        wait_for(first, r"[3-9]\d%", 120)
        first.send_signal(signal.SIGINT)
        rest, _ = first.communicate(timeout=60)
    finally:
        first.kill()
    assert first.returncode == 0, rest
    assert "every worker writes a checkpoint" in rest
    assert "goes on from here" in rest
    assert not find_processes(home)
    assert (home / "token").stat().st_mode & 0o777 == 0o600

    second = start(home)
    try:
        lines = wait_for(second, r"goes on from here", 240)
        second.communicate(timeout=30)
    finally:
        second.kill()
    assert not find_processes(home)
    if os.geteuid() == 0:
        namespaces = subprocess.run(
            ["ip", "netns", "list"], text=True, capture_output=True, check=True
        ).stdout
        instance = str(ask_journal(home, "select value from meta where key = 'instance'")[0][0])
        assert instance[:8] not in namespaces
    last = [line for line in lines if LINE.match(line)][-1]
    assert last.count("finished") == 6, last
    check_what_happened(read_events(home))


def check_what_happened(events: list[tuple[str, dict[str, object]]]) -> None:
    """Every job did all its work; rings grew and shrank on the way; none broke by a fault."""
    total = {}
    sizes: dict[str, list[int]] = {}
    done = {}
    for kind, body in events:
        match kind, body:
            case "jobs-arrived", {"jobs": jobs}:
                total |= {job["name"]: job["work"] for job in jobs}  # type: ignore[attr-defined]
            case "slot-decided", {"decision": {"rings": rings}}:
                for ring in rings:
                    sizes.setdefault(ring["job"], []).append(len(ring["workers"]))
            case "job-finished", {"job": str(job), "work": work}:
                done[job] = work
            case "ring-failed", {"cause": cause}:
                assert cause == "service", body
            case "work-lost", _:
                raise AssertionError(body)
    assert len(total) == 6
    # A job that has done all its work when a slot ends is finished by that, before its program says so.
    assert all(total[job] == work for job, work in done.items())
    assert any(max(some) > min(some) for some in sizes.values()), sizes
