"""First in, first out, as in Hadoop and Spark (Sec. VI): a fixed number of workers, in order of arrival."""

from dataclasses import dataclass

import numpy as np

from gadget.model.decision import Decision, Reason, Waiting
from gadget.model.snapshot import Snapshot
from gadget.policies.placement import Placement
from gadget.policies.workers import check_fixed_workers, find_fixed_workers


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

    def __post_init__(self) -> None:
        check_fixed_workers("fifo", self.workers, self.draw)

    def decide(self, snapshot: Snapshot, _: np.random.Generator) -> Decision:
        """Keep what runs, then serve the queue."""
        placement = Placement(snapshot)
        wanted = [
            (candidate, candidate.clip(find_fixed_workers(candidate.job, self.workers, self.draw)))
            for candidate in placement.find_candidates()
        ]
        kept = set(map(id, placement.keep_all(wanted)))
        queue = [(candidate, size) for candidate, size in wanted if id(candidate) not in kept]
        blocked_by: str | None = None
        for candidate, size in queue:
            if blocked_by is not None:
                behind = f"behind {blocked_by!r}, which arrived earlier"
                placement.wait(Waiting(candidate.name, Reason.QUEUE, behind))
            elif not placement.place(candidate, size):
                placement.explain(candidate, size)
                blocked_by = None if self.backfill else candidate.name
        return placement.decide("fifo")
