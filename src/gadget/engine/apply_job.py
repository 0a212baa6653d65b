"""How a state changes with its jobs."""

from dataclasses import replace

from gadget.engine.events import (
    Cause,
    JobFinished,
    JobLeft,
    JobsArrived,
    JobsForgotten,
    RingFailed,
    SpeedMeasured,
    WorkLost,
)
from gadget.engine.state import JobRecord, JobStatus, State
from gadget.errors import ImpossibleEvent
from gadget.model.job import ActiveJob, Job
from gadget.model.ring import Allocation


def change_job(  # noqa: PLR0911 - one for each kind of event
    state: State,
    event: JobsArrived | JobLeft | JobFinished | RingFailed | WorkLost | SpeedMeasured | JobsForgotten,
) -> State:
    """The state after something happened to jobs."""
    match event:
        case JobsArrived():
            return _admit(state, event.jobs)
        case JobLeft():
            return _end(state, state.active_record(event.job), JobStatus.LEFT)
        case JobFinished():
            return _finish(state, event)
        case RingFailed():
            return _break(state, event)
        case WorkLost():
            return _lose_work(state, event)
        case SpeedMeasured():
            return _learn_speed(state, event)
        case JobsForgotten():
            return _forget(state, event)


def _admit(state: State, jobs: tuple[Job, ...]) -> State:
    active = dict(state.active)
    refused: dict[str, JobRecord] = {}
    for job in jobs:
        if job.name in active or job.name in state.ended or job.name in refused:
            ended = state.ended.get(job.name)
            fate = "has arrived already" if ended is None else f"has {ended.ending} already"
            raise ImpossibleEvent(f"a job named {job.name!r} {fate}. Give the new one another name.")
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
    return replace(state, active=active, ended={**state.ended, **refused} if refused else state.ended)


def _finish(state: State, event: JobFinished) -> State:
    _check_measured(state, event.job)
    record = _charge(state, state.active_record(event.job), event.share)
    done = _checked_work(record, event.work)
    if record.job.work is not None:
        done = min(done, record.job.work)
    record = replace(
        record, active=replace(record.active, work_done=done), finished_at=state.slot + event.share
    )
    return _end(state, record, JobStatus.FINISHED)


def _break(state: State, event: RingFailed) -> State:
    record = state.active_record(event.job)
    if event.job not in state.running.ring_of:
        raise ImpossibleEvent(f"job {event.job!r} has no ring in slot {state.slot} that could break.")
    record = _charge(state, record, event.share)
    if state.is_measured:
        record = _roll_back(record, event.work)
    if event.cause is Cause.SERVICE:
        return _settle(_without_ring(state, event.job), record)
    kept = record.active.work_done or 0.0
    stuck = kept <= record.broke_at and state.is_measured
    is_fault = event.cause not in (Cause.SERVER, Cause.ENGINE)
    fruitless = 1 + (record.fruitless if stuck else 0) if is_fault else record.fruitless
    record = replace(
        record,
        failures=record.failures + 1,
        last_failure=event.reason,
        fruitless=fruitless,
        broke_at=kept,
    )
    program = record.job.program
    if program is not None and fruitless > program.retries:
        return _end(state, record, JobStatus.FAILED)
    return _settle(_without_ring(state, event.job), record)


def _lose_work(state: State, event: WorkLost) -> State:
    _check_measured(state, event.job)
    record = _roll_back(state.active_record(event.job), event.work)
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
    record = state.active_record(event.job)
    if (event.rate is None) == (event.timing is None) or (event.rate is None) != (record.job.rate is None):
        raise ImpossibleEvent(f"job {event.job!r} has a rate or a timing; the other cannot be measured.")
    job = replace(record.job, rate=event.rate, timing=event.timing)
    learnt = replace(record, active=replace(record.active, job=job))
    return replace(state, active={**state.active, event.job: learnt})


def _check_measured(state: State, job: str) -> None:
    if not state.is_measured:
        raise ImpossibleEvent(f"job {job!r}: nothing is measured here, work follows from what jobs say.")


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


def _forget(state: State, event: JobsForgotten) -> State:
    names = set(event.jobs)
    if unknown := sorted(names - state.ended.keys()):
        raise ImpossibleEvent(f"job {unknown[0]!r} cannot be forgotten: it has not ended.")
    return replace(state, ended={name: kept for name, kept in state.ended.items() if name not in names})
