"""Nobody is told that it is too large for a cluster of which it was shown a part."""

from gadget.engine.apply import apply
from gadget.engine.decide import snapshot_of
from gadget.engine.events import JobsArrived, ServerDrained
from gadget.engine.standing import Standing
from gadget.engine.state import State
from gadget.live.decider import Here
from gadget.live.fleet import Fleet
from gadget.live.judging import decide
from gadget.model.decision import Waiting
from gadget.model.resources import Resources
from gadget.policies.registry import build_policy
from tests.unit.engine.worlds import ring
from tests.unit.live.scenes import add, fold, live_job, running, serve

FIFO = build_policy("fifo")


def waits_of(state: State, fleet: Fleet) -> dict[str, Waiting]:
    found = decide(state, Here(FIFO, 0), Standing(FIFO), fleet=fleet, resting={}, steady=1.0)
    return {one.job: one for one in found.waiting}


def test_behind_a_ring_that_may_not_be_changed_yet() -> None:
    fresh = live_job("j", min_runtime_seconds=100.0)
    state, fleet = running(ring("j", "a", "a", "b", "b"), jobs=[fresh]), Fleet()
    add(fleet, state, ring("j", "a", "a", "b", "b"))
    state = apply(serve(state), JobsArrived((live_job("k"),)))
    why = waits_of(state, fleet)["k"]
    assert (why.reason, "1 ring that may not be changed yet: j" in why.detail) == ("held", True)


def test_without_servers_that_are_drained() -> None:
    state = fold(JobsArrived((live_job("k"),)), ServerDrained("a"), ServerDrained("b"))
    why = waits_of(state, Fleet())["k"]
    assert (why.reason, why.detail) == (
        "drained",
        "it could run if these were there: a (drained), b (drained)",
    )


def test_who_is_too_large_is_told_so() -> None:
    huge = live_job("k", resources=Resources({"gpu": 99}))
    state = fold(JobsArrived((huge,)), ServerDrained("a"))
    assert waits_of(state, Fleet())["k"].reason == "too-large"
    assert snapshot_of(state).job_by_name["k"].job is huge
