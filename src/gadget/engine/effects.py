"""What must be done in the world when one state follows another: frozen values, in the imperative."""

from dataclasses import dataclass

from gadget.engine.state import State
from gadget.model.ring import Ring


@dataclass(frozen=True, slots=True)
class StopRing:
    """End the workers of this ring."""

    ring: Ring


@dataclass(frozen=True, slots=True)
class ResizeRing:
    """Go on with another number of workers."""

    before: Ring
    after: Ring


@dataclass(frozen=True, slots=True)
class MoveRing:
    """Go on with as many workers on other servers, in another order or over other links."""

    before: Ring
    after: Ring


@dataclass(frozen=True, slots=True)
class StartRing:
    """Start the workers of a job that does not run."""

    ring: Ring


Effect = StopRing | ResizeRing | MoveRing | StartRing


def effects_between(old: State, new: State) -> tuple[Effect, ...]:
    """What leads from the rings of one state to those of another; what frees room comes first."""
    before, after = old.running.ring_of, new.running.ring_of
    stops = (StopRing(ring) for job, ring in before.items() if job not in after)
    starts = (StartRing(ring) for job, ring in after.items() if job not in before)
    changes = (_change(before[job], ring) for job, ring in after.items() if ring != before.get(job, ring))
    return (*stops, *changes, *starts)


def _change(before: Ring, after: Ring) -> ResizeRing | MoveRing:
    return (MoveRing if before.size == after.size else ResizeRing)(before, after)
