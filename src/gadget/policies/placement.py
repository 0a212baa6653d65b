"""A slot as it fills up: which rings stay, where new ones go, who waits. Shared by the baselines."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from gadget.model.decision import Decision, Status, Waiting
from gadget.model.job import ActiveJob, Job
from gadget.model.ring import Allocation, Ring
from gadget.model.snapshot import Snapshot
from gadget.policies.waiting import explain_no_place, find_obstacle
from gadget.solve.greedy import place_greedily
from gadget.solve.loads import Load, find_loads
from gadget.solve.network import compile_network
from gadget.solve.room import Room
from gadget.solve.slot import find_able

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Candidate:
    """A job that could run in this slot if it were alone, with its largest ring then."""

    active: ActiveJob
    most: int
    """The least of N (2), what is left of the budget (11), and what the empty cluster holds."""
    shape: int
    """The same number for jobs whose workers take the same, bandwidth and all."""

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


Wanted = Sequence[tuple[Candidate, int]]
"""Jobs with the sizes of their rings, those who go first first."""


class Placement:
    """The rings of a slot in the making, all placed greedily; what it holds is feasible at any time."""

    def __init__(self, snapshot: Snapshot) -> None:
        self.snapshot = snapshot
        self.network = compile_network(snapshot.cluster)
        self.room = Room(self.network)
        self.running: Mapping[str, Ring] = snapshot.running.ring_of
        """Rings to be kept where that can be: those of the slot before."""
        self._loads = find_loads(self.network)
        self._loads.begin_slot()
        self._demand: dict[int, Floats] = {}  # by shape
        self._rings: dict[str, Ring] = {}
        self._waiting: dict[str, Waiting] = {}
        # What is known of the room as it is now.
        self._full: dict[int, int] = {}  # by shape, a size that finds no place
        self._fitting: dict[tuple[int, int], int] = {}
        self._reasons: dict[tuple[int, int, int], Waiting] = {}

    def find_candidates(self) -> list[Candidate]:
        """Jobs that could run now, by arrival; those that could not wait, with the obstacle as reason."""
        jobs = self.snapshot.jobs
        able = find_able(self.snapshot, self.network)
        if len(able.jobs) < len(jobs):
            hindered = np.ones(len(jobs), dtype=np.bool_)
            hindered[able.rows] = False
            for place in np.flatnonzero(hindered).tolist():
                if obstacle := find_obstacle(self.snapshot, self.network, jobs[place]):
                    self.wait(obstacle)
        shapes = able.table.shape
        for shape, place in zip(*np.unique(shapes, return_index=True), strict=True):
            self._demand[int(shape)] = able.table.demand[place]
        order = np.argsort(able.table.arrival, kind="stable").tolist()
        most, shape_of = able.most.tolist(), shapes.tolist()
        return [Candidate(able.jobs[place], most[place], shape_of[place]) for place in order]

    def demand_of(self, candidate: Candidate) -> Floats:
        """What a worker of the job takes of each resource."""
        return self._demand[candidate.shape]

    def size_of(self, candidate: Candidate) -> int:
        """Workers that the job has so far; 0 without a ring."""
        ring = self._rings.get(candidate.name)
        return ring.size if ring is not None else 0

    def ring_of(self, candidate: Candidate) -> Ring:
        """The ring that the job has."""
        return self._rings[candidate.name]

    def load_of(self, ring: Ring) -> Load:
        """What a ring that was placed here takes."""
        load = self._loads.of(ring)
        assert load is not None
        return load

    def find_running(self, candidate: Candidate, size: int) -> Ring | None:
        """The job's ring of the slot before, if it has that size and would fit where it is."""
        ring = self.running.get(candidate.name)
        if ring is None or len(ring.workers) != size:
            return None
        load = self._loads.of(ring)
        if load is None or not self.room.admits_load(candidate.job, self.demand_of(candidate), load):
            return None
        return ring

    def find_ring(self, candidate: Candidate, size: int) -> Ring | None:
        """A ring of that size that fits into the room: the running one where possible."""
        ring = self.find_running(candidate, size)
        if ring is not None or size >= self._full.get(candidate.shape, math.inf):
            return ring
        ring = place_greedily(self.room, candidate.job, size)
        if ring is None:
            # What finds no place finds none when it is larger, or the room smaller.
            self._full[candidate.shape] = size
        return ring

    def put(self, candidate: Candidate, ring: Ring) -> None:
        """Give the job this ring, which must fit into the room."""
        self.room.take_load(candidate.job, self.demand_of(candidate), self.load_of(ring))
        self._rings[candidate.name] = ring
        self._forget()

    def remove(self, candidate: Candidate) -> Ring:
        """Take the job's ring away again."""
        ring = self._rings.pop(candidate.name)
        self.room.give_back(candidate.job, self.demand_of(candidate), self.load_of(ring))
        self._forget()
        self._full.clear()
        return ring

    def keep(self, candidate: Candidate, size: int) -> bool:
        """Leave the job's running ring where it is, if it has that size and still fits."""
        ring = self.find_running(candidate, size)
        if ring is not None:
            self.put(candidate, ring)
        return ring is not None

    def keep_all(self, wanted: Wanted) -> list[Candidate]:
        """Leave running rings where they are, first come first served; the jobs that keep theirs."""
        staying = []
        for candidate, size in wanted:
            ring = self.running.get(candidate.name)
            if ring is not None and len(ring.workers) == size:
                load = self._loads.of(ring)
                if load is not None:
                    staying.append((candidate, size, ring, load))
        room = Room(self.network)
        self.take_all(room, [(candidate, load) for candidate, _, _, load in staying])
        # All together as a rule; else one by one.
        if self._rings or not room.is_sound:
            return [candidate for candidate, size, _, _ in staying if self.keep(candidate, size)]
        self.room = room
        self._rings.update((candidate.name, ring) for candidate, _, ring, _ in staying)
        self._forget()
        return [candidate for candidate, _, _, _ in staying]

    def take_all(self, room: Room, loads: Sequence[tuple[Candidate, Load]]) -> None:
        """Take what many rings use out of a room."""
        if loads:
            demands = np.array([self._demand[candidate.shape] for candidate, _ in loads])
            gbps = np.array([candidate.active.job.bandwidth_gbps for candidate, _ in loads], dtype=np.float64)
            room.take_loads(demands, gbps, [load for _, load in loads])

    def place(self, candidate: Candidate, size: int) -> bool:
        """Give the job a ring of that size, if one fits; in place of the one it has."""
        missing = size - self.size_of(candidate)
        # One worker more on any server is one more for the job, whoever else is there.
        if self._count_fitting(candidate) < missing:
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
        key = candidate.shape, candidate.job.max_workers, size
        known = self._reasons.get(key)
        if known is None:
            known = self._reasons[key] = explain_no_place(self.room, candidate.job, size)
        self.wait(Waiting(candidate.name, known.reason, known.detail))

    def decide(self, policy: str) -> Decision:
        """The decision, with rings and reasons in the snapshot's order, whatever order they came in."""
        names = [active.job.name for active in self.snapshot.jobs]
        allocation = Allocation(tuple([self._rings[name] for name in names if name in self._rings]))
        return Decision(
            slot=self.snapshot.slot,
            policy=policy,
            allocation=allocation,
            waiting=tuple([self._waiting[name] for name in names if name in self._waiting]),
            objective=self.snapshot.objective(allocation),
            upper_bound=None,
            status=Status.HEURISTIC,
        )

    def _count_fitting(self, candidate: Candidate) -> int:
        """Workers of the job that fit on what is free."""
        key = candidate.shape, candidate.job.max_workers
        known = self._fitting.get(key)
        if known is None:
            known = self._fitting[key] = int(self.room.fits(candidate.job).sum())
        return known

    def _forget(self) -> None:
        """The room has changed."""
        if self._fitting:
            self._fitting.clear()
        if self._reasons:
            self._reasons.clear()


def serve_in_order(placement: Placement, wanted: Wanted, *, shrink: bool = False) -> Wanted:
    """Give rings of the wanted sizes, first come first served, and return those that got none.

    A job is served exactly when its ring fits beside the rings of those before it; so rings that
    run yield to jobs before theirs, the last ones first, and only where no other place is left.
    With `shrink`, a ring that does not fit is made smaller, down to the job's least.
    """
    before = _Before(placement)
    holding = placement.keep_all(wanted)
    holding.reverse()  # the next to be served at the end
    unserved = []
    for candidate, size in wanted:
        if holding and holding[-1] is candidate:
            before.serve(candidate)
            holding.pop()
            continue
        ring = placement.find_ring(candidate, size)
        least = candidate.job.min_workers if shrink else size
        hopeless = before.is_full(candidate, least) and (
            not shrink or candidate.name not in placement.running
        )
        if ring is None and not hopeless:
            fitting = before.shrink(candidate, size) if shrink else size
            ring = _find_with_yielding(placement, before, candidate, fitting, holding)
        if ring is None:
            unserved.append((candidate, size))
        else:
            placement.put(candidate, ring)
            before.serve(candidate)
    return unserved


class _Before:
    """What the rings of jobs already served leave of the cluster, known as far as it was asked for."""

    def __init__(self, placement: Placement) -> None:
        self._placement = placement
        self._room = Room(placement.network)
        self._served: list[tuple[Candidate, Load]] = []  # not taken out of the room yet
        self._full: dict[int, int] = {}

    def serve(self, candidate: Candidate) -> None:
        """Count the ring that the job has now."""
        self._served.append((candidate, self._placement.load_of(self._placement.ring_of(candidate))))

    def is_full(self, candidate: Candidate, size: int) -> bool:
        """True when a ring of that size is known to find no place."""
        return size >= self._full.get(candidate.shape, math.inf)

    def find(self, candidate: Candidate, size: int) -> Ring | None:
        """A ring of that size, or None."""
        if self.is_full(candidate, size):
            return None
        self._placement.take_all(self._room, self._served)
        self._served.clear()
        ring = place_greedily(self._room, candidate.job, size)
        if ring is None:
            self._full[candidate.shape] = size
        return ring

    def shrink(self, candidate: Candidate, size: int) -> int:
        """The largest size up to `size` that finds a place, or the job's least."""
        if self.find(candidate, size) is not None:
            return size
        low, high = candidate.job.min_workers, size
        while high - low > 1:
            middle = (low + high) // 2
            if self.find(candidate, middle) is None:
                high = middle
            else:
                low = middle
        return low


def _find_with_yielding(
    placement: Placement, before: _Before, candidate: Candidate, size: int, holding: list[Candidate]
) -> Ring | None:
    """A ring that fits when those behind are removed, the last ones first, and no more than need be."""
    ring = placement.find_ring(candidate, size)
    alone = before.find(candidate, size) if holding else None
    while alone is not None and ring is None and holding:
        placement.remove(holding.pop(0))
        ring = placement.find_ring(candidate, size)
    return ring or alone
