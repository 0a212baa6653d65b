"""First in, first out, as in Hadoop and Spark (Sec. VI): a fixed number of workers, in order of arrival.

Placed by the ring solver of `gadget`, jobs that run come before the queue, and the pool of all servers
decides who is blocked; a ring that runs may move to make room.
"""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from gadget.model.decision import Decision, Reason, Waiting
from gadget.model.snapshot import Snapshot
from gadget.policies.placement import Candidate, Placement, Wanted
from gadget.policies.policy import Steadiness
from gadget.policies.ring_placement import Placer, choose_from_pool, explain_not_chosen, place_chosen
from gadget.policies.workers import check_fixed_workers, list_wanted


@dataclass(frozen=True)
class Fifo:
    """Jobs in order of arrival, each with its fixed number of workers; running rings stay where they are.

    A job that finds no place holds up all behind it, unless `backfill` lets them pass. The number is
    clipped to what the job's limits, its budget and the empty cluster admit; see `workers.py`.
    """

    workers: int | None = None
    """Workers of every ring; without it and `draw`, each job's maximum."""
    draw: int | None = None
    """Draw the number of each job from 1 … 10 as in Sec. VI, with this seed."""
    backfill: bool = False
    placement: Placer = Placer.GREEDY

    steadiness: ClassVar[Steadiness] = Steadiness.ALWAYS

    def __post_init__(self) -> None:
        check_fixed_workers("fifo", self.workers, self.draw)

    def decide(self, snapshot: Snapshot, rng: np.random.Generator) -> Decision:
        """Keep what runs, then serve the queue."""
        placement = Placement(snapshot)
        wanted = list_wanted(placement, self.workers, self.draw)
        if self.placement is Placer.GADGET:
            self._choose(placement, wanted, rng)
        else:
            self._place(placement, wanted)
        return placement.decide("fifo")

    def _place(self, placement: Placement, wanted: Wanted) -> None:
        kept = set(map(id, placement.keep_all(wanted)))
        blocked_by: str | None = None
        for candidate, size in wanted:
            if id(candidate) in kept:
                continue
            if blocked_by is not None:
                _stand_behind(placement, candidate, blocked_by)
            elif not placement.place(candidate, size):
                placement.explain(candidate, size)
                blocked_by = None if self.backfill else candidate.name

    def _choose(self, placement: Placement, wanted: Wanted, rng: np.random.Generator) -> None:
        running = placement.running
        runs = [one.name in running and running[one.name].size == size for one, size in wanted]
        order = [pair for pair, first in zip(wanted, runs, strict=True) if first]
        order += [pair for pair, first in zip(wanted, runs, strict=True) if not first]
        chosen = choose_from_pool(placement, order, may_pass=self.backfill)
        place_chosen(placement, chosen, rng)
        picked = {candidate.name for candidate, _ in chosen}
        blocked_by: str | None = None
        for candidate, size in order:
            if candidate.name in picked:
                continue
            if blocked_by is not None:
                _stand_behind(placement, candidate, blocked_by)
            else:
                explain_not_chosen(placement, candidate, size)
                blocked_by = None if self.backfill else candidate.name


def _stand_behind(placement: Placement, candidate: Candidate, other: str) -> None:
    placement.wait(Waiting(candidate.name, Reason.QUEUE, f"behind {other!r}, which arrived earlier"))
