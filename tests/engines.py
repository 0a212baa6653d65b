"""Engines for the contract of backends: how each is made, small programs for workers, and what to wait for.

Run as a program it is a service that owns a ring, to be killed: `python -m tests.engines KIND FOLDER INSTANCE
JOB NUMBER SERVERS PROGRAM` (servers with commas) opens, launches, prints one line a report, and waits.
"""

import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

from gadget.backends.backend import (
    Backend,
    Dismissal,
    Inventory,
    Launch,
    Report,
    RingKey,
    RingMoved,
    RingPhase,
)
from gadget.backends.local import LocalBackend
from gadget.backends.ray_engine import RayBackend
from gadget.backends.ray_link import RayLink
from gadget.model.cluster import Cluster, Link, Server
from gadget.model.job import Job
from gadget.model.program import Program
from gadget.model.resources import Resources
from gadget.model.ring import Ring
from gadget.model.utility import Linear
from tests.engines_ray import connect
from tests.engines_slurm import build_slurm

KINDS = ("local-loopback", "local-namespaces", "ray", "slurm")
# Generous: a busy machine must not fail a test, and no test waits so long when all is well.
PATIENCE_SECONDS = 30.0

# Writes what it was given, and ends.
TELL = 'env >"$GADGET_CHECKPOINT_DIR/env.$GADGET_RING.$RANK"; echo "rank $RANK of ring $GADGET_RING"'
# Says that it is up by its process number; leaves a mark and goes when asked.
OBEY = """trap 'touch "$GADGET_CHECKPOINT_DIR/saved.$RANK"; exit 75' TERM
echo $$ >>"$GADGET_CHECKPOINT_DIR/up.$GADGET_RING.$RANK"
while :; do sleep 0.05; done"""
STUBBORN = OBEY.replace("touch", "echo").replace("exit 75", ":")


def build_cluster() -> Cluster:
    """Two servers with four GPUs and one with two under a switch."""
    gpus = {"s0": 4, "s1": 4, "s2": 2}
    return Cluster(
        tuple(Server(name, Resources({"gpu": amount, "cpu": 8})) for name, amount in gpus.items()),
        ("switch",),
        tuple(Link((name, "switch"), 0.1) for name in gpus),
    )


def build_backend(kind: str, folder: Path, instance: str, link: RayLink | None = None) -> Backend:
    """One engine; on Ray by a link that tests share, or by one of its own."""
    match kind:
        case "ray":
            return RayBackend(
                link or connect(), folder, instance, cluster=build_cluster(), is_shared_link=link is not None
            )
        case "local-loopback" | "local-namespaces":
            return LocalBackend(build_cluster(), folder, instance, network=kind.removeprefix("local-"))
        case "slurm":
            return build_slurm(folder, instance)
    raise ValueError(kind)


def build_job(name: str, program: Program | None, gpu: float = 1) -> Job:
    amounts = {"cpu": 1.0} | ({"gpu": gpu} if gpu else {})
    return Job(
        name=name,
        resources=Resources(amounts),
        max_workers=8,
        utility=Linear(1.0),
        bandwidth_gbps=0.01,
        rate=1.0,
        program=program,
    )


def build_launch(
    job: str,
    number: int,
    servers: Sequence[str],
    script: str,
    *,
    gpu: float = 1,
    env: Mapping[str, str] | None = None,
    own_env: Mapping[str, str] | None = None,
) -> Launch:
    """A ring whose workers run a shell script."""
    program = Program(command=("sh", "-c", script), env=tuple((own_env or {}).items()))
    return Launch(RingKey(job, number), build_ring(job, servers), build_job(job, program, gpu), env or {})


def build_ring(job: str, servers: Sequence[str]) -> Ring:
    pairs = zip(servers, [*servers[1:], servers[0]], strict=True)
    routes = tuple((a,) if a == b else (a, "switch", b) for a, b in pairs) if len(servers) > 1 else ()
    return Ring(job, tuple(servers), routes)


class Engine:
    """A backend that is open, with all that it has reported."""

    def __init__(self, backend: Backend) -> None:
        self.backend = backend
        self.reports: list[Report] = []
        self._news = threading.Condition()
        self.inventory: Inventory = backend.open(self._take)

    def _take(self, report: Report) -> None:
        with self._news:
            self.reports.append(report)
            self._news.notify_all()

    def wait(self, is_there: Callable[[], object], what: str = "what was awaited") -> None:
        """Until it is so, whether a report says it or not."""
        deadline = time.monotonic() + PATIENCE_SECONDS
        while not is_there():
            assert time.monotonic() < deadline, f"{what} did not come; reported: {self.reports}"
            with self._news:
                self._news.wait(0.02)

    def wait_for(self, key: RingKey, *phases: RingPhase) -> RingMoved:
        """The first report that this ring is in one of these phases."""
        self.wait(lambda: self._find(key, phases), f"{key} {phases}")
        found = self._find(key, phases)
        assert found is not None
        return found

    def wait_until_over(self, key: RingKey) -> RingMoved:
        return self.wait_for(key, *(phase for phase in RingPhase if phase.is_over))

    def phases(self, key: RingKey) -> list[RingPhase]:
        """What was reported of the ring, in order."""
        return [one.phase for one in list(self.reports) if isinstance(one, RingMoved) and one.key == key]

    def surveyed(self) -> dict[RingKey, RingPhase]:
        return {ring.key: ring.phase for ring in self.backend.survey()}

    def dismiss(self, key: RingKey, grace_seconds: float) -> None:
        self.backend.dismiss(Dismissal(key, grace_seconds, "the test says so"))

    def _find(self, key: RingKey, phases: Sequence[RingPhase]) -> RingMoved | None:
        moves = (one for one in list(self.reports) if isinstance(one, RingMoved))
        return next((one for one in moves if one.key == key and one.phase in phases), None)


def find_workers(instance: str, job: str | None = None) -> list[int]:
    """Processes of the instance, or of one job of it, that have not ended, by their environment."""
    marks = {f"GADGET_INSTANCE={instance}".encode()} | ({f"GADGET_JOB={job}".encode()} if job else set())
    found = []
    for path in Path("/proc").iterdir():
        if path.name.isdecimal():
            try:
                if marks <= set((path / "environ").read_bytes().split(b"\0")):
                    found.append(int(path.name))
            except OSError:
                continue
    return found


@contextmanager
def owned_elsewhere(
    kind: str, folder: Path, instance: str, order: Launch
) -> Iterator["subprocess.Popen[str]"]:
    """A service in a process of its own that runs one ring, given once the ring runs."""
    assert order.job.program is not None
    key, script = order.key, order.job.program.command[-1]
    words = [kind, str(folder), instance, key.job, str(key.number), ",".join(order.ring.workers), script]
    with subprocess.Popen(
        [sys.executable, "-m", "tests.engines", *words],
        stdout=subprocess.PIPE,
        text=True,
        cwd=Path(__file__).parents[1],
    ) as service:
        try:
            assert service.stdout is not None
            for line in service.stdout:
                if line.strip() == RingPhase.RUNNING:
                    break
            else:
                raise AssertionError("the service ended before its ring ran")
            yield service
        finally:
            service.kill()


def _own(words: Sequence[str]) -> None:
    kind, folder, instance, job, number, servers, script = words

    def tell(report: Report) -> None:
        if isinstance(report, RingMoved):
            print(report.phase, flush=True)

    backend = build_backend(kind, Path(folder), instance)
    backend.open(tell)
    backend.launch(build_launch(job, int(number), servers.split(","), script))
    threading.Event().wait()


if __name__ == "__main__":
    os.setsid()
    _own(sys.argv[1:])
