"""The slot problem as arrays: who may have which ring size now, and what it gains."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from gadget.model.job import ActiveJob
from gadget.model.snapshot import Snapshot
from gadget.model.utility import find_majorant
from gadget.solve.greedy import largest_ring
from gadget.solve.network import Network, compile_network
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
    fits: Integers
    """Workers of each job that each empty server holds, (jobs × servers)."""
    pair_job: Integers
    pair_size: Integers
    pair_gain: Floats
    """π_{iκ} that decisions are made on."""
    true_gain: Floats
    """π_{iκ} by the true utility; the same unless a majorant stands in."""

    @property
    def is_surrogate(self) -> bool:
        """True when decisions are made on another gain than the true one."""
        return not np.array_equal(self.pair_gain, self.true_gain)

    def gain(self, job: int, size: int) -> float:
        """π of one pair; 0 for a pair that is not listed."""
        found = np.flatnonzero((self.pair_job == job) & (self.pair_size == size))
        return float(self.pair_gain[found[0]]) if len(found) else 0.0

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
        return SlotProblem(
            self.network,
            self.jobs,
            self.slot_seconds,
            self.demand,
            self.gbps,
            self.fits,
            self.pair_job[keep],
            self.pair_size[keep],
            self.pair_gain[keep],
            self.true_gain[keep],
        )


def build_slot_problem(snapshot: Snapshot, *, majorant: bool = True) -> SlotProblem:
    """The slot problem (10)–(11) of a snapshot.

    With `majorant`, a utility that is not concave is replaced by its least concave majorant over the
    worker-slots that the job can still reach; without, gains are the literal ones.
    """
    network = compile_network(snapshot.cluster)
    empty = Room(network)
    jobs, demands, fits = [], [], []
    sizes: list[Integers] = []
    gains: list[Floats] = []
    true: list[Floats] = []
    for active in snapshot.jobs:
        demand = network.demand(active.job)
        if demand is None or snapshot.slot < active.job.arrival:
            continue
        most = min(active.largest_ring, largest_ring(network, active.job))
        if most < active.job.min_workers:
            continue
        own_sizes = np.arange(active.job.min_workers, most + 1)
        own_true = snapshot.gains(active, own_sizes)
        own = _majorant_gains(snapshot, active, own_sizes) if majorant else own_true
        worth = own >= 0
        jobs.append(active)
        demands.append(demand)
        fits.append(empty.fits(active.job))
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
        fits=np.array(fits, dtype=np.int64).reshape(count, network.servers),
        pair_job=np.repeat(np.arange(count), [len(own) for own in sizes]),
        pair_size=np.concatenate([np.zeros(0, dtype=np.int64), *sizes]),
        pair_gain=np.concatenate([np.zeros(0), *gains]),
        true_gain=np.concatenate([np.zeros(0), *true]),
    )


# Points ahead on which a majorant is taken; where more can be reached, they are thinned out.
_MOST_POINTS = 4096


def _majorant_gains(snapshot: Snapshot, active: ActiveJob, sizes: Integers) -> Floats:
    """Gains of the sizes on the least concave majorant of μ over what the job can still reach.

    What it can reach: with a rate, every whole number of worker-slots that its budget pays for and its
    largest ring does in the slots left; with timing, what each size does in this slot, and whole slots of
    the ring that does most.
    """
    utility = active.job.utility
    if utility.concave:
        return snapshot.gains(active, sizes)
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
    points = np.unique(np.concatenate([[0.0], works, ahead]))
    place = np.searchsorted(points, works)
    majorant = find_majorant(utility.gain(done, done + points), int(place.max()), at=points)
    return np.asarray(majorant[place])


def _thin(steps: int, landmarks: Floats) -> Integers:
    """Whole numbers up to `steps`: all of them, or evenly spread ones and those beside the landmarks."""
    if steps <= _MOST_POINTS:
        return np.arange(1, steps + 1)
    beside = np.concatenate([np.floor(landmarks), np.ceil(landmarks)])
    spread = np.linspace(1, steps, _MOST_POINTS)
    return np.concatenate([spread, beside[(beside >= 1) & (beside <= steps)]]).astype(np.int64)
