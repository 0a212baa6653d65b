"""The default policy on ten thousand slots that are hard on it: no crash, no violation, no false claim."""

import pytest
from hypothesis import given, settings

from gadget.model.claims import find_false_claims
from gadget.model.referee import find_violations
from gadget.policies.gadget import Gadget
from gadget.policies.policy import ask
from tests.brute_optimum import find_optimum
from tests.nasty_slots import nasty_slots
from tests.strategies import snapshots
from tests.tiny_slots import tiny_slots


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
