"""The same jobs placed by an engine and by us: how long an all-reduce takes when all of them run at once."""

import json
import statistics
import sys
import time
import uuid
from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import groupby, pairwise
from pathlib import Path

import numpy as np
from benchmarks.parts.engine_stage import GBPS, GPUS, RACKS, SERVERS, Change, Placements, Stage, wait
from benchmarks.parts.ring_endings import Endings

from gadget.backends.backend import Backend, Launch, RingKey
from gadget.model.cluster import Cluster
from gadget.model.job import ActiveJob, Job
from gadget.model.program import Program
from gadget.model.resources import Resources
from gadget.model.ring import Ring
from gadget.model.snapshot import Snapshot
from gadget.model.utility import Linear
from gadget.policies.policy import ask
from gadget.policies.registry import build_policy

BYTES = 4_000_000
WINDOW_SECONDS = 5.0
# Rings reserve the largest of these parts of a link with which all jobs find room.
_SHARES = (1, 2, 3, 4, 6, 8, 12, 16)
_SIZES = (3, 8)  # most do not fit on one server
_LEAVING = 0.5


def draw_changes(seed: int, *, some_leave: bool) -> list[Change]:
    """Jobs of random sizes until the cluster is full; then half may go, and others take their place."""
    rng = np.random.default_rng(seed)
    there: dict[str, int] = {}
    changes: list[Change] = []

    def fill() -> None:
        while (size := int(rng.integers(*_SIZES))) + sum(there.values()) <= GPUS * len(SERVERS):
            name = f"job{len(changes)}"
            there[name] = size
            changes.append((name, size))

    fill()
    if some_leave:
        for name in [name for name in there if rng.random() < _LEAVING]:
            del there[name]
            changes.append((name, 0))
        fill()
    return changes


def place(cluster: Cluster, sizes: Mapping[str, int]) -> Placements:
    """Our rings for jobs of these sizes."""
    policy = build_policy("gadget")
    for share in _SHARES:
        jobs = [_build_job(name, size, GBPS / share) for name, size in sizes.items()]
        snapshot = Snapshot(cluster, tuple(map(ActiveJob, jobs)), 0, 1, 4.0)
        rings = ask(policy, snapshot, 0).allocation.rings
        if {ring.job: ring.size for ring in rings} == dict(sizes):
            return {ring.job: ring.workers for ring in rings}
    raise ValueError(f"no rings were found for all of {sizes}")


def run(stage: Stage, placements: Placements) -> dict[str, float]:
    """Mean seconds of an all-reduce of each job, while all of them go round."""
    gate = stage.folder / uuid.uuid4().hex
    gate.mkdir()
    endings = Endings()
    backend = stage.build(gate / "engine", uuid.uuid4().hex)
    backend.open(endings.take)
    try:
        orders = [_build_order(name, workers, gate) for name, workers in placements.items()]
        for order in orders:
            backend.launch(order)
        keys = [order.key for order in orders]
        ready = [gate / f"{name}.ready" for name in placements]
        wait(lambda: endings.has_any(keys) or all(path.exists() for path in ready), 120)
        (gate / "go").touch()
        time.sleep(WINDOW_SECONDS)
        (gate / "stop").touch()
        endings.wait(keys, 60)
        return {order.key.job: _read_mean(backend, order) for order in orders}
    finally:
        backend.close(keep_rings=False)


def find_fullest(placements: Placements) -> int:
    """Ring edges on the fullest link in one direction: what divides its bandwidth."""
    rack_of = {server: rack for rack, servers in RACKS.items() for server in servers}
    loads: Counter[tuple[str, str]] = Counter()
    for workers in placements.values():
        for start, end in zip(workers, [*workers[1:], workers[0]], strict=True):
            # Repeated nodes are no hops: both ends in one rack, or on one server.
            path = [node for node, _ in groupby((start, rack_of[start], rack_of[end], end))]
            loads.update(pairwise(path) if start != end else ())
    return max(loads.values(), default=0)


def _read_mean(backend: Backend, order: Launch) -> float:
    return statistics.mean(json.loads(backend.read_log(order.key.job, rank=0, lines=1)))


def _build_order(name: str, workers: Sequence[str], gate: Path) -> Launch:
    words = (sys.executable, str(Path(__file__).with_name("ring_bytes.py")), str(BYTES), "0", str(gate))
    job = _build_job(name, len(workers), GBPS, Program(command=words))
    return Launch(RingKey(name, 1), Ring(name, tuple(workers), ()), job)


def _build_job(name: str, size: int, gbps: float, program: Program | None = None) -> Job:
    return Job(
        name=name,
        resources=Resources({"gpu": 1}),
        min_workers=size,
        max_workers=size,
        utility=Linear(1.0),
        bandwidth_gbps=gbps,
        rate=1.0,
        program=program,
    )
