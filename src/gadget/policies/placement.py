"""A slot as it fills up: which rings stay, where new ones go, who waits. Shared by the baselines."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from gadget.model.decision import Decision, Status, Waiting
from gadget.model.job import ActiveJob, Job
from gadget.model.ring import Allocation, Ring
from gadget.model.snapshot import Snapshot
from gadget.policies.waiting import explain_no_place, find_obstacle
from gadget.solve.greedy import largest_ring, place_greedily
from gadget.solve.network import compile_network
from gadget.solve.room import Room

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Candidate:
    """A job that could run in this slot if it were alone, with its largest ring then."""

    active: ActiveJob
    most: int
    """The least of N (2), what is left of the budget (11), and what the empty cluster holds."""

    @property
    def job(self) -> Job:
        """The job itself."""
        return self.active.job

    @property
    def name(self) -> str:
        """The job's name."""
        return self.active.job.name

    def clip(self, workers: int) -> int:
        """The ring size nearest to `workers` that the job can have."""
        return min(max(workers, self.job.min_workers), self.most)


@dataclass(frozen=True, slots=True)
class _Taken:
    """What a ring took out of the room, so that exactly that can be put back."""

    servers: NDArray[np.int64]
    amounts: Floats
    links: NDArray[np.int64]
    gbps: Floats


class Placement:
    """The rings of a slot in the making, all placed greedily; what it holds is feasible at any time."""

    def __init__(self, snapshot: Snapshot) -> None:
        self.snapshot = snapshot
        self.network = compile_network(snapshot.cluster)
        self.room = Room(self.network)
        self._empty = Room(self.network)
        # Up to this bandwidth, every server can be joined with every other.
        thinnest = self.network.link_gbps.min(initial=np.inf)
        self._thinnest_gbps = float(thinnest) if snapshot.cluster.is_connected else -1.0
        self._rings: dict[str, Ring] = {}
        self._taken: dict[str, _Taken] = {}
        self._waiting: dict[str, Waiting] = {}

    def find_candidates(self) -> list[Candidate]:
        """Jobs that could run now, by arrival; those that could not wait, with the obstacle as reason."""
        found = []
        for active in sorted(self.snapshot.jobs, key=lambda active: active.job.arrival):
            most = self._largest_ring(active)
            if most >= active.job.min_workers and self.snapshot.slot >= active.job.arrival:
                found.append(Candidate(active, most))
            elif obstacle := find_obstacle(self.snapshot, self.network, active):
                self.wait(obstacle)
        return found

    def size_of(self, candidate: Candidate) -> int:
        """Workers that the job has so far; 0 without a ring."""
        ring = self._rings.get(candidate.name)
        return ring.size if ring is not None else 0

    def find_running(self, candidate: Candidate, size: int) -> Ring | None:
        """The job's ring of the slot before, if it has that size and would fit where it is."""
        ring = self.snapshot.running.ring_of.get(candidate.name)
        fits = ring is not None and ring.size == size and self.room.admits(candidate.job, ring)
        return ring if fits else None

    def find_ring(self, candidate: Candidate, size: int) -> Ring | None:
        """A ring of that size that fits into the room: the running one where possible."""
        return self.find_running(candidate, size) or find_place(self.room, candidate.job, size)

    def put(self, candidate: Candidate, ring: Ring) -> None:
        """Give the job this ring, which must fit into the room."""
        free, gbps = self.room.free.copy(), self.room.free_gbps.copy()
        self.room.take(candidate.job, ring)
        free -= self.room.free
        gbps -= self.room.free_gbps
        servers, links = np.flatnonzero(free.any(axis=1)), np.flatnonzero(gbps)
        self._taken[candidate.name] = _Taken(servers, free[servers], links, gbps[links])
        self._rings[candidate.name] = ring

    def remove(self, candidate: Candidate) -> Ring:
        """Take the job's ring away again."""
        taken = self._taken.pop(candidate.name)
        self.room.free[taken.servers] += taken.amounts
        self.room.free_gbps[taken.links] += taken.gbps
        return self._rings.pop(candidate.name)

    def keep(self, candidate: Candidate, size: int) -> bool:
        """Leave the job's running ring where it is, if it has that size and still fits."""
        ring = self.find_running(candidate, size)
        if ring is not None:
            self.put(candidate, ring)
        return ring is not None

    def place(self, candidate: Candidate, size: int) -> bool:
        """Give the job a ring of that size, if one fits; in place of the one it has."""
        missing = size - self.size_of(candidate)
        # One worker more on any server is one more for the job, whoever else is there.
        if int(self.room.fits(candidate.job).sum()) < missing:
            return False
        before = self.remove(candidate) if self.size_of(candidate) else None
        ring = self.find_ring(candidate, size)
        if ring is not None:
            self.put(candidate, ring)
        elif before is not None:
            self.put(candidate, before)
        return ring is not None

    def wait(self, waiting: Waiting) -> None:
        """Note why a job gets no ring."""
        self._waiting[waiting.job] = waiting

    def explain(self, candidate: Candidate, size: int) -> None:
        """Note that a ring of that size finds no place in the room as it is now."""
        self.wait(explain_no_place(self.room, candidate.job, size))

    def decide(self, policy: str) -> Decision:
        """The decision, with rings and reasons in the snapshot's order, whatever order they came in."""
        names = [active.job.name for active in self.snapshot.jobs]
        allocation = Allocation(tuple(self._rings[name] for name in names if name in self._rings))
        return Decision(
            slot=self.snapshot.slot,
            policy=policy,
            allocation=allocation,
            waiting=tuple(self._waiting[name] for name in names if name in self._waiting),
            objective=self.snapshot.objective(allocation),
            upper_bound=None,
            status=Status.HEURISTIC,
        )

    def _largest_ring(self, active: ActiveJob) -> int:
        allowed = active.largest_ring
        if not allowed:
            return 0
        fits = self._empty.fits(active.job)
        if fits.max(initial=0) >= allowed:
            return allowed  # one server holds it; no need to look at links
        if active.job.bandwidth_gbps <= self._thinnest_gbps:
            return min(allowed, int(fits.sum()))
        return min(allowed, largest_ring(self.network, active.job))


def find_place(room: Room, job: Job, size: int) -> Ring | None:
    """The greedy ring of that size, or None; quickly where too few workers fit at all."""
    if int(room.fits(job).sum()) < size:
        return None
    return place_greedily(room, job, size)


def serve_in_order(
    placement: Placement, wanted: Sequence[tuple[Candidate, int]], *, shrink: bool = False
) -> list[tuple[Candidate, int]]:
    """Give rings of the wanted sizes, first come first served, and return those that got none.

    A job is served exactly when its ring fits beside the rings of those before it; so rings that
    run yield to jobs before theirs, the last ones first, and only where no other place is left.
    With `shrink`, a ring that does not fit is made smaller, down to the job's least.
    """
    before = Room(placement.network)  # what the rings of jobs already served leave
    holding = [candidate for candidate, size in wanted if placement.keep(candidate, size)]
    holding.reverse()  # the next to be served at the end
    unserved = []
    for candidate, size in wanted:
        if holding and holding[-1] is candidate:
            before.take(candidate.job, placement.snapshot.running.ring_of[candidate.name])
            holding.pop()
            continue
        ring = placement.find_ring(candidate, size)
        if ring is None:
            fitting = _shrink(before, candidate, size) if shrink else size
            ring = _find_with_yielding(placement, before, candidate, fitting, holding)
        if ring is None:
            unserved.append((candidate, size))
        else:
            placement.put(candidate, ring)
            before.take(candidate.job, ring)
    return unserved


def _find_with_yielding(
    placement: Placement, before: Room, candidate: Candidate, size: int, holding: list[Candidate]
) -> Ring | None:
    """A ring that fits when those behind are removed, the last ones first, and no more than need be."""
    ring = placement.find_ring(candidate, size)
    alone = find_place(before, candidate.job, size) if holding else None
    while alone is not None and ring is None and holding:
        placement.remove(holding.pop(0))
        ring = placement.find_ring(candidate, size)
    return ring or alone


def _shrink(room: Room, candidate: Candidate, size: int) -> int:
    """The largest size up to `size` that finds a place in the room, or the job's least."""
    if find_place(room, candidate.job, size) is not None:
        return size
    low, high = candidate.job.min_workers, size
    while high - low > 1:
        middle = (low + high) // 2
        if find_place(room, candidate.job, middle) is None:
            high = middle
        else:
            low = middle
    return low
