"""Laws of the engine under any course of events."""

from collections import Counter
from dataclasses import replace
from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from gadget.engine.apply import apply
from gadget.engine.check import check_state
from gadget.engine.decide import decide_slot, snapshot_of
from gadget.engine.effects import MoveRing, ResizeRing, StartRing, StopRing, effects_between
from gadget.engine.events import (
    Event,
    JobLeft,
    JobsArrived,
    ServerFailed,
    ServerReturned,
    SlotDecided,
    SlotServed,
)
from gadget.engine.state import JobStatus, State, begin
from gadget.model.referee import find_violations
from gadget.model.snapshot import Scenario
from gadget.policies.fifo import Fifo
from gadget.policies.gadget import Gadget
from tests.strategies import scenarios


@st.composite
def courses(draw: st.DrawFn) -> tuple[Scenario, list[Event], list[State]]:
    """A scenario, events that can happen in it in any order, and the state before each and after all."""
    scenario = draw(scenarios())
    state = begin(scenario)
    to_come = sorted(scenario.jobs, key=lambda job: job.arrival)
    events: list[Event] = []
    states = [state]
    for _ in range(draw(st.integers(0, 40))):
        event = draw(st.sampled_from(_possible(state, to_come, draw)))
        if isinstance(event, JobsArrived):
            to_come = to_come[len(event.jobs) :]
        state = apply(state, event)
        events.append(event)
        states.append(state)
    return scenario, events, states


def _possible(state: State, to_come: list, draw: st.DrawFn) -> list[Event]:
    possible: list[Event] = [
        *(ServerFailed(name) for name in state.available.server_by_name),
        *(ServerReturned(name) for name in sorted(state.down)),
        *(JobLeft(name) for name in state.active),
    ]
    now = [job for job in to_come if job.arrival <= state.slot]
    if now:
        # What came is met more often than what goes, so that something happens.
        possible += [JobsArrived(tuple(now[: draw(st.integers(1, len(now)))]))] * 5
    if state.decided:
        possible += [SlotServed(state.slot)] * 10
    elif state.slot < state.slots:
        policy = draw(
            st.sampled_from((Fifo(), Fifo(backfill=True), Fifo(workers=1, backfill=True), Gadget()))
        )
        possible += [decide_slot(state, policy, 0)] * 10
    return possible or [JobsArrived(())]


@given(courses())
def test_every_state_on_the_way_is_sound(course: tuple[Scenario, list[Event], list[State]]) -> None:
    sound = None
    for state in course[2]:
        assert check_state(state) == check_state(state, sound=sound) == []
        sound = state


@given(courses())
def test_replay_equals_state_and_no_event_changes_an_old_state(
    course: tuple[Scenario, list[Event], list[State]],
) -> None:
    scenario, events, states = course
    replayed = begin(scenario)
    for event, before, after in zip(events, states, states[1:], strict=False):
        assert replayed == before
        replayed = apply(replayed, event)
        assert replayed == after


@given(courses())
def test_what_is_served_adds_up(course: tuple[Scenario, list[Event], list[State]]) -> None:
    _, events, states = course
    served: Counter[str] = Counter()
    work: Counter[str] = Counter()
    lost: Counter[str] = Counter()
    restarts: Counter[str] = Counter()
    restarting: set[str] = set()
    for event, before in zip(events, states, strict=False):
        if isinstance(event, SlotDecided):
            kept = {(ring.job, ring.workers) for ring in before.running.rings}
            rings = event.decision.allocation.rings
            restarting = {r.job for r in rings if served[r.job] and (r.job, r.workers) not in kept}
            restarts.update(restarting)
        if isinstance(event, SlotServed):
            for ring in before.running.rings:
                job = before.active[ring.job].job
                whole = float(job.work_in_slot(ring.size, before.slot_seconds))
                kept = max(0.0, 1 - (job.restart_seconds or 0) / before.slot_seconds)
                cost = whole - max(0.0, whole * kept - job.resize_cost) if ring.job in restarting else 0
                served[ring.job] += ring.size
                work[ring.job] += whole - cost
                lost[ring.job] += cost
    last = states[-1]
    for name, record in (*last.active.items(), *last.ended.items()):
        assert record.active.served == served[name]
        assert record.active.served <= record.job.worker_slots * (1 + 1e-9)
        done = record.active.work(last.slot_seconds)
        total = record.job.work
        most = work[name] if total is None else min(work[name], total)
        assert abs(done - most) <= 1e-9 * max(1.0, most)
        assert abs(record.work_lost - lost[name]) <= 1e-9 * max(1.0, work[name], lost[name])
        assert record.restarts == restarts[name]
        finished = record.ending is JobStatus.FINISHED
        assert finished == (
            bool(served[name])
            and record.ending is not JobStatus.LEFT
            and (record.active.largest_ring == 0 or (total is not None and work[name] >= total * (1 - 1e-9)))
        )


@given(courses())
def test_effects_lead_from_the_old_rings_to_the_new(
    course: tuple[Scenario, list[Event], list[State]],
) -> None:
    states = course[2]
    for old, new in pairwise(states):
        rings = dict(old.running.ring_of)
        for effect in effects_between(old, new):
            match effect:
                case StopRing(ring):
                    assert rings.pop(ring.job) == ring
                case StartRing(ring):
                    assert ring.job not in rings
                    rings[ring.job] = ring
                case MoveRing(before, after) | ResizeRing(before, after):
                    assert rings[before.job] == before != after
                    assert isinstance(effect, ResizeRing) == (before.size != after.size)
                    rings[after.job] = after
        assert rings == new.running.ring_of


@given(courses())
def test_what_is_decided_is_feasible_on_what_stands_at_that_moment(
    course: tuple[Scenario, list[Event], list[State]],
) -> None:
    _, events, states = course
    for event, before in zip(events, states, strict=False):
        if isinstance(event, SlotDecided):
            snapshot = snapshot_of(before)
            assert find_violations(snapshot, event.decision.allocation) == []
            used = {server for ring in event.decision.allocation.rings for server in ring.workers}
            assert used.isdisjoint(before.down)


@given(courses(), st.data())
def test_a_failure_stops_exactly_the_rings_it_touches(
    course: tuple[Scenario, list[Event], list[State]], data: st.DataObject
) -> None:
    state = data.draw(st.sampled_from(course[2]))
    standing = list(state.available.server_by_name)
    if not standing:
        return
    server = data.draw(st.sampled_from(standing))
    failed = apply(state, ServerFailed(server))
    kept = set(failed.running.rings)
    for ring in state.running.rings:
        touched = server in ring.workers or any(server in route for route in ring.routes)
        assert (ring in kept) != touched
    returned = apply(failed, ServerReturned(server))
    assert replace(returned, running=state.running) == state
