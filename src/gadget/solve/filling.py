"""Rings put into what is free, one job at a time, each the best at the prices: the moves of the search.

On the tree of single servers. `free` and `width` of the market are what is left; taking a ring lowers them,
releasing it raises them again.
"""

from typing import NamedTuple

import numpy as np
from numba import njit

from gadget.solve.lagrangian import toll_of
from gadget.solve.pricing_tree import Floats, Integers, find_best_ring, recover_ring


class Held(NamedTuple):
    """The ring of each job as entries (node, workers, crossings), in a space of its own."""

    start: Integers
    count: Integers
    node: Integers
    workers: Integers
    crossings: Integers
    size: Integers
    gain: Floats
    """What the ring gains; 0 without one."""


def build_held(orders, height: int) -> Held:
    """No ring for anybody yet."""
    jobs = len(orders.most)
    # A ring enters at most `most` servers, and below its turn at most as many nodes on each level.
    space = (orders.most + 1) * (height + 2)
    start = np.concatenate([[0], np.cumsum(space)]).astype(np.int64)
    total = int(start[-1])
    return Held(
        start,
        np.zeros(jobs, np.int64),
        np.zeros(total, np.int64),
        np.zeros(total, np.int64),
        np.zeros(total, np.int64),
        np.zeros(jobs, np.int64),
        np.zeros(jobs),
    )


@njit(cache=True)
def release(market, orders, held, job):
    """Take the ring of a job away."""
    begin = held.start[job]
    for entry in range(begin, begin + held.count[job]):
        node = held.node[entry]
        for r in range(orders.demand.shape[1]):
            market.free[node, r] += held.workers[entry] * orders.demand[job, r]
        market.width[node] += held.crossings[entry] * orders.gbps[job]
    held.count[job] = 0
    held.size[job] = 0
    held.gain[job] = 0.0


@njit(cache=True)
def take(market, orders, held, job, node, workers, crossings, first, count, gain):
    """Give a job the ring of these entries."""
    begin = held.start[job]
    size = 0
    for entry in range(count):
        at = node[first + entry]
        held.node[begin + entry] = at
        held.workers[begin + entry] = workers[first + entry]
        held.crossings[begin + entry] = crossings[first + entry]
        size += workers[first + entry]
        for r in range(orders.demand.shape[1]):
            market.free[at, r] -= workers[first + entry] * orders.demand[job, r]
        market.width[at] -= crossings[first + entry] * orders.gbps[job]
    held.count[job] = count
    held.size[job] = size
    held.gain[job] = gain


@njit(cache=True)
def fits(market, orders, job, node, workers, crossings, first, count):
    """True when these entries, each node once, fit into what is free."""
    for entry in range(first, first + count):
        at = node[entry]
        for r in range(orders.demand.shape[1]):
            if workers[entry] * orders.demand[job, r] > market.free[at, r]:
                return False
        if crossings[entry] > 0 and crossings[entry] * orders.gbps[job] > market.width[at]:
            return False
    return True


@njit(cache=True)
def insert(tree, market, orders, stays, held, job, scratch):
    """Give a job that has none its best ring at the prices, if one is worth more than nothing; its value."""
    floor, goes_on = 0.0, False
    first = stays.start[job]
    count = stays.start[job + 1] - first
    if stays.gain[job] > -np.inf and fits(
        market, orders, job, stays.node, stays.workers, stays.crossings, first, count
    ):
        worth = stays.gain[job]
        for entry in range(first, first + count):
            node = stays.node[entry]
            for r in range(orders.demand.shape[1]):
                worth -= stays.workers[entry] * orders.demand[job, r] * market.unit[node, r]
            if stays.crossings[entry] > 0:
                worth -= stays.crossings[entry] * toll_of(market, orders.gbps[job], node)
        if worth >= 0.0:
            # By a hair the ring that runs is better than its equals.
            floor, goes_on = worth + 1e-9 * stays.gain[job], True
    most = orders.most[job]
    begin = orders.gain_start[job]
    value, size, top = find_best_ring(
        tree, market, orders.demand[job], orders.gbps[job], most, orders.gain[begin : begin + most + 1], floor, scratch
    )
    if size > 0:
        entries = recover_ring(tree, most, size, top, scratch)
        take(
            market, orders, held, job, scratch.out_node, scratch.out_workers, scratch.out_crossings, 0, entries,
            orders.gain[begin + size],
        )
    elif goes_on:
        take(
            market, orders, held, job, stays.node, stays.workers, stays.crossings, first, count, stays.gain[job]
        )
    return value


@njit(cache=True)
def fill(tree, market, orders, stays, held, order, scratch):
    """Each job in turn gives its ring up and takes its best one."""
    for place in range(len(order)):
        job = order[place]
        if held.count[job] > 0:
            release(market, orders, held, job)
        insert(tree, market, orders, stays, held, job, scratch)
