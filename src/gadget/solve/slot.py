"""The slot problem as arrays: who may have which ring size now, and what it gains."""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from gadget.model.job import ActiveJob
from gadget.model.quantity import MOST_WORKERS, TOLERANCE
from gadget.model.ring import Ring
from gadget.model.snapshot import Snapshot
from gadget.model.utility import Utility, find_majorant
from gadget.solve.facts import JobTable, find_facts
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
    stays_stand_in: bool = False
    """True when the gain of some ring that may go on is another than the true one."""
    knows_restarts: bool = True
    """True when the gains decided on are those of the rings: no work is lost that they do not tell of."""

    @property
    def is_surrogate(self) -> bool:
        """True when decisions are made on another gain than the true one."""
        return self.stays_stand_in or not np.array_equal(self.pair_gain, self.true_gain)

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
            if self.stay_gain[job] > -np.inf and self._goes_on(job, ring):
                total += float(self.stay_gain[job])
            else:
                total += self.gain(job, ring.size)
        return total

    def _goes_on(self, job: int, ring: Ring) -> bool:
        before = self.running[job]
        return before is ring or (before is not None and before.workers == ring.workers)

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


def build_slot_problem(snapshot: Snapshot, *, majorant: bool = True, by_ring: bool = False) -> SlotProblem:
    """The slot problem (10)–(11) of a snapshot.

    With `majorant`, a utility that is not concave is replaced by its least concave majorant over the
    worker-slots that the job can still reach; without, gains are the literal ones.

    A job that loses work by a restart gains less by a new ring than by the one it has. With `by_ring`, pairs
    are new rings, and `stay_gain` is for those that know the difference; without, a pair gains the more of
    the two, so that a bound on pairs holds either way.
    """
    network = compile_network(snapshot.cluster)
    able = find_able(snapshot, network)
    count = able.most - able.least + 1
    start = np.concatenate([[0], np.cumsum(count)])
    pair_job = np.repeat(np.arange(len(count)), count)
    pair_size = np.arange(start[-1]) + (able.least - start[:-1])[pair_job]
    true = _true_gains(snapshot, able, start, pair_job, pair_size)
    gains = true.copy()
    stands_in = np.zeros(len(count), dtype=np.bool_)
    for job in np.flatnonzero(~able.table.is_plain).tolist() if majorant else ():
        if not able.jobs[job].job.worth.concave:
            own = slice(start[job], start[job + 1])
            gains[own] = _majorant_gains(snapshot, able.jobs[job], pair_size[own])
            stands_in[job] = True
    ring_of = snapshot.running.ring_of
    running = tuple([ring_of.get(active.job.name) for active in able.jobs])
    before = np.array([0 if ring is None else len(ring.workers) for ring in running], dtype=np.int64)
    may_stay = np.flatnonzero((able.least <= before) & (before <= able.most))
    at = start[may_stay] + before[may_stay] - able.least[may_stay]
    stay_gains = np.full(len(count), -np.inf)
    stay_gains[may_stay] = gains[at]
    stays_stand_in = not np.array_equal(gains[at], true[at])
    for job in np.flatnonzero(able.table.is_lossy).tolist():
        active, own = able.jobs[job], slice(start[job], start[job + 1])
        if active.served > 0:
            sizes = pair_size[own]
            lossy_true = snapshot.gains(active, sizes, restart=True)
            lossy = lossy_true
            if stands_in[job]:
                lossy = _majorant_gains(snapshot, active, sizes, restart=True)
            if running[job] is None or by_ring:
                gains[own], true[own] = lossy, lossy_true
            else:
                gains[own], true[own] = np.maximum(gains[own], lossy), np.maximum(true[own], lossy_true)
    worth = able.table.is_plain[pair_job] | (gains >= 0)
    return SlotProblem(
        network=network,
        jobs=able.jobs,
        slot_seconds=snapshot.slot_seconds,
        demand=able.table.demand,
        gbps=able.table.gbps,
        pair_job=pair_job[worth],
        pair_size=pair_size[worth],
        pair_gain=gains[worth],
        true_gain=true[worth],
        running=running,
        stay_gain=stay_gains,
        stays_stand_in=stays_stand_in,
        knows_restarts=by_ring or not able.table.is_lossy.any(),
    )


class Able(NamedTuple):
    """Jobs that some ring is possible for, the sizes, and the work done so far."""

    jobs: tuple[ActiveJob, ...]
    table: JobTable
    least: Integers
    most: Integers
    done: Floats
    kinds: tuple[type[Utility], ...]
    rows: Integers
    """Their places among the snapshot's jobs."""


def find_able(snapshot: Snapshot, network: Network) -> Able:
    """Jobs that have arrived, with work to do, budget left, and a ring of some size on the empty cluster.

    The same as `ActiveJob` says of each, for all at once.
    """
    facts = find_facts(network)
    table = facts.of([active.job for active in snapshot.jobs])
    served = np.array([active.served for active in snapshot.jobs], dtype=np.float64)
    done = np.array([active.work_done for active in snapshot.jobs], dtype=np.float64)  # None becomes NaN
    done = np.where(np.isnan(done), served * table.rate, done)
    for job in np.flatnonzero(np.isnan(done)).tolist():  # with timing, where the file does not say
        done[job] = snapshot.jobs[job].work(snapshot.slot_seconds)
    left = np.maximum(0.0, np.floor(table.worker_slots * (1 + TOLERANCE / 2) - served))
    most = np.minimum(table.most, np.minimum(left, MOST_WORKERS).astype(np.int64))
    is_able = table.is_hosted & (table.arrival <= snapshot.slot) & (most >= table.least)
    is_able &= done < table.total * (1 - TOLERANCE)
    rows = np.flatnonzero(is_able)
    own = table.take(rows)
    jobs = tuple([snapshot.jobs[row] for row in rows.tolist()])
    return Able(jobs, own, own.least, most[rows], done[rows], facts.kinds, rows)


def _true_gains(
    snapshot: Snapshot, able: Able, start: Integers, pair_job: Integers, pair_size: Integers
) -> Floats:
    """π_{iκ} of every pair by the true utility; those of one kind of utility with a rate all at once."""
    table = able.table
    gains = np.zeros(len(pair_job))
    timed = np.isnan(table.rate)
    for job in np.flatnonzero(timed).tolist():
        pairs = slice(start[job], start[job + 1])
        gains[pairs] = snapshot.gains(able.jobs[job], pair_size[pairs])
    ends = able.done[pair_job] + table.rate[pair_job] * pair_size
    kind = np.where(timed, -1, table.kind)
    for number in np.unique(kind[~timed]).tolist():
        mine = kind == number
        jobs = np.flatnonzero(mine)
        own = mine[pair_job]
        place = np.cumsum(mine) - 1
        each = [able.jobs[job].job.worth for job in jobs.tolist()]
        gains[own] = able.kinds[number].gains_of_each(each, place[pair_job[own]], able.done[jobs], ends[own])
    return gains


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
    utility = active.job.worth
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
