"""The max-min-fair program of Gavel (Narayanan et al., OSDI 2020, Sec. 4.1) over ring sizes."""

from dataclasses import dataclass, replace

import numpy as np

from gadget.errors import SolverFailed
from gadget.solve.lp import LinearProgram, Outcome, Solution, solve
from gadget.solve.rows import RowFamilies
from gadget.solve.sized_jobs import Floats, SizedJobs

# The fair floor is kept up to this, so that rounding cannot make the second program infeasible.
FLOOR_SLACK = 1e-6


@dataclass(frozen=True, eq=False)
class FairShares:
    """The share of time in which each job runs with each size."""

    floor: float
    """The least normalised throughput, as large as it can be; infinite where no job can run."""
    share: Floats
    """x of each pair, from 0 to 1."""

    def expected_workers(self, sized: SizedJobs) -> Floats:
        """Workers of each job in the mean over time."""
        return np.bincount(sized.job, self.share * sized.size, minlength=sized.count).astype(np.float64)


def find_fair_shares(sized: SizedJobs, total: Floats, weight: Floats | None = None) -> FairShares:
    """Time shares whose least normalised throughput is the largest; then, with that kept, whose sum is.

    x_{iκ} is the share of time in which job i runs with κ workers. Its throughput Σ_κ x_{iκ}·work_i(κ) is
    normalised by what it does with an equal share of `total`, and by its weight (1 where none are given).
    """
    equal = sized.work_of_equal_share(total) * (1.0 if weight is None else weight)
    # A job too slow to do anything (work below what floats show) counts as one that has all it needs.
    normed = np.divide(sized.work, equal[sized.job], out=np.ones(len(sized.job)), where=equal[sized.job] > 0)
    program = _build_program(sized, total, normed)
    floor = _solved(program).objective
    # The same rows again, with t held at the floor, and the sum as objective.
    held = np.append(np.zeros(len(normed)), floor * (1 - FLOOR_SLACK))
    full = _solved(replace(program, objective=np.append(normed, 0.0), lower=held))
    assert full.values is not None
    return FairShares(floor if len(normed) else np.inf, np.clip(full.values[:-1], 0.0, 1.0))


def _build_program(sized: SizedJobs, total: Floats, normed: Floats) -> LinearProgram:
    """Maximise t: Σ_κ x_{iκ} ≤ 1, Σ l·κ·x ≤ total, t ≤ Σ_κ normed·x. Variables x, then t."""
    pairs = len(sized.job)
    rows = RowFamilies(pairs + 1)
    rows.add(sized.job, np.arange(pairs), 1.0, height=sized.count, upper=1.0)
    pair, resource = np.nonzero(sized.load)
    rows.add(resource, pair, sized.load[pair, resource], height=len(total), upper=total)
    able = np.unique(sized.job)
    rows.add(
        np.concatenate([sized.job, able]),
        np.concatenate([np.arange(pairs), np.full(len(able), pairs)]),
        np.concatenate([-normed, np.ones(len(able))]),
        height=sized.count,
        upper=0.0,
    )
    # With no job that can run there is nothing that limits t.
    upper = np.append(np.full(pairs, np.inf), np.inf if len(able) else 0.0)
    return rows.program(np.append(np.zeros(pairs), 1.0), np.zeros(pairs + 1), upper, None)


def _solved(program: LinearProgram) -> Solution:
    found = solve(program)
    if found.outcome is not Outcome.OPTIMAL:
        raise SolverFailed(f"The max-min-fair program ended with {found.outcome}.")
    return found
