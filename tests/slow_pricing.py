"""Rings priced by trying all of them, from the definitions alone: (2), (4), (19) and problem.md §3."""

import itertools
from dataclasses import dataclass, replace

import numpy as np

from gadget.solve.market import SLACK, Market, build_tree


@dataclass(frozen=True)
class Case:
    """A tree whose nodes are numbered depth first, prices on it, and a job."""

    parent: tuple  # of each node; −1 for the root, node 0
    servers: tuple  # the nodes that are servers
    free: dict  # of each resource, by server
    unit: dict  # price of each resource, by server
    width: tuple  # of the link to each node's parent
    edge: tuple  # price of a Gbps both ways on it
    whole: tuple  # width that shares are counted in
    cuts: tuple  # of each node's link, as (shares, price)
    demand: tuple
    gbps: float
    gain: tuple  # of sizes 0 … most

    @property
    def most(self):
        return len(self.gain) - 1


def draw_case(pick, *, most_nodes=8, most_servers=6, most_depth=4):
    """A case of small round numbers, so that ties abound; `pick` takes one of a sequence."""
    count = pick((1, 2, 3, *range(4, most_nodes + 1), *range(4, most_nodes + 1)))
    parent = _draw_tree(pick, count, most_depth)
    nodes = range(len(parent))
    # Most leaves are servers and most inner nodes are switches, but not all.
    inner = set(parent)
    servers = tuple(v for v in nodes if pick((1, 1, 1, 0) if v not in inner else (0, 0, 1)))[:most_servers]
    resources = pick((1, 1, 2, 3))
    amount = pick(((1, 2), (1, 2, 3, 4), (0, 1, 2, 3, 4, 0.9, 2.5, 0.3)))
    price, toll = (pick(((0,), (0, 1), (0, 0.5, 1), (0, 0.1, 0.37, 1.3))) for _ in range(2))
    width = pick(((10,), (1, 2, 3), (-1, 0, 0.5, 1, 2, 3, 10, 10)))
    widths = tuple(pick(width) for _ in nodes)
    return Case(
        parent,
        servers,
        {v: tuple(pick(amount) for _ in range(resources)) for v in servers},
        {v: tuple(pick(price) for _ in range(resources)) for v in servers},
        widths,
        tuple(pick(toll) for _ in nodes),
        tuple(max(w, pick(width)) for w in widths),
        tuple(tuple((pick((1, 2, 3)), pick(toll)) for _ in range(pick((0, 0, 1, 2)))) for _ in nodes),
        *draw_job(pick, resources),
    )


def draw_job(pick, resources):
    """What a worker takes, bandwidth, and gains; sizes below the least gain −∞."""
    demand = [pick((0, 0, 1, 0.5, 0.1, 0.7)) for _ in range(resources)]
    demand[pick(range(resources))] = pick((1, 2, 0.5, 0.3))
    fewest, most = sorted((pick((1, 1, 1, 2, 3, 4)), pick((1, 2, 3, 4, 5))))
    worth = pick(((-1, 0, 1, 3), (1, 3, 4.5, 6, 8)))
    slope = pick((0.9, 0.9, 2.5))
    gain = [-np.inf] * fewest + [size * slope + pick(worth) for size in range(fewest, most + 1)]
    return tuple(demand), pick((0, 0.1, 0.5, 1, 1, 2)), tuple(gain)


def draw_seeded(seed):
    """A `pick` for long loops without Hypothesis."""
    rng = np.random.default_rng(seed)
    return lambda options: options[int(rng.integers(len(options)))]


def _draw_tree(pick, count, most_depth):
    """Parents in depth-first numbers: each node hangs from the one before or from a node above that."""
    parent, depth = [-1], [0]
    for node in range(1, count):
        above = node - 1
        while depth[above] >= most_depth:
            above = parent[above]
        for _ in range(pick((0, 0, 1, 1, 2, 3))):
            above = max(parent[above], 0)
        parent.append(above)
        depth.append(depth[above] + 1)
    return tuple(parent)


def count_fits(case, server):
    """How many workers the server holds."""
    fits = 0
    while fits < case.most and all(
        (fits + 1) * need <= have * (1 + SLACK)
        for need, have in zip(case.demand, case.free[server], strict=True)
    ):
        fits += 1
    return fits


def find_crossed(case, counts):
    """The nodes whose link to the parent parts servers of the ring."""
    below = [0] * len(case.parent)
    for server, workers in counts.items():
        node = server
        while node >= 0:
            below[node] += workers
            node = case.parent[node]
    return {node for node in range(1, len(below)) if 0 < below[node] < sum(counts.values())}


def find_toll(case, node):
    """What it costs to cross the link above a node, None if it is too narrow."""
    if case.gbps > case.width[node] * (1 + SLACK):
        return None
    toll = case.gbps * case.edge[node]
    for shares, price in case.cuts[node]:
        toll += price * count_shares(case.gbps, case.whole[node], shares)
    return toll


def count_shares(gbps, width, shares):
    """The least number of slices beyond the first, each 1/(shares + 1) of the link, that hold the ring."""
    taken = 0
    while width > 0 and gbps > width * (taken + 1) / (shares + 1) * (1 + 1e-9):
        taken += 1
    return taken


def find_cost(case, counts):
    """What a ring with so many workers on each server costs, None if it does not fit."""
    if any(workers > count_fits(case, server) for server, workers in counts.items()):
        return None
    tolls = [find_toll(case, node) for node in find_crossed(case, counts)]
    if None in tolls:
        return None
    prices = {
        server: sum(need * price for need, price in zip(case.demand, case.unit[server], strict=True))
        for server in counts
    }
    return sum(workers * prices[server] for server, workers in counts.items()) + sum(tolls)


def try_all_rings(case):
    """The greatest value of any ring, −∞ if there is none."""
    fits = [range(count_fits(case, server) + 1) for server in case.servers]
    best = -np.inf
    for spread in itertools.product(*fits):
        size = sum(spread)
        if 0 < size <= case.most and case.gain[size] > -np.inf:
            counts = {server: n for server, n in zip(case.servers, spread, strict=True) if n}
            cost = find_cost(case, counts)
            if cost is not None:
                best = max(best, case.gain[size] - cost)
    return best


def lay_out(case):
    """The tree and the market of a case."""
    count, resources = len(case.parent), len(case.demand)
    is_server = np.isin(np.arange(count), case.servers)
    tree = build_tree(np.array(case.parent, np.int64), np.ones(count, np.int64), is_server)
    free, unit = np.zeros((count, resources)), np.zeros((count, resources))
    for server in case.servers:
        free[server], unit[server] = case.free[server], case.unit[server]
    starts = np.concatenate([[0], np.cumsum([len(cuts) for cuts in case.cuts])]).astype(np.int64)
    flat = [cut for cuts in case.cuts for cut in cuts]
    free *= 1 + SLACK
    market = Market(
        free,
        np.array(case.width) * (1 + SLACK),
        unit,
        np.array(case.edge, np.float64),
        starts,
        np.array([shares for shares, _ in flat], np.int64),
        np.array([price for _, price in flat], np.float64),
        np.array(case.whole, np.float64),
        np.full_like(free, np.inf),
        add_up(tree, free),
        np.zeros(count, np.bool_),
    )
    return tree, market


def add_up(tree, free):
    """What is free below each node in all."""
    return np.array([free[node : tree.end[node]].sum(axis=0) for node in range(len(tree.parent))])


def give_job(case, pick):
    """The same tree and prices for another job."""
    demand, gbps, gain = draw_job(pick, len(case.demand))
    return replace(case, demand=demand, gbps=gbps, gain=gain)
