"""What leads from one state to the next."""

from gadget.engine.apply import apply
from gadget.engine.effects import MoveRing, ResizeRing, StartRing, StopRing, effects_between
from gadget.engine.events import JobLeft, JobsArrived, ServerFailed, SlotDecided, SlotServed
from gadget.engine.state import State
from tests.unit.engine.worlds import decision, job, ring, start

BEGIN = apply(start(), JobsArrived(tuple(job(name) for name in "jklm")))


def running(slot: int, state: State, *rings: object) -> State:
    return apply(state, SlotDecided(decision(slot, *rings)))  # type: ignore[arg-type]


def test_stops_come_first_then_changes_then_starts() -> None:
    old = running(0, BEGIN, ring("j", "a"), ring("k", "a"), ring("l", "b"))
    served = apply(old, SlotServed(0))
    assert effects_between(old, served) == ()
    new = running(1, served, ring("m", "a"), ring("k", "b"), ring("l", "a", "b"))
    assert effects_between(served, new) == (
        StopRing(ring("j", "a")),
        MoveRing(ring("k", "a"), ring("k", "b")),
        ResizeRing(ring("l", "b"), ring("l", "a", "b")),
        StartRing(ring("m", "a")),
    )


def test_what_stays_needs_nothing() -> None:
    old = apply(running(0, BEGIN, ring("j", "a", "b")), SlotServed(0))
    assert effects_between(old, running(1, old, ring("j", "a", "b"))) == ()


def test_another_order_of_the_same_servers_is_a_move() -> None:
    old = apply(running(0, BEGIN, ring("j", "a", "b")), SlotServed(0))
    new = running(1, old, ring("j", "b", "a"))
    assert effects_between(old, new) == (MoveRing(ring("j", "a", "b"), ring("j", "b", "a")),)


def test_failures_and_departures_stop_rings() -> None:
    old = running(0, BEGIN, ring("j", "a"), ring("k", "b"))
    assert effects_between(old, apply(old, ServerFailed("a"))) == (StopRing(ring("j", "a")),)
    assert effects_between(old, apply(old, JobLeft("k"))) == (StopRing(ring("k", "b")),)
