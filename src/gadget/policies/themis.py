"""Finish-time fairness, as in Themis (Mahajan et al., NSDI 2020).

ρ is the time from a job's arrival to its end in the shared cluster over the time that it would take on its
own part, one n-th of the cluster for n jobs. What is free is offered to the worst-off, the share 1 − f of
jobs with the largest ρ, and goes where the product of all 1/ρ grows most; what they leave goes to the
others.

Deviations from Themis:

- a slot is a lease: everything is on offer in every slot, and rings whose size stays stay in place;
- a job is an application of its own; n is the number of jobs that could run now, not an average;
- ρ is foretold by what is known: slots since the arrival, and what is left to do at the pace of its largest
  ring if it had that from now on. On its own part a job has that ring for the share of time that a n-th of
  the cluster pays for. An endless job (neither work nor budget) counts with the limit of that;
- the auction is a greedy one and takes jobs at their word: those it is held for get their smallest rings,
  the worst off first, then one worker after the other goes where ln ρ falls most for its dominant share. No
  part is held back as a hidden payment, since no job can lie;
- leftovers go to the others by the same rule, not at random;
- placement has no part in ρ: rings are placed afterwards; see `growing.py`.
"""

import math
from dataclasses import dataclass

import numpy as np

from gadget.errors import BadOption
from gadget.model.decision import Decision
from gadget.model.job import ActiveJob
from gadget.model.snapshot import Snapshot
from gadget.policies.growing import find_share, grow
from gadget.policies.placement import Placement
from gadget.policies.policy import Steadiness
from gadget.policies.remaining import find_all_slots, find_slots_left
from gadget.policies.ring_placement import Placer


@dataclass(frozen=True)
class Themis:
    """The worst-off by finish time first; sizes by the product of all 1/ρ."""

    fairness: float = 0.8
    """f: offers go to the share 1 − f of jobs that are worst off."""
    placement: Placer = Placer.GREEDY

    def __post_init__(self) -> None:
        if not 0 <= self.fairness <= 1:
            raise BadOption(f"themis: fairness is {self.fairness:g}. Give a share from 0 to 1.")

    @property
    def steadiness(self) -> Steadiness | None:
        """The ring solver may move rings by chance."""
        return Steadiness.WHEN_ALL_ARE_SATED if self.placement is Placer.GREEDY else None

    def decide(self, snapshot: Snapshot, rng: np.random.Generator) -> Decision:
        """Order by ρ, offer to the worst-off, then to the others."""
        placement = Placement(snapshot)
        found = placement.find_candidates()
        shares = find_share(placement, found)
        rho = [
            find_unfairness(snapshot, one.active, one.most, one.most * share * len(found))
            for one, share in zip(found, shares, strict=True)
        ]
        # By arrival already, and the sort is stable.
        order = sorted(range(len(found)), key=lambda job: -rho[job])
        candidates, share = [found[job] for job in order], [shares[job] for job in order]
        offered = math.ceil((1 - self.fairness) * len(order) * (1 - 1e-12)) if order else 0

        def claim(job: int, workers: int) -> float:
            # In rounds: the smallest rings of those who are offered, their growth; the same for the others.
            start = 0 if job < max(offered, 1) else 2 * len(order)
            if not workers:
                return start + job
            gain = _gain(snapshot, candidates[job].active, workers) / share[job]
            return start + len(order) + 1 / (1 + gain) if gain > 0 else math.inf

        grow(placement, candidates, claim, self.placement, rng)
        return placement.decide("themis")


def find_unfairness(snapshot: Snapshot, active: ActiveJob, workers: int, crowding: float) -> float:
    """ρ of a job that runs with so many workers from now on.

    `crowding` is the share of the cluster that its ring takes, times the number of jobs: above 1, its own
    part pays for the ring in one slot of so many.
    """
    alone = max(1.0, crowding)
    left = find_slots_left(active, workers, snapshot.slot_seconds)
    if math.isinf(left):
        return 1 / alone
    waited = snapshot.slot - active.job.arrival
    return (waited + left) / (find_all_slots(active.job, workers, snapshot.slot_seconds) * alone)


def _gain(snapshot: Snapshot, active: ActiveJob, workers: int) -> float:
    """By how much one more worker lowers ln ρ."""
    left = find_slots_left(active, workers, snapshot.slot_seconds)
    if math.isinf(left):
        return math.log((workers + 1) / workers)
    waited = snapshot.slot - active.job.arrival
    return math.log((waited + left) / (waited + find_slots_left(active, workers + 1, snapshot.slot_seconds)))
