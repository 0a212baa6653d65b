"""What `gadget up` shows: a small cluster, and six jobs that train, grow, shrink and finish."""

import sys
from importlib.resources import files
from pathlib import Path
from typing import NamedTuple

from gadget.errors import MissingPackage
from gadget.model.builders import build_leaf_spine
from gadget.model.cluster import Cluster
from gadget.model.job import Job
from gadget.model.program import Program
from gadget.model.resources import Resources
from gadget.model.utility import Log

SLOT_SECONDS = 10.0
_PROGRAM = "train_ring.py"


class _Kind(NamedTuple):
    name: str
    delay_seconds: float
    steps: int
    batch: int
    sample_ms: float
    hidden: int
    most_workers: int
    weight: float


_JOBS = (
    _Kind("vision-a", 0, 150, 48, 8, 128, 4, 1),
    _Kind("vision-b", 0, 120, 48, 8, 128, 4, 1),
    _Kind("language", 6, 90, 64, 10, 512, 6, 2),
    _Kind("speech", 12, 120, 32, 8, 256, 3, 1),
    _Kind("ranking", 18, 100, 32, 6, 64, 2, 1),
    _Kind("tabular", 24, 80, 32, 6, 32, 2, 1),
)


def build_demo_cluster() -> Cluster:
    """Two racks of two servers with two GPUs each, on links that one ring can fill."""
    return build_leaf_spine(2, 1, 2, resources=Resources({"gpu": 2}), server_gbps=0.4, uplink_gbps=0.4)


def build_demo_jobs(length: float = 1.0) -> tuple[tuple[float, Job], ...]:
    """The jobs, each with the seconds after which it is submitted; `length` scales what there is to do."""
    program = find_program()
    return tuple((kind.delay_seconds * length, _build(program, kind, length)) for kind in _JOBS)


def _build(program: Path, kind: _Kind, length: float) -> Job:
    steps = max(1, round(kind.steps * length))
    command = (
        *(sys.executable, str(program), "--steps", str(steps), "--batch", str(kind.batch)),
        *("--sample-ms", str(kind.sample_ms), "--hidden", str(kind.hidden), "--checkpoint-every", "20"),
    )
    return Job(
        name=kind.name,
        resources=Resources({"gpu": 1}),
        max_workers=kind.most_workers,
        bandwidth_gbps=0.1,
        # One worker does a sample in so many milliseconds; what rings really do is measured and learnt.
        rate=SLOT_SECONDS * 1000 / kind.sample_ms,
        work=float(steps * kind.batch),
        utility=Log(100 * kind.weight),
        min_runtime_seconds=5.0,
        restart_seconds=3.0,
        program=Program(
            command=command, checkpoint_grace_seconds=15.0, start_seconds=60.0, silence_seconds=30.0
        ),
    )


def find_program() -> Path:
    """The training program: in the package, or beside a checkout of it."""
    package = Path(str(files("gadget")))
    for place in (package / "examples" / _PROGRAM, package.parents[1] / "examples" / _PROGRAM):
        if place.is_file():
            return place
    raise MissingPackage(f"{_PROGRAM}, the program of the demo, is missing. Install the package anew.")
