"""The live service on a real Ray cluster: jobs that train, grow, shrink, lose a node, and learn the same."""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import pytest

from gadget.backends.netns import why_no_namespaces
from gadget.cli.serving import JOURNAL_FILE
from gadget.engine.events import SlotDecided
from gadget.live.origin import begin_live
from gadget.model.cluster import Cluster, Link, Server
from gadget.model.codec import read_jobs, write
from gadget.model.job import ActiveJob, Job
from gadget.model.referee import find_violations
from gadget.model.resources import Resources
from gadget.model.ring import Allocation
from gadget.model.snapshot import Scenario, Snapshot
from gadget.store.journal import Journal
from tests.engines import build_ring
from tests.engines_ray import RayCluster
from tests.rings import EXAMPLES, read_losses

pytestmark = pytest.mark.skipif(bool(why_no_namespaces()), reason="needs network namespaces")

ROUNDING = 1e-9
PATIENCE_SECONDS = 240.0
SLOT_SECONDS = 4.0

# Every actor that Ray has had in our namespaces: its name, its host, and when it lived.
HISTORY = """
import json, sys, ray
ray.init(address=sys.argv[1], log_to_driver=False)
hosts = {node["NodeID"]: node["Labels"].get("host") for node in ray.nodes()}
print(json.dumps([
    [actor["Name"], hosts.get(actor["Address"]["NodeID"]), actor["StartTime"], actor["EndTime"]]
    for actor in ray._private.state.actors().values()
    if actor["StartTime"] and "-e2e@" in actor["Name"]
]))
"""


@dataclass(frozen=True)
class Ran:
    """A ring as Ray had it: from its first actor's start to its last one's end, in milliseconds."""

    job: str
    number: int
    ranks: tuple[int, ...]
    workers: tuple[str, ...]
    """Where Ray had each of the ranks."""
    began: float
    ended: float


@dataclass
class Service:
    """`gadget serve` on the head's machine, and commands that ask it there."""

    ray: RayCluster
    home: Path

    @contextmanager
    def serving(self, *words: str) -> Iterator["subprocess.Popen[bytes]"]:
        """The service until the end of the block, or until it is killed."""
        said = [
            "serve",
            "--engine",
            "ray",
            "--address",
            self.ray.address,
            "--slot-seconds",
            str(SLOT_SECONDS),
        ]
        (self.home / "address").unlink(missing_ok=True)  # of a life that was killed
        with (self.home.parent / "serve.log").open("ab") as log:
            process = subprocess.Popen(self._command(*said, *words), env=self._env(), stdout=log, stderr=log)
        try:
            wait_for(lambda: (self.home / "address").exists() or process.poll() is not None)
            assert process.poll() is None, self.tell()
            yield process
        finally:
            is_killed = process.poll() == -signal.SIGKILL
            process.terminate()
            assert is_killed or process.wait(90) == 0, self.tell()

    def run(self, *words: str) -> str:
        done = subprocess.run(
            self._command(*words), env=self._env(), capture_output=True, text=True, timeout=60, check=False
        )
        assert done.returncode == 0, done.stderr + self.tell()
        return done.stdout

    def show(self, job: str) -> Any:
        return json.loads(self.run("job", "show", job, "-o", "json"))

    def wait_for_ring(self, job: str, size: int | None = None) -> list[str]:
        """The servers of its ring, once it has one that runs, of this size if one is said."""
        found: list[list[str]] = []

        def look() -> list[list[str]]:
            ring = self.show(job)["ring"]
            is_up = ring is not None and ring["phase"] == "running"
            if is_up and size in (None, len(ring["workers"])):
                found.append(ring["workers"])
            return found

        wait_for(look)
        return found[-1]

    def tell(self) -> str:
        return (self.home.parent / "serve.log").read_text()[-4000:]

    def _command(self, *words: str) -> list[str]:
        return [*self.ray.enter, str(Path(sys.executable).with_name("gadget")), *words]

    def _env(self) -> dict[str, str]:
        return {**os.environ, "GADGET_HOME": str(self.home)}


def wait_for(holds: Callable[[], object], seconds: float = PATIENCE_SECONDS) -> None:
    deadline = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < deadline, "waited in vain"
        time.sleep(0.2)


def build_share() -> Cluster:
    """What of the Ray cluster is ours: two GPUs of each larger node, one of the small one."""
    gpus = {"s0": 2, "s1": 2, "s2": 1}
    return Cluster(
        tuple(Server(name, Resources({"gpu": amount})) for name, amount in gpus.items()),
        ("switch",),
        tuple(Link((name, "switch"), 0.1) for name in gpus),
    )


@dataclass(frozen=True)
class Training:
    """A job that trains: the example that it runs, and for how long."""

    name: str
    script: str
    steps: int
    batch: int
    sample_ms: float
    workers: int
    scale: float
    """What it is worth beside the others."""

    def command(self, losses: Path, *, sample_ms: float) -> list[str]:
        words = ["--steps", self.steps, "--batch", self.batch, "--sample-ms", sample_ms]
        words += ["--checkpoint-every", 10, "--loss-file", losses]
        return [sys.executable, str(EXAMPLES / self.script), *map(str, words)]

    def write(self, folder: Path) -> Path:
        """The job's file."""
        job = {
            "name": self.name,
            "workers": {"min": 1, "max": self.workers},
            "resources": {"gpu": 1},
            "bandwidth_gbps": 0.02,
            "rate": SLOT_SECONDS * 1000 / self.sample_ms,
            "work": self.steps * self.batch,
            "utility": {"kind": "log", "scale": self.scale},
            "min_runtime_seconds": 1,
            "run": {
                "command": self.command(folder / f"{self.name}.losses", sample_ms=self.sample_ms),
                "checkpoint_grace_seconds": 20,
            },
        }
        path = folder / f"{self.name}.json"
        path.write_text(json.dumps({"version": 1, "jobs": [job]}))
        return path


@contextmanager
def training_alone(
    jobs: Sequence[Training], folder: Path
) -> Iterator[Callable[[], dict[str, dict[int, float]]]]:
    """Each job where nothing disturbs it, meanwhile; the losses are given when they are asked for."""
    files = {job.name: folder / f"{job.name}.alone" for job in jobs}
    trainings = [subprocess.Popen(job.command(files[job.name], sample_ms=0)) for job in jobs]

    def finish() -> dict[str, dict[int, float]]:
        assert [training.wait(120) for training in trainings] == [0] * len(jobs)
        return {name: read_losses(path) for name, path in files.items()}

    try:
        yield finish
    finally:
        for training in trainings:
            training.kill()
            training.wait()


RING = Training("ring-e2e", "train_ring.py", steps=1000, batch=24, sample_ms=8, workers=4, scale=20)
# The first is worth more than the ring and less than the others: who comes and goes makes it shrink and grow.
FIRST, *OTHERS = TORCH = [
    Training("torch0-e2e", "train_torch.py", steps=200, batch=12, sample_ms=15, workers=3, scale=100),
    Training("torch1-e2e", "train_torch.py", steps=60, batch=12, sample_ms=15, workers=2, scale=500),
    Training("torch2-e2e", "train_torch.py", steps=60, batch=12, sample_ms=15, workers=2, scale=500),
]


def test_jobs_on_ray_grow_shrink_lose_a_node_and_learn_the_same(
    ray_cluster: RayCluster, tmp_path: Path
) -> None:
    service = Service(ray_cluster, tmp_path / "home")
    share = tmp_path / "share.json"
    write(share, Scenario(build_share(), (), 1, SLOT_SECONDS))
    files = {job.name: job.write(tmp_path) for job in (RING, *TORCH)}
    options = ("--cluster", str(share), "--spacing-seconds", "1")

    def losses(job: Training) -> dict[int, float]:
        return read_losses(tmp_path / f"{job.name}.losses")

    with service.serving(*options) as process:
        service.run("submit", str(files[RING.name]), str(files[FIRST.name]))
        wait_for(lambda: losses(RING) and losses(FIRST))
        service.run("submit", *(str(files[job.name]) for job in OTHERS))
        wait_for(lambda: all(losses(job) for job in OTHERS))
        service.wait_for_ring(RING.name)
        process.kill()
        process.wait()
    with service.serving(*options):
        told = service.run("events", "-n", "1000")
        assert "goes on" in told, told
        wait_for(lambda: losses(FIRST).get(FIRST.steps))
        lost = next(name for name in service.wait_for_ring(RING.name, 4) if name != "s2")
        ray_cluster.signal_raylet(lost, signal.SIGKILL)
        with training_alone((RING, *TORCH), tmp_path) as finish:
            wait_for(lambda: f"server {lost} went away" in service.run("events", "-n", "1000"))
            ray_cluster.end_node(lost)
            ray_cluster.start_node(lost)
            wait_for(lambda: all(losses(job).get(job.steps) for job in (RING, *TORCH)))
            trained = finish()
        for name in files:
            wait_for(lambda name=name: service.show(name)["status"] == "finished")
        wait_for(lambda: f"server {lost} came back" in service.run("events", "-n", "1000"))
        rings = read_history(ray_cluster)
    for job in (RING, *TORCH):
        alone = trained[job.name]
        assert losses(job) == pytest.approx(alone, rel=ROUNDING, abs=0), job.name
        assert list(alone) == list(range(1, job.steps + 1))
        assert alone[job.steps] < alone[1]
    sizes = {name: [len(ring.workers) for ring in rings if ring.job == name] for name in files}
    for job in (RING, FIRST):
        assert any(a < b for a, b in pairwise(sizes[job.name])), sizes
        assert any(a > b for a, b in pairwise(sizes[job.name])), sizes
    judge(rings, [read_jobs(path)[0] for path in files.values()], read_decided(service.home))


def read_history(ray: RayCluster) -> list[Ran]:
    """Every ring that Ray has run, by its actors, in order of their starts."""
    done = subprocess.run(
        [*ray.enter, sys.executable, "-c", HISTORY, ray.address],
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    ranks: dict[tuple[str, int], dict[int, tuple[str, float, float]]] = {}
    for name, host, began, ended in json.loads(done.stdout.splitlines()[-1]):
        ring, rank = name.rsplit("#", 1)
        job, number = ring.rsplit("@", 1)
        ranks.setdefault((unquote(job), int(number)), {})[int(rank)] = (host, began, ended or float("inf"))
    rings = []
    for (job, number), found in ranks.items():
        ranks = tuple(sorted(found))
        hosts, begun, ended = zip(*(found[rank] for rank in ranks), strict=True)
        rings.append(Ran(job, number, ranks, hosts, min(begun), max(ended)))
    return sorted(rings, key=lambda ring: ring.began)


def read_decided(home: Path) -> dict[tuple[str, int], tuple[str, ...]]:
    """The workers of each ring in the order that was decided, by its job and number."""
    with Journal.open(home / JOURNAL_FILE, begin_live(SLOT_SECONDS)) as journal:
        decisions = [
            entry.event.decision
            for entry in journal.read(0, 1_000_000)
            if isinstance(entry.event, SlotDecided)
        ]
    return {(ring.job, one.slot): ring.workers for one in decisions for ring in one.allocation.rings}


def judge(
    rings: Sequence[Ran], jobs: Sequence[Job], decided: Mapping[tuple[str, int], tuple[str, ...]]
) -> None:
    """Each rank was where it was decided; and at the start of each ring the referee looks at all that ran."""
    assert rings
    snapshot = Snapshot(build_share(), tuple(map(ActiveJob, jobs)), 0, 1, SLOT_SECONDS)
    for moment in rings:
        workers = decided[moment.job, moment.number]
        assert [workers[rank] for rank in moment.ranks] == list(moment.workers)
        # A ring that broke while it started has not had all its ranks.
        assert moment.ranks == tuple(range(len(workers))) or len(moment.ranks) < len(workers)
        there = [ring for ring in rings if ring.began <= moment.began < ring.ended]
        allocation = Allocation(tuple(build_ring(ring.job, ring.workers) for ring in there))
        assert find_violations(snapshot, allocation) == [], there
