"""What `gadget up` shows: a small cluster, and six jobs that train, grow, shrink and finish."""

import sys
from importlib.resources import files
from pathlib import Path

from gadget.errors import MissingPackage
from gadget.model.builders import build_leaf_spine
from gadget.model.cluster import Cluster
from gadget.model.job import Job
from gadget.model.program import Program
from gadget.model.resources import Resources
from gadget.model.utility import Log

SLOT_SECONDS = 10.0
_PROGRAM = "train_ring.py"

# Name, seconds after the start, steps, global batch, milliseconds a sample, hidden units, most workers, priority.
_JOBS = (
    ("vision-a", 0.0, 150, 48, 8.0, 128, 4, 1.0),
    ("vision-b", 0.0, 120, 48, 8.0, 128, 4, 1.0),
    ("language", 6.0, 90, 64, 10.0, 512, 6, 2.0),
    ("speech", 12.0, 120, 32, 8.0, 256, 3, 1.0),
    ("ranking", 18.0, 100, 32, 6.0, 64, 2, 1.0),
    ("tabular", 24.0, 80, 32, 6.0, 32, 2, 1.0),
)


def build_demo_cluster() -> Cluster:
    """Two racks of two servers with two GPUs each, on links that one ring can fill."""
    return build_leaf_spine(2, 1, 2, resources=Resources({"gpu": 2}), server_gbps=0.4, uplink_gbps=0.4)


def build_demo_jobs() -> tuple[tuple[float, Job], ...]:
    """The jobs, each with the seconds after which it is submitted."""
    program = find_program()
    return tuple((delay, _build(program, name, *rest)) for name, delay, *rest in _JOBS)


def _build(  # noqa: PLR0917 - a row of the table above
    program: Path,
    name: str,
    steps: int,
    batch: int,
    sample_ms: float,
    hidden: int,
    most: int,
    priority: float,
) -> Job:
    command = (
        *(sys.executable, str(program), "--steps", str(steps), "--batch", str(batch)),
        *("--sample-ms", str(sample_ms), "--hidden", str(hidden), "--checkpoint-every", "20"),
    )
    work = float(steps * batch)
    return Job(
        name=name,
        resources=Resources({"gpu": 1}),
        max_workers=most,
        bandwidth_gbps=0.1,
        # One worker does a sample in so many milliseconds; what rings really do is measured and learnt.
        rate=SLOT_SECONDS * 1000 / sample_ms,
        work=work,
        utility=Log(100 * priority),
        priority=priority,
        min_runtime_seconds=5.0,
        restart_seconds=2.0,
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
