"""From a slot problem to what the kernel sees of its jobs, and of the rings they have."""

from collections import Counter

import numpy as np

from gadget.model.ring import Ring
from gadget.solve.market import Orders
from gadget.solve.network import Network
from gadget.solve.room import is_closed
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


def read_footprint(network: Network, ring: Ring) -> tuple[dict[int, int], dict[int, int]] | None:
    """Workers by server and crossings by directed link of a ring; None if it is no ring of this cluster."""
    number = network.node_number
    servers: dict[int, int] = {}
    for name, workers in Counter(ring.workers).items():
        place = number.get(name, network.servers)
        if place >= network.servers:
            return None
        servers[place] = workers
    if not is_closed(ring):
        return None
    links: dict[int, int] = {}
    for here, there in ring.hops():
        if here not in number:
            return None
        link = network.link_between.get((number[here], number.get(there, -1)))
        if link is None:
            return None
        links[link] = links.get(link, 0) + 1
    return servers, links
