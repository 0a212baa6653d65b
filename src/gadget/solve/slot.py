"""The slot problem as arrays: who may have which ring size now, and what it gains."""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from gadget.model.job import ActiveJob
from gadget.model.ring import Ring
from gadget.model.snapshot import Snapshot
from gadget.model.utility import Linear, Log, Sqrt, Utility, find_majorant
from gadget.solve.facts import find_facts
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


def build_slot_problem(snapshot: Snapshot, *, majorant: bool = True, by_ring: bool = False) -> SlotProblem:
    """The slot problem (10)–(11) of a snapshot.

    With `majorant`, a utility that is not concave is replaced by its least concave majorant over the
    worker-slots that the job can still reach; without, gains are the literal ones.

    A job that loses work by a restart gains less by a new ring than by the one it has. With `by_ring`, pairs
    are new rings, and `stay_gain` is for those that know the difference; without, a pair gains the more of
    the two, so that a bound on pairs holds either way.
    """
    network = compile_network(snapshot.cluster)
    able = _find_able(snapshot, network)
    true = _true_gains(snapshot, able)
    gains, sizes = list(true), [one.sizes for one in able]
    running = [snapshot.running.ring_of.get(one.active.job.name) for one in able]
    stay_gains = np.full(len(able), -np.inf)
    stays_stand_in = False
    for place, (one, before) in enumerate(zip(able, running, strict=True)):
        active, job = one.active, one.active.job
        is_plain = type(job.worth) in _PLAIN
        stands_in = not is_plain and majorant and not job.worth.concave
        if stands_in:
            gains[place] = _majorant_gains(snapshot, active, one.sizes)
        if before is not None and one.least <= before.size <= one.most:
            at = before.size - one.least
            stay_gains[place] = gains[place][at]
            stays_stand_in |= bool(gains[place][at] != true[place][at])
        if job.resize_cost and active.served > 0:
            lossy_true = snapshot.gains(active, one.sizes, restart=True)
            lossy = _majorant_gains(snapshot, active, one.sizes, restart=True) if stands_in else lossy_true
            if before is None or by_ring:
                gains[place], true[place] = lossy, lossy_true
            else:
                gains[place] = np.maximum(gains[place], lossy)
                true[place] = np.maximum(true[place], lossy_true)
        if not is_plain:
            worth = gains[place] >= 0
            sizes[place], gains[place], true[place] = (
                sizes[place][worth],
                gains[place][worth],
                true[place][worth],
            )
    jobs = tuple(one.active for one in able)
    return SlotProblem(
        network=network,
        jobs=jobs,
        slot_seconds=snapshot.slot_seconds,
        demand=np.array([one.demand for one in able]).reshape(len(able), len(network.resource_number)),
        gbps=np.array([active.job.bandwidth_gbps for active in jobs], dtype=np.float64),
        pair_job=np.repeat(np.arange(len(able)), [len(own) for own in sizes]),
        pair_size=np.concatenate([np.zeros(0, dtype=np.int64), *sizes]),
        pair_gain=np.concatenate([np.zeros(0), *gains]),
        true_gain=np.concatenate([np.zeros(0), *true]),
        running=tuple(running),
        stay_gain=stay_gains,
        stays_stand_in=stays_stand_in,
        knows_restarts=by_ring or not any(active.job.resize_cost for active in jobs),
    )


# Concave and never falling whatever their parameters: no majorant, and no gain below 0.
_PLAIN = frozenset({Sqrt, Log, Linear})


class _Able(NamedTuple):
    """A job that some ring is possible for, and the sizes."""

    active: ActiveJob
    demand: Floats
    least: int
    most: int
    sizes: Integers


def _find_able(snapshot: Snapshot, network: Network) -> list[_Able]:
    """Jobs that have arrived, with budget left, and a ring of some size on the empty cluster."""
    arrived = [
        active
        for active in snapshot.jobs
        if active.job.arrival <= snapshot.slot and not active.is_complete(snapshot.slot_seconds)
    ]
    facts = find_facts(network).of([active.job for active in arrived])
    # One row of sizes that all jobs cut theirs from.
    row = np.arange(max((fact.most for fact in facts), default=0) + 1)
    able = []
    for active, fact in zip(arrived, facts, strict=True):
        least, most = fact.job.min_workers, min(active.largest_ring, fact.most)
        if fact.demand is not None and most >= least:
            able.append(_Able(active, fact.demand, least, most, row[least : most + 1]))
    return able


def _true_gains(snapshot: Snapshot, able: list[_Able]) -> list[Floats]:
    """π_{iκ} of every able job by its true utility; jobs of one kind of utility with a rate all at once."""
    found: list[Floats] = [np.zeros(0)] * len(able)
    by_kind: dict[type[Utility], list[int]] = {}
    for place, one in enumerate(able):
        if one.active.job.rate is None:
            found[place] = snapshot.gains(one.active, one.sizes)
        else:
            by_kind.setdefault(type(one.active.job.worth), []).append(place)
    for kind, places in by_kind.items():
        widest = max(able[place].most for place in places)
        rate = np.array([able[place].active.job.rate for place in places], dtype=np.float64)
        done = np.array([able[place].active.work(snapshot.slot_seconds) for place in places])
        ends = done[:, None] + rate[:, None] * np.arange(1, widest + 1)
        table = kind.gains_of_each([able[place].active.job.worth for place in places], done, ends)
        for row, place in zip(table, places, strict=True):
            found[place] = row[able[place].least - 1 : able[place].most]
    return found


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
