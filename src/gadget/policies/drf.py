"""Dominant resource fairness, as in YARN and Mesos (Ghodsi et al., NSDI 2011; Sec. VI).

Progressive filling: the job with the smallest dominant share gets one worker more, until none fits. A
job's dominant share is the largest share of the whole cluster that its workers take of any resource.

Deviations from Ghodsi et al., where tasks stand alone and need no network:

- a job's first grant is its smallest ring, so `workers.min` at once;
- a job whose next worker does not fit drops out, and filling goes on with the others (their Algorithm 1
  ends there; for jobs that take the same resources it is the same);
- workers are counted against the whole cluster first and placed in rings afterwards: re-placing a ring for
  every worker would cost as many placements as there are workers. A ring that finds no place shrinks, and
  what is left then goes, worker by worker, to the smallest shares again;
- equal shares go by arrival; shares are of this slot alone, what was served before does not count.
"""

import heapq
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from gadget.model.decision import Decision
from gadget.model.quantity import TOLERANCE
from gadget.model.snapshot import Snapshot
from gadget.policies.placement import Candidate, Placement, serve_in_order

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Drf:
    """Equal dominant shares, as far as ring sizes and places allow; rings whose size stays stay in place."""

    def decide(self, snapshot: Snapshot, _: np.random.Generator) -> Decision:
        """Fill by numbers, place, and fill up what placing left over."""
        placement = Placement(snapshot)
        candidates = placement.find_candidates()
        demand = _find_demand(placement, candidates)
        total = placement.network.capacity.sum(axis=0)
        share = _find_share(demand, total)
        workers = fill_progressively(
            demand,
            total,
            share,
            [one.job.min_workers for one in candidates],
            [one.most for one in candidates],
        )
        wanted = [(one, size) for one, size in zip(candidates, workers, strict=True) if size]
        serve_in_order(placement, wanted, shrink=True)
        _fill_up(placement, candidates, share)
        for candidate in candidates:
            least = candidate.job.min_workers
            if not placement.size_of(candidate) and not placement.place(candidate, least):
                placement.explain(candidate, least)
        return placement.decide("drf")


def fill_progressively(
    demand: Floats, total: Floats, share: Floats, least: Sequence[int], most: Sequence[int]
) -> list[int]:
    """Workers of each job when the smallest dominant share grows first; ties to the job listed first.

    `demand` is what a worker takes (jobs × resources) of `total`, `share` its dominant share; a job has 0
    workers or from `least` to `most`.
    """
    left = (total * (1 + TOLERANCE / 4)).tolist()
    taken = [[(r, amount) for r, amount in enumerate(row) if amount] for row in demand.tolist()]
    shares = share.tolist()
    workers = [0] * len(taken)
    queue = [(0.0, job) for job in range(len(taken))]  # a heap already
    while queue:
        _, job = heapq.heappop(queue)
        more = 1 if workers[job] else least[job]
        if workers[job] + more > most[job] or any(more * amount > left[r] for r, amount in taken[job]):
            continue
        for r, amount in taken[job]:
            left[r] -= more * amount
        workers[job] += more
        heapq.heappush(queue, (workers[job] * shares[job], job))
    return workers


def _fill_up(placement: Placement, candidates: Sequence[Candidate], share: Floats) -> None:
    """The same with real rings, from those placed on; a ring that cannot grow drops out."""
    queue = [(placement.size_of(one) * share[job], job) for job, one in enumerate(candidates)]
    heapq.heapify(queue)
    while queue:
        _, job = heapq.heappop(queue)
        candidate = candidates[job]
        size = placement.size_of(candidate) + 1 if placement.size_of(candidate) else candidate.job.min_workers
        if size <= candidate.most and placement.place(candidate, size):
            heapq.heappush(queue, (size * share[job], job))


def _find_demand(placement: Placement, candidates: Sequence[Candidate]) -> Floats:
    """What a worker of each candidate takes; all find their resources in the cluster."""
    demand = np.zeros((len(candidates), len(placement.network.resource_number)))
    for row, candidate in enumerate(candidates):
        demand[row] = placement.demand_of(candidate)
    return demand


def _find_share(demand: Floats, total: Floats) -> Floats:
    """The dominant share of one worker of each job."""
    shares = np.divide(demand, total, out=np.zeros_like(demand), where=demand > 0)
    return np.asarray(shares.max(axis=1, initial=0))
