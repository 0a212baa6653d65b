"""First in, first out, as in Hadoop and Spark (Sec. VI): a fixed number of workers, in order of arrival."""

from dataclasses import dataclass

import numpy as np

from gadget.errors import BadOption
from gadget.model.decision import Decision, Reason, Status, Waiting
from gadget.model.job import ActiveJob
from gadget.model.ring import Allocation, Ring
from gadget.model.snapshot import Snapshot
from gadget.policies.waiting import explain_no_place, find_obstacle
from gadget.solve.greedy import largest_ring, place_greedily
from gadget.solve.network import Network, compile_network
from gadget.solve.room import Room


@dataclass(frozen=True)
class Fifo:
    """Jobs in order of arrival, each with its fixed number of workers; running rings stay where they are.

    A job that finds no place holds up all behind it, unless `backfill` lets them pass.
    """

    workers: int | None = None
    """Workers of every ring, clipped to what its job allows; without it, each job's maximum."""
    backfill: bool = False

    def __post_init__(self) -> None:
        if self.workers is not None and self.workers < 1:
            raise BadOption(f"fifo: workers is {self.workers}. Give 1 or more.")

    def decide(self, snapshot: Snapshot, _: np.random.Generator) -> Decision:
        """Keep what runs, then serve the queue."""
        network = compile_network(snapshot.cluster)
        room = Room(network)
        rings: dict[str, Ring] = {}
        waiting: dict[str, Waiting] = {}
        queue: list[tuple[ActiveJob, int]] = []
        for active in sorted(snapshot.jobs, key=lambda active: active.job.arrival):
            name = active.job.name
            if obstacle := find_obstacle(snapshot, network, active):
                waiting[name] = obstacle
                continue
            size = self._size(network, active)
            ring = snapshot.running.ring_of.get(name)
            if ring is not None and ring.size == size and room.admits(active.job, ring):
                room.take(active.job, ring)
                rings[name] = ring
            else:
                queue.append((active, size))
        blocked_by: str | None = None
        for active, size in queue:
            name = active.job.name
            if blocked_by is not None:
                waiting[name] = Waiting(name, Reason.QUEUE, f"behind {blocked_by!r}, which arrived earlier")
            elif placed := place_greedily(room, active.job, size):
                room.take(active.job, placed)
                rings[name] = placed
            else:
                waiting[name] = explain_no_place(room, active.job, size)
                blocked_by = None if self.backfill else name
        # In the snapshot's order, whatever order they were served in.
        allocation = Allocation(tuple(rings[a.job.name] for a in snapshot.jobs if a.job.name in rings))
        return Decision(
            slot=snapshot.slot,
            policy="fifo",
            allocation=allocation,
            waiting=tuple(waiting[a.job.name] for a in snapshot.jobs if a.job.name in waiting),
            objective=snapshot.objective(allocation),
            upper_bound=None,
            status=Status.HEURISTIC,
        )

    def _size(self, network: Network, active: ActiveJob) -> int:
        """The job's fixed ring size, clipped to what job, budget and cluster admit."""
        job = active.job
        wanted = job.max_workers if self.workers is None else max(self.workers, job.min_workers)
        return min(wanted, active.largest_ring, largest_ring(network, job))
