"""Why a job waits, as of now: what the newest decision says of it, or what has happened since."""

from collections.abc import Iterator, Mapping
from enum import StrEnum

from gadget.engine.state import JobRecord
from gadget.live.view import Mode, View
from gadget.model.decision import Reason, Waiting
from gadget.model.wording import say_count


class Since(StrEnum):
    """Why a job waits of which the newest decision says nothing."""

    UNDECIDED = "undecided"
    """No decision has seen it yet."""
    RING_LOST = "ring-lost"
    """It had a ring, which broke or whose server went away."""
    OBSERVED = "observed"
    """It would have a ring, but this service only observes."""


_ADVICE: Mapping[str, str] = {
    Reason.NOT_ARRIVED: "Wait until the slot in which it arrives.",
    Reason.BUDGET: "Submit it again with a larger budget.",
    Reason.DONE: "Nothing: its work is done.",
    Reason.TOO_LARGE: "Lower its resources a worker, its smallest ring or bandwidth_gbps, or add servers; "
    "even the empty cluster cannot run it as it is.",
    Reason.CAPACITY: "Wait for a ring to end, let it run smaller (workers.min), or undrain servers.",
    Reason.BANDWIDTH: "Wait for a ring to end, or lower its bandwidth_gbps or its smallest ring.",
    Reason.QUEUE: "Wait for its turn, or choose a policy that lets later jobs pass (fifo:backfill=true).",
    Reason.GAIN: "Wait: what runs now gains more. A larger utility or priority moves it forward.",
    Since.UNDECIDED: "Wait for the next decision.",
    Since.RING_LOST: "Wait for the next decision: it goes on from its last checkpoint.",
    "held": "Wait until the rings that are left alone (min_runtime_seconds) may be changed.",
    "drained": "Undrain servers (gadget node undrain SERVER), or wait until they are back.",
    "backoff": "Mend what breaks its ring (gadget job logs JOB), or wait for the next try.",
    "solver": "Look at the faults of the service (gadget watch); the solver is asked again by itself.",
    "engine": "Look at the faults of the service (gadget watch); it goes on when the engine is back.",
    Since.OBSERVED: "Start the service with --mode enforce.",
}


def list_waiting(view: View) -> Iterator[tuple[JobRecord, Waiting]]:
    """The jobs without a ring in order of arrival, each with why."""
    told = {} if view.decision is None else {one.job: one for one in view.decision.waiting}
    running = view.state.running.ring_of
    for name, record in view.state.active.items():
        if name not in running:
            yield record, told.get(name) or _since_then(view, record)


def give_advice(reason: str) -> str:
    """What would let a job run that waits for this reason."""
    return _ADVICE.get(reason, "Wait for the next decision.")


def find_due(view: View) -> float:
    """When the next decision is due at the latest, in seconds since 1970."""
    return view.slot_began + view.state.slot_seconds


def _since_then(view: View, record: JobRecord) -> Waiting:
    name = record.job.name
    ring = None if view.decision is None else view.decision.allocation.ring_of.get(name)
    if ring is None:
        left = max(0.0, find_due(view) - view.at)
        return Waiting(
            name, Since.UNDECIDED, f"no decision has seen it yet; the next is due within {left:.0f} s"
        )
    if view.mode is Mode.OBSERVE:
        return Waiting(
            name,
            Since.OBSERVED,
            f"would run with {say_count(ring.size, 'worker')} on "
            f"{say_count(len(set(ring.workers)), 'server')}; nothing is started",
        )
    return Waiting(name, Since.RING_LOST, record.last_failure or "its ring stopped: a server went away")
