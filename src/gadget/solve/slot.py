"""The slot problem as arrays: who may have which ring size now, and what it gains."""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from gadget.model.job import ActiveJob
from gadget.model.ring import Ring
from gadget.model.snapshot import Snapshot
from gadget.model.utility import find_majorant
from gadget.solve.network import Network, compile_network
from gadget.solve.reach import find_largest_rings
from gadget.solve.room import Room

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class SlotProblem:
    """Jobs that may run in this slot, and every pair (i, κ) of job and ring size worth having.

    Pairs are listed by job, sizes rising. A pair is there when some ring of that size is feasible on the
    empty cluster (Thm 8 needs that) and its gain is not below 0 (else waiting is better).
    """

    network: Network
    jobs: tuple[ActiveJob, ...]
    slot_seconds: float
    demand: Floats
    """l: what a worker of each job takes of each resource, (jobs × resources)."""
    gbps: Floats
    """b of each job."""
    pair_job: Integers
    pair_size: Integers
    pair_gain: Floats
    """π_{iκ} that decisions are made on."""
    true_gain: Floats
    """π_{iκ} by the true utility; the same unless a majorant stands in."""
    running: tuple[Ring | None, ...]
    """The ring of each job in the slot before."""
    stay_gain: Floats
    """What each job gains by going on with that ring; −∞ where it has none or may not."""

    @property
    def is_surrogate(self) -> bool:
        """True when decisions are made on another gain than the true one."""
        return not np.array_equal(self.pair_gain, self.true_gain)

    @cached_property
    def fits(self) -> Integers:
        """Workers of each job that each empty server holds, (jobs × servers)."""
        empty = Room(self.network)
        rows = [empty.fits(active.job) for active in self.jobs]
        return np.array(rows, dtype=np.int64).reshape(len(rows), self.network.servers)

    @cached_property
    def pair_start(self) -> Integers:
        """Where the pairs of each job begin; one entry more than there are jobs."""
        return np.searchsorted(self.pair_job, np.arange(len(self.jobs) + 1))

    @cached_property
    def number_of(self) -> dict[str, int]:
        """The number of each job by its name."""
        return {active.job.name: place for place, active in enumerate(self.jobs)}

    def gain(self, job: int, size: int) -> float:
        """π of one pair; 0 for a pair that is not listed."""
        first, last = self.pair_start[job], self.pair_start[job + 1]
        place = first + int(np.searchsorted(self.pair_size[first:last], size))
        return float(self.pair_gain[place]) if place < last and self.pair_size[place] == size else 0.0

    def worth(self, rings: Iterable[Ring]) -> float:
        """Σ of the gains that are decided on."""
        total = 0.0
        for ring in rings:
            job = self.number_of[ring.job]
            before = self.running[job]
            if before is not None and before.workers == ring.workers and self.stay_gain[job] > -np.inf:
                total += float(self.stay_gain[job])
            else:
                total += self.gain(job, ring.size)
        return total

    def most_workers(self) -> Integers:
        """The largest listed size of each job."""
        most = np.zeros(len(self.jobs), dtype=np.int64)
        np.maximum.at(most, self.pair_job, self.pair_size)
        return most

    def worthwhile(self) -> "SlotProblem":
        """The problem without pairs that gain nothing: they can wait until all others are decided."""
        return self.keep_pairs(self.pair_gain > 0)

    def keep_pairs(self, keep: NDArray[np.bool_]) -> "SlotProblem":
        """The problem with only some of its pairs; jobs stay, so that their numbers do."""
        return replace(
            self,
            pair_job=self.pair_job[keep],
            pair_size=self.pair_size[keep],
            pair_gain=self.pair_gain[keep],
            true_gain=self.true_gain[keep],
        )


def build_slot_problem(
    snapshot: Snapshot, *, majorant: bool = True, by_ring: bool = False
) -> SlotProblem:
    """The slot problem (10)–(11) of a snapshot.

    With `majorant`, a utility that is not concave is replaced by its least concave majorant over the
    worker-slots that the job can still reach; without, gains are the literal ones.

    A job that loses work by a restart gains less by a new ring than by the one it has. With `by_ring`, pairs
    are new rings, and `stay_gain` is for those that know the difference; without, a pair gains the more of
    the two, so that a bound on pairs holds either way.
    """
    network = compile_network(snapshot.cluster)
    largest = find_largest_rings(network, [active.job for active in snapshot.jobs])
    jobs, demands, stay_gains = [], [], []
    running: list[Ring | None] = []
    sizes: list[Integers] = []
    gains: list[Floats] = []
    true: list[Floats] = []
    for active, cluster_most in zip(snapshot.jobs, largest, strict=True):
        job = active.job
        demand = network.demand(job)
        if demand is None or snapshot.slot < job.arrival:
            continue
        most = min(active.largest_ring, cluster_most)
        if most < job.min_workers:
            continue
        own_sizes = np.arange(job.min_workers, most + 1)
        before = snapshot.running.ring_of.get(job.name)
        stands_in = majorant and not job.utility.concave
        own_true = snapshot.gains(active, own_sizes)
        own = _majorant_gains(snapshot, active, own_sizes) if stands_in else own_true
        stays = before is not None and job.min_workers <= before.size <= most
        stay_gains.append(own[before.size - job.min_workers] if stays and before is not None else -np.inf)
        if job.resize_cost and active.served > 0:
            lossy_true = snapshot.gains(active, own_sizes, restart=True)
            lossy = (
                _majorant_gains(snapshot, active, own_sizes, restart=True) if stands_in else lossy_true
            )
            if before is None or by_ring:
                own, own_true = lossy, lossy_true
            else:
                own, own_true = np.maximum(own, lossy), np.maximum(own_true, lossy_true)
        worth = own >= 0
        jobs.append(active)
        demands.append(demand)
        running.append(before)
        sizes.append(own_sizes[worth])
        gains.append(own[worth])
        true.append(own_true[worth])
    count = len(jobs)
    return SlotProblem(
        network=network,
        jobs=tuple(jobs),
        slot_seconds=snapshot.slot_seconds,
        demand=np.array(demands).reshape(count, len(network.resource_number)),
        gbps=np.array([active.job.bandwidth_gbps for active in jobs], dtype=np.float64),
        pair_job=np.repeat(np.arange(count), [len(own) for own in sizes]),
        pair_size=np.concatenate([np.zeros(0, dtype=np.int64), *sizes]),
        pair_gain=np.concatenate([np.zeros(0), *gains]),
        true_gain=np.concatenate([np.zeros(0), *true]),
        running=tuple(running),
        stay_gain=np.array(stay_gains, dtype=np.float64),
    )


# Points ahead on which a majorant is taken; where more can be reached, they are thinned out.
_MOST_POINTS = 4096


def _majorant_gains(
    snapshot: Snapshot, active: ActiveJob, sizes: Integers, *, restart: bool = False
) -> Floats:
    """Gains of the sizes on the least concave majorant of μ over what the job can still reach.

    What it can reach: with a rate, every whole number of worker-slots that its budget pays for and its
    largest ring does in the slots left; with timing, what each size does in this slot, and whole slots of
    the ring that does most.
    """
    utility = active.job.utility
    slots_left = snapshot.slots - snapshot.slot
    done = active.work(snapshot.slot_seconds)
    works = active.job.work_in_slot(sizes, snapshot.slot_seconds)
    if active.job.timing is None:
        pace = float(works[0] / sizes[0])
        steps = int(min(active.worker_slots_left, int(sizes[-1]) * slots_left))
    else:
        best = int(np.argmax(works))
        pace = float(works[best])
        steps = int(min(active.worker_slots_left / int(sizes[best]), slots_left))
    ahead = pace * _thin(steps, (utility.landmarks - done) / pace)
    asked = active.job.work_in_slot(sizes, snapshot.slot_seconds, restart=restart)
    points = np.unique(np.concatenate([[0.0], works, asked, ahead]))
    place = np.searchsorted(points, asked)
    majorant = find_majorant(utility.gain(done, done + points), int(place.max()), at=points)
    return np.asarray(majorant[place])


def _thin(steps: int, landmarks: Floats) -> Integers:
    """Whole numbers up to `steps`: all of them, or evenly spread ones and those beside the landmarks."""
    if steps <= _MOST_POINTS:
        return np.arange(1, steps + 1)
    beside = np.concatenate([np.floor(landmarks), np.ceil(landmarks)])
    spread = np.linspace(1, steps, _MOST_POINTS)
    return np.concatenate([spread, beside[(beside >= 1) & (beside <= steps)]]).astype(np.int64)
