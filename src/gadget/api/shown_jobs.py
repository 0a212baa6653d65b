"""From what the service shows of itself to what the routes say of jobs."""

from itertools import chain

from gadget.api.schemas import (
    JobBrief,
    Jobs,
    JobShown,
    Queue,
    Queued,
    RingShown,
    Speed,
    StepSeconds,
    WaitingShown,
    Work,
)
from gadget.api.waiting import give_advice, list_waiting
from gadget.engine.state import JobRecord, JobStatus
from gadget.errors import printable
from gadget.live import view as live
from gadget.live.view import View
from gadget.model.decision import Waiting
from gadget.model.encoding import job_document, ring_document


def show_jobs(view: View, status: JobStatus | None, offset: int, limit: int) -> Jobs:
    """The jobs with a status, or all; active ones by arrival, then the last that ended first."""
    state = view.state
    records = chain(state.active.values(), reversed(list(state.ended.values())))
    chosen = [record for record in records if status is None or state.status_of(record.job.name) is status]
    reasons = {record.job.name: waiting.reason for record, waiting in list_waiting(view)}
    page = chosen[offset : offset + limit]
    return Jobs(
        total=len(chosen), jobs=[_brief(view, record, reasons.get(record.job.name)) for record in page]
    )


def show_job(view: View, name: str) -> JobShown:
    """All about a job that has arrived."""
    state = view.state
    record = state.record_of(name)
    waiting = next(
        (
            _waiting(place, why)
            for place, (other, why) in enumerate(list_waiting(view), 1)
            if other.job.name == name
        ),
        None,
    )
    ring = view.rings.get(name)
    decided = state.running.ring_of.get(name)
    active = record.active
    return JobShown(
        **_brief(view, record, None if waiting is None else waiting.reason).model_dump(),
        ring=None if ring is None else _ring(ring),
        decided_ring=None if decided is None else ring_document(decided),
        step_seconds=StepSeconds(
            measured=None if ring is None else ring.step_seconds,
            predicted=None if ring is None else ring.predicted_step_seconds,
        ),
        work_per_second=Speed(
            measured=None if ring is None else ring.work_per_second,
            predicted=None if ring is None else ring.predicted_work_per_second,
        ),
        waiting=waiting,
        last_failure=None if record.last_failure is None else printable(record.last_failure),
        first_start=record.first_start,
        ended=record.ended,
        finished_at=record.finished_at,
        slots_served=record.slots_served,
        worker_slots=active.served,
        resizes=record.resizes,
        restarts=record.restarts,
        utility=float(record.job.worth.value(active.work(state.slot_seconds))),
        job=job_document(record.job),
    )


def show_queue(view: View) -> Queue:
    """The jobs that wait, by arrival, each with its reason."""
    queued = [
        Queued(
            **_waiting(place, why).model_dump(),
            name=record.job.name,
            workers_min=record.job.min_workers,
            workers_max=record.job.max_workers,
            arrived=record.arrived,
            waited_slots=view.state.slot - record.arrived,
            failures=record.failures,
        )
        for place, (record, why) in enumerate(list_waiting(view), 1)
    ]
    return Queue(total=len(queued), jobs=queued)


def _brief(view: View, record: JobRecord, reason: str | None) -> JobBrief:
    name = record.job.name
    ring, decided = view.rings.get(name), view.state.running.ring_of.get(name)
    return JobBrief(
        name=name,
        status=view.state.status_of(name),
        phase=None if ring is None else ring.phase,
        size=0 if decided is None else decided.size,
        work=_work(view, record, ring),
        reason=reason,
        arrived=record.arrived,
        failures=record.failures,
    )


def _work(view: View, record: JobRecord, ring: live.RingShown | None) -> Work:
    done = record.active.work(view.state.slot_seconds)
    # The journal knows what was served by the end of a slot; the ring that runs now knows more.
    if ring is not None and ring.work is not None and not ring.phase.is_over:
        done = ring.work
    return Work(
        done=done,
        total=record.job.work,
        safe=None if ring is None else ring.safe_work,
        lost=record.work_lost,
    )


def _ring(ring: live.RingShown) -> RingShown:
    return RingShown(
        number=ring.key.number,
        phase=ring.phase,
        since=ring.since,
        heard_at=ring.heard_at,
        size=ring.ring.size,
        workers=list(ring.ring.workers),
        routes=[list(route) for route in ring.ring.routes],
    )


def _waiting(position: int, why: Waiting) -> WaitingShown:
    return WaitingShown(
        position=position, reason=why.reason, detail=printable(why.detail), advice=give_advice(why.reason)
    )
