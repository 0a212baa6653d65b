"""When nobody can decide, rings stay; those that break too often rest."""

from gadget.engine.apply import apply
from gadget.engine.check import check_state
from gadget.engine.events import Cause, RingFailed, SlotDecided
from gadget.engine.state import State
from gadget.live.backoff import Backoff
from gadget.live.keeping import keep_rings
from gadget.model.resources import Resources
from tests.unit.engine.worlds import decision, ring
from tests.unit.live.scenes import live_job, running, serve


def keep(state: State):
    return keep_rings(state, policy="p", seed=3, reason="solver", detail="late")


def test_rings_stay_and_all_others_wait_for_that_reason() -> None:
    state = serve(running(ring("j", "a", "b"), jobs=[live_job("k")]), j=5)
    kept = keep(state)
    assert kept.allocation == state.running
    assert [(one.job, one.reason, one.detail) for one in kept.waiting] == [("k", "solver", "late")]
    assert (kept.slot, kept.policy, kept.seed, kept.upper_bound) == (1, "p", 3, None)
    after = apply(state, SlotDecided(kept))
    assert check_state(after) == []
    assert after.active["j"].ring_since == 0  # the same ring: nothing is started anew


def test_a_ring_that_the_budget_pays_for_no_more_ends() -> None:
    # Three worker-slots: a ring of two, then only one of one.
    poor = live_job("j", budget=Resources({"gpu": 3}))
    state = serve(running(ring("j", "a", "b"), jobs=[poor]), j=5)
    kept = keep(state)
    assert kept.allocation.rings == ()
    assert check_state(apply(state, SlotDecided(kept))) == []


def break_ring(state: State, slot: int, cause: Cause = Cause.WORKER) -> tuple[State, RingFailed]:
    """The next slot is decided and its ring breaks without having done anything."""
    if not state.decided:
        state = apply(state, SlotDecided(decision(slot, ring("j", "a"))))
    event = RingFailed("j", 0.0, "it broke", cause)
    return serve(apply(state, event)), event


def test_the_first_failure_is_tried_again_at_once_and_each_further_one_after_twice_as_long() -> None:
    backoff, state = Backoff(2.0), running(ring("j", "a"))
    rests = []
    for slot in range(3):
        state, event = break_ring(state, slot)
        if "j" in state.active:
            backoff.note(state, [event], 100.0)
            rests.append(backoff.find_resting(state, 100.0).get("j"))
    assert rests == [None, 4.0]  # the third failure is one too many
    assert state.ended["j"].ending == "failed"
    assert backoff.find_resting(state, 100.0) == {}


def test_a_rest_ends_and_has_a_limit() -> None:
    backoff, state = Backoff(200.0), running(ring("j", "a"))
    for slot in range(2):
        state, event = break_ring(state, slot)
    backoff.note(state, [event], 0.0)
    assert backoff.find_resting(state, 0.0) == {"j": 300.0}
    assert backoff.find_resting(state, 299.0) == {"j": 1.0}
    assert backoff.find_resting(state, 300.0) == {}


def test_a_server_that_went_away_is_no_fault_of_the_job() -> None:
    backoff, state = Backoff(2.0), running(ring("j", "a"))
    for slot in range(5):
        state, event = break_ring(state, slot, Cause.SERVER)
        backoff.note(state, [event], 0.0)
    assert backoff.find_resting(state, 0.0) == {}


def test_a_ring_that_the_engine_takes_is_no_fault_of_the_job_but_is_not_tried_again_and_again() -> None:
    backoff, state = Backoff(2.0), running(ring("j", "a"))
    rests = []
    for slot in range(5):
        state, event = break_ring(state, slot, Cause.ENGINE)
        backoff.note(state, [event], 0.0)
        rests.append(backoff.find_resting(state, 0.0).get("j"))
    assert rests == [None, 4.0, 8.0, 16.0, 32.0]
    assert "j" in state.active
