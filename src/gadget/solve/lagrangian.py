"""All jobs at given prices: what each would take, what that loads, and the bound it proves.

For any prices ≥ 0 no allocation gains more than capacity · prices + Σ_i max(0, best value of job i): relax
the capacities with the prices as multipliers, and every job is free to take its best ring.
"""

from typing import NamedTuple

import numpy as np

from gadget.solve.compiled import compiled
from gadget.solve.market import Booleans, Floats, Integers, Market, Orders, Scratch, Tree
from gadget.solve.pricing_tree import find_best_ring, shares_of
from gadget.solve.recovery import recover_ring


class Stays(NamedTuple):
    """Rings that ran in the slot before and may go on: what each loads, job after job."""

    gain: Floats
    """Gain of going on, for each job; −∞ where nothing may."""
    start: Integers
    node: Integers
    workers: Integers
    crossings: Integers


class Answers(NamedTuple):
    """What each job takes at the prices."""

    value: Floats
    size: Integers
    stays: Booleans
    """True where the job goes on with the ring it has."""
    start: Integers
    node: Integers
    workers: Integers
    crossings: Integers


@compiled
def answer_all(
    tree: Tree,
    market: Market,
    orders: Orders,
    stays: Stays,
    which: Integers,
    least: float,
    scratch: Scratch,
    answers: Answers,
) -> bool:
    """The best ring of each job in `which` if worth more than `least`; False if there are too many entries.

    Entries follow one another in `answers`.
    """
    count = 0
    space = len(answers.node)
    for place in range(len(which)):
        job = which[place]
        answers.start[place] = count
        floor = least
        goes_on = False
        if stays.gain[job] > -np.inf:
            worth = stays.gain[job] - cost_of_stay(market, orders, stays, job)
            if worth >= floor:
                floor, goes_on = worth, True
        most = orders.most[job]
        gain = orders.gain[orders.gain_start[job] : orders.gain_start[job] + most + 1]
        value, size, top = find_best_ring(
            tree, market, orders.demand[job], orders.gbps[job], most, gain, floor, -1, 0, scratch
        )
        answers.value[place] = value
        if size > 0:
            goes_on = False
            entries = recover_ring(tree, size, top, scratch)
            if count + entries > space:
                return False
            for entry in range(entries):
                answers.node[count] = scratch.out_node[entry]
                answers.workers[count] = scratch.out_workers[entry]
                answers.crossings[count] = scratch.out_crossings[entry]
                count += 1
        elif goes_on:
            if count + stays.start[job + 1] - stays.start[job] > space:
                return False
            for entry in range(stays.start[job], stays.start[job + 1]):
                answers.node[count] = stays.node[entry]
                answers.workers[count] = stays.workers[entry]
                answers.crossings[count] = stays.crossings[entry]
                size += stays.workers[entry]
                count += 1
        answers.size[place] = size
        answers.stays[place] = goes_on
    answers.start[len(which)] = count
    return True


@compiled
def cost_of_stay(market: Market, orders: Orders, stays: Stays, job: int) -> float:
    """What the ring that runs costs at the prices."""
    cost = 0.0
    for entry in range(stays.start[job], stays.start[job + 1]):
        node = stays.node[entry]
        if stays.workers[entry] > 0:
            for r in range(orders.demand.shape[1]):
                cost += stays.workers[entry] * orders.demand[job, r] * market.unit[node, r]
        if stays.crossings[entry] > 0:
            cost += stays.crossings[entry] * toll_of(market, orders.gbps[job], node)
    return cost


@compiled
def toll_of(market: Market, gbps: float, node: int) -> float:
    """What one crossing of the link above a node costs, cuts included; whatever is free there."""
    toll: float = gbps * market.edge[node]
    for cut in range(market.cut_start[node], market.cut_start[node + 1]):
        toll += market.cut_price[cut] * shares_of(gbps, market.cut_width[node], market.cut_shares[cut])
    return toll


@compiled
def answer_at_one_price(
    orders: Orders, stays: Stays, which: Integers, price: Floats, least: float, answers: Answers
) -> None:
    """As `answer_all` where a resource costs the same everywhere and links nothing: places do not matter.

    Every size up to the largest has a ring somewhere, so the best one is found without looking for it; the
    answers have no entries.
    """
    for place in range(len(which)):
        job = which[place]
        unit = 0.0
        for r in range(len(price)):
            unit += orders.demand[job, r] * price[r]
        best, chosen, goes_on = least, 0, False
        if stays.gain[job] > -np.inf:
            size = 0
            for entry in range(stays.start[job], stays.start[job + 1]):
                size += stays.workers[entry]
            worth = stays.gain[job] - size * unit
            if worth >= best:
                best, chosen, goes_on = worth, size, True
        begin = orders.gain_start[job]
        for size in range(1, orders.most[job] + 1):
            worth = orders.gain[begin + size] - size * unit
            if worth > best:
                best, chosen, goes_on = worth, size, False
        answers.value[place], answers.size[place], answers.stays[place] = best, chosen, goes_on
