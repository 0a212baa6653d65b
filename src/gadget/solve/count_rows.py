"""Constraint families over counts: workers of each job on each server, y_{i,u}."""

import numpy as np
from numpy.typing import NDArray

from gadget.solve.rows import RowFamilies
from gadget.solve.slot import SlotProblem

Integers = NDArray[np.int64]


_NONE: Integers = np.zeros(0, dtype=np.int64)


def add_choice_rows(
    rows: RowFamilies,
    problem: SlotProblem,
    count: Integers,
    stays: tuple[Integers, Integers] = (_NONE, _NONE),
) -> None:
    """(13), and as many workers as the chosen size says; variables χ of the pairs come first.

    `stays`: jobs and columns of rings that may go on, each instead of a pair.
    """
    pairs, (jobs, servers) = len(problem.pair_job), count.shape
    rows.add(
        np.concatenate([problem.pair_job, stays[0]]),
        np.concatenate([np.arange(pairs), stays[1]]),
        1.0,
        height=jobs,
        upper=1.0,
    )
    rows.add(
        np.concatenate([np.repeat(np.arange(jobs), servers), problem.pair_job]),
        np.concatenate([count.ravel(), np.arange(pairs)]),
        np.concatenate([np.ones(jobs * servers), -problem.pair_size.astype(float)]),
        height=jobs,
        lower=0.0,
        upper=0.0,
    )


def add_server_rows(
    rows: RowFamilies,
    problem: SlotProblem,
    count: Integers,
    stays: tuple[Integers, Integers, Integers, Integers] = (_NONE, _NONE, _NONE, _NONE),
) -> None:
    """(4), (18): every resource of every server.

    `stays`: servers, columns, jobs and workers of rings that may go on.
    """
    network = problem.network
    host, column, job, workers = stays
    server = np.tile(np.arange(network.servers), len(problem.jobs))
    for resource in range(len(network.resource_number)):
        weight = np.repeat(problem.demand[:, resource], network.servers)
        rows.add(
            np.concatenate([server, host]),
            np.concatenate([count.ravel(), column]),
            np.concatenate([weight, workers * problem.demand[job, resource]]),
            height=network.servers,
            upper=network.capacity[:, resource],
        )
