"""Least attained service in two dimensions, as in Tiresias (Gu et al., NSDI 2019; Sec. VI).

Deviations from Tiresias, where a slot decides with what a snapshot shows:

- within a queue, jobs go by arrival; Tiresias goes by the time of their first start;
- no job is promoted after waiting long (its PROMOTEKNOB, off by default there);
- a job is taken when its ring finds a place, not when enough GPUs are free somewhere; one that finds
  none is skipped;
- rings are placed greedily; consolidation by tensor skew does not arise, as every ring keeps its servers'
  workers side by side.
"""

from bisect import bisect_right
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from gadget.errors import BadOption
from gadget.model.cluster import Cluster
from gadget.model.decision import Decision
from gadget.model.job import ActiveJob, Job
from gadget.model.snapshot import Snapshot
from gadget.policies.placement import Placement, serve_in_order
from gadget.policies.workers import check_fixed_workers, find_fixed_workers

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

    def __post_init__(self) -> None:
        check_fixed_workers("las", self.workers, self.draw)
        if not all(0 < low < high for low, high in pairwise((*self.queues, float("inf")))):
            shown = "/".join(f"{limit:g}" for limit in self.queues)
            raise BadOption(f"las: queues is {shown}. Give rising numbers above 0.")

    def decide(self, snapshot: Snapshot, _: np.random.Generator) -> Decision:
        """Serve by priority; what is left without a ring waits."""
        placement = Placement(snapshot)
        # By arrival already, and the sort is stable.
        candidates = sorted(
            placement.find_candidates(), key=lambda one: self._priority(snapshot.cluster, one.active)
        )
        wanted = [
            (candidate, candidate.clip(find_fixed_workers(candidate.job, self.workers, self.draw)))
            for candidate in candidates
        ]
        for candidate, size in serve_in_order(placement, wanted):
            placement.explain(candidate, size)
        return placement.decide("las")

    def _priority(self, cluster: Cluster, active: ActiveJob) -> float:
        """The attained service, or the number of the queue that it falls into; less goes first."""
        attained = active.served * find_service(cluster, active.job)
        return bisect_right(self.queues, attained) if self.queues else attained


def find_service(cluster: Cluster, job: Job) -> float:
    """Service that a worker attains in a slot: its GPUs.

    Tiresias knows GPU jobs only. A job without counts with its dominant share of the cluster, as so
    many GPUs: half of all memory is half of all GPUs (of one, in a cluster that has none).
    """
    if gpus := job.resources.get(ACCELERATOR, 0):
        return gpus
    share = max(amount / cluster.total(name) for name, amount in job.resources.items() if amount)
    return share * (cluster.total(ACCELERATOR) or 1)
