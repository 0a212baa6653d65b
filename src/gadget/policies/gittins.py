"""The Gittins index in two dimensions, as in Tiresias (Gu et al., NSDI 2019).

Service is GPUs × time. Of a job that has attained a, all that is known is the distribution of the services S
of all jobs, and that its own is above a. Its index is the chance that it ends within Δ more, over the
service that takes: sup_Δ P(S ≤ a + Δ | S > a) / E[min(S − a, Δ) | S > a]. The highest index goes first.

Deviations from Tiresias:

- the distribution is that of the services in `history`. Where that is not given, it is that of the whole
  services (work or budget) of the jobs that the snapshot tells about, since there is no other record;
  Tiresias takes those of jobs that have ended. An endless job is one that never ends. Which job has which is
  not used;
- Δ runs over all values; with `queues` it is the width of the queue that the job is in, without bound in the
  last, and queues go before indices. Tiresias' public simulator has one constant Δ;
- a job that has outlived the whole distribution has index 0 and goes last; equal indices go by arrival;
- decided at the start of a slot; a job is taken when its ring finds a place, not when enough GPUs are free
  somewhere; one that finds none is passed over.
"""

import math
from bisect import bisect_right
from collections.abc import Iterable
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from gadget.errors import BadOption
from gadget.model.decision import Decision
from gadget.model.snapshot import Snapshot
from gadget.policies.las import check_queues, find_service
from gadget.policies.placement import Placement
from gadget.policies.policy import Steadiness
from gadget.policies.remaining import find_all_slots
from gadget.policies.ring_placement import Placer, serve
from gadget.policies.workers import check_fixed_workers, list_wanted

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Gittins:
    """Jobs by Gittins index, highest first, each with its fixed number of workers (`workers.py`)."""

    workers: int | None = None
    """Workers of every ring; without it and `draw`, each job's maximum."""
    draw: int | None = None
    """Draw the number of each job from 1 … 10 as in Sec. VI, with this seed."""
    history: tuple[float, ...] = ()
    """Services of jobs of the past, in GPU-slots; without, those of the jobs that are there."""
    queues: tuple[float, ...] = ()
    """Rising limits of attained service between queues; inside one, by the index for its width."""
    placement: Placer = Placer.GREEDY

    steadiness: ClassVar[Steadiness] = Steadiness.WHEN_NOBODY_WAITS

    def __post_init__(self) -> None:
        check_fixed_workers("gittins", self.workers, self.draw)
        check_queues("gittins", self.queues)
        if not all(0 < service < math.inf for service in self.history):
            raise BadOption("gittins: history has a service that is not above 0 and finite. Leave it out.")

    def decide(self, snapshot: Snapshot, rng: np.random.Generator) -> Decision:
        """Serve by index; what is left without a ring waits."""
        placement = Placement(snapshot)
        wanted = list_wanted(placement, self.workers, self.draw)
        pace = [find_service(snapshot.cluster, candidate.job) for candidate, _ in wanted]
        services = self.history or [
            find_all_slots(candidate.job, size, snapshot.slot_seconds) * size * gpus
            for (candidate, size), gpus in zip(wanted, pace, strict=True)
        ]
        attained = [candidate.active.served * gpus for (candidate, _), gpus in zip(wanted, pace, strict=True)]
        past = Services(services)
        index_of = {one: self._priority(past, one) for one in set(attained)}
        order = sorted(range(len(wanted)), key=lambda place: index_of[attained[place]])
        serve(placement, [wanted[place] for place in order], self.placement, rng)
        return placement.decide("gittins")

    def _priority(self, past: "Services", attained: float) -> tuple[int, float]:
        """Less goes first."""
        if not self.queues:
            return 0, -past.find_index(attained)
        queue = bisect_right(self.queues, attained)
        limits = (0.0, *self.queues, math.inf)
        return queue, -past.find_index(attained, limits[queue + 1] - limits[queue])


class Services:
    """The distribution of the services of jobs: each of those given is as likely; infinite ones never end."""

    def __init__(self, services: Iterable[float]) -> None:
        known = np.sort(np.fromiter(services, dtype=np.float64))
        self._count = len(known)
        self._ends: Floats = known[np.isfinite(known)]

    def find_index(self, attained: float, width: float | None = None) -> float:
        """The Gittins index of a job with so much service; for Δ = `width`, or the best Δ if it is open."""
        first = int(np.searchsorted(self._ends, attained, side="right"))
        more = self._ends[first:] - attained
        if not len(more):
            return 0.0
        left = self._count - first
        ended = np.arange(1, len(more) + 1)
        if width is not None:
            ends = int(np.searchsorted(more, width, side="right"))
            spent = float(more[:ends].sum())
            if math.isfinite(width):
                spent += width * (left - ends)
            elif left > ends:
                return 0.0  # those that never end take all there is
            return ends / spent
        # P and E at every Δ at which some job ends; in between only E grows.
        spent_by = np.cumsum(more) + more * (left - ended)
        return float((ended / spent_by).max())
