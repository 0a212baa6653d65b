"""What the world shows becomes events: each once, and only what the state does not know."""

import pytest

from gadget.backends.backend import RingFound, RingKey, RingPhase
from gadget.backends.words import Kind, Word
from gadget.engine.apply import apply
from gadget.engine.check import check_state
from gadget.engine.events import (
    Cause,
    JobFinished,
    JobLeft,
    JobsArrived,
    JobsForgotten,
    Noted,
    RingFailed,
    ServerFailed,
    ServerReturned,
    SlotDecided,
    WorkLost,
)
from gadget.live.fleet import Fleet
from gadget.live.happenings import find_happenings
from gadget.model.resources import Resources
from tests.unit.engine.worlds import decision, ring
from tests.unit.live.scenes import add, live_job, running, say, serve, world_of


def test_nothing_new_is_nothing() -> None:
    state, fleet = running(ring("j", "a", "b")), Fleet()
    add(fleet, state, ring("j", "a", "b"))
    new = find_happenings(state, fleet, world_of(state))
    assert (new.events, new.settled, new.hung, new.looked_at) == ([], [], [], [])


def test_a_server_that_went_away_breaks_rings_that_touch_it_and_no_other() -> None:
    state, fleet = running(ring("j", "a", "b"), ring("k", "b")), Fleet()
    add(fleet, state, ring("j", "a", "b"))
    add(fleet, state, ring("k", "b"))
    new = find_happenings(state, fleet, world_of(state, away={"a": "no power"}))
    broken, failed = new.events
    assert broken == RingFailed("j", 0.0, "server a went away: no power", Cause.SERVER, 0.5)
    assert failed == ServerFailed("a", "no power")
    after = apply(apply(state, broken), failed)
    assert find_happenings(after, fleet, world_of(after, away={"a": "no power"})).events == []
    assert find_happenings(after, fleet, world_of(after)).events == [ServerReturned("a")]


@pytest.mark.parametrize(
    ("phase", "reason", "cause"),
    [
        (RingPhase.FAILED, "rank 1 broke", Cause.WORKER),
        (RingPhase.STOPPED, "it left without being asked", Cause.WORKER),
        (RingPhase.TAKEN, "others were first", Cause.ENGINE),
    ],
)
def test_a_wanted_ring_that_is_over_broke_at_its_last_safe_work(
    phase: RingPhase, reason: str, cause: Cause
) -> None:
    state, fleet = serve(running(ring("j", "a", "b")), j=50), Fleet()
    key = add(fleet, state, ring("j", "a", "b"))
    say(fleet, key, Kind.CHECKPOINT, work=40.0)
    say(fleet, key, Kind.PROGRESS, work=55.0)
    fleet.move(key, phase, "" if phase is RingPhase.STOPPED else reason, 0.0, 0.0)
    new = find_happenings(state, fleet, world_of(state))
    assert new.events == [RingFailed("j", 40.0, reason, cause, 0.5)]
    assert new.settled == [key]


def test_a_ring_of_an_earlier_life_breaks_at_the_work_that_is_known() -> None:
    # What is safe was told to somebody else; the next ring will say what it goes on from.
    state, fleet = serve(running(ring("j", "a", "b")), j=50), Fleet()
    add(fleet, state, ring("j", "a", "b"), phase=RingPhase.FAILED)
    [event] = find_happenings(state, fleet, world_of(state)).events
    assert event == RingFailed("j", 50.0, "it left without being asked", Cause.WORKER, 0.5)


def test_silence_counts_from_the_start_and_then_from_the_last_word_of_each_rank() -> None:
    state, fleet = running(ring("j", "a", "b")), Fleet()
    key = add(fleet, state, ring("j", "a", "b"))
    assert find_happenings(state, fleet, world_of(state, steady=20.0)).events == []
    [event] = find_happenings(state, fleet, world_of(state, steady=20.1)).events
    assert event == RingFailed("j", 0.0, "rank 0 on a has said nothing in its first 20 s", Cause.HUNG, 0.5)
    say(fleet, key, Kind.ALIVE, steady=15.0)
    assert find_happenings(state, fleet, world_of(state, steady=25.0)).events == []
    fleet.hear(_word(key, 0), 24.0, 24.0)  # rank 1 is the one that hangs
    new = find_happenings(state, fleet, world_of(state, steady=25.5))
    assert new.events == [RingFailed("j", 0.0, "rank 1 on b has said nothing for 10 s", Cause.HUNG, 0.5)]
    assert new.hung == [key]
    assert new.settled == []  # it is there until it has left
    fleet.forgive(25.5)  # it was we who did not listen
    assert find_happenings(state, fleet, world_of(state, steady=35.0)).events == []


def _word(key: RingKey, rank: int) -> Word:

    return Word(key, rank, Kind.ALIVE)


def test_a_ring_that_begins_with_less_than_was_credited_lost_work_once() -> None:
    state, fleet = serve(running(ring("j", "a", "b")), j=50), Fleet()
    key = add(fleet, state, ring("j", "a", "b"))
    say(fleet, key, Kind.RESUMED, work=30.0)
    new = find_happenings(state, fleet, world_of(state))
    [event] = new.events
    assert isinstance(event, WorkLost)
    assert (event.job, event.work) == ("j", 30.0)
    assert event.reason.startswith("went on from 30 of 50 work")
    assert new.looked_at == [key]


def test_a_beginning_that_is_told_again_is_no_loss() -> None:
    # A worker that connects anew says it again, first of all it says.
    state, fleet = serve(running(ring("j", "a", "b")), j=50), Fleet()
    key = add(fleet, state, ring("j", "a", "b"))
    say(fleet, key, Kind.RESUMED, work=50.0)
    assert find_happenings(state, fleet, world_of(state)).events == []
    say(fleet, key, Kind.PROGRESS, work=80.0)
    state = serve(apply(state, SlotDecided(decision(1, ring("j", "a", "b")))), j=30)
    say(fleet, key, Kind.RESUMED, work=50.0)
    assert find_happenings(state, fleet, world_of(state)).events == []
    assert fleet.rings[key].work == 80.0


@pytest.mark.parametrize(("reached", "lost"), [(55.0, []), (35.0, [35.0])])
def test_a_ring_that_was_found_is_judged_by_how_far_it_is(reached: float, lost: list[float]) -> None:
    state, fleet = serve(running(ring("j", "a", "b")), j=50), Fleet()
    key = RingKey("j", 0)

    found = RingFound(key, ring("j", "a", "b"), RingPhase.RUNNING)
    fleet.add(found, state.active["j"].job, 0.0, 0.0, was_found=True)
    say(fleet, key, Kind.RESUMED, work=0.0)  # long ago
    assert find_happenings(state, fleet, world_of(state)).events == []
    say(fleet, key, Kind.PROGRESS, work=reached)
    events = find_happenings(state, fleet, world_of(state)).events
    assert [event.work for event in events if isinstance(event, WorkLost)] == lost


def test_a_finished_ring_ends_its_job_also_when_it_was_to_be_resized() -> None:
    state, fleet = serve(running(ring("j", "a")), j=50), Fleet()
    key = add(fleet, state, ring("j", "a"), phase=RingPhase.FINISHED)
    state = apply(state, SlotDecided(decision(1, ring("j", "a", "b"))))
    new = find_happenings(state, fleet, world_of(state))
    assert new.events == [JobFinished("j", 100.0, 0.5)]
    assert new.settled == [key]


def test_a_job_that_finished_while_nobody_listened_has_done_all_its_work() -> None:
    whole = live_job("j", work=80.0)
    state, fleet = serve(running(ring("j", "a"), jobs=[whole]), j=50), Fleet()
    add(fleet, state, ring("j", "a"), phase=RingPhase.FINISHED)
    assert find_happenings(state, fleet, world_of(state)).events == [JobFinished("j", 80.0, 0.5)]


def test_a_finished_ring_of_a_forgotten_job_does_not_end_its_namesake() -> None:
    before, fleet = running(ring("j", "a")), Fleet()
    key = add(fleet, before, ring("j", "a"), phase=RingPhase.FINISHED)
    state = serve(apply(apply(before, JobLeft("j")), JobsForgotten(("j",))))
    state = apply(state, JobsArrived((live_job("j", arrival=1),)))
    new = find_happenings(state, fleet, world_of(state))
    assert new.events == []
    assert new.settled == [key]


def test_a_job_that_finished_as_its_server_went_away_has_finished() -> None:
    # Its budget pays for this slot only: a broken ring would end it too, and it cannot end twice.
    poor = live_job("j", budget=Resources({"gpu": 1}))
    state, fleet = running(ring("j", "a"), jobs=[poor]), Fleet()
    add(fleet, state, ring("j", "a"), phase=RingPhase.FINISHED)
    world = world_of(state, away={"a": "no power"})
    for event in find_happenings(state, fleet, world).events:
        state = apply(state, event)
    assert state.ended["j"].ending == "finished"
    assert state.ended["j"].failures == 0
    assert check_state(state) == []


def test_a_ring_that_was_to_leave_and_did_is_only_noted() -> None:
    state, fleet = apply(running(ring("j", "a")), JobLeft("j")), Fleet()
    key = add(fleet, state, ring("j", "a"))
    fleet.mark(key, 0.0)
    fleet.move(key, RingPhase.STOPPED, "it took its time", 0.0, 0.0)
    new = find_happenings(state, fleet, world_of(state))
    assert new.events == [Noted("ring", "j@0 stopped: it took its time")]
    assert new.settled == [key]
