"""A job on an engine whose servers are drained and given back: what every change of its ring costs.

The service is the real one. Decisions are taken from its journal, steps from the file that the job writes:
it is looked at every few milliseconds, so that every step has a time.
"""

import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.parts.engine_stage import GPUS, SERVERS, Stage, wait

EXAMPLES = Path(__file__).parents[2] / "examples"
CHECKPOINT_EVERY = 20
BATCH = 12
JOB = "measured"
_LOOK_SECONDS = 0.005
_PAUSE_SECONDS = 0.3


@dataclass(frozen=True)
class Change:
    """A ring that took the place of another."""

    workers: int
    seconds: float
    """From the decision (or the crash) to the first step."""
    pause: float
    """From the last step of the ring before."""
    lost: int
    """Steps that were done twice."""


@dataclass(frozen=True)
class Told:
    """All that was measured on one engine with one program."""

    start: float
    """Seconds from the first decision to the first step."""
    resizes: list[Change]
    crash: Change


class Steps:
    """The steps of a job, each with the time at which it was seen."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self.seen: list[tuple[float, int]] = []
        self._ending = threading.Event()
        self._thread = threading.Thread(target=self._look, daemon=True)
        self._thread.start()

    def close(self) -> None:
        self._ending.set()
        self._thread.join()

    def _look(self) -> None:
        at = 0
        while not self._ending.wait(_LOOK_SECONDS):
            if not self._path.exists():
                continue
            with self._path.open("rb") as file:
                file.seek(at)
                whole, newline, _ = file.read().rpartition(b"\n")
            at += len(whole) + len(newline)
            now = time.time()
            self.seen += [(now, json.loads(line)["step"]) for line in whole.splitlines()]

    def wait_for_more(self, count: int = 10) -> None:
        before = len(self.seen)
        wait(lambda: len(self.seen) >= before + count)

    def find_change(self, after: float, before: float, workers: int) -> Change:
        """What a ring decided `after` cost; the longest pause from then on tells where it began."""
        place = max(
            (k for k in range(1, len(self.seen)) if after < self.seen[k][0] < before),
            key=lambda k: self.seen[k][0] - self.seen[k - 1][0],
        )
        (ended, last), (began, first) = self.seen[place - 1], self.seen[place]
        if began - ended < _PAUSE_SECONDS:
            raise ValueError(f"no pause was seen after a change to {workers} workers")
        return Change(workers, began - after, began - ended, last + 1 - first)


def measure(stage: Stage, script: str, rounds: int) -> Told:
    """Drain a server and give it back, `rounds` times; and kill a worker at the end."""
    home = stage.folder / f"home-{Path(script).stem}"
    losses = stage.folder / f"{script}.losses"
    file = stage.folder / f"{script}.json"
    file.write_text(json.dumps({"version": 1, "jobs": [_build_job(script, losses)]}))
    steps = Steps(losses)
    try:
        with _serving(stage, home):
            _run(stage, home, "submit", str(file))
            wait(lambda: len(steps.seen) >= 10, 120)
            for _ in range(rounds):
                for word, size in (("drain", len(SERVERS) - 1), ("undrain", len(SERVERS))):
                    _run(stage, home, "node", word, SERVERS[-1])
                    wait(lambda size=size: _ring_size(stage, home) == size, 120)
                    steps.wait_for_more()
            crashed, before = time.time(), _ring_number(stage, home)
            _kill_worker()
            wait(lambda: _ring_number(stage, home) > before, 120)
            steps.wait_for_more()
            ended = time.time()
            decisions = _read_decisions(stage, home)
            _run(stage, home, "job", "cancel", JOB)
    except TimeoutError as error:
        raise TimeoutError(f"{error}: {(stage.folder / 'serve.log').read_text()[-2000:]}") from None
    finally:
        steps.close()
    (start, _), *changes = [one for one in decisions if one[0] < crashed]
    ends = [*(at for at, _ in changes[1:]), crashed]
    return Told(
        steps.seen[0][0] - start,
        [steps.find_change(at, end, size) for (at, size), end in zip(changes, ends, strict=True)],
        steps.find_change(crashed, ended, len(SERVERS)),
    )


def _build_job(script: str, losses: Path) -> dict[str, Any]:
    words = ["--steps", 1_000_000, "--batch", BATCH, "--sample-ms", 5]
    words += ["--checkpoint-every", CHECKPOINT_EVERY, "--loss-file", losses]
    return {
        "name": JOB,
        "workers": {"min": 1, "max": len(SERVERS)},
        "resources": {"gpu": GPUS},
        "bandwidth_gbps": 0.01,
        "rate": 800,
        "work": 1_000_000 * BATCH,
        "utility": {"kind": "linear", "scale": 1},
        "run": {
            "command": [sys.executable, str(EXAMPLES / script), *map(str, words)],
            "checkpoint_grace_seconds": 20,
        },
    }


@contextmanager
def _serving(stage: Stage, home: Path) -> Iterator[None]:
    words = ["serve", *stage.serve, "--slot-seconds", "4", "--spacing-seconds", "0.5", "--port", "0"]
    with (stage.folder / "serve.log").open("ab") as log:
        service = subprocess.Popen(
            stage.gadget(*words, "--stop-rings", home=home),
            env={**os.environ, **stage.environment},
            stdout=log,
            stderr=log,
        )
    try:
        wait(lambda: (home / "address").exists() or service.poll() is not None, 120)
        if service.poll() is not None:
            raise RuntimeError((stage.folder / "serve.log").read_text())
        yield
    finally:
        service.terminate()
        service.wait(90)


def _run(stage: Stage, home: Path, *words: str) -> str:
    done = subprocess.run(
        stage.gadget(*words, home=home),
        env={**os.environ, **stage.environment},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    if done.returncode:
        raise RuntimeError(f"gadget {' '.join(words)}: {done.stderr}")
    return done.stdout


def _ring(stage: Stage, home: Path) -> dict[str, Any]:
    ring: dict[str, Any] | None = json.loads(_run(stage, home, "job", "show", JOB, "-o", "json"))["ring"]
    return {} if ring is None or ring["phase"] != "running" else ring


def _ring_size(stage: Stage, home: Path) -> int:
    return len(_ring(stage, home).get("workers", ()))


def _ring_number(stage: Stage, home: Path) -> int:
    return int(_ring(stage, home).get("number", -1))


def _read_decisions(stage: Stage, home: Path) -> list[tuple[float, int]]:
    """When a decision gave the job another ring, and of how many workers."""
    told = json.loads(_run(stage, home, "events", "--after", "0", "-n", "10000", "-o", "json"))["events"]
    found: list[tuple[float, int]] = []
    before: list[str] | None = None
    for entry in told:
        if entry["kind"] != "slot-decided":
            continue
        for ring in entry["event"]["decision"]["rings"]:
            if ring["job"] == JOB and ring["workers"] != before:
                before = ring["workers"]
                found.append((entry["at"], len(before)))
    return found


def _kill_worker() -> None:
    """The last rank of the job, by its environment."""
    mark = {f"GADGET_JOB={JOB}".encode(), f"RANK={len(SERVERS) - 1}".encode()}
    for path in Path("/proc").iterdir():
        if path.name.isdecimal():
            try:
                if mark <= set((path / "environ").read_bytes().split(b"\0")):
                    os.kill(int(path.name), signal.SIGKILL)
            except OSError:
                continue
