"""The clairvoyant bound, on scenarios solved by hand."""

import math
import time
from dataclasses import replace

import numpy as np
import pytest

from gadget.model.builders import build_paper_cluster
from gadget.model.cluster import Cluster, Link, Server
from gadget.model.job import Job
from gadget.model.resources import Resources
from gadget.model.snapshot import Scenario
from gadget.model.timing import Timing
from gadget.model.utility import Energy, Linear, Sigmoid, Sqrt, Table, Utility
from gadget.solve import horizon
from gadget.solve.horizon import clairvoyant_bound

# Four GPUs on two servers, 10 Gbps each.
CLUSTER = Cluster(
    tuple(Server(name, Resources({"gpu": 2, "memory_gib": 8})) for name in ("a", "b")),
    ("sw",),
    (Link(("a", "sw"), 10), Link(("b", "sw"), 10)),
)


def job(name: str, utility: Utility | None = None, workers: int = 4, **more: object) -> Job:
    fields = {"resources": Resources({"gpu": 1}), "rate": 1, "bandwidth_gbps": 1, **more}
    return Job(name=name, utility=utility or Linear(), max_workers=workers, **fields)  # type: ignore[arg-type]


def bound(*jobs: Job, slots: int = 3, cluster: Cluster = CLUSTER) -> float:
    return clairvoyant_bound(Scenario(cluster, jobs, slots))


def test_no_jobs_are_worth_nothing() -> None:
    assert bound() == 0


def test_one_job_takes_the_whole_cluster_all_the_time() -> None:
    assert bound(job("x")) == pytest.approx(12)


def test_the_ring_the_budget_and_the_arrival_limit_it() -> None:
    assert bound(job("x", workers=3)) == pytest.approx(9)
    assert bound(job("x", budget=Resources({"gpu": 5.5}))) == pytest.approx(5)
    assert bound(job("x", arrival=2)) == pytest.approx(4)
    assert bound(job("x", arrival=3)) == 0
    # Not even the empty cluster joins more than two workers by 11 Gbps.
    assert bound(job("x", bandwidth_gbps=11)) == pytest.approx(6)


def test_the_better_job_goes_first_but_only_from_its_arrival_on() -> None:
    # Slot 0: 4 of x. Slots 1 and 2: 3 of y, worth 5 each, and 1 of x.
    assert bound(job("x"), job("y", Linear(5), 3, arrival=1)) == pytest.approx(4 + 2 * (15 + 1))


def test_slots_before_another_arrives_are_kept_for_those_who_can_use_them() -> None:
    # Both have budgets of 4: x runs in slot 0 so that y has slot 1.
    four = Resources({"gpu": 4})
    assert bound(job("x", budget=four), job("y", budget=four, arrival=1), slots=2) == pytest.approx(8)


def test_concave_utilities_share() -> None:
    # 8 worker-slots, √x + √y: four each.
    assert bound(job("x", Sqrt()), job("y", Sqrt()), slots=2) == pytest.approx(4)


def test_every_resource_counts() -> None:
    memory = job("m", Linear(2), 9, resources=Resources({"memory_gib": 4}))
    both = job("b", Linear(3), 9, resources=Resources({"gpu": 1, "memory_gib": 2}))
    # A slot: b takes 4 GPUs and 8 GiB, m the other 8 GiB with two workers.
    assert bound(memory, both, slots=1) == pytest.approx(4 * 3 + 2 * 2)


def test_jobs_that_cannot_run_count_with_their_utility_of_no_work() -> None:
    start = Table(((0, 7), (10, 9)))
    assert bound(job("late", start, arrival=9)) == 7
    assert bound(job("fat", start, resources=Resources({"gpu": 3}))) == 7
    assert bound(job("exotic", start, resources=Resources({"tpu": 1}))) == 7
    assert bound(job("crowd", start, workers=9, min_workers=5)) == 7
    assert bound(job("broke", start, budget=Resources({"gpu": 0.5}))) == 7
    assert bound(job("runs", start)) == 9


def test_a_step_counts_with_its_majorant() -> None:
    # Nothing below 6 worker-slots, 12 from there on: two of them need 12 worker-slots, and there are 8.
    step = Table(((5, 0), (6, 12)))
    assert bound(job("x", step), job("y", step), slots=2) == pytest.approx(12 + 12 * 2 / 6)


def test_a_cost_alone_is_best_left() -> None:
    assert bound(job("x", Energy())) == 0
    # √w − w²/64 peaks where w^1.5 = 16, at 6.3, and by whole worker-slots at 6.
    progress = Energy(Sqrt(), 1, 1, 1 / 64, 0)
    assert bound(job("x", progress)) == pytest.approx(math.sqrt(6) - 36 / 64)


def test_with_timing_a_worker_is_at_most_as_fast_as_in_the_smallest_ring() -> None:
    timing = Timing(1000, 100, 0, 0, 1000)
    slow = job("x", rate=None, timing=timing, workers=2)
    alone = float(slow.work_in_slot(1, 60))
    assert bound(slow) == pytest.approx(3 * 2 * alone)
    paired = replace(slow, min_workers=2)
    assert bound(paired) == pytest.approx(3 * float(slow.work_in_slot(2, 60)))


def test_joining_intervals_can_only_raise_it(monkeypatch: pytest.MonkeyPatch) -> None:
    jobs = [job(f"j{n}", Sqrt(n + 1), arrival=n) for n in range(8)]
    exact = bound(*jobs, slots=12)
    monkeypatch.setattr(horizon, "MOST_SHARES", 24)
    monkeypatch.setattr(horizon, "LEAST_INTERVALS", 1)
    joined = bound(*jobs, slots=12)
    assert exact <= joined * (1 + 1e-9)
    assert joined <= 1.2 * exact


def test_numbers_of_any_size_do() -> None:
    huge = Cluster((Server("a", Resources({"gpu": 10**15})),), (), ())
    tiny = job("t", Sqrt(1e15), 100_000, rate=1e15, resources=Resources({"gpu": 1e-12}))
    small = job("s", Linear(1e-12), 1, rate=1e-12, resources=Resources({"gpu": 10**15}))
    found = bound(tiny, small, slots=10**7, cluster=huge)
    assert found == pytest.approx(1e15 * math.sqrt(1e15 * 1e12), rel=1e-3)
    assert found >= 1e15 * math.sqrt(1e15 * 1e12) * (1 - 1e-12)


@pytest.mark.parametrize("kind", ["sqrt", "sigmoid"])
def test_the_papers_size_takes_seconds_at_most(kind: str) -> None:
    rng = np.random.default_rng(1)
    utilities = {
        "sqrt": lambda: Sqrt(50),
        "sigmoid": lambda: Sigmoid(50, 0.5, float(rng.integers(300, 3000))),
    }
    jobs = tuple(
        job(
            f"j{n}",
            utilities[kind](),
            int(rng.integers(1, 6)),
            rate=float(rng.integers(50, 501)),
            arrival=int(rng.integers(0, 200)),
        )
        for n in range(100)
    )
    start = time.perf_counter()
    clairvoyant_bound(Scenario(build_paper_cluster(rng), jobs, 200))
    assert time.perf_counter() - start < 10  # a fraction of a second; the machine may be busy
