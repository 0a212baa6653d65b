"""Smallest job first with balanced contention and overhead: SJF-BCO (Yu, Ji, Rajan and Liu, MobiHoc 2022).

The later policy of GADGET's authors, for jobs with a fixed number of workers G that run to their end. Jobs
are planned by G, smallest first. Up to a threshold κ a ring is packed, which leaves fewer fragments and
costs no communication between servers; above it, it takes the least busy GPUs of the least busy servers (as
many servers as hold λ·G GPUs), which spreads contention. No GPU is planned beyond a limit θ of running time.
θ is bisected, all κ are tried, and the plan that ends first is the one.

Written after its abstract and its outline; no code of the authors was found, so that details may be other
than there. Known deviations:

- the paper plans once, for jobs that are all there in the beginning. Here every slot plans the jobs that
  wait around the rings that run, which stay; those whose turn is now start, the others wait for a later
  plan;
- running time is what is left of `work` (or the budget) at the job's own pace, an endless job's all slots to
  come. A plan counts it longer by `overhead` for each server beyond the first, and by `contention` for each
  ring that reaches beyond one of its servers now, in place of the paper's model of bandwidth and latency;
  the limit θ is held against the time alone;
- a server is as many lanes as workers of the smallest demand fit on it (64 at most), a worker as many of
  them as its share of the server; so jobs with several resources are planned too, and placed exactly;
- packing: the server where the ring begins soonest, the tightest of these, else the fewest servers;
- rings hold their bandwidth: where the planned servers cannot be joined now, the common placement looks for
  others, and if there are none the job waits;
- θ is bisected to a twentieth of itself, not to a slot;
- with `placement` given, the plan says only who starts, and the common placement or the ring solver where.
"""

import math
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from gadget.errors import BadOption
from gadget.model.decision import Decision, Reason, Waiting
from gadget.model.snapshot import Snapshot
from gadget.policies.placement import Candidate, Placement, Wanted
from gadget.policies.remaining import find_slots_left
from gadget.policies.ring_placement import Placer, place_chosen
from gadget.policies.workers import check_fixed_workers, list_wanted
from gadget.solve.greedy import place_on
from gadget.solve.room import Room
from gadget.solve.timelines import Costs, Gangs, Lanes, Plan, Rule, plan_gangs

Integers = NDArray[np.int64]

_MOST_LANES = 64
# How near θ is bisected, relative to itself.
_NEAR = 0.05


@dataclass(frozen=True)
class SjfBco:
    """Jobs by size, smallest first, packed or spread as the plan that ends first has it."""

    workers: int | None = None
    """Workers of every ring; without it and `draw`, each job's maximum."""
    draw: int | None = None
    """Draw the number of each job from 1 … 10 as in Sec. VI, with this seed."""
    spread: float = 1.0
    """λ: servers looked at for a ring that is spread hold so many times its workers."""
    overhead: float = 0.05
    """By how much each further server slows a ring down, relative to its time alone."""
    contention: float = 0.1
    """By how much each other ring between servers slows it down."""
    placement: Placer | None = None
    """Who places the jobs that start; without, the plan does."""

    def __post_init__(self) -> None:
        check_fixed_workers("sjf-bco", self.workers, self.draw)
        if not 1 <= self.spread < math.inf:
            raise BadOption(f"sjf-bco: spread is {self.spread:g}. Give a finite number, 1 or more.")
        for name, value in (("overhead", self.overhead), ("contention", self.contention)):
            if not 0 <= value < math.inf:
                raise BadOption(f"sjf-bco: {name} is {value:g}. Give a finite number, 0 or more.")

    def decide(self, snapshot: Snapshot, rng: np.random.Generator) -> Decision:
        """Keep what runs, plan the others, start those whose turn is now."""
        placement = Placement(snapshot)
        wanted = list_wanted(placement, self.workers, self.draw)
        slots = {one.name: _count_slots(snapshot, one, size) for one, size in wanted}
        kept = set(map(id, placement.keep_all(wanted)))
        running = [pair for pair in wanted if id(pair[0]) in kept]
        # By arrival already, and the sort is stable.
        waiting = [pair for pair in wanted if id(pair[0]) not in kept]
        waiting.sort(key=lambda pair: (pair[1], slots[pair[0].name]))
        if waiting:
            self._start(placement, running, waiting, slots, rng)
        return placement.decide("sjf-bco")

    def _start(
        self,
        placement: Placement,
        running: Wanted,
        wanted: Wanted,
        slots: dict[str, float],
        rng: np.random.Generator,
    ) -> None:
        most, needs = _find_lanes_of_workers(placement, [*running, *wanted])
        lanes = _build_lanes(placement, running, slots, most, needs)
        # A ring of more workers than lanes stands behind those that can be planned.
        room = {shape: int((most // np.maximum(own, 1))[own > 0].sum()) for shape, own in needs.items()}
        waiting = [pair for pair in wanted if pair[1] <= room[pair[0].shape]]
        late = [pair for pair in wanted if pair[1] > room[pair[0].shape]]
        gangs = Gangs(
            np.array([size for _, size in waiting], dtype=np.int64),
            np.array([slots[candidate.name] for candidate, _ in waiting], dtype=np.float64),
            np.array([needs[candidate.shape] for candidate, _ in waiting], dtype=np.int64),
        )
        begin, workers = find_plan(gangs, lanes, Costs(self.spread, self.overhead, self.contention))
        now = [place for place in range(len(waiting)) if begin[place] == 0]
        for place in np.flatnonzero(begin > 0).tolist():
            detail = f"is planned to start in {math.ceil(begin[place])} slots, after smaller jobs"
            placement.wait(Waiting(waiting[place][0].name, Reason.QUEUE, detail))
        if self.placement is Placer.GADGET:
            for candidate, _ in running:
                placement.remove(candidate)
            place_chosen(placement, [*running, *(waiting[place] for place in now), *late], rng)
            return
        for place in now:
            candidate, size = waiting[place]
            chosen = {int(server): int(workers[place, server]) for server in np.flatnonzero(workers[place])}
            ring = place_on(placement.room, candidate.job, chosen) if self.placement is None else None
            if ring is not None:
                placement.put(candidate, ring)
            elif not placement.place(candidate, size):
                placement.explain(candidate, size)
        for candidate, size in late:
            if not placement.place(candidate, size):
                placement.explain(candidate, size)


def find_plan(gangs: Gangs, lanes: Lanes, costs: Costs) -> Plan:
    """The plan that ends first over all thresholds κ, by bisection of the limit θ.

    Without a limit every job must find a place.
    """
    jobs, servers = gangs.lanes.shape
    plan = best = Plan(np.zeros(jobs), np.zeros((jobs, servers), dtype=np.int64))
    thresholds = [0, *np.unique(gangs.size).tolist()]
    end, low, high, limit = math.inf, float(gangs.slots.max(initial=0.0)), math.inf, math.inf
    while high == math.inf or high - low > _NEAR * high:
        before = end
        for packed in thresholds:
            found = plan_gangs(gangs, lanes, costs, Rule(packed, limit), plan)
            if found < end:
                end, best = found, Plan(plan.begin.copy(), plan.workers.copy())
        if end < before:
            high = min(end, limit)
        else:
            low = limit
        limit = (low + high) / 2
    return best


def _count_slots(snapshot: Snapshot, candidate: Candidate, size: int) -> float:
    """Slots that the job still runs, within the horizon."""
    left = find_slots_left(candidate.active, size, snapshot.slot_seconds)
    return min(max(left, 1.0), float(snapshot.slots - snapshot.slot))


def _find_lanes_of_workers(placement: Placement, wanted: Wanted) -> tuple[Integers, dict[int, Integers]]:
    """The lanes of each server, and for each shape those that a worker takes of them; 0 where none fits."""
    empty = Room(placement.network)
    fits: dict[int, Integers] = {}
    for candidate, _ in wanted:
        if candidate.shape not in fits:
            space = np.minimum(empty.space(candidate.job), _MOST_LANES)
            fits[candidate.shape] = np.floor(space).astype(np.int64)
    most: Integers = np.max(list(fits.values()), axis=0)
    return most, {shape: np.where(own > 0, most // np.maximum(own, 1), 0) for shape, own in fits.items()}


def _build_lanes(
    placement: Placement,
    running: Wanted,
    slots: dict[str, float],
    most: Integers,
    needs: dict[int, Integers],
) -> Lanes:
    """The servers with the rings that run on them."""
    start = np.concatenate([[0], np.cumsum(most)]).astype(np.int64)
    busy = np.zeros(int(start[-1]))
    spanning = np.zeros(len(most), dtype=np.int64)
    taken = start[:-1].copy()
    for candidate, _ in running:
        load = placement.load_of(placement.ring_of(candidate))
        for server, workers in zip(load.servers.tolist(), load.workers.tolist(), strict=True):
            first = int(taken[server])
            taken[server] = min(first + int(workers) * int(needs[candidate.shape][server]), start[server + 1])
            busy[first : taken[server]] = slots[candidate.name]
            spanning[server] += len(load.servers) > 1
    for first, last in pairwise(start.tolist()):
        busy[first:last].sort()
    return Lanes(start, busy, spanning)
