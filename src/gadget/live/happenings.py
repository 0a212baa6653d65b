"""What has happened in the world, as events: a comparison of what is there with what the state believes."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from gadget.backends.backend import RingKey, RingPhase
from gadget.engine.apply_server import touches
from gadget.engine.events import (
    Cause,
    ClusterChanged,
    Event,
    JobFinished,
    Noted,
    RingFailed,
    ServerFailed,
    ServerReturned,
    WorkLost,
)
from gadget.engine.state import State
from gadget.live.fleet import Fleet, Presence
from gadget.live.orders import find_wanted
from gadget.model.cluster import Cluster
from gadget.model.quantity import TOLERANCE
from gadget.model.ring import Ring


@dataclass(frozen=True, slots=True)
class World:
    """What is known of the world beside its rings."""

    cluster: Cluster
    slot_seconds: float
    away: Mapping[str, str]
    """Servers that cannot be reached, and why."""
    share: float
    """How much of the present slot has gone by."""
    steady: float


@dataclass(slots=True)
class Happened:
    """What is new, and which rings it settles."""

    events: list[Event] = field(default_factory=list)
    settled: list[RingKey] = field(default_factory=list)
    """Rings that are over, with all that follows from it among the events."""
    looked_at: list[RingKey] = field(default_factory=list)
    """Rings whose beginning was looked at."""
    hung: list[RingKey] = field(default_factory=list)
    """Rings that say nothing any more."""


def find_happenings(state: State, fleet: Fleet, world: World) -> Happened:
    """Everything that the state does not know yet."""
    new = Happened()
    wanted = dict(find_wanted(state))
    finished = _find_finished(state, fleet)
    for one in finished.values():
        new.events.append(_finish(state, one, world.share))
    wanted = {key: ring for key, ring in wanted.items() if key.job not in finished}
    for key, reason in _find_lost(state, world, wanted):
        new.events.append(_break(state, key, fleet.rings.get(key), reason, Cause.SERVER, world.share))
        del wanted[key]
    new.events.extend(_find_changes(state, world))
    for one in fleet:
        if one.is_over:
            if one.key in wanted:
                reason = one.reason or "it left without being asked"
                reason += f" (it said: {one.note})" if one.note else ""
                cause = Cause.ENGINE if one.phase is RingPhase.TAKEN else Cause.WORKER
                new.events.append(_break(state, one.key, one, reason, cause, world.share))
                del wanted[one.key]
            elif one.reason and one.phase is not RingPhase.FINISHED:
                new.events.append(Noted("ring", f"{one.key} {one.phase}: {one.reason}"))
            new.settled.append(one.key)
        elif one.key in wanted:
            if silence := _find_silence(one, world.steady):
                new.events.append(_break(state, one.key, one, silence, Cause.HUNG, world.share))
                new.hung.append(one.key)
                del wanted[one.key]
            elif _can_be_compared(one):
                new.events.extend(_compare_start(state, one))
                new.looked_at.append(one.key)
    return new


def _find_finished(state: State, fleet: Fleet) -> Mapping[str, Presence]:
    """Rings that say that their jobs are done, by job. Whatever else befell such a job counts no more."""
    return {
        one.key.job: one
        for one in fleet
        if one.phase is RingPhase.FINISHED
        and one.key.job in state.active
        # An older one belongs to a job that had the same name, and was forgotten.
        and one.key.number >= state.active[one.key.job].arrived
    }


def _can_be_compared(one: Presence) -> bool:
    """Whether it is known how far a ring was when it began, or how far one is that began long ago."""
    return one.resumed is not None and (not one.was_found or one.stretch is not None)


def _find_lost(state: State, world: World, wanted: Mapping[RingKey, Ring]) -> Iterator[tuple[RingKey, str]]:
    """Rings on servers that went away, or that the cluster has no more."""
    gone = {name: reason for name, reason in world.away.items() if name not in state.down}
    nodes = world.cluster.neighbours
    changed = world.cluster is not state.cluster
    for key, ring in tuple(wanted.items()):
        lost = next((name for name in gone if touches(ring, name)), None)
        if lost is not None:
            yield key, f"server {lost} went away: {gone[lost]}"
        elif changed and not (
            nodes.keys() >= set(ring.workers) and all(b in nodes.get(a, {}) for a, b in ring.hops())
        ):
            yield key, "the cluster was changed, and has no place for its ring any more"


def _find_changes(state: State, world: World) -> Iterator[Event]:
    cluster = state.cluster
    if world.cluster is not cluster or world.slot_seconds != state.slot_seconds:
        if world.cluster != cluster or world.slot_seconds != state.slot_seconds:
            yield ClusterChanged(world.cluster, world.slot_seconds)
        cluster = world.cluster
    for name in sorted(world.away.keys() & cluster.server_by_name.keys() - state.down):
        yield ServerFailed(name, world.away[name])
    for name in sorted((state.down & cluster.server_by_name.keys()) - world.away.keys()):
        yield ServerReturned(name)


def _break(  # noqa: PLR0917 - an event has as many fields as it has
    state: State, key: RingKey, one: Presence | None, reason: str, cause: Cause, share: float
) -> RingFailed:
    credited = state.active[key.job].active.work_done or 0.0
    # What was safe when nobody listened is not known; the next ring will tell what it goes on from.
    safe = credited if one is None or one.safe_work is None else min(one.safe_work, credited)
    return RingFailed(key.job, safe, reason, cause, share)


def _finish(state: State, one: Presence, share: float) -> JobFinished:
    active = state.active[one.key.job].active
    # A program that says it is done while nobody listens has done all there was to do.
    told = active.job.work if one.was_over and one.work is None else one.work
    return JobFinished(one.key.job, max(active.work_done or 0.0, told or 0.0), share)


def _compare_start(state: State, one: Presence) -> Iterator[Event]:
    assert one.resumed is not None  # the caller asked
    credited = state.active[one.key.job].active.work_done or 0.0
    reached = max(one.resumed, one.work or 0.0)
    if reached < credited * (1 - TOLERANCE):
        why = one.note or "its newest checkpoint was missing or unreadable"
        yield WorkLost(one.key.job, reached, f"went on from {one.resumed:g} of {credited:g} work: {why}")


def _find_silence(one: Presence, steady: float) -> str | None:
    """Why a ring counts as hung, if it does."""
    program = None if one.job is None else one.job.program
    if program is None or one.phase not in (RingPhase.STARTING, RingPhase.RUNNING):
        return None
    for rank, last in enumerate(one.heard):
        waited = steady - (one.began if last is None else last)
        if last is None and waited > program.start_seconds:
            return f"rank {rank} on {one.ring.workers[rank]} has said nothing in its first {waited:.0f} s"
        if last is not None and waited > program.silence_seconds:
            return f"rank {rank} on {one.ring.workers[rank]} has said nothing for {waited:.0f} s"
    return None
