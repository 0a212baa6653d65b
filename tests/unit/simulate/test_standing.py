"""Steady policies are not asked again while nothing changes, and that changes nothing."""

from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gadget import Scenario, ServerFailed
from gadget.policies.registry import POLICIES, build_policy
from gadget.simulate.loop import Planned, run_slots
from tests.strategies import scenarios
from tests.unit.policies.schedules import job, star

STEADY = [name for name, kind in POLICIES.items() if getattr(kind, "steadiness", None)]


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
