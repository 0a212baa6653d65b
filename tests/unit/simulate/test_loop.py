"""The slot loop on horizons worked out by hand, and its laws."""

from collections import Counter
from dataclasses import dataclass, replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gadget.engine.events import JobLeft, ServerFailed, ServerReturned
from gadget.engine.state import JobStatus
from gadget.errors import BrokenConstraint, ImpossibleEvent
from gadget.model.cluster import Cluster, Server
from gadget.model.decision import Decision
from gadget.model.referee import find_violations
from gadget.model.resources import Resources
from gadget.model.ring import Ring
from gadget.model.snapshot import Scenario, Snapshot
from gadget.policies.fifo import Fifo
from gadget.policies.registry import build_policy
from gadget.simulate.loop import Planned, run_slots
from tests.strategies import scenarios
from tests.unit.engine.worlds import PAIR, TIMING, decision, job, ring

CLUSTER = Cluster((Server("s", Resources({"gpu": 2})),), (), ())


def sizes(step: object) -> dict[str, int]:
    return {ring.job: ring.size for ring in step.decision.allocation.rings}  # type: ignore[attr-defined]


def test_a_budget_of_three_runs_two_then_one_and_the_next_job_follows() -> None:
    first, second = job("x", budget=Resources({"gpu": 3})), job("y", arrival=1)
    steps = list(run_slots(Scenario(CLUSTER, (first, second), 4), Fifo()))
    assert [sizes(step) for step in steps] == [{"x": 2}, {"x": 1}, {"y": 2}, {"y": 2}]
    assert [[one.name for one in step.arrived] for step in steps] == [["x"], ["y"], [], []]
    assert steps[-1].state.status_of("x") is JobStatus.FINISHED


def test_work_of_a_timing_job_adds_up_at_the_rate_of_its_ring() -> None:
    scenario = Scenario(CLUSTER, (job("x", rate=None, timing=TIMING),), 3, slot_seconds=10)
    works = [step.snapshot.jobs[0].work(10) for step in run_slots(scenario, Fifo())]
    # τ(2) = 2.5 s: two workers do 2 · 10 / 2.5 = 8 worker-iterations a slot.
    assert works == [0, 8, 16]


def test_failures_returns_and_departures_happen_before_their_slot_is_decided() -> None:
    scenario = Scenario(PAIR, (job("x", max_workers=4), job("y", max_workers=1, arrival=4)), 6)
    planned = (
        Planned(1, ServerFailed("a")),
        Planned(2, ServerFailed("b")),
        Planned(3, ServerReturned("a")),
        Planned(4, JobLeft("x")),
    )
    steps = list(run_slots(scenario, Fifo(), planned=planned))
    assert [sizes(step) for step in steps] == [{"x": 4}, {"x": 2}, {}, {"x": 2}, {"y": 1}, {"y": 1}]
    assert steps[1].decision.allocation.rings[0].workers == ("b", "b")
    assert steps[3].decision.allocation.rings[0].workers == ("a", "a")
    assert steps[-1].state.record_of("x").active.served == 8
    assert steps[-1].state.status_of("x") is JobStatus.LEFT


def test_a_plan_that_cannot_happen_is_refused() -> None:
    with pytest.raises(ImpossibleEvent, match="'c'"):
        list(run_slots(Scenario(PAIR, (), 2), Fifo(), planned=[Planned(0, ServerFailed("c"))]))


def test_what_is_replayed_is_not_decided_anew_and_the_label_is_kept() -> None:
    scenario = Scenario(PAIR, (job("x"),), 3)
    given = decision(0, ring("x", "b"), policy="f", objective=5)
    steps = list(run_slots(scenario, Fifo(), label="f", replay=[given]))
    assert steps[0].decision is given
    assert [step.decision.policy for step in steps] == ["f", "f", "f"]
    assert [sizes(step)["x"] for step in steps] == [1, 2, 2]


@dataclass(frozen=True)
class Greedy:
    """Gives every job three workers on a server of two."""

    may_violate: bool = False
    lies: bool = False

    def decide(self, snapshot: Snapshot, _: np.random.Generator) -> Decision:
        rings = [Ring(a.job.name, ("a",) * 3, (("a",),) * 3) for a in snapshot.jobs] if not self.lies else []
        made = decision(snapshot.slot, *rings)
        objective = 7.0 if self.lies else snapshot.objective(made.allocation)
        return replace(made, objective=objective)


WIDE = Scenario(PAIR, (job("x", max_workers=3),), 2)


def test_a_policy_that_breaks_a_constraint_is_named_with_slot_and_reason() -> None:
    with pytest.raises(BrokenConstraint) as caught:
        list(run_slots(WIDE, Greedy(), label="greedy"))
    assert "policy 'greedy' broke its promise in slot 0: (4) server capacity server 'a'" in str(caught.value)


def test_a_policy_that_claims_too_much_is_caught_too() -> None:
    with pytest.raises(BrokenConstraint, match="7 is claimed, the rings gain 0"):
        list(run_slots(WIDE, Greedy(lies=True)))


@pytest.mark.parametrize(("policy", "allow"), [(Greedy(may_violate=True), None), (Greedy(), True)])
def test_where_violations_are_allowed_they_are_counted(policy: Greedy, allow: bool | None) -> None:
    steps = list(run_slots(WIDE, policy, allow_violations=allow))
    assert [len(step.violations) for step in steps] == [1, 1]
    assert steps[-1].state.record_of("x").active.served == 6


def test_a_policy_that_may_violate_can_be_held_to_the_rules() -> None:
    with pytest.raises(BrokenConstraint):
        list(run_slots(WIDE, Greedy(may_violate=True), allow_violations=False))


@settings(max_examples=60)
@given(scenario=scenarios(), text=st.sampled_from(("fifo", "fifo:backfill=true", "las", "drf")))
def test_no_slot_breaks_a_constraint_and_service_adds_up(scenario: Scenario, text: str) -> None:
    served: Counter[str] = Counter()
    arrival = {one.name: one.arrival for one in scenario.jobs}
    steps = list(run_slots(scenario, build_policy(text)))
    assert len(steps) == scenario.slots
    for step in steps:
        assert find_violations(step.snapshot, step.decision.allocation) == []
        for one in step.decision.allocation.rings:
            assert step.snapshot.slot >= arrival[one.job]
            served[one.job] += one.size
    last = steps[-1].state
    for one in scenario.jobs:
        assert served[one.name] <= one.worker_slots * (1 + 1e-9)
        if one.arrival < scenario.slots:
            assert last.record_of(one.name).active.served == served[one.name]
