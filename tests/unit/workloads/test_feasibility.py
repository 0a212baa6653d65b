"""What a scenario asks for against what there is, by hand and against the policies' own word."""

from dataclasses import replace

import pytest
from hypothesis import given

from gadget.model.builders import build_leaf_spine
from gadget.model.cluster import Cluster, Link, Server
from gadget.model.job import Job
from gadget.model.resources import Resources
from gadget.model.snapshot import Scenario
from gadget.model.timing import Timing
from gadget.model.utility import Linear
from gadget.policies.waiting import find_obstacle
from gadget.solve.network import compile_network
from gadget.workloads.feasibility import assess, count_slots
from tests.strategies import scenarios

CLUSTER = build_leaf_spine(2, 1, 2, resources=Resources({"gpu": 4}), server_gbps=10, uplink_gbps=10)


def make_job(name: str, **more: object) -> Job:
    values: dict[str, object] = {
        "max_workers": 4,
        "resources": Resources({"gpu": 1}),
        "bandwidth_gbps": 1.0,
        "rate": 1.0,
        "utility": Linear(1),
    }
    return Job(name=name, **{**values, **more})  # type: ignore[arg-type]


def test_load_by_hand() -> None:
    jobs = (
        make_job("a", work=8.0),  # 4 workers for 2 slots
        make_job("b", arrival=1, max_workers=16, min_workers=16, work=17.0),  # 16 for 2, the last not full
        make_job("c", arrival=4, budget=Resources({"gpu": 6})),  # 4 for 2
        make_job("late", arrival=9, work=1.0),
    )
    found = assess(Scenario(CLUSTER, jobs, 6))
    assert found.offered.tolist() == [4, 20, 16, 0, 4, 4]
    assert (found.resource, found.capacity) == ("gpu", 16)
    assert found.over.tolist() == [False, True, False, False, False, False]
    assert (found.peak_slot, found.peak_load) == (1, 1.25)
    assert found.mean_load == pytest.approx(0.5)
    assert found.backlog.tolist() == [0, 4, 4, 0, 0, 0]
    assert [(one.job, one.reason) for one in found.never] == [("late", "not-arrived")]


def test_jobs_without_end_ask_until_the_horizon() -> None:
    found = assess(Scenario(CLUSTER, (make_job("a", arrival=2),), 4))
    assert found.offered.tolist() == [0, 0, 4, 4]
    assert found.is_possible


def test_a_scenario_without_jobs_asks_for_nothing() -> None:
    found = assess(Scenario(CLUSTER, (), 3))
    assert found.offered.tolist() == [0, 0, 0]
    assert (found.mean_load, found.peak_load, found.is_possible) == (0, 0, True)


def test_slots_of_a_job_follow_its_speed() -> None:
    assert count_slots(make_job("a", work=8.0, rate=2.0), 60) == 1
    assert count_slots(make_job("a", work=8.1, rate=2.0), 60) == 2
    assert count_slots(make_job("a"), 60) == float("inf")
    # Rounding of decimal fractions takes no further slot.
    assert count_slots(make_job("a", work=0.3, rate=0.1, max_workers=3), 60) == 1
    timing = Timing(
        gradient_mb=0, reduce_gbps=1, forward_ms_per_sample=0, batch=1, backward_ms=1000, overhead_ms=0
    )
    timed = make_job("a", rate=None, timing=timing, work=2400.0)
    assert count_slots(timed, 60) == 10


@pytest.mark.parametrize(
    ("more", "said"),
    [
        ({"resources": Resources({"gpu": 5})}, "needs 5 gpu a worker; the largest server has 4"),
        ({"resources": Resources({"tpu": 1})}, "no server has tpu"),
        ({"min_workers": 17, "max_workers": 17}, "the empty cluster holds 16"),
        # No link carries it, so that a ring must lie within one server, and none is large enough.
        ({"min_workers": 5, "max_workers": 5, "bandwidth_gbps": 11.0}, "the empty cluster holds 4"),
        ({"min_workers": 3, "budget": Resources({"gpu": 2})}, "its budget pays for 2"),
    ],
)
def test_jobs_that_can_never_run_are_told_why(more: dict[str, object], said: str) -> None:
    fine = make_job("fine", work=1.0)
    small = make_job("small", min_workers=4, bandwidth_gbps=11.0, work=4.0)
    found = assess(Scenario(CLUSTER, (fine, make_job("j", **more), small, make_job("k", **more)), 3))
    assert [one.job for one in found.never] == ["j", "k"]
    assert all(said in one.detail for one in found.never)
    assert not found.is_possible


def test_a_cluster_without_the_resource_holds_nobody() -> None:
    cluster = Cluster((Server("s", Resources({})), Server("t", Resources({}))), (), (Link(("s", "t"), 1),))
    found = assess(Scenario(cluster, (make_job("a"),), 2))
    assert found.peak_load == float("inf")
    assert [one.job for one in found.never] == ["a"]


@given(scenarios())
def test_it_is_what_the_policies_would_say_of_an_empty_cluster(scenario: Scenario) -> None:
    found = {one.job: one.reason for one in assess(scenario).never}
    network = compile_network(scenario.cluster)
    last = replace(scenario.snapshot(scenario.slots - 1))
    for active in last.jobs:
        obstacle = find_obstacle(last, network, active)
        assert found.get(active.job.name) == (obstacle and obstacle.reason)


@given(scenarios())
def test_offered_load_is_what_every_job_takes_in_its_largest_ring(scenario: Scenario) -> None:
    found = assess(scenario)
    asked = sum(
        job.max_workers
        * job.resources.get(found.resource, 0)
        * min(max(0, scenario.slots - job.arrival), count_slots(job, scenario.slot_seconds))
        for job in scenario.jobs
    )
    assert found.offered.sum() == pytest.approx(asked)
    assert (found.offered >= 0).all()
    assert (found.backlog >= 0).all()
