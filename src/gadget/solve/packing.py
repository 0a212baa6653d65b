"""The plain packing LP that the paper's relaxations come down to (problem.md §3)."""

import numpy as np

from gadget.solve.count_rows import add_choice_rows, add_server_rows
from gadget.solve.lp import LinearProgram
from gadget.solve.rows import RowFamilies
from gadget.solve.slot import SlotProblem


def build_packing_program(problem: SlotProblem) -> LinearProgram:
    """The plain packing LP that the relaxation of (12)–(19) equals (problem.md §3): no links, no rings.

    Variables: χ_p, then y_{i,u}: workers of job i on server u, any fraction.
    """
    network, pairs, jobs = problem.network, len(problem.pair_job), len(problem.jobs)
    servers = network.servers
    width = pairs + jobs * servers
    count_var = pairs + np.arange(jobs * servers).reshape(jobs, servers)
    rows = RowFamilies(width)
    add_choice_rows(rows, problem, count_var)
    add_server_rows(rows, problem, count_var)
    upper = np.full(width, np.inf)
    upper[count_var] = np.where(problem.fits >= 1, np.inf, 0.0)
    objective = np.zeros(width)
    objective[:pairs] = problem.pair_gain
    return rows.program(objective, np.zeros(width), upper, None)
