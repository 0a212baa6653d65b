"""Finish-time fairness, on ρ worked out by hand."""

import pytest

from gadget.errors import BadOption
from gadget.model.job import ActiveJob
from gadget.model.snapshot import Snapshot
from gadget.policies.registry import build_policy
from gadget.policies.themis import find_unfairness
from tests.unit.policies.schedules import decide, job, run, sizes, star


def find_rho(active: ActiveJob, workers: int, crowding: float, slot: int) -> float:
    return find_unfairness(Snapshot(star(4), (active,), slot, 100), active, workers, crowding)


def test_rho_is_shared_time_over_time_on_its_own_part() -> None:
    # 8 of work on 4 workers take 2 slots. Alone on half of the cluster 4; having waited 2 slots, 2 + 2.
    assert find_rho(ActiveJob(job("x", 4, work=8)), 4, crowding=2, slot=2) == pytest.approx(1)
    # Half done: one slot less to go, the same alone.
    assert find_rho(ActiveJob(job("x", 4, work=8), served=4), 4, crowding=2, slot=2) == pytest.approx(3 / 4)
    # A ring that fits into its own part takes no longer there.
    assert find_rho(ActiveJob(job("x", 4, work=8)), 4, crowding=0.5, slot=0) == pytest.approx(1)
    # Waiting weighs nothing against no end.
    assert find_rho(ActiveJob(job("x", 4)), 4, crowding=2, slot=50) == pytest.approx(1 / 2)


def test_offers_go_to_the_worst_off_who_take_what_lowers_their_rho() -> None:
    # n = 2, so that each ring of 4 has half a cluster of its own: ρ of x is (2 + 2)/4, of y (0 + 2)/4.
    x, y = job("x", 4, least=1, work=8), job("y", 4, least=1, work=8, arrival=2)
    # f = 0.8: one of two is offered, x, and takes all.
    assert sizes(decide("themis", star(4), x, y, slot=2)) == {"x": 4}
    # f = 0: both are. One each; then ln ρ falls by ln 2 for y, by ln(10/6) for x; then by ln(10/6) for x, by
    # ln(3/2) for y.
    assert sizes(decide("themis:fairness=0", star(4), x, y, slot=2)) == {"x": 2, "y": 2}


def test_what_the_worst_off_leave_goes_to_the_others() -> None:
    x, y = job("x", 2, least=1, work=8), job("y", 4, least=1, work=8, arrival=2)
    assert sizes(decide("themis", star(4), y, x, slot=2)) == {"x": 2, "y": 2}


def test_rigid_jobs_take_turns() -> None:
    # Both need both GPUs for 2 slots; each has half a cluster of its own: 4 slots.
    # Slot 0: ρ = 2/4 for both; p came first. Slot 1: p (1 + 1)/4, q (1 + 2)/4: q.
    # Slot 2: p (2 + 1)/4, q (2 + 1)/4: p, and then q is alone.
    jobs = (job("p", 2, work=4), job("q", 2, work=4))
    assert run("themis", star(2), *jobs, slots=5) == [{"p": 2}, {"q": 2}, {"p": 2}, {"q": 2}, {}]


def test_fairness_is_a_share() -> None:
    with pytest.raises(BadOption, match="Give a share from 0 to 1"):
        build_policy("themis:fairness=1.5")
    with pytest.raises(BadOption, match="Give a share from 0 to 1"):
        build_policy("themis:fairness=nan")
