"""What others would solve in our place: the programs of Gavel and of Sia, on our slots.

Both know servers and no network. So each is asked for ring sizes, which are then placed greedily: largest
rings first, and a ring that finds no place is left out (`shrink`: is halved until it does).
"""

import time
from collections.abc import Iterable
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from gadget.errors import SolverFailed
from gadget.model.ring import Allocation, Ring
from gadget.model.snapshot import Snapshot
from gadget.solve.greedy import place_greedily
from gadget.solve.lp import LinearProgram, Outcome, Solution, solve
from gadget.solve.network import Network
from gadget.solve.room import Room
from gadget.solve.rows import RowFamilies
from gadget.solve.slot import SlotProblem, build_slot_problem

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
Mask = NDArray[np.bool_]

# The fair floor is kept up to this, so that rounding cannot make the second program infeasible.
FLOOR_SLACK = 1e-6
# What counts as a whole worker.
WHOLE = 1e-6


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
    work, normed = _throughputs(problem)
    program = _build_fair_program(problem, normed)
    floor = _solved(program).objective
    # The same rows again, with t held at the floor, and the sum as objective.
    pairs, held = len(work), np.append(np.zeros(len(work)), floor * (1 - FLOOR_SLACK))
    full = _solved(replace(program, objective=np.append(normed, 0.0), lower=held))
    seconds = time.perf_counter() - start
    assert full.values is not None
    share, count = full.values[:pairs], len(problem.jobs)
    done = np.bincount(problem.pair_job, share * work, minlength=count)
    expected = np.bincount(problem.pair_job, share * problem.pair_size, minlength=count)
    planned = 0.0
    for active, more in zip(problem.jobs, done.tolist(), strict=True):
        before = active.work(problem.slot_seconds)
        planned += float(active.job.utility.gain(before, before + more))
    start = time.perf_counter()
    sizes = _round_workers(problem, expected)
    allocation = place(problem, [(np.arange(count), sizes, None)], shrink=shrink)
    placed = time.perf_counter() - start
    wanted = int(np.count_nonzero(sizes))
    return Answer(
        seconds,
        snapshot.objective(allocation),
        f"Gavel: max-min-fair LP, floor {floor:.3g} of an equal share; "
        f"{len(allocation.rings)} of {wanted} rings placed",
        full.outcome,
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
    kinds, kind_of = _server_types(problem.network)
    pair, kind = _configurations(problem, kinds, np.bincount(kind_of, minlength=len(kinds)))
    found = solve(_build_sia_program(problem, kinds, kind_of, pair, kind), time_limit=time_limit, gap=gap)
    seconds = time.perf_counter() - start
    chosen = np.zeros(len(pair), dtype=bool) if found.values is None else found.values > 0.5
    start = time.perf_counter()
    groups = []
    for number in range(len(kinds)):
        own = pair[chosen & (kind == number)]
        groups.append((problem.pair_job[own], problem.pair_size[own], kind_of == number))
    allocation = place(problem, groups, shrink=shrink)
    placed = time.perf_counter() - start
    return Answer(
        seconds,
        snapshot.objective(allocation),
        f"Sia: ILP over {len(pair):,} configurations on {len(kinds)} types of server, "
        f"{found.outcome} to {gap:g}; {len(allocation.rings)} of {int(chosen.sum())} rings placed",
        found.outcome,
        float(problem.true_gain[pair[chosen]].sum()),
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


def _solved(program: LinearProgram) -> Solution:
    found = solve(program)
    if found.outcome is not Outcome.OPTIMAL:
        raise SolverFailed(f"Gavel's program ended with {found.outcome}.")
    return found


def _throughputs(problem: SlotProblem) -> tuple[Floats, Floats]:
    """Work of each pair in the slot: as it is, and as a multiple of what the job does with an equal share.

    Between the sizes that a job may have, and no work at 0, an equal share does work along straight lines.
    """
    count = len(problem.jobs)
    workers = _workers_within(problem, problem.network.capacity.sum(axis=0)) / max(count, 1)
    cuts = np.searchsorted(problem.pair_job, np.arange(count + 1))
    work, normed = np.zeros(len(problem.pair_job)), np.zeros(len(problem.pair_job))
    for number, active in enumerate(problem.jobs):
        own = slice(cuts[number], cuts[number + 1])
        sizes = problem.pair_size[own]
        if len(sizes):
            work[own] = active.job.work_in_slot(sizes, problem.slot_seconds)
            equal = np.interp(workers[number], np.append(0, sizes), np.append(0.0, work[own]))
            normed[own] = work[own] / equal
    return work, normed


def _workers_within(problem: SlotProblem, amounts: Floats) -> Floats:
    """Workers of each job that these amounts of the resources hold, with fractions."""
    some = np.where(problem.demand > 0, problem.demand, 1.0)
    return np.where(problem.demand > 0, amounts / some, np.inf).min(axis=1, initial=np.inf)


def _build_fair_program(problem: SlotProblem, normed: Floats) -> LinearProgram:
    """Maximise t: Σ_κ x_{iκ} ≤ 1, Σ l·κ·x ≤ capacity, t ≤ Σ_κ normed·x. Variables x, then t."""
    pairs, jobs = len(problem.pair_job), len(problem.jobs)
    rows = RowFamilies(pairs + 1)
    rows.add(problem.pair_job, np.arange(pairs), 1.0, height=jobs, upper=1.0)
    demand = problem.demand[problem.pair_job] * problem.pair_size[:, None]
    pair, resource = np.nonzero(demand)
    total = problem.network.capacity.sum(axis=0)
    rows.add(resource, pair, demand[pair, resource], height=len(total), upper=total)
    able = np.unique(problem.pair_job)
    rows.add(
        np.concatenate([problem.pair_job, able]),
        np.concatenate([np.arange(pairs), np.full(len(able), pairs)]),
        np.concatenate([-normed, np.ones(len(able))]),
        height=jobs,
        upper=0.0,
    )
    # With no job that can run there is nothing that limits t.
    upper = np.append(np.full(pairs, np.inf), np.inf if len(able) else 0.0)
    return rows.program(np.append(np.zeros(pairs), 1.0), np.zeros(pairs + 1), upper, None)


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


def _server_types(network: Network) -> tuple[Floats, Integers]:
    """What a server of each type has, (types × resources), and the type of each server."""
    kinds, kind_of = np.unique(network.capacity, axis=0, return_inverse=True)
    return kinds, kind_of.reshape(-1)


def _configurations(problem: SlotProblem, kinds: Floats, count: Integers) -> tuple[Integers, Integers]:
    """Sia's configurations as pairs of job and size, and the type of server of each."""
    job, size = problem.pair_job, problem.pair_size
    pairs, types = [], []
    for number, has in enumerate(kinds):
        # A job that no server of the type holds has no configuration there.
        held = np.floor(_workers_within(problem, has * (1 + WHOLE))).astype(np.int64)[job]
        inside = (size <= held) & (size & (size - 1) == 0)
        whole = (held > 0) & (size % np.maximum(held, 1) == 0) & (size <= held * count[number])
        own = np.flatnonzero(inside | whole)
        pairs.append(own)
        types.append(np.full(len(own), number))
    return np.concatenate(pairs), np.concatenate(types)


def _build_sia_program(
    problem: SlotProblem, kinds: Floats, kind_of: Integers, pair: Integers, kind: Integers
) -> LinearProgram:
    """Maximise Σ π of the configurations chosen: one a job, within the capacity of each type."""
    rows = RowFamilies(len(pair))
    job = problem.pair_job[pair]
    rows.add(job, np.arange(len(pair)), 1.0, height=len(problem.jobs), upper=1.0)
    demand = problem.demand[job] * problem.pair_size[pair, None]
    column, resource = np.nonzero(demand)
    limit = (kinds * np.bincount(kind_of, minlength=len(kinds))[:, None]).ravel()
    row = kind[column] * kinds.shape[1] + resource
    rows.add(row, column, demand[column, resource], height=len(limit), upper=limit)
    ones = np.ones(len(pair))
    return rows.program(problem.pair_gain[pair], np.zeros(len(pair)), ones, ones.astype(bool))
