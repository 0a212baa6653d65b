"""The default policy on ten thousand slots that are hard on it: no crash, no violation, no false claim."""

import re
from dataclasses import replace

import pytest
from hypothesis import given, settings

from gadget.model.claims import find_false_claims
from gadget.model.cluster import Server
from gadget.model.referee import find_violations
from gadget.model.resources import Resources
from gadget.policies.gadget import Gadget
from gadget.policies.optimal import Optimal
from gadget.policies.policy import ask
from gadget.solve.greedy import place_greedily
from gadget.solve.network import compile_network
from gadget.solve.room import Room
from tests.brute_optimum import find_optimum
from tests.nasty_slots import nasty_slots
from tests.strategies import snapshots
from tests.tiny_slots import running_slots, tiny_slots


def judge(snapshot, decision):
    assert find_violations(snapshot, decision.allocation) == []
    assert find_false_claims(snapshot, decision) == []
    told = {one.job for one in decision.waiting} | decision.allocation.ring_of.keys()
    assert told == {active.job.name for active in snapshot.jobs}


@pytest.mark.parametrize("part", range(4))
@settings(max_examples=1250)
@given(snapshot=nasty_slots())
def test_nasty_slots(part, snapshot):
    judge(snapshot, ask(Gadget(), snapshot, part))


@pytest.mark.parametrize("part", range(2))
@settings(max_examples=1250)
@given(snapshot=snapshots(wild=True))
def test_whatever_a_file_may_hold(part, snapshot):
    judge(snapshot, ask(Gadget(), snapshot, part))


@pytest.mark.parametrize("part", range(2))
@settings(max_examples=750)
@given(snapshot=snapshots())
def test_small_slots(part, snapshot):
    judge(snapshot, ask(Gadget(), snapshot, part))


@settings(max_examples=1000)
@given(snapshot=tiny_slots())
def test_the_optimum_lies_between_the_rings_and_the_bound(snapshot):
    decision = ask(Gadget(gap=0), snapshot, 0)
    judge(snapshot, decision)
    best, _ = find_optimum(snapshot)
    assert decision.objective <= best * (1 + 1e-9) + 1e-12
    assert decision.upper_bound >= best * (1 - 1e-9)


CHANGE = re.compile(r"a ring of (\d+) would run with (.*) on (\S+) \(worth")


@settings(max_examples=400)
@given(snapshot=nasty_slots())
def test_the_room_that_is_said_to_be_missing_is_all_that_is_missing(snapshot):
    decision = ask(Gadget(), snapshot, 0)
    for waiting in decision.waiting:
        if told := CHANGE.search(waiting.detail):
            more = {name: float(amount) for amount, name in re.findall(r"(\S+) more (\S+)", told[2])}
            roomier = replace(
                snapshot.cluster,
                servers=tuple(
                    Server(
                        one.name,
                        Resources(
                            {
                                name: one.resources.get(name, 0) + more.get(name, 0) * (1 + 1e-3)
                                for name in {*one.resources, *more}
                            }
                        ),
                    )
                    if one.name == told[3]
                    else one
                    for one in snapshot.cluster.servers
                ),
            )
            room = Room(compile_network(roomier))
            for ring in decision.allocation.rings:
                room.take(snapshot.job_by_name[ring.job].job, ring)
            job = snapshot.job_by_name[waiting.job].job
            assert job.min_workers == int(told[1])
            assert place_greedily(room, job, job.min_workers) is not None


@settings(max_examples=600)
@given(snapshot=running_slots())
def test_the_optimum_lies_between_where_rings_run_and_moving_costs(snapshot):
    decision = ask(Gadget(gap=0), snapshot, 0)
    judge(snapshot, decision)
    best, _ = find_optimum(snapshot)
    assert decision.objective <= best * (1 + 1e-9) + 1e-12
    assert decision.upper_bound >= best * (1 - 1e-9)


@settings(max_examples=300)
@given(snapshot=running_slots(tree=True))
def test_on_a_tree_optimal_knows_what_moving_costs(snapshot):
    decision = ask(Optimal(), snapshot, 0)
    judge(snapshot, decision)
    best, _ = find_optimum(snapshot)
    assert decision.objective == pytest.approx(best, rel=1e-6, abs=1e-9)
