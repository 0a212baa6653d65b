"""Rings of real processes on loopback, with the environment that an engine gives them."""

import itertools
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

EXAMPLES = Path(__file__).parents[1] / "examples"
_counter = itertools.count(1)


@dataclass
class RunningRing:
    """Its processes, in rank order, and where each prints to."""

    processes: list[subprocess.Popen[bytes]]
    logs: list[Path]

    def wait(self, seconds: float = 240) -> list[int]:
        """The exit codes, once all have ended."""
        deadline = time.monotonic() + seconds
        return [process.wait(max(0.0, deadline - time.monotonic())) for process in self.processes]

    def ask_to_leave(self) -> None:
        for process in self.processes:
            process.send_signal(signal.SIGTERM)

    def log(self, rank: int) -> str:
        return self.logs[rank].read_text()


def ring_environments(size: int, *, job: str = "job", number: int = 0) -> list[dict[str, str]]:
    """One for each rank. The address is this ring's own, the ports are none that the system gives away."""
    process, ring = os.getpid(), next(_counter)
    host = f"127.{process >> 8 & 127 | 128}.{process & 255}.{ring % 254 + 1}"
    places = [f"{host}:{20000 + rank}" for rank in range(size)]
    return [
        {
            "RANK": str(rank),
            "WORLD_SIZE": str(size),
            "LOCAL_RANK": str(rank),
            "MASTER_ADDR": host,
            "MASTER_PORT": "21000",
            "GLOO_SOCKET_IFNAME": "lo",
            "GADGET_JOB": job,
            "GADGET_RING": str(number),
            "GADGET_LISTEN": places[rank],
            "GADGET_NEXT": places[(rank + 1) % size],
            "GADGET_PREVIOUS": places[rank - 1],
            "GADGET_ADDRESSES": ",".join(places),
        }
        for rank in range(size)
    ]


@contextmanager
def run_ring(
    folder: Path,
    script: Path,
    *options: object,
    size: int,
    number: int = 0,
    ranks: range | None = None,
    env: Mapping[str, str] | None = None,
) -> Iterator[RunningRing]:
    """Start the ranks of a ring (or some of them); whatever is left of them is killed at the end."""
    command = [sys.executable, str(script), *map(str, options)]
    ring = RunningRing([], [])
    try:
        for rank, contract in enumerate(ring_environments(size, number=number)):
            if ranks is not None and rank not in ranks:
                continue
            ring.logs.append(folder / f"{number}-{rank}.log")
            with ring.logs[-1].open("wb") as log:
                kept = {"GADGET_CHECKPOINT_DIR": str(folder / "kept")}
                environment = {**os.environ, **contract, **kept, **(env or {})}
                ring.processes.append(
                    subprocess.Popen(command, env=environment, stdout=log, stderr=subprocess.STDOUT)
                )
        yield ring
    finally:
        for process in ring.processes:
            process.kill()
            process.wait()


def read_losses(path: Path) -> dict[int, float]:
    """The loss of every step; the last line of a step counts, and one being written does not."""
    text = path.read_text() if path.exists() else ""
    lines = [json.loads(line) for line in text.splitlines(keepends=True) if line.endswith("\n")]
    return {line["step"]: line["loss"] for line in lines}


def wait_until(holds: Callable[[], bool], seconds: float = 180) -> None:
    deadline = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < deadline, "waited in vain"
        time.sleep(0.01)
