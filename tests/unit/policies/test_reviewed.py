"""Slots on which an earlier form of a policy decided badly."""

import pytest

from gadget import Energy, Linear, Scenario, Sigmoid, Status, Table, Timing
from gadget.policies.gadget import Gadget
from gadget.policies.gadget_paper import GadgetPaper
from gadget.policies.optimal import Optimal
from gadget.policies.policy import Policy, ask
from gadget.simulate.simulation import simulate
from tests.brute_optimum import find_optimum
from tests.unit.solve.small import alone, job, line, slot

EACH = pytest.mark.parametrize(
    "policy", [Gadget(), GadgetPaper(), Optimal()], ids=["gadget", "gadget-paper", "optimal"]
)


def sizes(policy: Policy, *jobs: object, gpus: float = 8, slots: int = 10) -> dict[str, int]:
    decision = ask(policy, slot(alone(gpu=gpus), *jobs, slots=slots), seed=0)  # type: ignore[arg-type]
    return {ring.job: ring.size for ring in decision.allocation.rings}


@EACH
def test_a_target_that_the_cluster_can_never_reach_is_not_chased(policy: Policy) -> None:
    # 100 workers would reach 1,000 in ten slots, the one GPU in a thousand; there are fifty.
    far, near = job("far", 100, Sigmoid(100, 0.1, 1000)), job("near", 1, Linear(0.05))
    assert sizes(policy, far, near, gpus=1, slots=50) == {"near": 1}


def test_relaxed_sizes_see_that_a_ring_with_timing_needs_its_whole_size() -> None:
    timing = Timing(gradient_mb=1000, reduce_gbps=10, forward_ms_per_sample=1, batch=10, backward_ms=100)
    timed = job("a", (2, 2), Linear(0.01), timing=timing)
    steady = job("b", 8, Linear(1), rate=100)
    snapshot = slot(alone(gpu=8), timed, steady)
    assert ask(GadgetPaper(), snapshot, seed=0).objective == pytest.approx(find_optimum(snapshot)[0])


@EACH
def test_room_is_not_filled_with_rings_that_lose(policy: Policy) -> None:
    # On the majorant nothing is gained or lost; truly the first slots lose.
    dips = job("dips", 1, Table(((0, 0), (10, -5), (100, 0))))
    assert sizes(policy, dips) == {}


@EACH
def test_a_ring_is_as_large_as_is_best_and_no_larger(policy: Policy) -> None:
    # 6n − n²: 5, 8, 9, 8, 5.
    assert sizes(policy, job("a", 5, Energy(Linear(6)))) == {"a": 3}


@pytest.mark.parametrize("policy", [Gadget(), Optimal()], ids=["gadget", "optimal"])
def test_best_by_the_majorant_is_not_called_optimal(policy: Policy) -> None:
    decision = ask(policy, slot(alone(gpu=1), job("a", 1, Sigmoid(100, 1, 50)), slots=100), seed=0)
    assert decision.upper_bound is not None
    assert decision.objective < decision.upper_bound
    assert decision.status is Status.CERTIFIED


def test_literal_gains_are_blind_to_a_far_target() -> None:
    far = job("a", 1, Sigmoid(100, 1, 2000))
    literal, seeing = GadgetPaper(majorant=False), GadgetPaper()
    assert sizes(literal, far, slots=3000) == {}
    assert sizes(seeing, far, slots=3000) == {"a": 1}


def test_a_run_that_breaks_constraints_has_no_ratio() -> None:
    # The LP puts a third of the ring on each server; whichever is drawn gets all three workers.
    scenario = Scenario(line(1, 1, 1), (job("a", (3, 3), Linear(1)),), 3)
    result = simulate(scenario, {"literal": GadgetPaper(literal=True), "kept": GadgetPaper()})
    assert result.summaries["kept"].mean.measured_ratio == pytest.approx(1)
    assert result.summaries["literal"].mean.violations == 3
    assert result.summaries["literal"].mean.measured_ratio is None
