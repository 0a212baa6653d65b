"""From a slot problem to what the kernel sees of its jobs."""

import numpy as np

from gadget.solve.market import Orders
from gadget.solve.slot import SlotProblem


def build_orders(problem: SlotProblem) -> Orders:
    """The jobs with the gains of the pairs that gain something."""
    most = problem.most_workers()
    start = np.concatenate([[0], np.cumsum(most + 1)]).astype(np.int64)
    gain = np.full(int(start[-1]), -np.inf)
    worth = problem.pair_gain > 0
    gain[start[problem.pair_job[worth]] + problem.pair_size[worth]] = problem.pair_gain[worth]
    return Orders(problem.demand, problem.gbps, most, start, gain)


def build_idle_orders(problem: SlotProblem, orders: Orders) -> Orders:
    """The jobs that gain nothing by any ring but lose nothing by some: each with the smallest such size."""
    gain = np.full_like(orders.gain, -np.inf)
    hopeful = np.zeros(len(problem.jobs), dtype=np.bool_)
    hopeful[problem.pair_job[problem.pair_gain > 0]] = True
    harmless = np.flatnonzero((problem.true_gain >= 0) & ~hopeful[problem.pair_job])
    jobs, first = np.unique(problem.pair_job[harmless], return_index=True)
    gain[orders.gain_start[jobs] + problem.pair_size[harmless[first]]] = 0.0
    return orders._replace(gain=gain)
