"""What a ring would cost each job that has none, and what is missing for its smallest one."""

from dataclasses import dataclass

import numpy as np

from gadget.solve.compiled import compiled
from gadget.solve.dive import Workshop
from gadget.solve.held import occupy_all
from gadget.solve.hierarchy import Hierarchy
from gadget.solve.lagrangian import Answers
from gadget.solve.market import Floats, Integers, Orders, Tree
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
    lack: Integers
    """Which of `lacks` is its own."""
    lacks: tuple["Lack", ...]
    """Jobs that ask for the same smallest ring are short of the same."""
    reachable_gbps: Floats
    """With so little bandwidth the smallest ring would find joined servers; −1 where that is not short."""
    link: Integers
    """An undirected link that is too full for more; −1 where none is."""


@dataclass(frozen=True, eq=False)
class Lack:
    """What is missing for a smallest ring of one kind."""

    smallest: int
    fitting: int
    """Workers that fit on what is free, all servers together, bandwidth aside; no more than are asked for."""
    server: int
    """The server that comes nearest to holding the ring."""
    missing: Floats
    """What it is short of, of each resource."""
    cost: float
    """What that is worth at the prices."""


def quote(
    slot: RelaxedSlot, prices: ClassPrices, workshop: Workshop, hierarchy: Hierarchy, smallest: Integers
) -> Quotes:
    """Quotes for the jobs that have no ring, at these prices and beside the best rings."""
    network, sites, orders = workshop.network, workshop.sites, workshop.orders
    jobs = np.flatnonzero(workshop.best.count == 0)
    plain = ClassPrices(prices.unit, prices.edge, np.zeros(0))
    if (known := slot.quote_at_one_price(plain, jobs)) is not None:
        price, answers = known
        resource_cost = answers.size[:, None] * orders.demand[jobs] * price
        link_cost = np.zeros(len(jobs))
    else:
        answers = slot.quote(plain, jobs)
        resource_cost, link_cost = _split_costs(orders, plain, jobs, answers)
    sized = answers.size > 0
    gain = np.zeros(len(jobs))
    gain[sized] = orders.gain[orders.gain_start[jobs[sized]] + answers.size[sized]]
    market = workshop.market(np.zeros((sites.places, network.capacity.shape[1])), np.zeros(sites.places))
    occupy_all(sites.ground, sites.is_one, market, orders, workshop.best)
    free = market.free[sites.place_of_server]
    unit = prices.unit[slot.classes.class_of[hierarchy.node_of_server]]
    asks, kind = np.unique(
        np.column_stack([orders.demand[jobs], smallest[jobs]]), axis=0, return_inverse=True
    )
    kind = kind.ravel()
    lacks = tuple(_find_lack(free, unit, ask[:-1], int(ask[-1])) for ask in asks)
    fitting = np.array([lack.fitting for lack in lacks], dtype=np.int64)
    joined = np.flatnonzero(fitting[kind] >= smallest[jobs])
    reachable, link = np.full(len(jobs), -1.0), np.full(len(jobs), -1, dtype=np.int64)
    left = market.width[sites.place_of_link]
    reachable[joined], link[joined] = _find_bottlenecks(
        hierarchy, free, left, orders.demand[jobs[joined]], orders.gbps[jobs[joined]], smallest[jobs[joined]]
    )
    return Quotes(
        jobs,
        answers.size,
        gain,
        resource_cost,
        link_cost,
        kind,
        lacks,
        reachable,
        link,
    )


def _split_costs(
    orders: Orders, prices: ClassPrices, jobs: Integers, answers: Answers
) -> tuple[Floats, Floats]:
    """What the quoted rings pay for resources and for links."""
    place = np.repeat(np.arange(len(jobs)), np.diff(answers.start))
    count = int(answers.start[-1])
    node, workers, crossings = answers.node[:count], answers.workers[:count], answers.crossings[:count]
    resource_cost = np.zeros((len(jobs), orders.demand.shape[1]))
    np.add.at(resource_cost, place, workers[:, None] * orders.demand[jobs[place]] * prices.unit[node])
    link_cost = np.zeros(len(jobs))
    np.add.at(link_cost, place, crossings * orders.gbps[jobs[place]] * prices.edge[node])
    return resource_cost, link_cost


def _find_lack(free: Floats, unit: Floats, demand: Floats, smallest: int) -> Lack:
    needed = demand > 0
    fits = np.clip(np.floor((free[:, needed] / demand[needed]).min(axis=1)), 0, smallest)
    lack = np.maximum(smallest * demand - free, 0.0)
    price = (lack * unit).sum(axis=1)
    # By price; where that says nothing, by how much of the ring is missing.
    share = (lack[:, needed] / demand[needed]).sum(axis=1)
    nearest = int(np.lexsort((share, price))[0])
    return Lack(smallest, int(fits.sum()), nearest, lack[nearest], float(price[nearest]))


def _find_bottlenecks(
    hierarchy: Hierarchy, free: Floats, left: Floats, demand: Floats, gbps: Floats, smallest: Integers
) -> tuple[Floats, Integers]:
    """The bandwidth at which each smallest ring would find joined servers, and a link that is too full."""
    # Cuts of a graph are as wide as the widest of their links; on a tree they have one.
    owner = np.repeat(np.arange(len(hierarchy.gbps)), np.diff(hierarchy.cut_start))
    width = np.full(len(hierarchy.gbps), -1.0)
    np.maximum.at(width, owner, left[hierarchy.cut_links // 2])
    node_free = np.zeros((len(width), free.shape[1]))
    node_free[hierarchy.node_of_server] = free
    reachable, tight = np.full(len(gbps), -1.0), np.full(len(gbps), -1, dtype=np.int64)
    _narrow_down(hierarchy.tree, node_free, width, demand, gbps, smallest, reachable, tight)
    first_link = np.full(len(width) + 1, -1, dtype=np.int64)  # the last one stands for none
    first_link[owner] = hierarchy.cut_links // 2
    return reachable, first_link[tight]


@compiled
def _narrow_down(
    tree: Tree,
    free: Floats,
    width: Floats,
    demand: Floats,
    gbps: Floats,
    smallest: Integers,
    reachable: Floats,
    tight: Integers,
) -> None:
    """By bisection: the most bandwidth, below what is asked for, at which enough workers are joined."""
    for job in range(len(gbps)):
        low, high = 0.0, gbps[job]
        if _count_joined(tree, free, width, demand[job], low) < smallest[job]:
            continue
        for _ in range(30):
            middle = (low + high) / 2
            if _count_joined(tree, free, width, demand[job], middle) >= smallest[job]:
                low = middle
            else:
                high = middle
        reachable[job] = low
        closest = np.inf
        for node in range(1, len(width)):
            apart = abs(width[node] - low)
            if width[node] < gbps[job] and apart < closest:
                closest = apart
                tight[job] = node


@compiled
def _count_joined(tree: Tree, free: Floats, width: Floats, demand: Floats, gbps: float) -> int:
    """The most workers that fit on servers joined by links with that much free."""
    joined = np.zeros(len(tree.parent), np.int64)
    best = 0
    for node in range(len(tree.parent) - 1, -1, -1):
        if tree.is_server[node]:
            fit = np.inf
            for r in range(len(demand)):
                if demand[r] > 0.0:
                    fit = min(fit, free[node, r] / demand[r])
            joined[node] += max(0, int(min(fit, 1e9)))
        best = max(best, joined[node])
        if node > 0 and gbps <= width[node]:
            joined[tree.parent[node]] += joined[node]
    return best
