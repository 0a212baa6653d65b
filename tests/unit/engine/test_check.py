"""The check of states finds what is planted."""

from collections.abc import Callable
from dataclasses import replace

import pytest

from gadget.engine.apply import apply
from gadget.engine.check import check_state
from gadget.engine.events import JobsArrived, ServerFailed, SlotDecided, SlotServed
from gadget.engine.state import JobRecord, JobStatus, State
from gadget.model.job import ActiveJob
from gadget.model.resources import Resources
from gadget.model.ring import Allocation
from tests.unit.engine.worlds import PAIR, TIMING, decision, job, ring, start


def make() -> State:
    """Slot 2 is decided: j runs, t (timed) and c (costly) wait after a slot of service, f has finished;
    b is down."""
    jobs = (
        job("j", budget=Resources({"gpu": 9})),
        job("t", rate=None, timing=TIMING),
        job("f", budget=Resources({"gpu": 1})),
        job("c", resize_cost=1),
    )
    state = start()
    for event in (
        JobsArrived(jobs),
        SlotDecided(decision(0, ring("j", "a"), ring("f", "b"), ring("c", "b"))),
        SlotServed(0),
        SlotDecided(decision(1, ring("j", "a"), ring("t", "a"))),
        SlotServed(1),
        ServerFailed("b"),
        SlotDecided(decision(2, ring("j", "a", "a"))),
    ):
        state = apply(state, event)
    return state


def with_record(state: State, name: str, **changes: object) -> State:
    key = "active" if name in state.active else "ended"
    jobs = dict(getattr(state, key))
    jobs[name] = replace(jobs[name], **changes)
    return replace(state, **{key: jobs})


def with_served(state: State, name: str, served: float, work: float | None = None) -> State:
    return with_record(state, name, active=ActiveJob(state.record_of(name).job, served, work))


def with_rings(state: State, *rings: object) -> State:
    return replace(state, running=Allocation(rings))  # type: ignore[arg-type]


CORRUPTIONS: dict[str, tuple[Callable[[State], State], str]] = {
    "slot past the end": (lambda s: replace(s, slot=11, decided=False), "outside the horizon"),
    "slot before the start": (lambda s: replace(s, slot=-1), "outside the horizon"),
    "decided after the end": (lambda s: replace(s, slot=10), "is over"),
    "unknown server down": (lambda s: replace(s, down=s.down | {"q"}), "'q' is down, which is no server"),
    "failed server available": (lambda s: replace(s, available=PAIR), "available servers"),
    "lost link": (
        lambda s: replace(s, available=replace(s.available, links=())),
        "available links",
    ),
    "in both maps": (
        lambda s: replace(s, ended={**s.ended, "j": s.active["j"]}),
        "'j' is active and has ended",
    ),
    "wrong name": (lambda s: replace(s, ended={"g": s.ended["f"]}), "kept under the name 'g'"),
    "active with an ending": (lambda s: with_record(s, "j", ended=1), "is active, but ended"),
    "active without budget": (lambda s: with_served(s, "j", 9), "pays for no ring"),
    "ended without saying how": (lambda s: with_record(s, "f", ending=None), "not said how"),
    "ended as waiting": (lambda s: with_record(s, "f", ending=JobStatus.WAITING), "not said how"),
    "ended in the future": (lambda s: with_record(s, "f", ended=7), "cannot have ended in 7"),
    "finished with budget left": (
        lambda s: with_record(s, "f", active=ActiveJob(job("f"), 1)),
        "pays for another ring",
    ),
    "admitted before its arrival": (
        lambda s: with_record(s, "j", active=ActiveJob(job("j", arrival=1), 2)),
        "was admitted in slot 0, arrives in 1",
    ),
    "admitted in the future": (lambda s: with_record(s, "t", arrived=5), "was admitted in slot 5"),
    "served without a start": (lambda s: with_record(s, "t", first_start=None), "without having started"),
    "start in the future": (lambda s: with_record(s, "t", first_start=4), "started in slot 4"),
    "served more slots than there were": (lambda s: with_record(s, "t", slots_served=3), "3 slots since"),
    "more worker-slots than rings gave": (lambda s: with_served(s, "j", 6), "6 worker-slots from 2 slots"),
    "past its budget": (lambda s: with_served(s, "f", 2), "its budget pays for 1"),
    "work of a rate": (lambda s: with_served(s, "j", 2, 10.0), "counted in two ways"),
    "no work of a timing": (lambda s: with_served(s, "t", 1, None), "counted in two ways"),
    "service without work": (lambda s: with_served(s, "t", 1, 0.0), "has done 0 work"),
    "restarts without a start": (
        lambda s: with_record(s, "t", first_start=None, slots_served=0, restarts=1),
        "without having started",
    ),
    "more restarts than slots": (lambda s: with_record(s, "c", restarts=3), "3 restarts, 0 resizes"),
    "resizes that are no restarts": (lambda s: with_record(s, "c", resizes=1), "0 restarts, 1 resizes"),
    "work lost for nothing": (lambda s: with_record(s, "t", work_lost=1.0), "lost 1 work in 0 restarts"),
    "work lost by a free job": (lambda s: with_record(s, "j", work_lost=1.0), "lost 1 work in 1 restarts"),
    "work found": (lambda s: with_record(s, "c", work_lost=-1.0), "lost -1 work in 0 restarts"),
    "costly work of a rate": (lambda s: with_served(s, "c", 1, None), "counted in two ways"),
    "lost work credited": (
        lambda s: with_record(s, "c", restarts=1, work_lost=1.0),
        "has done 5 and lost 1 of 5 work",
    ),
    "restarting between slots": (lambda s: replace(s, decided=False), "not decided"),
    "restarting before service": (
        lambda s: replace(s, restarting=s.restarting | {"n"}),
        "'n' is restarting",
    ),
    "two rings": (lambda s: with_rings(s, ring("j", "a"), ring("j", "a")), "two rings"),
    "ring of nobody": (lambda s: with_rings(s, ring("q", "a")), "'q', which is not active"),
    "ring of a finished job": (lambda s: with_rings(s, ring("f", "a")), "'f', which is not active"),
    "ring too large": (lambda s: with_rings(s, ring("j", "a", "a", "a")), "runs with 3 workers"),
    "ring on a failed server": (lambda s: with_rings(s, ring("j", "b")), "'b', which does not stand"),
    "ring over a failed server": (
        lambda s: with_rings(s, replace(ring("j", "a", "a"), routes=(("a",), ("a", "b")))),
        "'b', which does not stand",
    ),
    "running without a start": (
        lambda s: replace(
            with_rings(s, ring("n", "a")),
            active={**s.active, "n": JobRecord(ActiveJob(job("n")), 0)},
        ),
        "'n' runs without having started",
    ),
}


def test_a_sound_state_passes() -> None:
    assert check_state(make()) == []


@pytest.mark.parametrize("planted", CORRUPTIONS)
def test_what_is_planted_is_found(planted: str) -> None:
    corrupt, said = CORRUPTIONS[planted]
    state = make()
    for faults in (check_state(corrupt(state)), check_state(corrupt(state), sound=state)):
        assert any(said in fault for fault in faults), faults
