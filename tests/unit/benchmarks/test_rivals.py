"""The rivals' programs: cases worked by hand, and rings that the referee lets pass."""

import math

import pytest
from benchmarks.parts.instances import on_graph, paper_sized, racks, starved, two_resources
from benchmarks.parts.rivals import Answer, solve_gavel, solve_sia

from gadget.model.builders import build_leaf_spine
from gadget.model.cluster import Cluster, Link, Server
from gadget.model.job import ActiveJob, Job
from gadget.model.referee import find_violations
from gadget.model.resources import Resources
from gadget.model.snapshot import Snapshot
from gadget.model.utility import Linear, Sqrt, Utility
from gadget.policies.solving import solve
from gadget.solve.lp import Outcome

LINEAR = Linear()


def one_server(gpus: int) -> Cluster:
    return Cluster((Server("s", Resources({"gpu": gpus})),), (), ())


def job(name: str, most: int, utility: Utility = LINEAR, gbps: float = 1, gpus: int = 1) -> Job:
    return Job(
        name=name,
        resources=Resources({"gpu": gpus}),
        max_workers=most,
        utility=utility,
        bandwidth_gbps=gbps,
        rate=1,
    )


def slot(cluster: Cluster, *jobs: Job) -> Snapshot:
    return Snapshot(cluster, tuple(map(ActiveJob, jobs)), 0, 10)


def sizes(answer: Answer) -> dict[str, int]:
    return {ring.job: ring.size for ring in answer.allocation.rings}


def test_gavel_shares_equally_between_equal_jobs() -> None:
    answer = solve_gavel(slot(one_server(4), job("a", 4), job("b", 4)))
    assert answer.outcome is Outcome.OPTIMAL
    assert sizes(answer) == {"a": 2, "b": 2}
    assert answer.objective == pytest.approx(4)


def test_gavel_keeps_the_floor_though_another_job_gains_more() -> None:
    # An equal share is 4/3 of four GPUs; c can use 1. All have that, and the last third goes to a or to b.
    answer = solve_gavel(slot(one_server(4), job("a", 4, Linear(9)), job("b", 4), job("c", 1)))
    assert sizes(answer)["c"] == 1
    assert sorted(sizes(answer).values()) == [1, 1, 2]
    either = (9 * 5 / 3 + 4 / 3 + 1, 9 * 4 / 3 + 5 / 3 + 1)
    assert any(answer.planned_objective == pytest.approx(value, abs=1e-4) for value in either)


def test_gavel_gives_what_a_small_job_cannot_use_to_the_other() -> None:
    # Equal shares are 2; a can use one only, so b has the three that are left.
    answer = solve_gavel(slot(one_server(4), job("a", 1, Sqrt()), job("b", 4, Sqrt())))
    assert sizes(answer) == {"a": 1, "b": 3}
    assert answer.planned_objective == pytest.approx(1 + math.sqrt(3), abs=1e-4)


def test_gavel_hands_out_what_rounding_down_leaves() -> None:
    # Three jobs have 2/3 of a worker each; two of them get one.
    answer = solve_gavel(slot(one_server(2), job("a", 2), job("b", 2), job("c", 2)))
    assert sorted(sizes(answer).values()) == [1, 1]


def test_sia_picks_the_best_configurations_of_one_server() -> None:
    # Sizes 1, 2, 4 on four GPUs. √: 2 + 2 gains 2.83, 4 gains 2, 1 + 2 gains 2.41; three is not on offer.
    answer = solve_sia(slot(one_server(4), job("a", 4, Sqrt()), job("b", 4, Sqrt())))
    assert answer.outcome is Outcome.OPTIMAL
    assert sizes(answer) == {"a": 2, "b": 2}
    assert answer.objective == answer.planned_objective == pytest.approx(2 * math.sqrt(2))


def test_sia_has_no_three_workers_where_servers_hold_four() -> None:
    assert sizes(solve_sia(slot(one_server(4), job("a", 3)))) == {"a": 2}


def test_sia_takes_whole_servers_once_a_ring_needs_several() -> None:
    cluster = build_leaf_spine(1, 1, 3, resources=Resources({"gpu": 4}))
    assert sizes(solve_sia(slot(cluster, job("a", 11)))) == {"a": 8}
    assert sizes(solve_sia(slot(cluster, job("a", 12)))) == {"a": 12}
    # Two GPUs a worker: a server holds two, three of them six.
    assert sizes(solve_sia(slot(cluster, job("a", 12, gpus=2)))) == {"a": 6}


def test_sia_keeps_a_ring_on_servers_of_one_type() -> None:
    cluster = Cluster(
        (Server("big", Resources({"gpu": 4})), Server("small", Resources({"gpu": 2}))),
        (),
        (Link(("big", "small"), 10),),
    )
    answer = solve_sia(slot(cluster, job("a", 6), job("b", 2)))
    assert {ring.job: set(ring.workers) for ring in answer.allocation.rings} == {"a": {"big"}, "b": {"small"}}


@pytest.mark.parametrize("rival", [solve_gavel, solve_sia])
def test_a_ring_that_links_do_not_carry_is_left_out_or_shrunk(rival) -> None:
    # Two servers of three GPUs, three jobs with two workers each: one of them has to cross, and cannot.
    cluster = build_leaf_spine(1, 1, 2, resources=Resources({"gpu": 3}), server_gbps=1.5)
    snapshot = slot(cluster, *(job(name, 2, gbps=2) for name in "abc"))
    assert rival(snapshot).planned_objective == pytest.approx(6, abs=1e-4)
    assert rival(snapshot).objective == pytest.approx(4)
    assert rival(snapshot, shrink=True).objective == pytest.approx(5)


@pytest.mark.parametrize("rival", [solve_gavel, solve_sia])
def test_sizes_that_no_ring_can_have_are_not_asked_for(rival) -> None:
    cluster = build_leaf_spine(1, 1, 2, resources=Resources({"gpu": 2}), server_gbps=1.5)
    assert sizes(rival(slot(cluster, job("a", 4, gbps=2)))) == {"a": 2}


@pytest.mark.parametrize("rival", [solve_gavel, solve_sia])
def test_nothing_comes_of_nothing(rival) -> None:
    for snapshot in (slot(one_server(2)), slot(one_server(2), job("a", 4, gpus=4))):
        answer = rival(snapshot)
        assert answer.objective == answer.planned_objective == 0
        assert not answer.allocation.rings


@pytest.mark.parametrize("rival", [solve_gavel, solve_sia])
@pytest.mark.parametrize("shrink", [False, True])
@pytest.mark.parametrize(
    "snapshot",
    [
        paper_sized(0, 30, 12),
        starved(1, 12, 30, 0.03),
        two_resources(2, 12, 30, 0.05),
        on_graph(1, 12, 20, 0.03),
        racks(3, 3, 4, 20, max_workers=32, mixed=True),
    ],
    ids=["paper", "starved", "two resources", "graph", "racks"],
)
def test_rings_placed_are_feasible_and_worth_what_is_said(snapshot, shrink, rival) -> None:
    answer = rival(snapshot, shrink=shrink)
    assert not find_violations(snapshot, answer.allocation)
    assert answer.objective == pytest.approx(snapshot.objective(answer.allocation))
    assert answer.objective > 0
    assert answer.seconds > 0
    assert answer.description


@pytest.mark.parametrize("seed", range(3))
def test_no_rival_is_above_the_optimum(seed: int) -> None:
    snapshot = two_resources(seed, 6, 12, 0.03)
    best = solve(snapshot, "optimal", time_limit=20).objective
    assert solve_gavel(snapshot).objective <= best * (1 + 1e-9)
    assert solve_sia(snapshot).objective <= best * (1 + 1e-9)
