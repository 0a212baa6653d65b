"""One event at a time, on courses worked out by hand."""

import pickle
from dataclasses import replace

import numpy as np
import pytest

from gadget.engine.apply import apply
from gadget.engine.check import check_state
from gadget.engine.decide import decide_slot, snapshot_of
from gadget.engine.events import (
    Event,
    JobLeft,
    JobsArrived,
    ServerFailed,
    ServerReturned,
    SlotDecided,
    SlotServed,
)
from gadget.engine.state import JobStatus, State
from gadget.errors import ImpossibleEvent, InvalidValue
from gadget.model.prices import Prices
from gadget.model.resources import Resources
from gadget.model.ring import Ring
from gadget.policies.fifo import Fifo
from tests.unit.engine.worlds import PAIR, ROW, TIMING, decision, job, ring, start


def after(state: State, *events: Event) -> State:
    for event in events:
        state = apply(state, event)
        assert check_state(state) == []
    return state


def test_a_job_arrives_runs_is_resized_and_finishes_when_its_budget_is_spent() -> None:
    state = after(start(), JobsArrived((job("j", budget=Resources({"gpu": 3})),)))
    assert state.status_of("j") is JobStatus.WAITING
    state = after(state, SlotDecided(decision(0, ring("j", "a", "b"))))
    assert state.status_of("j") is JobStatus.RUNNING
    assert state.active["j"].first_start == 0
    state = after(state, SlotServed(0))
    assert (state.slot, state.active["j"].active.served) == (1, 2)
    assert state.status_of("j") is JobStatus.RUNNING  # the ring stays until a decision says otherwise
    state = after(state, SlotDecided(decision(1, ring("j", "a"))), SlotServed(1))
    assert state.active == {}
    assert state.running.rings == ()
    record = state.ended["j"]
    assert (record.ending, record.ended, record.active.served) == (JobStatus.FINISHED, 1, 3)
    assert (record.slots_served, record.resizes, record.first_start) == (2, 1, 0)
    assert record.active.work(10) == 15


def test_work_with_timing_adds_up_at_the_rate_of_each_ring() -> None:
    timed = job("j", rate=None, timing=TIMING)
    state = after(start(slot_seconds=10), JobsArrived((timed,)))
    state = after(state, SlotDecided(decision(0, ring("j", "a", "b"))), SlotServed(0))
    assert state.active["j"].active.work_done == pytest.approx(2 * 10 / 2.5)
    state = after(state, SlotDecided(decision(1, ring("j", "a"))), SlotServed(1))
    assert state.active["j"].active.work_done == pytest.approx(8 + 10)


def test_work_beyond_all_measure_is_refused_with_the_name_of_its_job() -> None:
    fast = job("j", rate=None, timing=TIMING)
    state = after(start(slot_seconds=1e15), JobsArrived((fast,)))
    state = after(state, SlotDecided(decision(0, ring("j", "a", "a"))), SlotServed(0))
    state = after(state, SlotDecided(decision(1, ring("j", "a", "a"))))
    with pytest.raises(InvalidValue, match=r"job 'j'\.work_done is .* larger than 1e\+15"):
        apply(state, SlotServed(1))


def test_restarts_lose_work_and_are_counted_whatever_they_cost() -> None:
    """10 work a slot of two workers; k loses 4 when it moves, when it is resized and when it has waited."""
    state = after(start(), JobsArrived((job("j"), job("k", resize_cost=4))))
    steps = [
        ("ab", 10, 0),  # the first start is free
        ("ab", 20, 0),
        ("ba", 26, 1),
        ("b", 27, 2),
        ("", 27, 2),
        ("b", 28, 3),
        ("b", 33, 3),
    ]
    for slot, (workers, work, restarts) in enumerate(steps):
        rings = [ring(name, *workers) for name in "jk"] if workers else []
        state = after(state, SlotDecided(decision(slot, *rings)))
        state = after(state, SlotServed(slot))
        record = state.active["k"]
        assert (record.active.work_done, record.restarts) == (work, restarts)
        assert record.work_lost == 4 * restarts
    assert state.active["k"].active.served == 9
    assert state.active["k"].resizes == 1
    free = state.active["j"]
    assert (free.restarts, free.work_lost, free.active.work_done, free.active.work(10)) == (3, 0, None, 45)


def test_a_restart_loses_no_more_than_its_slot_does() -> None:
    timed = job("j", rate=None, timing=TIMING, resize_cost=100)
    state = after(start(slot_seconds=10), JobsArrived((timed,)))
    for slot, workers in enumerate(("a", "ab")):
        state = after(state, SlotDecided(decision(slot, ring("j", *workers))), SlotServed(slot))
    record = state.active["j"]
    assert (record.active.work_done, record.active.served) == (10, 3)
    assert record.work_lost == pytest.approx(2 * 10 / 2.5)


def test_a_ring_that_a_failure_stopped_starts_anew() -> None:
    costly = (job("j", resize_cost=1), job("k", resize_cost=1))
    state = after(start(), JobsArrived(costly))
    both = (ring("j", "b"), ring("k", "a"))
    state = after(state, SlotDecided(decision(0, *both)), ServerFailed("a"), SlotServed(0))
    # k was never served: what was lost with its server is no restart.
    state = after(state, ServerReturned("a"), SlotDecided(decision(1, *both)))
    assert state.restarting == frozenset()
    state = after(state, SlotServed(1), ServerFailed("a"), ServerReturned("a"))
    state = after(state, SlotDecided(decision(2, *both)))
    assert state.restarting == {"k"}
    failed = after(state, ServerFailed("a"), SlotServed(2))
    assert (failed.active["k"].restarts, failed.active["k"].work_lost) == (1, 0)
    assert after(state, JobLeft("k")).restarting == frozenset()
    served = after(state, SlotServed(2))
    assert [served.active[name].active.work_done for name in "jk"] == [15, 9]


def test_prices_go_from_a_decision_to_the_next_snapshot() -> None:
    prices = Prices(PAIR, np.ones((2, 1)), np.ones(4))
    state = after(start(), JobsArrived((job("j"),)))
    assert snapshot_of(state).prices is None
    priced = after(state, SlotDecided(replace(decision(0, ring("j", "a")), prices=prices)))
    assert priced == after(state, SlotDecided(decision(0, ring("j", "a"))))
    served = after(priced, SlotServed(0), ServerFailed("b"))
    assert snapshot_of(served).prices is prices
    assert snapshot_of(after(served, SlotDecided(decision(1)))).prices is None


def test_a_job_without_a_ring_in_its_budget_is_refused_at_once() -> None:
    state = after(start(), JobsArrived((job("j", min_workers=2, budget=Resources({"gpu": 1})),)))
    assert state.status_of("j") is JobStatus.REFUSED
    assert snapshot_of(state).jobs == ()


def test_who_leaves_takes_the_ring_along_and_is_not_served() -> None:
    state = after(start(), JobsArrived((job("j"), job("k"))))
    state = after(
        state, SlotDecided(decision(0, ring("j", "a"), ring("k", "b"))), JobLeft("j"), SlotServed(0)
    )
    assert (state.ended["j"].ending, state.ended["j"].active.served) == (JobStatus.LEFT, 0)
    assert (state.active["k"].active.served, state.running.rings) == (1, (ring("k", "b"),))


def test_a_failed_server_stops_its_rings_and_is_not_seen_until_it_returns() -> None:
    state = after(start(), JobsArrived((job("j"), job("k"))))
    state = after(state, SlotDecided(decision(0, ring("j", "a", "b"), ring("k", "b"))), ServerFailed("a"))
    assert state.running.rings == (ring("k", "b"),)
    assert state.status_of("j") is JobStatus.WAITING
    state = after(state, SlotServed(0))
    assert state.active["j"].active.served == 0
    assert [server.name for server in snapshot_of(state).cluster.servers] == ["b"]
    decided = decide_slot(state, Fifo(workers=1), 0)
    assert all("a" not in one.workers for one in decided.decision.allocation.rings)
    back = after(state, ServerReturned("a"))
    assert back.available is PAIR


def test_a_ring_that_only_passes_through_a_failed_server_stops_too() -> None:
    state = after(start(cluster=ROW), JobsArrived((job("j"),)))
    state = after(state, SlotDecided(decision(0, ring("j", "x", "z", through="y"))), ServerFailed("y"))
    assert state.running.rings == ()
    assert snapshot_of(state).cluster.links == ()


def test_with_every_server_down_everybody_waits() -> None:
    state = after(start(), JobsArrived((job("j"),)), ServerFailed("a"), ServerFailed("b"))
    assert decide_slot(state, Fifo(), 0).decision.allocation.rings == ()
    state = after(state, decide_slot(state, Fifo(), 0), SlotServed(0), ServerReturned("b"))
    assert state.slot == 1


def test_what_stands_is_one_object_while_nothing_fails() -> None:
    state = after(start(), ServerFailed("a"))
    later = after(state, JobsArrived((job("j"),)), SlotDecided(decision(0)), SlotServed(0))
    assert later.available is state.available


def test_the_decision_bears_the_label_it_was_asked_under() -> None:
    state = after(start(), JobsArrived((job("j"),)))
    assert decide_slot(state, Fifo(workers=1), 3, label="fifo:workers=1").decision.policy == "fifo:workers=1"
    assert decide_slot(state, Fifo(), 3).decision.seed == 3


QUEUE = apply(start(), JobsArrived((job("j"), job("poor", budget=Resources({"gpu": 0})))))
DECIDED = apply(QUEUE, SlotDecided(decision(0, ring("j", "a"))))
OVER = apply(apply(start(slots=1), SlotDecided(decision(0))), SlotServed(0))


@pytest.mark.parametrize(
    ("state", "event", "said"),
    [
        (QUEUE, JobsArrived((job("j"),)), "'j' has arrived already"),
        (QUEUE, JobsArrived((job("poor"),)), "'poor' has refused already"),
        (QUEUE, JobsArrived((job("k"), job("k"))), "'k' has arrived already"),
        (QUEUE, JobsArrived((job("k", arrival=1),)), "arrives in slot 1; this is slot 0"),
        (QUEUE, JobLeft("jj"), "has not arrived in slot 0 (nearest: 'j')"),
        (QUEUE, JobLeft("poor"), "has refused"),
        (QUEUE, ServerFailed("c"), "no server is named 'c'"),
        (QUEUE, ServerReturned("a"), "it is not down"),
        (apply(QUEUE, ServerFailed("a")), ServerFailed("a"), "is down already"),
        (QUEUE, SlotDecided(decision(1)), "for slot 1; this is slot 0"),
        (QUEUE, SlotDecided(decision(0, ring("k", "a"))), "'k' has not arrived"),
        (QUEUE, SlotDecided(decision(0, ring("j", "a"), ring("j", "b"))), "two rings"),
        (QUEUE, SlotServed(0), "cannot have been served"),
        (DECIDED, SlotDecided(decision(0)), "decided already"),
        (DECIDED, SlotServed(1), "cannot have been served"),
        (OVER, SlotDecided(decision(1)), "horizon of 1 slots is over"),
    ],
)
def test_what_cannot_have_happened_is_refused(state: State, event: Event, said: str) -> None:
    with pytest.raises(ImpossibleEvent) as caught:
        apply(state, event)
    assert said in str(caught.value)


def test_nobody_knows_the_fate_of_a_job_that_never_came() -> None:
    with pytest.raises(ImpossibleEvent, match="no job named 'x'"):
        QUEUE.status_of("x")


@pytest.mark.parametrize(
    "event",
    [
        JobsArrived((job("j", rate=None, timing=TIMING, budget=Resources({"gpu": 3})),)),
        JobLeft("j"),
        ServerFailed("a"),
        ServerReturned("a"),
        SlotDecided(decision(0, Ring("j", ("a",), ()))),
        SlotServed(0),
    ],
)
def test_events_are_values(event: Event) -> None:
    assert pickle.loads(pickle.dumps(event)) == event
    assert hash(event) == hash(pickle.loads(pickle.dumps(event)))
