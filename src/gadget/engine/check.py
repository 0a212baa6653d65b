"""What holds in every state, whatever has happened."""

from collections.abc import Iterable, Iterator, Mapping
from itertools import compress
from operator import is_not

from gadget.engine.state import JobRecord, JobStatus, State, find_available, find_standing
from gadget.model.quantity import TOLERANCE

_ENDINGS = frozenset((JobStatus.FINISHED, JobStatus.LEFT, JobStatus.REFUSED, JobStatus.FAILED))


def check_state(state: State, *, sound: State | None = None) -> list[str]:
    """Every rule that the state breaks; an empty list means it is sound.

    Records that an earlier state, known to be `sound`, has too are not looked at again.
    """
    return [*_check_time(state), *_check_servers(state), *_check_jobs(state, sound), *_check_rings(state)]


def _check_time(state: State) -> Iterator[str]:
    if not 0 <= state.slot <= state.slots:
        yield f"slot {state.slot} is outside the horizon of {state.slots} slots"
    if state.decided and state.slot >= state.slots:
        yield f"slot {state.slot} is decided, but the horizon of {state.slots} slots is over"


def _check_servers(state: State) -> Iterator[str]:
    known = state.cluster.server_by_name
    for name in sorted(state.down - known.keys()):
        yield f"{name!r} is down, which is no server"
    for name in sorted(state.drained - known.keys()):
        yield f"{name!r} is drained, which is no server"
    if state.available.server_by_name.keys() != known.keys() - state.down - state.drained:
        yield "the available servers are not those that stand"
    if not (state.down or state.drained):
        usable = len(state.cluster.links)
    else:
        usable = len(
            find_available(state.cluster, state.down & known.keys(), state.drained & known.keys()).links
        )
    if len(state.available.links) != usable:
        yield "the available links are not those that stand"


def _check_jobs(state: State, sound: State | None) -> Iterator[str]:
    for name, record in _new_records(state.active, None if sound is None else sound.active):
        if name in state.ended:
            yield f"job {name!r} is active and has ended"
        yield from _check_record(state, name, record)
        if record.ending is not None or record.ended is not None:
            yield f"job {name!r} is active, but ended in slot {record.ended}"
        if record.active.is_complete(state.slot_seconds):
            yield f"job {name!r} is active, but its work is done"
        if not record.active.largest_ring:
            yield f"job {name!r} is active, but its budget pays for no ring"
    for name, record in _new_records(state.ended, None if sound is None else sound.ended):
        if sound is not None and name in state.active and state.active[name] is sound.active.get(name):
            yield f"job {name!r} is active and has ended"
        yield from _check_record(state, name, record)
        if record.ending not in _ENDINGS or record.ended is None:
            yield f"job {name!r} has ended, but not said how and when"
        elif not record.arrived <= record.ended <= state.slot:
            yield f"job {name!r} arrived in slot {record.arrived}, so it cannot have ended in {record.ended}"
        elif record.ending not in (JobStatus.LEFT, JobStatus.FAILED) and not _is_over(state, record):
            yield f"job {name!r} has {record.ending}, but its budget pays for another ring"


def _is_over(state: State, record: JobRecord) -> bool:
    # Where work is measured, a program may end by its own word.
    by_itself = state.is_measured and record.ending is JobStatus.FINISHED
    return by_itself or not record.active.largest_ring or record.active.is_complete(state.slot_seconds)


def _new_records(
    jobs: Mapping[str, JobRecord], known: Mapping[str, JobRecord] | None
) -> Iterable[tuple[str, JobRecord]]:
    if known is None:
        return jobs.items()
    if known is jobs:
        return ()
    return compress(jobs.items(), map(is_not, jobs.values(), map(known.get, jobs)))


def _check_record(state: State, name: str, record: JobRecord) -> Iterator[str]:
    if record.job.name != name:
        yield f"job {record.job.name!r} is kept under the name {name!r}"
    yield from _check_life(state, name, record)
    yield from _check_service(name, record, is_measured=state.is_measured)


def _check_life(state: State, name: str, record: JobRecord) -> Iterator[str]:
    """(6): nothing before its arrival."""
    if not record.job.arrival <= record.arrived <= state.slot:
        yield f"job {name!r} was admitted in slot {record.arrived}, arrives in {record.job.arrival}"
    start = record.first_start
    if start is None:
        if record.slots_served or record.resizes or record.restarts:
            yield f"job {name!r} was served without having started"
    elif not record.arrived <= start <= state.slot - (not state.decided):
        yield f"job {name!r} started in slot {start}, was admitted in slot {record.arrived}"
    elif not 0 <= record.slots_served <= (state.slot - start + state.decided) * (1 + TOLERANCE):
        yield f"job {name!r} was served in {record.slots_served} slots since its start in slot {start}"
    elif not record.resizes <= record.restarts <= state.slot - start - (not state.decided):
        yield f"job {name!r} has {record.restarts} restarts, {record.resizes} resizes since slot {start}"


def _check_service(name: str, record: JobRecord, *, is_measured: bool) -> Iterator[str]:
    """(2), (3): worker-slots that rings of its sizes can have added up to, and its budget can have paid."""
    job, served, slots = record.job, record.active.served, record.slots_served
    if (
        not slots * job.min_workers
        <= served * (1 + TOLERANCE)
        <= slots * job.max_workers * (1 + TOLERANCE) ** 2
    ):
        yield f"job {name!r} has {served} worker-slots from {slots} slots"
    if served > job.worker_slots * (1 + TOLERANCE):
        yield f"job {name!r} has {served} worker-slots, its budget pays for {job.worker_slots:g}"
    work = record.active.work_done
    if (work is None) != (job.work_is_proportional and not is_measured):
        yield f"job {name!r} has its work counted in two ways"
    if work is not None and (work > 0) != (served > 0) and not is_measured:
        yield f"job {name!r} has done {work:g} work in {served} worker-slots"
    if work is not None and job.work is not None and work > job.work * (1 + TOLERANCE):
        yield f"job {name!r} has done {work:g} work of {job.work:g}"
    lost = record.work_lost
    if lost < 0 or (lost and not is_measured and not (record.restarts and job.loses_by_restart)):
        yield f"job {name!r} has lost {lost:g} work in {record.restarts} restarts"
    if work is not None and job.rate is not None and not is_measured:
        whole = job.rate * served
        ends_early = job.work is not None and work >= job.work
        if abs(work + lost - whole) > TOLERANCE * whole and not (ends_early and work + lost < whole):
            yield f"job {name!r} has done {work:g} and lost {lost:g} of {whole:g} work"


def _check_rings(state: State) -> Iterator[str]:
    nodes = (
        find_standing(state.cluster, state.down).neighbours if state.drained else state.available.neighbours
    )
    if len(state.running.ring_of) < len(state.running.rings):
        yield "a job has two rings"
    if state.restarting and not state.decided:
        yield "rings are restarting in a slot that is not decided"
    for name in sorted(state.restarting):
        if name not in state.active or not state.active[name].active.served:
            yield f"job {name!r} is restarting, but was never served or is not active"
    for ring in state.running.rings:
        record = state.active.get(ring.job)
        if record is None:
            yield f"a ring runs for {ring.job!r}, which is not active"
            continue
        if record.first_start is None:
            yield f"job {ring.job!r} runs without having started"
        most = record.active.largest_ring if state.decided else record.job.max_workers
        if not record.job.min_workers <= ring.size <= most:
            yield f"job {ring.job!r} runs with {ring.size} workers"
        for node in dict.fromkeys((*ring.workers, *(node for route in ring.routes for node in route))):
            if node not in nodes:
                yield f"the ring of {ring.job!r} uses {node!r}, which does not stand"
