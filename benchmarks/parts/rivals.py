"""What others would solve in our place: the programs of Gavel and of Sia, on our slots and for our gains.

The policies `gavel` and `sia` solve the same programs for their own ends, over whole horizons.

Both know servers and no network. So each is asked for ring sizes, which are then placed greedily: largest
rings first, and a ring that finds no place is left out (`shrink`: is halved until it does).
"""

import time
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from gadget.model.ring import Allocation, Ring
from gadget.model.snapshot import Snapshot
from gadget.solve.configurations import build_configuration_program, find_configurations, find_server_types
from gadget.solve.fair_shares import find_fair_shares
from gadget.solve.greedy import place_greedily
from gadget.solve.lp import Outcome, solve
from gadget.solve.room import Room
from gadget.solve.sized_jobs import WHOLE, SizedJobs
from gadget.solve.slot import SlotProblem, build_slot_problem

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
Mask = NDArray[np.bool_]


@dataclass(frozen=True)
class Answer:
    """What a rival found, and how long its programs took."""

    seconds: float
    """To build and solve its programs; reading the slot (the same for all) and placing are not in it."""
    objective: float
    """Σ of our true gains over the rings placed, to be compared with a decision's."""
    description: str
    outcome: Outcome
    """How the last program ended."""
    planned_objective: float
    """Σ of the gains before placing: of the fractional answer, or of the ILP's sizes."""
    place_seconds: float
    allocation: Allocation


def solve_gavel(snapshot: Snapshot, *, shrink: bool = False) -> Answer:
    """The max-min-fair LP of Gavel (Narayanan et al., OSDI 2020, Sec. 4.1), and its answer placed.

    x_{iκ} is the share of the slot in which job i runs with κ workers. The least normalised effective
    throughput Σ_κ x_{iκ}·work_i(κ) / work_i(equal share) is made as large as it can be; then the sum of all,
    with that floor kept. Deviations:

    - Gavel's x is over accelerator types with a fixed number of workers; our accelerators are all alike and
      our jobs elastic, so x is over ring sizes. Capacity is that of the whole cluster, by resource.
    - The equal share is 1/n of the cluster's scarcest resource, at most the job's largest ring, not Gavel's
      equal time on every type. All weights are 1; nothing is shared between two jobs at once.
    - After the floor Gavel fills up level by level (water filling, Sec. 4.3); here one LP maximises the sum.
    - Sizes that no ring could have even on the empty cluster are left out, and such that lose utility.
    - Gavel realises x over many rounds. Here there is one slot: expected workers are rounded down, and what
      that leaves free goes in whole workers to the largest remainders, as its rounds would in their turn.
    """
    problem = build_slot_problem(snapshot)
    start = time.perf_counter()
    sized = _size(problem)
    found = find_fair_shares(sized, problem.network.capacity.sum(axis=0))
    seconds = time.perf_counter() - start
    done = np.bincount(sized.job, found.share * sized.work, minlength=sized.count)
    expected = found.expected_workers(sized)
    planned = 0.0
    for active, more in zip(problem.jobs, done.tolist(), strict=True):
        before = active.work(problem.slot_seconds)
        planned += float(active.job.utility.gain(before, before + more))
    start = time.perf_counter()
    sizes = _round_workers(problem, expected)
    allocation = place(problem, [(np.arange(sized.count), sizes, None)], shrink=shrink)
    placed = time.perf_counter() - start
    wanted = int(np.count_nonzero(sizes))
    return Answer(
        seconds,
        snapshot.objective(allocation),
        f"Gavel: max-min-fair LP, floor {found.floor:.3g} of an equal share; "
        f"{len(allocation.rings)} of {wanted} rings placed",
        Outcome.OPTIMAL,
        planned,
        placed,
        allocation,
    )


def solve_sia(
    snapshot: Snapshot, *, time_limit: float = 60.0, gap: float = 1e-4, shrink: bool = False
) -> Answer:
    """The ILP of Sia (Jayaram Subramanya et al., SOSP 2023), and its answer placed.

    One configuration a job: on one type of server, a power of two of workers within one server, or all
    workers that n whole servers hold. Servers of one type have the same resources. Deviations:

    - The objective is the sum of our gains π_{iκ}, not of goodputs to the power p, so that answers compare;
      no penalty for waiting or for restarting, and no rule that a job at most doubles in a round.
    - Sia counts GPUs; here capacity is that of all servers of a type, by resource, and what a server holds
      follows from what a worker takes. All types are equally fast.
    - A server whose GPUs are no power of two is not split into virtual ones; the whole of it is one more
      configuration.
    - Sizes that no ring could have even on the empty cluster are left out, and such that lose utility.
    - Sia's placer moves other jobs until everything stands; here rings are placed once, on servers of their
      type, and what does not fit within a server's free space or the links' is left out.
    - `gap` is HiGHS' own default; a program not finished in `time_limit` gives the best found.
    """
    problem = build_slot_problem(snapshot)
    start = time.perf_counter()
    sized, types = _size(problem), find_server_types(problem.network)
    offered = find_configurations(sized, types)
    program = build_configuration_program(sized, types, offered, problem.pair_gain[offered.pair])
    found = solve(program, time_limit=time_limit, gap=gap)
    seconds = time.perf_counter() - start
    chosen = np.zeros(len(offered.pair), dtype=bool) if found.values is None else found.values > 0.5
    start = time.perf_counter()
    groups = []
    for number in range(len(types.resources)):
        own = offered.pair[chosen & (offered.kind == number)]
        groups.append((problem.pair_job[own], problem.pair_size[own], types.of_server == number))
    allocation = place(problem, groups, shrink=shrink)
    placed = time.perf_counter() - start
    return Answer(
        seconds,
        snapshot.objective(allocation),
        f"Sia: ILP over {len(offered.pair):,} configurations on {len(types.resources)} types of server, "
        f"{found.outcome} to {gap:g}; {len(allocation.rings)} of {int(chosen.sum())} rings placed",
        found.outcome,
        float(problem.true_gain[offered.pair[chosen]].sum()),
        placed,
        allocation,
    )


def place(
    problem: SlotProblem, groups: Iterable[tuple[Integers, Integers, Mask | None]], *, shrink: bool = False
) -> Allocation:
    """Rings for (jobs, sizes, servers they may use), largest first in each group; None is any server."""
    room = Room(problem.network)
    rings: list[Ring] = []
    for jobs, sizes, allowed in groups:
        hidden = room.free[~allowed].copy() if allowed is not None else None
        if allowed is not None:
            room.free[~allowed] = 0.0
        for turn in np.argsort(-sizes, kind="stable"):
            job, size = problem.jobs[jobs[turn]].job, int(sizes[turn])
            while size >= job.min_workers:
                fits = int(room.fits(job).sum())
                ring = place_greedily(room, job, size) if fits >= size else None
                if ring is not None:
                    room.take(job, ring)
                    rings.append(ring)
                if ring is not None or not shrink:
                    break
                size //= 2
        if allowed is not None:
            room.free[~allowed] = hidden
    return Allocation(tuple(rings))


def _size(problem: SlotProblem) -> SizedJobs:
    """The pairs of the slot, with the work of each."""
    start, work = problem.pair_start, np.zeros(len(problem.pair_job))
    for number, active in enumerate(problem.jobs):
        own = slice(start[number], start[number + 1])
        work[own] = active.job.work_in_slot(problem.pair_size[own], problem.slot_seconds)
    return SizedJobs(problem.pair_job, problem.pair_size, work, problem.demand)


def _round_workers(problem: SlotProblem, expected: Floats) -> Integers:
    """Whole workers: rounded down, then one more each (or the least ring) by falling remainder."""
    least = np.array([active.job.min_workers for active in problem.jobs], dtype=np.int64)
    sizes = np.floor(expected + WHOLE).astype(np.int64)
    sizes[sizes < least] = 0
    left = problem.network.capacity.sum(axis=0) * (1 + WHOLE) - sizes @ problem.demand
    remainder = expected - sizes
    for job in np.argsort(-remainder, kind="stable"):
        more = max(1, int(least[job] - sizes[job]))
        if remainder[job] > WHOLE and np.all(more * problem.demand[job] <= left):
            sizes[job] += more
            left -= more * problem.demand[job]
    return sizes
