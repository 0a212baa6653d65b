"""Processes of this machine as /proc shows them, and signals that never hit a successor of theirs."""

import os
import signal
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

_PROC = Path("/proc")


@dataclass(frozen=True, slots=True)
class Process:
    """A process for good: its number may be given to another one later, with another start."""

    pid: int
    start: int
    """Ticks from the start of the machine, field 22 of its stat."""
    session: int = field(default=0, compare=False)


def read_stat(text: str) -> tuple[Process, str] | None:
    """The process and its state letter from the text of a stat file; None if it is cut off."""
    head, _, tail = text.rpartition(")")
    fields = tail.split()
    if len(fields) < 20 or not text.endswith("\n"):
        return None
    try:
        return Process(int(head.split(" ", 1)[0]), int(fields[19]), int(fields[3])), fields[0]
    except ValueError:
        return None


def identify(pid: int) -> tuple[Process, str] | None:
    """The process of this number with its state letter, also one that has ended and waits to be buried."""
    try:
        return read_stat((_PROC / str(pid) / "stat").read_text(errors="replace"))
    except OSError:
        return None


def find_process(pid: int) -> Process | None:
    """The process of this number, if it has not ended."""
    found = identify(pid)
    return None if found is None or found[1] in "ZX" else found[0]


def is_alive(process: Process) -> bool:
    """True while this very process runs."""
    found = find_process(process.pid)
    return found is not None and found.start == process.start


def send(process: Process, number: signal.Signals) -> None:
    """Signal this very process; nothing happens if it is gone."""
    # A pidfd names the process itself, so between the check and the signal nobody can take its place.
    with suppress(ProcessLookupError):
        handle = os.pidfd_open(process.pid)
        try:
            if is_alive(process):
                signal.pidfd_send_signal(handle, number)
        finally:
            os.close(handle)


def bury(process: Process) -> None:
    """Let go of a child of ours that has ended; nothing happens to what still runs or is not ours."""
    found = identify(process.pid)
    if found is not None and found[1] == "Z" and found[0].start == process.start:
        with suppress(ChildProcessError):
            os.waitpid(process.pid, os.WNOHANG)


def list_processes() -> Iterator[Process]:
    """All processes now."""
    for entry in os.listdir(_PROC):  # noqa: PTH208  (thousands of entries, no objects for them)
        if entry.isdecimal() and (found := find_process(int(entry))) is not None:
            yield found


def read_environment(process: Process) -> Mapping[str, str]:
    """The environment that it was started with; empty if it is gone or somebody else's."""
    try:
        content = (_PROC / str(process.pid) / "environ").read_bytes()
    except OSError:
        return {}
    pairs = (entry.partition(b"=") for entry in content.split(b"\0") if entry)
    return {os.fsdecode(name): os.fsdecode(value) for name, _, value in pairs}


def find_sessions(leaders: Iterable[Process]) -> list[Process]:
    """All processes in the sessions that these began, the leaders included while they run."""
    sessions = set()
    for leader in leaders:
        # No number is given anew while a session goes by it: another start means that the session is over.
        holder = identify(leader.pid)
        if holder is None or holder[0] == leader:
            sessions.add(leader.pid)
    return [process for process in list_processes() if process.session in sessions] if sessions else []


def find_by_environment(wanted: Mapping[str, str]) -> list[tuple[Process, Mapping[str, str]]]:
    """All processes, but this one and its parent, that were started with these variables."""
    kept_out = {os.getpid(), os.getppid()}
    found = []
    for process in list_processes():
        if process.pid not in kept_out:
            env = read_environment(process)
            if all(env.get(name) == value for name, value in wanted.items()):
                found.append((process, env))
    return found


def read_boot() -> str:
    """Which start of the machine this is: process numbers and starts mean nothing in another one."""
    try:
        return (_PROC / "sys/kernel/random/boot_id").read_text().strip()
    except OSError:
        return ""
