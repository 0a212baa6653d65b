"""The plain packing LP that the paper's relaxations come down to (problem.md §3)."""

import numpy as np

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
    rows.add(problem.pair_job, np.arange(pairs), 1.0, height=jobs, upper=1.0)
    rows.add(
        np.concatenate([np.repeat(np.arange(jobs), servers), problem.pair_job]),
        np.concatenate([count_var.ravel(), np.arange(pairs)]),
        np.concatenate([np.ones(jobs * servers), -problem.pair_size.astype(float)]),
        height=jobs,
        lower=0.0,
        upper=0.0,
    )
    for resource in range(len(network.resource_number)):
        weight = np.repeat(problem.demand[:, resource], servers)
        rows.add(
            np.tile(np.arange(servers), jobs),
            count_var.ravel(),
            weight,
            height=servers,
            upper=network.capacity[:, resource],
        )
    upper = np.full(width, np.inf)
    upper[count_var] = np.where(problem.fits >= 1, np.inf, 0.0)
    objective = np.zeros(width)
    objective[:pairs] = problem.pair_gain
    return rows.program(objective, np.zeros(width), upper, None)
