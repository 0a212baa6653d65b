"""Shortest remaining time first (Schrage, Operations Research 1968, for one machine).

As the yardsticks of Tiresias (Gu et al., NSDI 2019) have it for jobs that need several GPUs: all jobs by
what is left of their running time, taken while they fit, running ones preempted by shorter ones. With
`measure=service` remaining time counts once for each GPU (their SRSF); without `preemptive` it is shortest
job first.

Deviations:

- decided at the start of a slot, not in the moment when a job comes or ends;
- a job counts with what is left of its `work` at the pace of its fixed number of workers, without it with
  what is left of its budget, and with neither as endless, after all others. Where `timing` makes the pace
  depend on bandwidth, it is that of the bandwidth asked for; what a restart costs is not counted;
- a job is taken when its ring finds a place, not when enough GPUs are free somewhere; one that finds none is
  passed over;
- equals go by arrival.
"""

from dataclasses import dataclass
from enum import StrEnum
from typing import ClassVar

import numpy as np

from gadget.model.decision import Decision
from gadget.model.snapshot import Snapshot
from gadget.policies.las import find_service
from gadget.policies.placement import Candidate, Placement
from gadget.policies.policy import Steadiness
from gadget.policies.remaining import find_slots_left
from gadget.policies.ring_placement import Placer, serve
from gadget.policies.workers import check_fixed_workers, list_wanted


class Measure(StrEnum):
    """What makes a job short: the time it still runs, or that time on all its GPUs."""

    TIME = "time"
    SERVICE = "service"


@dataclass(frozen=True)
class Srtf:
    """Jobs by the time they still run, shortest first, each with its fixed number of workers."""

    workers: int | None = None
    """Workers of every ring; without it and `draw`, each job's maximum."""
    draw: int | None = None
    """Draw the number of each job from 1 … 10 as in Sec. VI, with this seed."""
    measure: Measure = Measure.TIME
    preemptive: bool = True
    """Running rings yield to shorter jobs; else they go on to their end."""
    placement: Placer = Placer.GREEDY

    steadiness: ClassVar[Steadiness] = Steadiness.WHEN_NOBODY_WAITS

    def __post_init__(self) -> None:
        check_fixed_workers("srtf", self.workers, self.draw)

    def decide(self, snapshot: Snapshot, rng: np.random.Generator) -> Decision:
        """Serve the shortest first; what is left without a ring waits."""
        placement = Placement(snapshot)
        wanted = list_wanted(placement, self.workers, self.draw)
        # By arrival already, and the sort is stable.
        wanted.sort(key=lambda pair: self._priority(snapshot, *pair))
        serve(placement, wanted, self.placement, rng)
        return placement.decide("srtf")

    def _priority(self, snapshot: Snapshot, candidate: Candidate, size: int) -> tuple[bool, float]:
        """Less goes first."""
        left = find_slots_left(candidate.active, size, snapshot.slot_seconds)
        if self.measure is Measure.SERVICE:
            left *= size * find_service(snapshot.cluster, candidate.job)
        ring = snapshot.running.ring_of.get(candidate.name)
        waits = not self.preemptive and (ring is None or ring.size != size)
        return waits, left
