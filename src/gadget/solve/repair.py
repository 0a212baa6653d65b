"""From a draw that may overload to rings that never do: keep what fits, place the rest again, refill."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from gadget.model.ring import Ring
from gadget.solve.greedy import place_greedily
from gadget.solve.mapping import Mapping
from gadget.solve.room import Room
from gadget.solve.slot import SlotProblem


def repair(problem: SlotProblem, drawn: Sequence[Mapping], *, refill: bool = True) -> tuple[Ring, ...]:
    """Feasible rings out of drawn mappings, densest gain first.

    With `refill`, what does not fit as drawn is placed again, and room that is left goes to jobs not drawn.
    """
    room = Room(problem.network)
    rings: dict[int, Ring] = {}
    postponed: list[int] = []
    wanted = {mapping.job: len(mapping.stops) for mapping in drawn}
    for mapping in sorted(drawn, key=lambda m: -_density(problem, m.job, len(m.stops))):
        job = problem.jobs[mapping.job].job
        ring = mapping.ring(problem)
        if room.admits(job, ring):
            room.take(job, ring)
            rings[mapping.job] = ring
        else:
            postponed.append(mapping.job)
    others = [job for job in range(len(problem.jobs)) if job not in wanted]
    best = {job: int(sizes[0]) for job in others if len(sizes := _sizes_by_gain(problem, job))}
    queue = postponed + sorted(best, key=lambda job: -_density(problem, job, best[job]))
    for number in queue if refill else ():
        placed = _place_at_most(problem, room, number, wanted.get(number, best.get(number, 0)))
        if placed is not None:
            room.take(problem.jobs[number].job, placed)
            rings[number] = placed
    return tuple(rings[number] for number in sorted(rings))


def fill_idle(problem: SlotProblem, rings: tuple[Ring, ...]) -> tuple[Ring, ...]:
    """The rings, and in the room they leave the smallest rings of jobs that have none, in their order.

    A utility that has levelled off gains nothing any more, but its job is not done: what would stand idle
    serves it.
    """
    room = Room(problem.network)
    held = {ring.job: ring for ring in rings}
    for active in problem.jobs:
        if active.job.name in held:
            room.take(active.job, held[active.job.name])
    for number in dict.fromkeys(problem.pair_job.tolist()):
        job = problem.jobs[number].job
        harmless = _sizes(problem, number)[problem.true_gain[problem.pair_job == number] >= 0]
        if job.name not in held and len(harmless):
            placed = place_greedily(room, job, int(harmless[0]))
            if placed is not None:
                room.take(job, placed)
                held[job.name] = placed
    order = {active.job.name: place for place, active in enumerate(problem.jobs)}
    return tuple(sorted(held.values(), key=lambda ring: order[ring.job]))


def _place_at_most(problem: SlotProblem, room: Room, number: int, most: int) -> Ring | None:
    """The ring of up to `most` workers that gains most among those that find a place."""
    job = problem.jobs[number].job
    free = int(room.fits(job).sum())
    for size in _sizes_by_gain(problem, number):
        if size <= min(most, free):
            ring = place_greedily(room, job, int(size))
            if ring is not None:
                return ring
    return None


def _sizes(problem: SlotProblem, job: int) -> NDArray[np.int64]:
    return np.asarray(problem.pair_size[problem.pair_job == job])


def _sizes_by_gain(problem: SlotProblem, job: int) -> NDArray[np.int64]:
    """The job's sizes, greatest gain first, the smaller ring on a tie."""
    own = problem.pair_job == job
    return np.asarray(problem.pair_size[own][np.argsort(-problem.pair_gain[own], kind="stable")])


def _density(problem: SlotProblem, job: int, size: int) -> float:
    """Gain for each share of the whole cluster that the ring takes."""
    total = problem.network.capacity.sum(axis=0)
    share = np.divide(problem.demand[job], total, out=np.zeros_like(total), where=total > 0).max(initial=0.0)
    return problem.gain(job, size) / max(size * float(share), 1e-300)
