"""A real service in a process of its own, with real workers: to be killed, stopped and started again."""

import json
import os
import signal
import sqlite3
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from gadget.api.client import Client
from gadget.backends.local_processes import find_by_environment
from gadget.errors import Unreachable
from gadget.model.builders import build_leaf_spine
from gadget.model.codec import write
from gadget.model.encoding import job_document
from gadget.model.job import Job
from gadget.model.program import Program
from gadget.model.resources import Resources
from gadget.model.snapshot import Scenario
from gadget.model.utility import Linear

WORKER = Path(__file__).with_name("counting_worker.py")
JOBS = {"one": 200, "two": 170, "three": 140, "four": 110}
UNIT_SECONDS = 0.04
SLOT_SECONDS = 1.5
_PATIENCE_SECONDS = 120.0


@dataclass
class Household:
    """A home folder, its service and what belongs to it."""

    home: Path
    network: str
    seed: int
    service: "subprocess.Popen[bytes] | None" = None
    killed: dict[str, int] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.rng = np.random.default_rng(self.seed)
        self.home.mkdir()
        cluster = build_leaf_spine(1, 1, 2, resources=Resources({"gpu": 2}), server_gbps=1, uplink_gbps=1)
        write(self.home / "cluster.json", Scenario(cluster, (), 1))

    def start(self) -> None:
        """A service on what is there, which takes everything along if it ends in good order."""
        words = (
            *("serve", "--home", str(self.home), "--cluster", str(self.home / "cluster.json")),
            *("--policy", "las", "--network", self.network, "--port", "0"),
            *("--slot-seconds", str(SLOT_SECONDS), "--spacing-seconds", "0.2", "--stop-rings"),
        )
        with (self.home / "service.log").open("ab") as log:
            program = "from gadget.cli.main import main; main()"
            self.service = subprocess.Popen([sys.executable, "-c", program, *words], stdout=log, stderr=log)

    def ask(self, command: Callable[[Client], Any]) -> Any:
        """The answer of the service, once it is up; nothing is asked twice that was answered."""
        until = time.monotonic() + _PATIENCE_SECONDS
        while True:
            try:
                with Client.find(home=self.home) as client:
                    return command(client)
            except Unreachable:
                assert self.service is not None
                assert self.service.poll() is None, (self.home / "service.log").read_text()[-2000:]
                assert time.monotonic() < until, "the service does not answer"
                time.sleep(0.1)

    def submit(self) -> None:
        jobs = [job_document(build_job(name, units)) for name, units in JOBS.items()]
        self.ask(lambda client: client.post("/jobs", json.dumps({"version": 1, "jobs": jobs}).encode()))

    def list_jobs(self) -> dict[str, str]:
        """What has become of each job."""
        listed = self.ask(lambda client: client.get("/jobs"))
        return {job["name"]: job["status"] for job in listed["jobs"]}

    # Deaths.

    def kill_service(self) -> None:
        assert self.service is not None
        self.service.kill()
        self.service.wait()
        self._count("service")
        (self.home / "address").unlink(missing_ok=True)

    def kill_solver(self) -> None:
        os.kill(_wait_for(self.find_solvers)[0], signal.SIGKILL)
        self._count("solver")

    def kill_worker(self, how: signal.Signals = signal.SIGKILL) -> None:
        workers = _wait_for(self.find_workers)
        with suppress(ProcessLookupError):
            os.kill(workers[int(self.rng.integers(len(workers)))], how)
            self._count(how.name)

    def _count(self, what: str) -> None:
        self.killed[what] = self.killed.get(what, 0) + 1

    # What is there.

    @property
    def instance(self) -> str:
        with sqlite3.connect(f"file:{self.home / 'journal.db'}?mode=ro", uri=True) as journal:
            [(found,)] = journal.execute("select value from meta where key = 'instance'")
        journal.close()
        return str(found)

    def find_workers(self) -> list[int]:
        """Ranks that count, not those who look after them."""
        found = find_by_environment({"GADGET_INSTANCE": self.instance})
        return [one.pid for one, _ in found if str(WORKER) in _command(one.pid)[1:]]

    def find_all(self) -> list[int]:
        """Every process of this household but its service."""
        return [one.pid for one, _ in find_by_environment({"GADGET_INSTANCE": self.instance})]

    def find_solvers(self) -> list[int]:
        assert self.service is not None
        # Each thread has children of its own; the controller's thread starts solvers anew.
        lists = Path(f"/proc/{self.service.pid}/task").glob("*/children")
        children = [child for one in lists for child in _read(one).split()]
        return [int(one) for one in children if any("spawn_main" in word for word in _command(int(one)))]

    def read_book(self, job: str) -> list[tuple[int, str, int]]:
        """What the job's workers wrote down, in order."""
        [path] = self.home.glob(f"engine/**/{job}/**/book")
        lines = (line.split() for line in path.read_text().splitlines())
        return [(int(ring), word, int(number)) for ring, word, number in lines]

    def end(self) -> int:
        """Stop it in good order; its exit code."""
        assert self.service is not None
        self.service.send_signal(signal.SIGTERM)
        return self.service.wait(_PATIENCE_SECONDS)


def _wait_for(find: Callable[[], list[int]]) -> list[int]:
    """Processes, as soon as there are some."""
    until = time.monotonic() + _PATIENCE_SECONDS
    while not (found := find()):
        assert time.monotonic() < until, "there is nobody to kill"
        time.sleep(0.05)
    return found


def build_job(name: str, units: int) -> Job:
    """A job that counts to its units."""
    return Job(
        name=name,
        resources=Resources({"gpu": 1}),
        max_workers=2,
        bandwidth_gbps=0.1,
        rate=SLOT_SECONDS / UNIT_SECONDS,
        work=float(units),
        utility=Linear(),
        program=Program(
            command=(sys.executable, str(WORKER), str(units), str(UNIT_SECONDS)),
            retries=1_000,
            silence_seconds=5,
            checkpoint_grace_seconds=6,
        ),
    )


def _command(pid: int) -> list[str]:
    return _read(Path(f"/proc/{pid}/cmdline")).split("\0")


def _read(path: Path) -> str:
    """A file of a process that may be gone."""
    try:
        return path.read_text(errors="replace")
    except OSError:
        return ""


def check_book(book: list[tuple[int, str, int]], units: int) -> None:
    """Every unit was done, in order, by one ring at a time; none again that a checkpoint had."""
    ring, at, safe = -1, 0, 0
    for number, word, value in book:
        if word == "from":
            assert number > ring, f"ring {number} began after ring {ring}"
            # A checkpoint that was written when its writer was killed may not be in the book.
            assert safe <= value <= at, f"ring {number} went on from {value}, not from {safe} … {at}"
            ring, at, safe = number, value, value
        elif word == "did":
            assert number == ring, f"ring {number} works beside ring {ring}"
            assert value == at + 1, f"ring {number} did {value} after {at}"
            at = value
        else:
            assert number == ring
            safe = value
    assert at == units
