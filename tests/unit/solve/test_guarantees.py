"""Ratios and violation factors, against numbers worked out by hand."""

import math

import numpy as np
import pytest

from gadget.model.cluster import Cluster, Link, Server
from gadget.model.decision import Decision, Status, Surrogate
from gadget.model.job import ActiveJob, Job
from gadget.model.resources import Resources
from gadget.model.ring import Allocation
from gadget.model.snapshot import Snapshot
from gadget.model.timing import Timing
from gadget.model.utility import Energy, Linear, Sigmoid, Sqrt, Utility
from gadget.solve.guarantees import (
    admits_certificate,
    certified_ratio,
    edge_violation_factor,
    find_gamma,
    find_targets,
    node_violation_factor,
    paper_ratio,
    selection_ratio,
    slot_ratio,
    violation_chance,
)
from gadget.solve.slot import build_slot_problem


def job(utility: Utility | None = None, **more: object) -> Job:
    fields = {"rate": 1, "max_workers": 4, "bandwidth_gbps": 1, "resources": Resources({"gpu": 1}), **more}
    return Job(name="j", utility=utility or Sqrt(), **fields)  # type: ignore[arg-type]


def decided(objective: float, bound: float | None, surrogate: Surrogate | None = None) -> Decision:
    return Decision(0, "p", Allocation(), (), objective, bound, Status.CERTIFIED, surrogate)


def test_the_papers_ratios() -> None:
    assert paper_ratio(5) == 1 / 16
    assert paper_ratio(1) == 1 / 4
    assert selection_ratio(5) == 1 / 5


def test_gamma_is_the_largest_relaxed_size_rounded_up() -> None:
    assert find_gamma([0.5, 3.2, 2]) == 4
    assert find_gamma([3 + 1e-12]) == 3  # the solver's dust
    assert find_gamma([0.2]) == 1
    assert find_gamma([]) == 1


@pytest.mark.parametrize(
    ("objective", "bound", "ratio"),
    [
        (3, 4, 0.75),
        (4, 4, 1),
        (4 + 1e-12, 4, 1),
        (0, 0, 1),
        (0, 4, 0),
        (-1, 4, 0),
        (-1, 0, 0),
        (3, None, None),
    ],
)
def test_the_ratio_of_a_slot(objective: float, bound: float | None, ratio: float | None) -> None:
    assert slot_ratio(decided(objective, bound)) == ratio
    # What was decided on counts, where it is not the true utility.
    assert slot_ratio(decided(0, 10, Surrogate(objective, bound))) == ratio


def test_the_certified_ratio_is_that_of_the_worst_slot() -> None:
    assert certified_ratio([1, 0.99, 1], [job()]) == pytest.approx(0.99 / 1.99)
    assert certified_ratio([1.0], []) == 0.5
    assert certified_ratio([0.0, 1.0]) == 0


def test_nothing_is_certified_without_proof() -> None:
    assert certified_ratio([]) is None
    assert certified_ratio([1.0, None]) is None
    assert certified_ratio([1.0], [job(), job(Sigmoid(1, 1, 1))]) is None


def test_what_a_certificate_takes_of_a_job() -> None:
    budget = Resources({"gpu": 9})
    timing = Timing(1, 1, 1, 1, 1)
    assert admits_certificate(job(budget=budget))
    assert admits_certificate(job(min_workers=2))
    assert admits_certificate(job(min_workers=2, budget=Resources({"tpu": 3})))  # it takes none of it
    assert admits_certificate(job(rate=None, timing=timing))
    assert not admits_certificate(job(min_workers=2, budget=budget))
    assert not admits_certificate(job(rate=None, timing=timing, budget=budget))
    assert not admits_certificate(job(Energy()))


def test_the_node_factor_by_hand() -> None:
    # Two jobs on three nodes: 1 and 2 a worker, up to 3 and 4 a mapping; the second cannot stand on node 2.
    demand = [[1, 1, 1], [2, 2, 0]]
    whole = [[3, 3, 3], [4, 4, 0]]
    # Δ = 3² + 2² = 13, ε = 2/4 on node 0.
    factor = node_violation_factor(demand, whole, [4, 8, 2])
    assert factor == pytest.approx(1 + 0.5 * math.sqrt(2 * 13 * math.log(3)))


def test_the_edge_factor_by_hand() -> None:
    # One job of four edges of 5 Gbps on four links, the thinnest with 10.
    factor = edge_violation_factor(np.full((1, 4), 5.0), np.full((1, 4), 20.0), [10, 20, 40, 40])
    assert factor == pytest.approx(1 + 0.5 * math.sqrt(2 * 16 * math.log(4)))


def test_nothing_to_place_or_nowhere_to_place_it_violates_nothing() -> None:
    assert node_violation_factor(np.zeros((0, 3)), np.zeros((0, 3)), [1, 1, 1]) == 1
    assert edge_violation_factor(np.zeros((2, 0)), np.zeros((2, 0)), []) == 1
    assert node_violation_factor([[0, 0]], [[0, 0]], [0, 5]) == 1


@pytest.mark.parametrize("seed", range(20))
def test_hoeffding_gives_the_chance_of_the_theorem(seed: int) -> None:
    rng = np.random.default_rng(seed)
    jobs, nodes = int(rng.integers(1, 30)), int(rng.integers(3, 40))
    capacity = rng.uniform(1, 10, nodes)
    demand = rng.uniform(0, 1, (jobs, nodes)) * capacity * (rng.random((jobs, nodes)) < 0.8)
    whole = demand * rng.integers(1, 6, (jobs, nodes))
    excess = (node_violation_factor(demand, whole, capacity) - 1) * capacity
    # P{A − E A ≥ t} ≤ exp(−2t²/Σ(range)²) for independent loads, each within its range.
    spread = (whole**2).sum(axis=0)
    chance = np.exp(-2 * excess**2 / np.where(spread > 0, spread, 1e-300))
    assert np.all(chance <= nodes**-4.0 * (1 + 1e-9))


def test_hoeffding_is_tight_when_every_demand_is_the_largest_share() -> None:
    nodes, jobs = 5, 7
    demand, whole = np.full((jobs, nodes), 0.25), np.full((jobs, nodes), 0.75)
    excess = node_violation_factor(demand, whole, np.ones(nodes)) - 1
    assert math.exp(-2 * excess**2 / (jobs * 0.75**2)) == pytest.approx(nodes**-4)


def test_chances_over_slots() -> None:
    assert violation_chance(10) == pytest.approx(1e-4)
    assert violation_chance(10, 200) == pytest.approx(1 - (1 - 1e-4) ** 200)
    assert violation_chance(10_000, 1) == pytest.approx(1e-16)  # not lost in 1 − (1 − x)
    assert violation_chance(1, 5) == 1


def test_targets_of_a_slot() -> None:
    # Three servers of 2, 4 and 0 GPUs; rings of 3 workers (1 GPU, 5 Gbps) and of 1 (2 GPUs).
    servers = tuple(Server(name, Resources({"gpu": n})) for name, n in (("a", 2), ("b", 4), ("c", 0)))
    cluster = Cluster(servers, ("sw",), tuple(Link((name, "sw"), 20) for name in "abc"))
    three = Job(
        name="three",
        resources=Resources({"gpu": 1}),
        min_workers=3,
        max_workers=3,
        bandwidth_gbps=5,
        rate=1,
        utility=Linear(),
    )
    one = job(Linear(), resources=Resources({"gpu": 2}), max_workers=1)
    problem = build_slot_problem(Snapshot(cluster, (ActiveJob(three), ActiveJob(one)), 0, 1))
    targets = find_targets(problem, 6.0)
    assert targets.objective == pytest.approx(2.0)
    # Δ = 3² + 1², ε = 2/2 (one on a); |V| = 3. Links: Δ = 3², ε = 5/20, |E| = 6.
    assert targets.node_factor == pytest.approx([1 + math.sqrt(20 * math.log(3))])
    assert targets.link_factor == pytest.approx(1 + 0.25 * math.sqrt(18 * math.log(6)))
