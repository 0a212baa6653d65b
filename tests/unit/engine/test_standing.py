"""Steady policies are not asked again while nothing changes, and that changes nothing."""

from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gadget import Scenario, ServerFailed
from gadget.model.claims import find_false_claims
from gadget.model.utility import Linear
from gadget.policies.policy import Steadiness, ask
from gadget.policies.registry import POLICIES, build_policy
from gadget.simulate.loop import Planned, run_slots
from tests.strategies import scenarios
from tests.unit.policies.schedules import job, star

KIND = {name: getattr(build_policy(name), "steadiness", None) for name in POLICIES}
STEADY = [name for name, kind in KIND.items() if kind not in (None, Steadiness.WHILE_GAINS_HOLD)]
SEEKING = [name for name, kind in KIND.items() if kind is Steadiness.WHILE_GAINS_HOLD]


class Restless:
    """A policy that says nothing of its steadiness, and counts how often it is asked."""

    def __init__(self, policy):
        self._policy, self.asked = policy, 0

    def decide(self, snapshot, rng):
        self.asked += 1
        return self._policy.decide(snapshot, rng)


class Steady(Restless):
    """The same with its steadiness."""

    def __init__(self, policy):
        super().__init__(policy)
        self.steadiness = policy.steadiness


def decisions(scenario, policy, planned=()):
    return [replace(step.decision, seconds=0.0) for step in run_slots(scenario, policy, planned=planned)]


@pytest.mark.parametrize("name", STEADY)
@settings(max_examples=60)
@given(scenario=scenarios(), failure=st.integers(0, 7))
def test_what_stands_is_what_would_be_decided(name, scenario, failure):
    planned = [Planned(failure, ServerFailed(scenario.cluster.servers[0].name))]
    policy = build_policy(name)
    assert decisions(scenario, policy, planned) == decisions(scenario, Restless(policy), planned)


@pytest.mark.parametrize("name", STEADY)
def test_nobody_is_asked_while_nothing_happens(name):
    # Two jobs of ten slots and one that comes in slot 4: decisions in slots 0, 4, 10 and 14.
    jobs = (job("a", 2, work=20), job("b", 1, work=10), job("c", 1, work=10, arrival=4))
    policy = Steady(build_policy(name))
    found = decisions(Scenario(star(4), jobs, 30), policy)
    assert [len(one.allocation.rings) for one in found] == [2] * 4 + [3] * 6 + [1] * 4 + [0] * 16
    assert policy.asked == 4


def test_who_waits_at_rest_is_not_asked_about_again():
    # Three jobs for two places: once asked whether what it left runs on, drf is content until one ends.
    jobs = tuple(job(name, 1, work=10) for name in "abc")
    policy = Steady(build_policy("drf"))
    found = decisions(Scenario(star(2), jobs, 20), policy)
    assert [len(one.allocation.rings) for one in found] == [2] * 10 + [1] * 10
    assert policy.asked == 3


@pytest.mark.parametrize("name", SEEKING)
@settings(max_examples=60, deadline=None)
@given(scenario=scenarios())
def test_a_search_that_is_not_repeated_would_find_nothing_beyond_the_bound(name, scenario):
    policy = build_policy(name)
    for step in run_slots(scenario, policy):
        if step.decision.seconds:
            continue
        assert not find_false_claims(step.snapshot, step.decision)
        assert policy.is_content(step.snapshot, step.decision)
        again = ask(policy, step.snapshot, 0)
        assert again.objective <= step.decision.upper_bound * (1 + 1e-9)


@pytest.mark.parametrize("name", SEEKING)
def test_a_search_is_not_repeated_while_gains_hold(name):
    # The job that is worth more has the server, but not in its last slot, in which it would use half of it:
    # asked in slots 0, 4, 14 and, when nobody is left, 15.
    jobs = (job("a", 2, work=20, utility=Linear(1)), job("b", 2, work=9, utility=Linear(1.5)))
    policy = Steady(build_policy(name))
    policy.is_content = build_policy(name).is_content
    found = decisions(Scenario(star(2), jobs, 20), policy)
    assert [one.allocation.rings[0].job for one in found[:15]] == ["b"] * 4 + ["a"] * 10 + ["b"]
    assert policy.asked == 4


@settings(max_examples=40, deadline=None)
@given(scenario=scenarios(), cut=st.integers(0, 7))
def test_a_run_taken_up_again_goes_on_as_it_would_have(scenario, cut):
    policy = build_policy("gadget")
    whole = [step.decision for step in run_slots(scenario, policy)]
    known = iter(whole[:cut])
    rest = [step.decision for step in run_slots(scenario, policy, replay=known)]
    assert [replace(one, seconds=0.0) for one in rest] == [replace(one, seconds=0.0) for one in whole]
