"""From what should run and what does to what must be ordered: the same in good times and after a crash."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from gadget.backends.backend import Dismissal, RingKey
from gadget.engine.state import State
from gadget.live.fleet import Fleet, Presence
from gadget.live.room import Room
from gadget.model.job import Job
from gadget.model.ring import Ring

STRAY_GRACE_SECONDS = 10.0
"""For rings whose job nobody knows."""


@dataclass(frozen=True, slots=True)
class Start:
    """A ring that should run, does not, and finds room."""

    key: RingKey
    ring: Ring
    job: Job


def find_wanted(state: State) -> Mapping[RingKey, Ring]:
    """The rings that should run, each with the number of the decision that started it."""
    wanted: dict[RingKey, Ring] = {}
    for ring in state.running.rings:
        number = state.active[ring.job].ring_since
        assert number is not None  # a ring that runs was started
        wanted[RingKey(ring.job, number)] = ring
    return wanted


def find_dismissals(state: State, fleet: Fleet) -> Iterator[Dismissal]:
    """Rings that are there and should not be, and were not told so yet."""
    wanted = find_wanted(state)
    for one in fleet:
        if one.key not in wanted and not one.is_over and not one.dismissed:
            yield Dismissal(one.key, _find_grace(one), _find_reason(state, one))


def find_starts(state: State, fleet: Fleet) -> Iterator[Start]:
    """Rings that should be there, are not, and find room beside all that are.

    A ring that was asked to leave takes its room until it has left, so nothing is ever over-committed in the
    world; and no ring starts while an older one of its job is there, so nothing runs twice.
    """
    wanted = find_wanted(state)
    present = [one for one in fleet if not one.is_over]
    # A decision may lay a ring that goes on along other routes: it counts where it lies now.
    room = Room(
        state.cluster,
        ((wanted.get(one.key, one.ring), one.job) for one in present if one.job is not None),
    )
    for one in present:
        if one.job is None:
            room.close(one.ring)
    busy = {one.key.job for one in present}
    for key, ring in wanted.items():
        job = state.active[key.job].job
        if key in fleet.rings or key.job in busy or not room.fits(ring, job):
            continue
        room.take(ring, job)
        yield Start(key, ring, job)


def _find_grace(one: Presence) -> float:
    if one.hung:
        return 0.0
    program = None if one.job is None else one.job.program
    return STRAY_GRACE_SECONDS if program is None else program.checkpoint_grace_seconds


def _find_reason(state: State, one: Presence) -> str:
    if one.hung:
        return "it said nothing any more"
    if one.key.job in state.ended:
        return f"the job has {state.ended[one.key.job].ending}"
    if one.key.job not in state.active:
        return "no such job is known"
    ring = state.running.ring_of.get(one.key.job)
    if ring is None:
        return "the job waits again"
    return "its ring is resized" if ring.size != one.ring.size else "its ring is moved"
