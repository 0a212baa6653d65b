"""How a state changes with time: slots are decided, and then served."""

from dataclasses import replace

from gadget.engine.events import Seen, SlotDecided, SlotObserved, SlotServed
from gadget.engine.state import JobRecord, JobStatus, State
from gadget.errors import ImpossibleEvent, InvalidValue
from gadget.model.job import ActiveJob
from gadget.model.ring import Allocation, Ring


def change_slot(state: State, event: SlotDecided | SlotServed | SlotObserved) -> State:
    """The state after a slot was decided, or went by."""
    match event:
        case SlotDecided():
            return _run(state, event)
        case SlotServed():
            return _serve(state, event)
        case SlotObserved():
            return _look_on(state, event)


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
        record = state.active_record(ring.job)
        before = state.running.ring_of.get(ring.job)
        resized = before is not None and before.size != ring.size
        restarted = record.active.is_restart(ring, before)
        if restarted:
            restarting.add(ring.job)
        if before is None or before.workers != ring.workers:
            changed[ring.job] = replace(
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
        active={**state.active, **changed} if changed else state.active,
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
    active = dict(state.active)
    finished = {}
    for ring in state.running.rings:
        if event.seen is not None and ring.job not in seen:
            raise ImpossibleEvent(f"slot {slot} was served, but nothing was seen of job {ring.job!r}.")
        record = _credit(state, active[ring.job], ring, seen.get(ring.job), event.share)
        if record.active.largest_ring and not record.active.is_complete(state.slot_seconds):
            active[ring.job] = record
        else:
            del active[ring.job]
            finished[ring.job] = replace(record, ending=JobStatus.FINISHED, ended=slot)
    lasting = tuple(ring for ring in state.running.rings if ring.job not in finished)
    return replace(
        state,
        active=active,
        # In a long run most jobs have ended: they are copied only in slots that end one.
        ended={**state.ended, **finished} if finished else state.ended,
        running=Allocation(lasting) if finished else state.running,
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
