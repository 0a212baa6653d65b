"""The ring law on real links: seconds of an all-reduce against 2d(w−1)/(wb), and what order and sharing do.

The local engine runs rings of a program that only moves bytes, in network namespaces, at 100 Mbit/s a link.
As root on Linux with iproute2; elsewhere it says so and asks for nothing.
"""

import json
import statistics
import sys
import tempfile
import uuid
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from benchmarks.parts.ring_endings import Endings
from benchmarks.parts.table import Row, print_head, print_row

from gadget.backends.backend import Launch, RingKey
from gadget.backends.local import LocalBackend
from gadget.backends.netns import why_no_namespaces
from gadget.model.cluster import Cluster, Link, Server
from gadget.model.job import Job
from gadget.model.program import Program
from gadget.model.resources import Resources
from gadget.model.ring import Ring
from gadget.model.timing import ring_mb_per_worker
from gadget.model.utility import Linear

GBPS = 0.1
MB = 8
ROUNDS = 5
MOST_SECONDS = 60.0
HOSTS = ("h1", "h2", "h3", "h4")
# Headers take 5 % of every packet; the rest is for steps that wait on each other.
LAW = (0.95, 1.25)
# Twice the bytes on a link, twice the time.
TWICE = (1.6, 2.4)

Runs = Callable[..., list[float]]


@contextmanager
def engine() -> Iterator[Runs]:
    """Gives a function that runs rings at the same time and returns the median seconds of each."""
    cluster = Cluster(
        tuple(Server(name, Resources({"gpu": 8})) for name in HOSTS),
        ("switch",),
        tuple(Link((name, "switch"), GBPS) for name in HOSTS),
    )
    endings = Endings()
    with tempfile.TemporaryDirectory() as folder:
        backend = LocalBackend(cluster, Path(folder), uuid.uuid4().hex, network="namespaces")
        backend.open(endings.take)
        numbers = iter(range(1, 1000))

        def run(*rings: Sequence[str]) -> list[float]:
            number = next(numbers)
            orders = [build_order(RingKey(f"ring{place}", number), ring) for place, ring in enumerate(rings)]
            for order in orders:
                backend.launch(order)
            endings.wait([order.key for order in orders], MOST_SECONDS)
            logs = [backend.read_log(order.key.job, rank=0, lines=1) for order in orders]
            return [statistics.median(json.loads(log)) for log in logs]

        try:
            yield run
        finally:
            backend.close(keep_rings=False)


def build_order(key: RingKey, workers: Sequence[str]) -> Launch:
    words = (sys.executable, str(Path(__file__).parent / "parts" / "ring_bytes.py"))
    job = Job(
        name=key.job,
        resources=Resources({"gpu": 1}),
        max_workers=len(workers),
        utility=Linear(1.0),
        bandwidth_gbps=GBPS,
        rate=1.0,
        program=Program(command=(*words, str(MB * 1_000_000), str(ROUNDS))),
    )
    return Launch(key, Ring(key.job, tuple(workers), ()), job)


def law(workers: int) -> float:
    """2d(w−1)/(wb) in seconds."""
    return ring_mb_per_worker(MB, workers) * 8 / (GBPS * 1000)


def judge(case: str, measured: float, against: float, bar: tuple[float, float], what: str) -> Row:
    ratio = measured / against
    must = f"{bar[0]:g} … {bar[1]:g} × {what} {against:.3f} s"
    return Row(case, must, f"{measured:.3f} s = {ratio:.2f} ×", bar[0] <= ratio <= bar[1])


def measure(run: Runs) -> Iterator[Row]:
    for workers in (2, 3, 4):
        (seconds,) = run(HOSTS[:workers])
        yield judge(f"{workers} workers on as many hosts", seconds, law(workers), LAW, "law")
    (grouped,) = run(("h1", "h1", "h2", "h2"))
    yield judge("4 workers on two hosts, h1 h1 h2 h2", grouped, law(4), LAW, "law")
    (mixed,) = run(("h1", "h2", "h1", "h2"))
    yield judge("4 workers on two hosts, h1 h2 h1 h2", mixed, grouped, TWICE, "grouped")
    reserved = max(run(("h1", "h2"), ("h3", "h4")))
    yield judge("two rings, each with links of its own", reserved, law(2), LAW, "law")
    shared = max(run(("h1", "h2"), ("h1", "h2")))
    yield judge("two rings on the same links", shared, reserved, TWICE, "own links")


def main() -> int:
    if why := why_no_namespaces():
        print(f"Not measured: network namespaces cannot be made here ({why}).")
        return 0
    print(f"All-reduce of {MB} MB over links of {GBPS * 1000:g} Mbit/s, median of {ROUNDS} rounds\n")
    print_head("case", "must be", "measured", "")
    met = True
    with engine() as run:
        for row in measure(run):
            print_row(row)
            met = met and row.is_met is not False
    print(f"\nThe ring law holds, order and reservation count: {'met' if met else 'MISSED'}")
    return 0 if met else 1


if __name__ == "__main__":
    raise SystemExit(main())
