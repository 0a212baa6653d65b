"""What a ring would cost each job that has none, and what is missing for its smallest one."""

from dataclasses import dataclass

import numpy as np
from numba import njit

from gadget.solve.dive import Workshop
from gadget.solve.filling import occupy_all
from gadget.solve.hierarchy import Hierarchy
from gadget.solve.lagrangian import Answers
from gadget.solve.market import Floats, Integers
from gadget.solve.relaxed import ClassPrices, RelaxedSlot


@dataclass(frozen=True, eq=False)
class Quotes:
    """For some jobs: the ring that comes nearest to paying for itself, and what is short."""

    jobs: Integers
    size: Integers
    """Of that ring; 0 where no size gains anything."""
    gain: Floats
    resource_cost: Floats
    """What its workers take of each resource, at the prices, (jobs × resources)."""
    link_cost: Floats
    fitting: Integers
    """Workers that fit on what is free, all servers together, bandwidth aside."""
    server: Integers
    """The server that comes nearest to holding the smallest ring."""
    missing: Floats
    """What it is short of, of each resource, (jobs × resources)."""
    reachable_gbps: Floats
    """With so little bandwidth the smallest ring would find joined servers; −1 if with none at all."""
    link: Integers
    """An undirected link that is too full for more; −1 where none is."""


def quote(
    slot: RelaxedSlot, prices: ClassPrices, workshop: Workshop, hierarchy: Hierarchy, smallest: Integers
) -> Quotes:
    """Quotes for the jobs that have no ring, at these prices and beside the best rings."""
    network = workshop.network
    jobs = np.flatnonzero(workshop.best.count == 0)
    plain = ClassPrices(prices.unit, prices.edge, np.zeros(0))
    answers = slot.quote(plain, jobs)
    gain, resource_cost, link_cost = _split_costs(slot, plain, jobs, answers)
    market = workshop.market(*(np.zeros(shape) for shape in _shapes(workshop)))
    occupy_all(workshop.sites.ground, workshop.sites.is_one, market, workshop.orders, workshop.best)
    free = market.free[workshop.sites.place_of_server]
    left = market.width[workshop.sites.place_of_link]
    # Cuts of a graph are as wide as the widest of their links; on a tree they have one.
    owner = np.repeat(np.arange(len(hierarchy.gbps)), np.diff(hierarchy.cut_start))
    width = np.full(len(hierarchy.gbps), -1.0)
    np.maximum.at(width, owner, left[hierarchy.cut_links // 2])
    unit = slot_unit(prices, slot, hierarchy)
    count, resources = len(jobs), network.capacity.shape[1]
    fitting, server = np.zeros(count, np.int64), np.zeros(count, np.int64)
    missing, reachable = np.zeros((count, resources)), np.full(count, -1.0)
    tight = np.full(count, -1, np.int64)
    if network.servers:
        node_free = np.zeros((len(width), resources))
        node_free[hierarchy.node_of_server] = free
        _find_shortage(
            hierarchy.tree, node_free, width, free, unit, slot.orders.demand[jobs], slot.orders.gbps[jobs],
            smallest[jobs], fitting, server, missing, reachable, tight,
        )
    first_link = np.full(len(width) + 1, -1, dtype=np.int64)
    first_link[owner] = hierarchy.cut_links // 2
    return Quotes(
        jobs, answers.size, gain, resource_cost, link_cost, fitting, server, missing, reachable, first_link[tight]
    )


def slot_unit(prices: ClassPrices, slot: RelaxedSlot, hierarchy: Hierarchy) -> Floats:
    """Prices on every server."""
    return np.asarray(prices.unit[slot.classes.class_of[hierarchy.node_of_server]])


def _shapes(workshop: Workshop) -> tuple[tuple[int, ...], tuple[int, ...]]:
    places = workshop.sites.places
    return (places, workshop.network.capacity.shape[1]), (places,)


def _split_costs(
    slot: RelaxedSlot, prices: ClassPrices, jobs: Integers, answers: Answers
) -> tuple[Floats, Floats, Floats]:
    """Gain of the quoted rings, and what they pay for resources and for links."""
    orders = slot.orders
    sized = answers.size > 0
    gain = np.zeros(len(jobs))
    gain[sized] = orders.gain[orders.gain_start[jobs[sized]] + answers.size[sized]]
    place = np.repeat(np.arange(len(jobs)), np.diff(answers.start))
    count = int(answers.start[-1])
    node, workers, crossings = answers.node[:count], answers.workers[:count], answers.crossings[:count]
    resource_cost = np.zeros((len(jobs), orders.demand.shape[1]))
    np.add.at(resource_cost, place, workers[:, None] * orders.demand[jobs[place]] * prices.unit[node])
    link_cost = np.zeros(len(jobs))
    np.add.at(link_cost, place, crossings * orders.gbps[jobs[place]] * prices.edge[node])
    return gain, resource_cost, link_cost


@njit(cache=True)
def _find_shortage(
    tree, node_free, width, free, unit, demand, gbps, smallest, fitting, server, missing, reachable, tight
):  # compiled
    resources = demand.shape[1]
    for job in range(len(gbps)):
        total = 0
        best = np.inf
        for s in range(len(free)):
            fit = smallest[job]
            price, lack = 0.0, 0.0
            for r in range(resources):
                if demand[job, r] > 0.0:
                    space = free[s, r] / demand[job, r]
                    if space < fit:
                        fit = max(0, int(space))
                    short = smallest[job] * demand[job, r] - free[s, r]
                    if short > 0.0:
                        price += short * unit[s, r]
                        lack += short / demand[job, r]
            total += fit
            # By price; where that says nothing, by how many workers are missing.
            cost = price + 1e-9 * lack
            if cost < best:
                best = cost
                server[job] = s
        fitting[job] = total
        for r in range(resources):
            missing[job, r] = max(0.0, smallest[job] * demand[job, r] - free[server[job], r])
        if total >= smallest[job]:
            _find_bottleneck(tree, node_free, width, demand[job], gbps[job], smallest[job], reachable, tight, job)


@njit(cache=True)
def _find_bottleneck(tree, free, width, demand, gbps, wanted, reachable, tight, job):
    """The most bandwidth, below what is asked for, at which the smallest ring finds joined servers."""
    low, high = -1.0, gbps
    if _reach(tree, free, width, demand, 0.0) < wanted:
        return
    low = 0.0
    for _ in range(30):
        middle = (low + high) / 2
        if _reach(tree, free, width, demand, middle) >= wanted:
            low = middle
        else:
            high = middle
    reachable[job] = low
    closest = np.inf
    for node in range(1, len(width)):
        apart = abs(width[node] - low)
        if width[node] < gbps and apart < closest:
            closest = apart
            tight[job] = node


@njit(cache=True)
def _reach(tree, free, width, demand, gbps):
    reach = np.zeros(len(tree.parent), np.int64)
    best = 0
    for node in range(len(tree.parent) - 1, -1, -1):
        if tree.is_server[node]:
            fit = np.inf
            for r in range(len(demand)):
                if demand[r] > 0.0:
                    fit = min(fit, free[node, r] / demand[r])
            reach[node] += max(0, int(min(fit, 1e9)))
        best = max(best, reach[node])
        if node > 0 and gbps <= width[node]:
            reach[tree.parent[node]] += reach[node]
    return best
