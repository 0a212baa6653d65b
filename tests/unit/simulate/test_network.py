"""How fast rings really are: reserved and shared links, Eq. (1) for the ring as it lies, slow restarts."""

from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gadget import (
    Cluster,
    Job,
    Linear,
    Link,
    Resources,
    Ring,
    Scenario,
    Server,
    Timing,
)
from gadget.errors import BadOption
from gadget.simulate.network import NetworkMode, find_work, make_optimistic, without_limits
from gadget.simulate.simulation import simulate, slow_restarts
from tests.strategies import scenarios

# Two servers of two GPUs on links of 4 Gbps.
PAIR = Cluster(
    (Server("a", Resources({"gpu": 2})), Server("b", Resources({"gpu": 2}))),
    ("w",),
    (Link(("a", "w"), 4), Link(("b", "w"), 4)),
)
ACROSS = (("a", "w", "b"), ("b", "w", "a"))
# d = 500 MB is 4 gigabits: at 4 Gbps a ring of two takes 4/2 · (2/4) = 1 s to reduce, beside 1 s of computing
TIMING = Timing(500, 1e6, 0, 0, 1000, 0)


def job(name, *, most=2, least=None, gbps=4.0, **more):
    speed = {} if "timing" in more else {"rate": 10}
    return Job(
        name=name,
        resources=Resources({"gpu": 1}),
        max_workers=most,
        min_workers=most if least is None else least,
        utility=Linear(1),
        bandwidth_gbps=gbps,
        **{**speed, **more},
    )


def seen(jobs, rings, mode, restarting=frozenset()):
    snapshot = Scenario(PAIR, tuple(jobs), 5, 60.0).snapshot(0)
    return {one.job: one.work for one in find_work(snapshot, rings, mode, frozenset(restarting))}


def test_two_rings_on_one_pair_of_links_halve_each_other():
    jobs = [job("x"), job("y")]
    rings = [Ring(name, ("a", "b"), ACROSS) for name in "xy"]
    assert seen(jobs, rings[:1], NetworkMode.SHARED) == {"x": 20}
    assert seen(jobs, rings, NetworkMode.SHARED) == {"x": 10, "y": 10}
    assert seen(jobs, rings, NetworkMode.RESERVED) == {"x": 20, "y": 20}


def test_a_timed_ring_runs_at_its_slowest_edge():
    one = job("x", timing=TIMING)
    across, inside = Ring("x", ("a", "b"), ACROSS), Ring("x", ("a", "a"), (("a",), ("a",)))
    assert seen([one], [across], NetworkMode.RESERVED)["x"] == pytest.approx(2 * 60 / 2, rel=1e-5)
    # Half the bandwidth: 2 s to reduce.
    other = Ring("y", ("a", "b"), ACROSS)
    both = seen([one, job("y", timing=TIMING)], [across, other], NetworkMode.SHARED)
    assert both["x"] == pytest.approx(2 * 60 / 3, rel=1e-5)
    # Inside a server there is no link: its own bandwidth, or the one that it has there.
    fast = replace(one, timing=replace(TIMING, local_gbps=40.0))
    assert seen([one], [inside], NetworkMode.RESERVED)["x"] == pytest.approx(2 * 60 / 2, rel=1e-5)
    assert seen([fast], [inside], NetworkMode.RESERVED)["x"] == pytest.approx(2 * 60 / 1.1, rel=1e-5)


def test_more_bandwidth_than_asked_for_helps_timing_alone():
    slow = job("x", gbps=1.0)
    timed = replace(job("y", timing=TIMING), bandwidth_gbps=1.0)
    ring = Ring("x", ("a", "b"), ACROSS)
    assert seen([slow], [ring], NetworkMode.SHARED) == {"x": 20}
    assert seen([timed], [replace(ring, job="y")], NetworkMode.SHARED)["y"] == pytest.approx(60, rel=1e-5)


def test_policies_that_do_not_look_at_links_pay_in_speed_not_by_refusal():
    # One GPU on each server, so that a ring of two must cross links of half of what it wants.
    servers = tuple(Server(name, Resources({"gpu": 1})) for name in "ab")
    thin = Scenario(replace(PAIR, servers=servers), (job("x", gbps=8.0),), 1)
    assert simulate(thin, "fifo").runs[0].slots[0].embedded == 0
    shared = simulate(thin, "fifo", network="shared").runs[0]
    assert shared.slots[0].embedded == 1
    assert shared.jobs[0].work == pytest.approx(10)
    # A policy that reserves is shown the links as they are.
    assert simulate(thin, "gadget", network="shared").runs[0].slots[0].embedded == 0


def test_a_restart_takes_time():
    # Of x's ring nothing goes on after slot 0: y comes and takes a GPU away, then leaves.
    one = job("x", most=2, least=1, restart_seconds=15.0)
    assert one.work_in_slot(2, 60, restart=True) == pytest.approx(15)
    assert one.work_in_slot(2, 10, restart=True) == 0
    assert replace(one, resize_cost=5).work_in_slot(2, 60, restart=True) == pytest.approx(10)
    rings = [Ring("x", ("a", "b"), ACROSS)]
    assert seen([one], rings, NetworkMode.SHARED, {"x"}) == {"x": 15}


def test_who_says_that_restarts_take_no_time_is_believed():
    said, silent, endless = job("x", work=9, restart_seconds=0.0), job("y", work=9), job("z")
    scenario = Scenario(PAIR, (said, silent, endless), 2)
    assert [one.restart_seconds for one in slow_restarts(scenario, None).jobs] == [0, 8, None]
    assert [one.restart_seconds for one in slow_restarts(scenario, 3).jobs] == [0, 3, 3]
    assert [one.restart_seconds for one in slow_restarts(scenario, 0).jobs] == [0, 0, 0]


def test_a_restart_time_for_all_leaves_those_that_name_their_own():
    scenario = Scenario(PAIR, (job("x"), job("y", restart_seconds=3.0)), 2)
    (run,) = simulate(scenario, "fifo", restart_seconds=20).runs
    assert run.complete
    with pytest.raises(BadOption, match="restart_seconds is -1"):
        simulate(scenario, "fifo", restart_seconds=-1)


@settings(max_examples=60)
@given(
    scenario=scenarios(), mode=st.sampled_from(NetworkMode), policy=st.sampled_from(("fifo", "las", "gadget"))
)
def test_no_work_is_lost_or_made_up_and_no_bound_is_broken(scenario, mode, policy):
    result = simulate(scenario, policy, network=mode)
    (run,) = result.runs
    known = {job.name: job for job in scenario.jobs}
    fastest = {job.name: job for job in make_optimistic(scenario, mode).jobs}
    for one in run.jobs:
        whole = known[one.job]
        assert 0 <= one.work <= (whole.work or float("inf")) * (1 + 1e-9)
        quick = fastest[one.job]
        # The smallest ring is fastest a worker.
        pace = float(quick.work_in_slot(quick.min_workers, scenario.slot_seconds)) / quick.min_workers
        assert one.work <= pace * one.worker_slots * (1 + 1e-9) + 1e-9
    if result.guarantees.upper_bound is not None:
        assert (
            run.total_utility
            <= result.guarantees.upper_bound + 1e-6 * abs(result.guarantees.upper_bound) + 1e-9
        )


def test_links_without_limits_are_made_once():
    assert without_limits(PAIR) is without_limits(PAIR)
    assert {link.gbps for link in without_limits(PAIR).links} == {1e15}
