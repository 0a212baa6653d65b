"""Marginal gain, as in Optimus (Peng et al., EuroSys 2018).

Every job first gets its smallest ring. Then one worker after the other goes to the job whose remaining time
it shortens most for what it takes: (t(κ) − t(κ+1)) over the dominant share of a worker, until nothing fits
or no job would end sooner. Remaining time is work left over what κ workers do in a slot.

Deviations from Optimus:

- rings have no parameter servers, so that a worker is all there is to add;
- the pace of a ring is what the job says (`rate`, or `timing` at the bandwidth asked for), and what is left
  to do is known from its `work` (or its budget): nothing is fitted online, and no job is held back because
  its estimate is young (their priority factor);
- a job's first grant is `workers.min`, not one worker. Where not all can have it, they go by arrival;
- a job that is endless (neither work nor budget) ends no sooner with more workers: it gets what all others
  leave;
- decided in every slot, not at intervals of its own;
- rings are placed by the common placement, not evenly over the fewest servers; see `growing.py`.
"""

import math
from dataclasses import dataclass

import numpy as np

from gadget.model.decision import Decision
from gadget.model.snapshot import Snapshot
from gadget.policies.growing import find_share, grow
from gadget.policies.placement import Placement
from gadget.policies.policy import Steadiness
from gadget.policies.remaining import find_slots_left
from gadget.policies.ring_placement import Placer


@dataclass(frozen=True)
class Optimus:
    """The next worker to the job that it brings nearest to its end, for what it takes."""

    placement: Placer = Placer.GREEDY

    @property
    def steadiness(self) -> Steadiness | None:
        """The ring solver may move rings by chance."""
        return Steadiness.AT_REST_IF_RIGID if self.placement is Placer.GREEDY else None

    def decide(self, snapshot: Snapshot, rng: np.random.Generator) -> Decision:
        """Smallest rings for all, then by marginal gain."""
        placement = Placement(snapshot)
        candidates = placement.find_candidates()
        share = find_share(placement, candidates)

        def claim(job: int, workers: int) -> float:
            if not workers:
                return -math.inf
            active = candidates[job].active
            left = find_slots_left(active, workers, snapshot.slot_seconds)
            if math.isinf(left):
                return 0.0
            gain = left - find_slots_left(active, workers + 1, snapshot.slot_seconds)
            return -gain / share[job] if gain > 0 else math.inf

        grow(placement, candidates, claim, self.placement, rng)
        return placement.decide("optimus")
