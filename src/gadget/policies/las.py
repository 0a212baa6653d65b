"""Least attained service in two dimensions, as in Tiresias (Gu et al., NSDI 2019; Sec. VI).

With `queues` it is their discretized 2D-LAS: a job falls from queue to queue as its GPU-slots reach the
limits between them, and only queues, not single slots of service, go before each other.

Deviations from Tiresias, where a slot decides with what a snapshot shows:

- within a queue, jobs go by arrival; Tiresias goes by the time of their first start. With `running_first`,
  those that run go before those that wait, as in its simulator, so that no job preempts another of its
  queue; those that have run before then go before those that have not, each by arrival;
- `promote` is its PROMOTEKNOB (off by default there too): a job that has waited that many times as long as
  it has run is taken for one that has attained nothing. Tiresias counts its waiting and running since it was
  last promoted and counts its service anew; a snapshot tells only of its whole life (slots since its
  arrival, and service over its fixed number of workers), so that it falls back as soon as it has run enough;
- a limit is passed at the start of the slot after the one in which it was reached;
- a job is taken when its ring finds a place, not when enough GPUs are free somewhere; one that finds none is
  skipped;
- rings are placed greedily (or by the ring solver); consolidation by tensor skew does not arise, as every
  ring keeps its servers' workers side by side.
"""

import math
from bisect import bisect_right
from dataclasses import dataclass
from itertools import pairwise
from typing import ClassVar

import numpy as np

from gadget.errors import BadOption
from gadget.model.cluster import Cluster
from gadget.model.decision import Decision
from gadget.model.job import Job
from gadget.model.snapshot import Snapshot
from gadget.policies.placement import Candidate, Placement
from gadget.policies.policy import Steadiness
from gadget.policies.ring_placement import Placer, serve
from gadget.policies.workers import check_fixed_workers, list_wanted

ACCELERATOR = "gpu"


@dataclass(frozen=True)
class Las:
    """Jobs by service attained so far, least first, then by arrival; running rings of later ones yield.

    Service is GPU-slots, both how many and how long. Each job has its fixed number of workers, clipped
    to what the job's limits, its budget and the empty cluster admit; see `workers.py`.
    """

    workers: int | None = None
    """Workers of every ring; without it and `draw`, each job's maximum."""
    draw: int | None = None
    """Draw the number of each job from 1 … 10 as in Sec. VI, with this seed."""
    queues: tuple[float, ...] = ()
    """Discretized 2D-LAS: rising limits of attained service between queues; inside one, by arrival."""
    running_first: bool = False
    """Inside a queue, jobs that run go first, then those that have run before."""
    promote: float | None = None
    """Waiting so many times as long as it has run takes a job back to the first queue."""
    placement: Placer = Placer.GREEDY

    steadiness: ClassVar[Steadiness] = Steadiness.WHEN_NOBODY_WAITS

    def __post_init__(self) -> None:
        check_fixed_workers("las", self.workers, self.draw)
        check_queues("las", self.queues)
        if self.promote is not None and not 0 < self.promote < math.inf:
            raise BadOption(f"las: promote is {self.promote:g}. Give a finite number above 0.")

    def decide(self, snapshot: Snapshot, rng: np.random.Generator) -> Decision:
        """Serve by priority; what is left without a ring waits."""
        placement = Placement(snapshot)
        wanted = list_wanted(placement, self.workers, self.draw)
        # By arrival already, and the sort is stable.
        wanted.sort(key=lambda pair: self._priority(snapshot, *pair))
        serve(placement, wanted, self.placement, rng)
        return placement.decide("las")

    def _priority(self, snapshot: Snapshot, candidate: Candidate, size: int) -> tuple[float, int]:
        """The attained service, or the number of the queue that it falls into; less goes first."""
        active = candidate.active
        attained = active.served * find_service(snapshot.cluster, active.job)
        if self.promote is not None and attained:
            ran = active.served / size
            if snapshot.slot - active.job.arrival - ran >= self.promote * ran:
                attained = 0.0
        rank = bisect_right(self.queues, attained) if self.queues else attained
        if not self.running_first:
            return rank, 0
        ring = snapshot.running.ring_of.get(candidate.name)
        return rank, 0 if ring is not None and ring.size == size else 1 if active.served else 2


def check_queues(policy: str, queues: tuple[float, ...]) -> None:
    """Raise BadOption unless the limits between queues rise."""
    if not all(0 < low < high for low, high in pairwise((*queues, math.inf))):
        shown = "/".join(f"{limit:g}" for limit in queues)
        raise BadOption(f"{policy}: queues is {shown}. Give rising numbers above 0.")


def find_service(cluster: Cluster, job: Job) -> float:
    """Service that a worker attains in a slot: its GPUs.

    Tiresias knows GPU jobs only. A job without counts with its dominant share of the cluster, as so
    many GPUs: half of all memory is half of all GPUs (of one, in a cluster that has none).
    """
    if gpus := job.resources.get(ACCELERATOR, 0):
        return gpus
    share = max(amount / cluster.total(name) for name, amount in job.resources.items() if amount)
    return share * (cluster.total(ACCELERATOR) or 1)
