"""Dominant resource fairness, as in YARN and Mesos (Ghodsi et al., NSDI 2011; Sec. VI).

Progressive filling: the job with the smallest dominant share gets one worker more, until none fits. A
job's dominant share is the largest share of the whole cluster that its workers take of any resource.

Deviations from Ghodsi et al., where tasks stand alone and need no network:

- a job's first grant is its smallest ring, so `workers.min` at once;
- a job whose next worker does not fit drops out, and filling goes on with the others (their Algorithm 1
  ends there; for jobs that take the same resources it is the same);
- workers are counted against the whole cluster first and placed in rings afterwards; see `growing.py`;
- equal shares go by arrival; shares are of this slot alone, what was served before does not count.
"""

from dataclasses import dataclass

import numpy as np

from gadget.model.decision import Decision
from gadget.model.snapshot import Snapshot
from gadget.policies.growing import find_share, grow
from gadget.policies.placement import Placement
from gadget.policies.policy import Steadiness
from gadget.policies.ring_placement import Placer


@dataclass(frozen=True)
class Drf:
    """Equal dominant shares, as far as ring sizes and places allow; rings whose size stays stay in place."""

    placement: Placer = Placer.GREEDY

    @property
    def steadiness(self) -> Steadiness | None:
        """The ring solver may move rings by chance."""
        return Steadiness.AT_REST if self.placement is Placer.GREEDY else None

    def decide(self, snapshot: Snapshot, rng: np.random.Generator) -> Decision:
        """Fill by numbers, place, and fill up what placing left over."""
        placement = Placement(snapshot)
        candidates = placement.find_candidates()
        share = find_share(placement, candidates)
        grow(placement, candidates, lambda job, workers: workers * share[job], self.placement, rng)
        return placement.decide("drf")
