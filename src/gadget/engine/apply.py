"""The one way a state changes."""

from collections.abc import Mapping
from dataclasses import replace

from gadget.engine.events import (
    Event,
    JobLeft,
    JobsArrived,
    Seen,
    ServerFailed,
    ServerReturned,
    SlotDecided,
    SlotServed,
)
from gadget.engine.state import JobRecord, JobStatus, State
from gadget.errors import ImpossibleEvent, InvalidValue
from gadget.model.job import ActiveJob, Job
from gadget.model.names import nearest_hint
from gadget.model.ring import Allocation, Ring


def apply(state: State, event: Event) -> State:
    """The state after the event; ImpossibleEvent if it cannot have happened."""
    match event:
        case JobsArrived():
            return _admit(state, event.jobs)
        case JobLeft():
            return _let_go(state, event.job)
        case ServerFailed():
            return _fail(state, event.server)
        case ServerReturned():
            return _bring_back(state, event.server)
        case SlotDecided():
            return _run(state, event)
        case SlotServed():
            return _serve(state, event)


def _admit(state: State, jobs: tuple[Job, ...]) -> State:
    active = dict(state.active)
    refused: dict[str, JobRecord] = {}
    for job in jobs:
        if job.name in active or job.name in state.ended or job.name in refused:
            raise ImpossibleEvent(
                f"a job named {job.name!r} has arrived already. Give the new one another name."
            )
        if job.arrival > state.slot:
            raise ImpossibleEvent(
                f"job {job.name!r} arrives in slot {job.arrival}; this is slot {state.slot}."
            )
        by_service = job.work_is_proportional and not state.is_measured
        record = JobRecord(ActiveJob(job, 0, None if by_service else 0.0), state.slot)
        if record.active.largest_ring:
            active[job.name] = record
        else:
            refused[job.name] = replace(record, ending=JobStatus.REFUSED, ended=state.slot)
    return replace(state, active=active, ended=_add_ended(state, refused))


def _let_go(state: State, name: str) -> State:
    record = _active_record(state, name)
    left = replace(record, ending=JobStatus.LEFT, ended=state.slot)
    return replace(
        state,
        active={other: kept for other, kept in state.active.items() if other != name},
        ended={**state.ended, name: left},
        running=Allocation(tuple(ring for ring in state.running.rings if ring.job != name)),
        restarting=state.restarting - {name},
    )


def _fail(state: State, server: str) -> State:
    _check_server(state, server)
    if server in state.down:
        raise ImpossibleEvent(f"server {server!r} is down already.")
    spared = tuple(ring for ring in state.running.rings if not _touches(ring, server))
    return replace(_with_down(state, state.down | {server}), running=Allocation(spared))


def _bring_back(state: State, server: str) -> State:
    _check_server(state, server)
    if server not in state.down:
        raise ImpossibleEvent(f"server {server!r} cannot return: it is not down.")
    return _with_down(state, state.down - {server})


def _with_down(state: State, down: frozenset[str]) -> State:
    return replace(state, down=down, available=state.cluster.without(down) if down else state.cluster)


def _run(state: State, event: SlotDecided) -> State:
    decision = event.decision
    if state.decided:
        raise ImpossibleEvent(f"slot {state.slot} is decided already; it must be served first.")
    if decision.slot != state.slot:
        raise ImpossibleEvent(f"the decision is for slot {decision.slot}; this is slot {state.slot}.")
    if state.slot >= state.slots:
        raise ImpossibleEvent(f"the horizon of {state.slots} slots is over.")
    changed = {}
    restarting = set()
    for ring in decision.allocation.rings:
        record = _active_record(state, ring.job)
        before = state.running.ring_of.get(ring.job)
        resized = before is not None and before.size != ring.size
        restarted = record.active.is_restart(ring, before)
        if restarted:
            restarting.add(ring.job)
        if resized or restarted or record.first_start is None:
            changed[ring.job] = replace(
                record,
                first_start=state.slot if record.first_start is None else record.first_start,
                resizes=record.resizes + resized,
                restarts=record.restarts + restarted,
            )
    if len(decision.allocation.ring_of) < len(decision.allocation.rings):
        raise ImpossibleEvent(f"the decision for slot {state.slot} gives a job two rings.")
    return replace(
        state,
        active={**state.active, **changed} if changed else state.active,
        running=decision.allocation,
        restarting=frozenset(restarting),
        prices=decision.prices,
        decided=True,
    )


def _serve(state: State, event: SlotServed) -> State:
    slot = event.slot
    if not state.decided or slot != state.slot:
        raise ImpossibleEvent(f"slot {slot} cannot have been served: slot {state.slot} is to be decided.")
    if (event.seen is not None) != state.is_measured:
        raise ImpossibleEvent(f"slot {slot}: work is either seen in every slot or in none.")
    seen = {one.job: one for one in event.seen or ()}
    active = dict(state.active)
    finished = {}
    for ring in state.running.rings:
        if event.seen is not None and ring.job not in seen:
            raise ImpossibleEvent(f"slot {slot} was served, but nothing was seen of job {ring.job!r}.")
        record = _credit(state, active[ring.job], ring, seen.get(ring.job))
        if record.active.largest_ring and not record.active.is_complete(state.slot_seconds):
            active[ring.job] = record
        else:
            del active[ring.job]
            finished[ring.job] = replace(record, ending=JobStatus.FINISHED, ended=slot)
    lasting = tuple(ring for ring in state.running.rings if ring.job not in finished)
    return replace(
        state,
        active=active,
        ended=_add_ended(state, finished),
        running=Allocation(lasting) if finished else state.running,
        restarting=frozenset(),
        slot=slot + 1,
        decided=False,
    )


def _add_ended(state: State, more: Mapping[str, JobRecord]) -> Mapping[str, JobRecord]:
    """In a long run most jobs have ended: they are copied only in slots that end one."""
    return {**state.ended, **more} if more else state.ended


def _credit(state: State, record: JobRecord, ring: Ring, seen: Seen | None) -> JobRecord:
    """z ← z + κ, and the work that its ring was seen to do in the slot, or does by what the job says."""
    active, job = record.active, record.job
    work, lost, left_at = active.work_done, record.work_lost, None
    if work is not None:  # else it is ζ·z, exactly
        if seen is None:
            restart = ring.job in state.restarting
            done = float(job.work_in_slot(ring.size, state.slot_seconds, restart=restart))
            lost += float(job.work_in_slot(ring.size, state.slot_seconds)) - done if restart else 0.0
        else:
            done = seen.work
            lost += seen.lost
        if job.work is not None and done > 0 and work + done >= job.work:
            # It ends within the slot in which all is done.
            left_at = state.slot + (job.work - work) / done
            work = job.work
        else:
            work += done
    try:
        served = ActiveJob(job, active.served + ring.size, work)
    except InvalidValue as error:
        raise error.within(f"job {job.name!r}") from None
    return replace(
        record, active=served, slots_served=record.slots_served + 1, work_lost=lost, finished_at=left_at
    )


def _active_record(state: State, name: str) -> JobRecord:
    if name not in state.active:
        fate = f"has {state.ended[name].ending}" if name in state.ended else "has not arrived"
        raise ImpossibleEvent(f"job {name!r} {fate} in slot {state.slot}{nearest_hint(name, state.active)}.")
    return state.active[name]


def _check_server(state: State, server: str) -> None:
    known = state.cluster.server_by_name
    if server not in known:
        raise ImpossibleEvent(f"no server is named {server!r}{nearest_hint(server, known)}.")


def _touches(ring: Ring, server: str) -> bool:
    return server in ring.workers or any(server in route for route in ring.routes)
