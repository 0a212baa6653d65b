"""Constraint families over counts: workers of each job on each server, y_{i,u}."""

import numpy as np
from numpy.typing import NDArray

from gadget.solve.rows import RowFamilies
from gadget.solve.slot import SlotProblem

Integers = NDArray[np.int64]


def add_choice_rows(rows: RowFamilies, problem: SlotProblem, count: Integers) -> None:
    """(13), and as many workers as the chosen size says; variables χ of the pairs come first."""
    pairs, (jobs, servers) = len(problem.pair_job), count.shape
    rows.add(problem.pair_job, np.arange(pairs), 1.0, height=jobs, upper=1.0)
    rows.add(
        np.concatenate([np.repeat(np.arange(jobs), servers), problem.pair_job]),
        np.concatenate([count.ravel(), np.arange(pairs)]),
        np.concatenate([np.ones(jobs * servers), -problem.pair_size.astype(float)]),
        height=jobs,
        lower=0.0,
        upper=0.0,
    )


def add_server_rows(rows: RowFamilies, problem: SlotProblem, count: Integers) -> None:
    """(4), (18): every resource of every server."""
    network = problem.network
    server = np.tile(np.arange(network.servers), len(problem.jobs))
    for resource in range(len(network.resource_number)):
        weight = np.repeat(problem.demand[:, resource], network.servers)
        rows.add(server, count.ravel(), weight, height=network.servers, upper=network.capacity[:, resource])
