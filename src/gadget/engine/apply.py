"""The one way a state changes."""

from collections.abc import Mapping
from dataclasses import replace

from gadget.engine.events import (
    ClusterChanged,
    Event,
    JobFinished,
    JobLeft,
    JobsArrived,
    Noted,
    RingFailed,
    Seen,
    ServerDrained,
    ServerFailed,
    ServerReturned,
    ServerUndrained,
    SlotDecided,
    SlotObserved,
    SlotServed,
    SpeedMeasured,
    WorkLost,
)
from gadget.engine.state import JobRecord, JobStatus, State, find_available, find_standing
from gadget.errors import ImpossibleEvent, InvalidValue
from gadget.model.job import ActiveJob, Job
from gadget.model.names import nearest_hint
from gadget.model.ring import Allocation, Ring


def apply(state: State, event: Event) -> State:
    """The state after the event; ImpossibleEvent if it cannot have happened."""
    match event:
        case SlotDecided():
            return _run(state, event)
        case SlotServed():
            return _serve(state, event)
        case SlotObserved():
            return _look_on(state, event)
        case Noted():
            return state
        case ServerFailed() | ServerReturned() | ServerDrained() | ServerUndrained() | ClusterChanged():
            return _change_cluster(state, event)
        case _:
            return _change_job(state, event)


def _change_cluster(
    state: State,
    event: ServerFailed | ServerReturned | ServerDrained | ServerUndrained | ClusterChanged,
) -> State:
    match event:
        case ServerFailed():
            return _fail(state, event.server)
        case ServerReturned():
            return _bring_back(state, event.server)
        case ServerDrained():
            return _drain(state, event.server)
        case ServerUndrained():
            return _undrain(state, event.server)
        case ClusterChanged():
            return _exchange(state, event)


def _change_job(
    state: State, event: JobsArrived | JobLeft | JobFinished | RingFailed | WorkLost | SpeedMeasured
) -> State:
    match event:
        case JobsArrived():
            return _admit(state, event.jobs)
        case JobLeft():
            return _end(state, _active_record(state, event.job), JobStatus.LEFT)
        case JobFinished():
            return _finish(state, event)
        case RingFailed():
            return _break(state, event)
        case WorkLost():
            return _lose_work(state, event)
        case SpeedMeasured():
            return _learn_speed(state, event)


def _admit(state: State, jobs: tuple[Job, ...]) -> State:
    active, ended = dict(state.active), dict(state.ended)
    for job in jobs:
        if job.name in active or job.name in ended:
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
            ended[job.name] = replace(record, ending=JobStatus.REFUSED, ended=state.slot)
    return replace(state, active=active, ended=ended)


def _end(state: State, record: JobRecord, ending: JobStatus) -> State:
    name = record.job.name
    return replace(
        _without_ring(state, name),
        active={other: kept for other, kept in state.active.items() if other != name},
        ended={**state.ended, name: replace(record, ending=ending, ended=state.slot)},
    )


def _without_ring(state: State, job: str) -> State:
    if job not in state.running.ring_of:
        return state
    return replace(
        state,
        running=Allocation(tuple(ring for ring in state.running.rings if ring.job != job)),
        restarting=state.restarting - {job},
    )


def _finish(state: State, event: JobFinished) -> State:
    _check_measured(state, event.job)
    record = _charge(state, _active_record(state, event.job), event.share)
    done = _checked_work(record, event.work)
    if record.job.work is not None:
        done = min(done, record.job.work)
    record = replace(
        record, active=replace(record.active, work_done=done), finished_at=state.slot + event.share
    )
    return _end(state, record, JobStatus.FINISHED)


def _break(state: State, event: RingFailed) -> State:
    record = _active_record(state, event.job)
    if event.job not in state.running.ring_of:
        raise ImpossibleEvent(f"job {event.job!r} has no ring in slot {state.slot} that could break.")
    record = _charge(state, record, event.share)
    if state.is_measured:
        record = _roll_back(record, event.work)
    record = replace(record, failures=record.failures + 1, last_failure=event.reason)
    return _settle(_without_ring(state, event.job), record)


def _lose_work(state: State, event: WorkLost) -> State:
    _check_measured(state, event.job)
    record = _roll_back(_active_record(state, event.job), event.work)
    return _settle(state, replace(record, last_failure=event.reason))


def _settle(state: State, record: JobRecord) -> State:
    """Keep a changed record among the active ones, if its budget pays for another ring."""
    if not record.active.largest_ring and record.job.name not in state.running.ring_of:
        return _end(state, record, JobStatus.FINISHED)
    return replace(state, active={**state.active, record.job.name: record})


def _roll_back(record: JobRecord, work: float) -> JobRecord:
    done = record.active.work_done or 0.0
    kept = min(done, _checked_work(record, work))
    return replace(
        record, active=replace(record.active, work_done=kept), work_lost=record.work_lost + done - kept
    )


def _checked_work(record: JobRecord, work: float) -> float:
    if not 0 <= work < float("inf"):
        raise ImpossibleEvent(f"job {record.job.name!r} cannot have done {work} work.")
    return float(work)


def _charge(state: State, record: JobRecord, share: float) -> JobRecord:
    """z ← z + κ·share for a ring that ends within the slot."""
    ring = state.running.ring_of.get(record.job.name)
    if not 0 <= share <= 1:
        raise ImpossibleEvent(f"job {record.job.name!r} cannot have run for {share} of a slot.")
    if ring is None or not state.decided:
        return record
    served = replace(record.active, served=record.active.served + ring.size * share)
    return replace(record, active=served, slots_served=record.slots_served + share)


def _learn_speed(state: State, event: SpeedMeasured) -> State:
    _check_measured(state, event.job)
    record = _active_record(state, event.job)
    if (event.rate is None) == (event.timing is None) or (event.rate is None) != (record.job.rate is None):
        raise ImpossibleEvent(f"job {event.job!r} has a rate or a timing; the other cannot be measured.")
    job = replace(record.job, rate=event.rate, timing=event.timing)
    learnt = replace(record, active=replace(record.active, job=job))
    return replace(state, active={**state.active, event.job: learnt})


def _check_measured(state: State, job: str) -> None:
    if not state.is_measured:
        raise ImpossibleEvent(f"job {job!r}: nothing is measured here, work follows from what jobs say.")


def _fail(state: State, server: str) -> State:
    _check_server(state, server)
    if server in state.down:
        raise ImpossibleEvent(f"server {server!r} is down already.")
    spared = tuple(ring for ring in state.running.rings if not _touches(ring, server))
    lost = state.running.ring_of.keys() - {ring.job for ring in spared}
    return replace(
        _with_servers(state, down=state.down | {server}),
        running=Allocation(spared),
        restarting=state.restarting - lost,
    )


def _bring_back(state: State, server: str) -> State:
    _check_server(state, server)
    if server not in state.down:
        raise ImpossibleEvent(f"server {server!r} cannot return: it is not down.")
    return _with_servers(state, down=state.down - {server})


def _drain(state: State, server: str) -> State:
    _check_server(state, server)
    if server in state.drained:
        raise ImpossibleEvent(f"server {server!r} is drained already.")
    return _with_servers(state, drained=state.drained | {server})


def _undrain(state: State, server: str) -> State:
    _check_server(state, server)
    if server not in state.drained:
        raise ImpossibleEvent(f"server {server!r} is not drained.")
    return _with_servers(state, drained=state.drained - {server})


def _with_servers(
    state: State, *, down: frozenset[str] | None = None, drained: frozenset[str] | None = None
) -> State:
    lost = state.down if down is None else down
    empty = state.drained if drained is None else drained
    return replace(state, down=lost, drained=empty, available=find_available(state.cluster, lost, empty))


def _exchange(state: State, event: ClusterChanged) -> State:
    cluster = event.cluster
    down = state.down & cluster.server_by_name.keys()
    drained = state.drained & cluster.server_by_name.keys()
    nodes = find_standing(cluster, down).neighbours
    kept = tuple(ring for ring in state.running.rings if _fits_into(ring, nodes))
    lost = state.running.ring_of.keys() - {ring.job for ring in kept}
    return replace(
        state,
        cluster=cluster,
        slot_seconds=event.slot_seconds,
        down=down,
        drained=drained,
        available=find_available(cluster, down, drained),
        running=Allocation(kept),
        restarting=state.restarting - lost,
        prices=None,
    )


def _fits_into(ring: Ring, nodes: Mapping[str, Mapping[str, float]]) -> bool:
    """Whether every worker and every hop of the ring is there."""
    return nodes.keys() >= set(ring.workers) and all(b in nodes.get(a, {}) for a, b in ring.hops())


def _run(state: State, event: SlotDecided) -> State:
    decision = event.decision
    if state.decided:
        raise ImpossibleEvent(f"slot {state.slot} is decided already; it must be served first.")
    if decision.slot != state.slot:
        raise ImpossibleEvent(f"the decision is for slot {decision.slot}; this is slot {state.slot}.")
    if state.slot >= state.slots:
        raise ImpossibleEvent(f"the horizon of {state.slots} slots is over.")
    active = dict(state.active)
    restarting = set()
    for ring in decision.allocation.rings:
        record = _active_record(state, ring.job)
        before = state.running.ring_of.get(ring.job)
        resized = before is not None and before.size != ring.size
        restarted = record.active.is_restart(ring, before)
        if restarted:
            restarting.add(ring.job)
        if before is None or before.workers != ring.workers:
            active[ring.job] = replace(
                record,
                first_start=state.slot if record.first_start is None else record.first_start,
                ring_since=state.slot,
                resizes=record.resizes + resized,
                restarts=record.restarts + restarted,
            )
    if len(decision.allocation.ring_of) < len(decision.allocation.rings):
        raise ImpossibleEvent(f"the decision for slot {state.slot} gives a job two rings.")
    return replace(
        state,
        active=active,
        running=decision.allocation,
        restarting=frozenset(restarting),
        prices=decision.prices,
        decided=True,
    )


def _look_on(state: State, event: SlotObserved) -> State:
    if state.decided or state.running.rings:
        raise ImpossibleEvent(f"slot {state.slot} cannot be looked on at: rings run in it.")
    if event.decision.slot != state.slot:
        raise ImpossibleEvent(f"the decision is for slot {event.decision.slot}; this is slot {state.slot}.")
    return replace(state, slot=state.slot + 1, prices=event.decision.prices)


def _serve(state: State, event: SlotServed) -> State:
    slot = event.slot
    if not 0 <= event.share <= 1:
        raise ImpossibleEvent(f"slot {slot} cannot have been {event.share} of a slot.")
    if not state.decided or slot != state.slot:
        raise ImpossibleEvent(f"slot {slot} cannot have been served: slot {state.slot} is to be decided.")
    if (event.seen is not None) != state.is_measured:
        raise ImpossibleEvent(f"slot {slot}: work is either seen in every slot or in none.")
    seen = {one.job: one for one in event.seen or ()}
    active, ended = dict(state.active), dict(state.ended)
    for ring in state.running.rings:
        if event.seen is not None and ring.job not in seen:
            raise ImpossibleEvent(f"slot {slot} was served, but nothing was seen of job {ring.job!r}.")
        record = _credit(state, active[ring.job], ring, seen.get(ring.job), event.share)
        if record.active.largest_ring and not record.active.is_complete(state.slot_seconds):
            active[ring.job] = record
        else:
            del active[ring.job]
            ended[ring.job] = replace(record, ending=JobStatus.FINISHED, ended=slot)
    lasting = tuple(ring for ring in state.running.rings if ring.job in active)
    return replace(
        state,
        active=active,
        ended=ended,
        running=Allocation(lasting),
        restarting=frozenset(),
        slot=slot + 1,
        decided=False,
    )


def _credit(state: State, record: JobRecord, ring: Ring, seen: Seen | None, share: float) -> JobRecord:
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
        served = ActiveJob(job, active.served + (ring.size if share == 1 else ring.size * share), work)
    except InvalidValue as error:
        raise error.within(f"job {job.name!r}") from None
    return replace(
        record,
        active=served,
        slots_served=record.slots_served + (1 if share == 1 else share),
        work_lost=lost,
        finished_at=left_at,
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
