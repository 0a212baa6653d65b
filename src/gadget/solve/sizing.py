"""The paper's ring sizes: the relaxed upper bound q_i, and the LP-based selection of Lemma 7."""

import numpy as np
from numpy.typing import NDArray

from gadget.model.utility import find_majorant
from gadget.solve.count_rows import add_server_rows
from gadget.solve.lp import LinearProgram, solve
from gadget.solve.rows import RowFamilies
from gadget.solve.slot import SlotProblem

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]

# Fractions of a worker at which the relaxed problem sees a utility.
PIECES_PER_WORKER = 4

# What an LP solver leaves of a zero.
_DUST = 1e-9


def find_size_limits(problem: SlotProblem) -> Floats:
    """q_i: workers of each job in problem (10) with (2), (4) and (11) relaxed to any fraction.

    Not an upper bound on the best whole ring, as the paper has it (problem.md §2 has a counter-example);
    used by the paper's own algorithm only.
    """
    program, count = build_relaxed_program(problem)
    values = solve(program).values
    assert values is not None  # giving nobody anything is feasible
    return np.asarray(values[count].sum(axis=1))


def keep_sizes_up_to(problem: SlotProblem, limits: Floats) -> SlotProblem:
    """Pairs with κ in Q_i = {1, …, ⌈q_i⌉}; a job's smallest ring stays even when q_i is below it."""
    least = np.array([active.job.min_workers for active in problem.jobs], dtype=np.int64)
    most = np.maximum(np.ceil(limits - _DUST).astype(np.int64), np.where(limits > _DUST, least, 0))
    return problem.keep_pairs(problem.pair_size <= most[problem.pair_job])


def select_sizes(problem: SlotProblem, chosen: Floats) -> SlotProblem:
    """One size a job: argmax_κ π̄χ̄ over χ̄ > 0 (Lemma 7), ties to the smaller; jobs with ρ̄ = 0 get none."""
    worth = np.where(chosen > _DUST, problem.pair_gain * chosen, 0.0)
    best: dict[int, int] = {}
    for pair in np.flatnonzero(worth > 0):
        job = int(problem.pair_job[pair])
        # Pairs are listed by rising size, so that only more than an equal worth displaces the smaller.
        if job not in best or worth[pair] > worth[best[job]] * (1 + _DUST):
            best[job] = int(pair)
    keep = np.zeros(len(problem.pair_job), dtype=bool)
    keep[list(best.values())] = True
    return problem.keep_pairs(keep)


def build_relaxed_program(problem: SlotProblem) -> tuple[LinearProgram, Integers]:
    """The relaxed slot problem with each gain as straight pieces, made concave.

    Variables: the pieces of each job, then y_{i,u}. Also gives the numbers of y.
    """
    network, jobs = problem.network, len(problem.jobs)
    pieces_of = problem.most_workers() * PIECES_PER_WORKER
    slopes = [np.diff(_concave_gains(problem, job, int(pieces_of[job]))) for job in range(jobs)]
    piece_job = np.repeat(np.arange(jobs), pieces_of)
    pieces = len(piece_job)
    count = pieces + np.arange(jobs * network.servers).reshape(jobs, network.servers)
    width = pieces + count.size
    rows = RowFamilies(width)
    rows.add(
        np.concatenate([piece_job, np.repeat(np.arange(jobs), network.servers)]),
        np.concatenate([np.arange(pieces), count.ravel()]),
        np.concatenate([np.ones(pieces), np.full(count.size, -float(PIECES_PER_WORKER))]),
        height=jobs,
        lower=0.0,
        upper=0.0,
    )
    add_server_rows(rows, problem, count)
    objective = np.zeros(width)
    objective[:pieces] = np.concatenate([np.zeros(0), *slopes])
    upper = np.ones(width)
    upper[count] = np.where(problem.fits >= 1, np.inf, 0.0)
    return rows.program(objective, np.zeros(width), upper, None), count


def _concave_gains(problem: SlotProblem, job: int, pieces: int) -> Floats:
    """Gains of 0 … most workers in fractions of a worker, made concave."""
    active = problem.jobs[job]
    workers = np.arange(pieces + 1) / PIECES_PER_WORKER
    if active.job.worth.concave and active.job.timing is None and active.job.min_workers == 1:
        return active.gains(workers, problem.slot_seconds)
    # Known at the sizes that are listed, straight between them and down to nothing.
    own = problem.pair_job == job
    sizes, gains = (
        np.concatenate([[0], problem.pair_size[own]]),
        np.concatenate([[0.0], problem.pair_gain[own]]),
    )
    return find_majorant(np.interp(workers, sizes, gains))
