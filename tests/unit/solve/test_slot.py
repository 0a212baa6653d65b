"""The slot problem as arrays: which pairs of job and ring size are listed, and what they gain."""

import math
from dataclasses import replace

import numpy as np
import pytest

from gadget import (
    ActiveJob,
    Cluster,
    Energy,
    Linear,
    Resources,
    Sigmoid,
    Sqrt,
    Table,
    Timing,
    build_ring4,
    find_false_claims,
)
from gadget.policies.optimal import Optimal
from gadget.policies.policy import ask
from gadget.solve.slot import SlotProblem, build_slot_problem
from tests.brute_optimum import find_optimum
from tests.unit.solve.small import alone, islands, job, line, problem_of, slot


def pairs(problem: SlotProblem) -> list[tuple[str, int]]:
    names = [active.job.name for active in problem.jobs]
    return [(names[k], int(n)) for k, n in zip(problem.pair_job, problem.pair_size, strict=True)]


def test_pairs_are_listed_by_job_with_rising_sizes_and_their_gains() -> None:
    problem = problem_of(alone(gpu=3), job("a", 2), job("b", (2, 3), Sqrt(2)))
    assert pairs(problem) == [("a", 1), ("a", 2), ("b", 2), ("b", 3)]
    assert problem.pair_gain == pytest.approx([1, 2, 2 * math.sqrt(2), 2 * math.sqrt(3)])
    assert problem.most_workers().tolist() == [2, 3]
    assert not problem.is_surrogate
    assert problem.gain(1, 3) == pytest.approx(2 * math.sqrt(3))
    assert problem.gain(1, 1) == 0


def test_demands_and_places_are_in_order_of_jobs_servers_and_resources() -> None:
    cluster = line(3, 1, gbps=7)
    problem = problem_of(cluster, job("a", 5), job("b", 2, needs={"gpu": 1.5}, gbps=2))
    assert problem.demand.tolist() == [[1], [1.5]]
    assert problem.gbps.tolist() == [1, 2]
    assert problem.fits.tolist() == [[3, 1], [2, 0]]
    assert problem.network.link_gbps.tolist() == [7, 7]


@pytest.mark.parametrize(
    "waiting",
    [
        job("x", needs={"tpu": 1}),
        job("x", needs={"gpu": 4}),
        job("x", (4, 5)),
        job("x", arrival=3),
        job("x", budget=Resources({"gpu": 0.5})),
        job("x", 2, Energy()),
        ActiveJob(job("x", (2, 2), budget=Resources({"gpu": 9})), served=8),
    ],
)
def test_jobs_that_cannot_or_should_not_run_have_no_pairs(waiting: ActiveJob) -> None:
    problem = problem_of(alone(gpu=3), job("a", 1), waiting)
    assert pairs(problem) == [("a", 1)]


def test_a_job_of_this_slot_has_arrived() -> None:
    assert pairs(build_slot_problem(slot(alone(gpu=1), job(arrival=3), at=3))) == [("a", 1)]


def test_sizes_end_where_no_ring_of_that_size_closes() -> None:
    one_each = {"resources": Resources({"gpu": 1})}
    assert len(pairs(problem_of(build_ring4(**one_each, gbps=1), job("a", 9)))) == 4
    assert len(pairs(problem_of(build_ring4(**one_each, gbps=0.5), job("a", 9)))) == 1
    # Two pieces of two servers each, of which one is roomier.
    apart = line(1, 2, 5, 1)
    apart = replace(apart, links=(apart.links[0], replace(apart.links[1], gbps=0.5), apart.links[2]))
    assert len(pairs(problem_of(apart, job("a", 9)))) == 6
    assert len(pairs(problem_of(islands(2, 3, 1), job("a", 9)))) == 3


def test_the_budget_ends_the_sizes() -> None:
    rich = job("a", 5, budget=Resources({"gpu": 8}))
    assert len(pairs(problem_of(alone(gpu=9), ActiveJob(rich, served=5)))) == 3


def test_worthwhile_pairs_gain_something() -> None:
    # 6κ − κ² for κ = 1 … 8: 5, 8, 9, 8, 5, 0, −7, −16.
    problem = problem_of(alone(gpu=8), job("a", 8, Energy(Linear(6))))
    assert problem.pair_gain.tolist() == [5, 8, 9, 8, 5, 0]
    assert problem.worthwhile().pair_size.tolist() == [1, 2, 3, 4, 5]
    flat = problem_of(alone(gpu=8), job("a", 2, Linear(0)), job("b", 1))
    assert len(flat.worthwhile().jobs) == 2
    assert pairs(flat.worthwhile()) == [("b", 1)]


def test_keeping_pairs_keeps_the_numbers_of_jobs() -> None:
    problem = problem_of(alone(gpu=3), job("a", 2), job("b", 2))
    kept = problem.keep_pairs(problem.pair_job == 1)
    assert pairs(kept) == [("b", 1), ("b", 2)]
    assert kept.pair_job.tolist() == [1, 1]
    assert kept.most_workers().tolist() == [0, 2]


@pytest.mark.parametrize("cluster", [Cluster((), (), ()), Cluster((), ("w",), ()), alone(gpu=0), alone()])
def test_nowhere_to_run_is_an_empty_problem(cluster: Cluster) -> None:
    problem = problem_of(cluster, job("a", 3))
    assert pairs(problem) == []
    assert problem.demand.shape == (len(problem.jobs), len(cluster.resource_names))
    assert problem.fits.shape == (len(problem.jobs), len(cluster.servers))


def test_no_jobs_are_an_empty_problem() -> None:
    problem = problem_of(line(1, 1))
    assert pairs(problem) == []
    assert problem.demand.shape == (0, 1)
    assert problem.fits.shape == (0, 2)


# Majorants.


def test_a_majorant_stands_in_for_a_utility_that_is_not_concave() -> None:
    # Worth 0, 0, 6, 6.5 after 1 … 4 worker-slots of 4 reachable: the chord to 3 has slope 2.
    step = Table(((0, 0), (2, 0), (3, 6), (4, 6.5)))
    snapshot = slot(alone(gpu=4), job("a", 4, step), slots=1)
    problem = build_slot_problem(snapshot)
    assert problem.pair_gain == pytest.approx([2, 4, 6, 6.5])
    assert problem.true_gain == pytest.approx([0, 0, 6, 6.5])
    assert problem.is_surrogate
    literal = build_slot_problem(snapshot, majorant=False)
    assert literal.pair_gain == pytest.approx([0, 0, 6, 6.5])
    assert not literal.is_surrogate


def test_a_majorant_reaches_as_far_as_the_slots_and_the_budget_do() -> None:
    # Worth 10 at 10 worker-slots and no sooner. One worker a slot, two slots left: out of reach, 0.
    late = job("a", 1, Table(((0, 0), (9, 0), (10, 10))))
    assert build_slot_problem(slot(alone(gpu=1), late, slots=2)).pair_gain == pytest.approx([0])
    assert build_slot_problem(slot(alone(gpu=1), late, slots=20)).pair_gain == pytest.approx([1])
    poor = replace(late, budget=Resources({"gpu": 9}))
    assert build_slot_problem(slot(alone(gpu=1), poor, slots=20)).pair_gain == pytest.approx([0])


TIMING = Timing(gradient_mb=1000, reduce_gbps=10, forward_ms_per_sample=1, batch=10, backward_ms=100)


@pytest.mark.parametrize("target", [10, 50, 300])
@pytest.mark.parametrize("budget", [None, Resources({"gpu": 2})])
def test_a_majorant_is_nowhere_below_a_utility_with_timing(target: float, budget: Resources | None) -> None:
    # A ring of one has nothing to send and does 38 times the work of a ring of two: far more than as many
    # worker-slots do at the pace of the largest ring.
    timed = job("a", 5, Sigmoid(10, 0.05, target), timing=TIMING, budget=budget)
    snapshot = slot(alone(gpu=8), timed, slots=3)
    problem = build_slot_problem(snapshot)
    assert np.all(problem.pair_gain >= problem.true_gain - 1e-12)
    decision = ask(Optimal(), snapshot, seed=0)
    assert find_false_claims(snapshot, decision) == []
    assert decision.upper_bound is not None
    assert decision.upper_bound >= find_optimum(snapshot)[0]


def test_a_ring_of_many_thousand_workers_has_a_majorant() -> None:
    huge = job("a", 30_000, Sigmoid(10, 0.1, 100))
    problem = problem_of(alone(gpu=30_000), huge)
    assert len(problem.pair_gain) == 30_000
    assert np.all(problem.pair_gain >= problem.true_gain - 1e-12)


def test_a_target_many_worker_slots_away_is_seen() -> None:
    # 1,000 workers for 200 slots reach 200,000 worker-slots; the step is at 100,000. A slot of all workers
    # is a hundredth of the way: 0.1.
    far = job("a", 1000, Sigmoid(10, 1, 100_000))
    problem = build_slot_problem(slot(alone(gpu=1000), far, slots=200))
    assert problem.pair_gain[-1] == pytest.approx(0.1, rel=0.01)


def test_with_timing_a_target_is_seen_that_the_fastest_ring_reaches() -> None:
    # A ring of one does 545 a slot, one of five 22. After four slots of one the target of 2,000 is passed, so
    # that a slot of it is worth a quarter of the way; ten slots of five would not even get near.
    timed = job("a", 5, Sigmoid(10, 0.05, 2000), timing=TIMING)
    problem = build_slot_problem(slot(alone(gpu=8), timed, slots=10))
    assert problem.pair_gain[0] == pytest.approx(10 / 4, rel=0.01)
