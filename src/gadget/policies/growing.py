"""Rings that grow worker by worker, whoever has the best claim first: by numbers, then as real rings.

Workers are counted against the whole cluster first and placed in rings afterwards: re-placing a ring for
every worker would cost as many placements as there are workers. A ring that finds no place shrinks, and what
is left then goes, worker by worker, to the best claims again. With the ring solver of `gadget` the numbers
stand: what they give a job is its ring, or it waits.
"""

import heapq
import math
from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from gadget.model.quantity import TOLERANCE
from gadget.policies.placement import Candidate, Placement, serve_in_order
from gadget.policies.ring_placement import Placer, explain_not_chosen, place_chosen

Floats = NDArray[np.float64]
Claim = Callable[[int, int], float]
"""The claim of a job, by its place, with so many workers: the least goes first, infinity wants no more."""


def grow(
    placement: Placement,
    candidates: Sequence[Candidate],
    claim: Claim,
    placer: Placer,
    rng: np.random.Generator,
) -> None:
    """Give all candidates rings as their claims have it; those that get none are told why."""
    demand = find_demand(placement, candidates)
    workers = count_workers(
        demand,
        placement.network.capacity.sum(axis=0),
        [one.job.min_workers for one in candidates],
        [one.most for one in candidates],
        claim,
    )
    wanted = [(one, size) for one, size in zip(candidates, workers, strict=True) if size]
    if placer is Placer.GADGET:
        place_chosen(placement, wanted, rng)
        for one, size in zip(candidates, workers, strict=True):
            if not size:
                explain_not_chosen(placement, one, one.job.min_workers)
        return
    serve_in_order(placement, wanted, shrink=True)
    _fill_up(placement, candidates, claim)
    for candidate in candidates:
        least = candidate.job.min_workers
        if not placement.size_of(candidate) and not placement.place(candidate, least):
            placement.explain(candidate, least)


def count_workers(
    demand: Floats, total: Floats, least: Sequence[int], most: Sequence[int], claim: Claim
) -> list[int]:
    """Workers of each job when the best claim is served first; ties to the job listed first.

    `demand` is what a worker takes (jobs × resources) of `total`; a job has 0 workers or from `least` to
    `most`. One whose next workers do not fit drops out, and the others go on.
    """
    left = (total * (1 + TOLERANCE / 4)).tolist()
    taken = [[(r, amount) for r, amount in enumerate(row) if amount] for row in demand.tolist()]
    workers = [0] * len(taken)
    queue = [(claim(job, 0), job) for job in range(len(taken))]
    heapq.heapify(queue)
    while queue:
        urgency, job = heapq.heappop(queue)
        more = 1 if workers[job] else least[job]
        if (
            urgency == math.inf
            or workers[job] + more > most[job]
            or any(more * amount > left[r] for r, amount in taken[job])
        ):
            continue
        for r, amount in taken[job]:
            left[r] -= more * amount
        workers[job] += more
        heapq.heappush(queue, (claim(job, workers[job]), job))
    return workers


def find_demand(placement: Placement, candidates: Sequence[Candidate]) -> Floats:
    """What a worker of each candidate takes; all find their resources in the cluster."""
    demand = np.zeros((len(candidates), len(placement.network.resource_number)))
    for row, candidate in enumerate(candidates):
        demand[row] = placement.demand_of(candidate)
    return demand


def find_share(placement: Placement, candidates: Sequence[Candidate]) -> list[float]:
    """The dominant share of one worker of each job: the largest that it takes of all there is."""
    demand = find_demand(placement, candidates)
    total = placement.network.capacity.sum(axis=0)
    shares = np.divide(demand, total, out=np.zeros_like(demand), where=demand > 0)
    found: list[float] = shares.max(axis=1, initial=0).tolist()
    return found


def _fill_up(placement: Placement, candidates: Sequence[Candidate], claim: Claim) -> None:
    """The same with real rings, from those placed on; a ring that cannot grow drops out."""
    queue = [(claim(job, placement.size_of(one)), job) for job, one in enumerate(candidates)]
    heapq.heapify(queue)
    while queue:
        urgency, job = heapq.heappop(queue)
        candidate = candidates[job]
        size = placement.size_of(candidate) + 1 if placement.size_of(candidate) else candidate.job.min_workers
        if urgency < math.inf and size <= candidate.most and placement.place(candidate, size):
            heapq.heappush(queue, (claim(job, size), job))
