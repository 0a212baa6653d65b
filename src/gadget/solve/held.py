"""The rings that jobs hold during a search, and what of a market these take."""

from typing import NamedTuple

import numpy as np

from gadget.solve.compiled import compiled
from gadget.solve.ground import Ground
from gadget.solve.market import Floats, Integers, Market, Orders

# Rings that lie on no tree of ours: they go on from the slot before, or were found by somebody else.
STAYS = -1
GIVEN = -2


class Held(NamedTuple):
    """The ring of each job as entries (place, workers, crossings), in a space of its own."""

    start: Integers
    count: Integers  # type: ignore[assignment]  # the entries of each ring; nobody counts in the tuple
    place: Integers
    workers: Integers
    crossings: Integers
    size: Integers
    gain: Floats
    """What the ring gains; 0 without one."""
    tree: Integers
    """The tree that the ring lies on, STAYS for one that goes on from the slot before, or GIVEN."""


def build_held(orders: Orders, height: int, running: Integers) -> Held:
    """No ring for anybody yet; with space for rings that run, of so many entries each."""
    jobs = len(orders.most)
    # A ring enters at most `most` servers, and on each level at most as many nodes.
    space = np.maximum((orders.most + 1) * (height + 2), running)
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
        np.zeros(jobs, np.int64),
    )


@compiled
def release(ground: Ground, is_one: bool, market: Market, orders: Orders, held: Held, job: int) -> None:
    """Take the ring of a job away."""
    begin = held.start[job]
    for entry in range(begin, begin + held.count[job]):
        place = held.place[entry]
        market.width[place] += held.crossings[entry] * orders.gbps[job]
        if held.workers[entry] == 0:
            continue
        inner = is_one and ground.kid_start[0, place] < ground.kid_start[0, place + 1]
        for r in range(orders.demand.shape[1]):
            market.free[place, r] += held.workers[entry] * orders.demand[job, r]
            above = place if is_one else -1
            while above >= 0:
                market.plenty[above, r] += held.workers[entry] * orders.demand[job, r]
                above = ground.parent[0, above]
            above = place if inner else ground.parent[0, place] if is_one else -1
            while above >= 0 and market.roomiest[above, r] < market.free[place, r]:
                market.roomiest[above, r] = market.free[place, r]
                above = ground.parent[0, above]
    held.count[job] = 0
    held.size[job] = 0
    held.gain[job] = 0.0


@compiled
def occupy(ground: Ground, is_one: bool, market: Market, orders: Orders, held: Held, job: int) -> None:
    """Take out of the market what the ring of a job uses."""
    begin = held.start[job]
    for entry in range(begin, begin + held.count[job]):
        place = held.place[entry]
        above = place if is_one else -1
        while above >= 0 and market.pristine[above]:
            market.pristine[above] = False
            above = ground.parent[0, above]
        market.width[place] -= held.crossings[entry] * orders.gbps[job]
        if held.workers[entry] == 0:
            continue
        for r in range(orders.demand.shape[1]):
            taken = held.workers[entry] * orders.demand[job, r]
            market.free[place, r] -= taken
            above = place if is_one else -1
            while above >= 0:
                market.plenty[above, r] -= taken
                above = ground.parent[0, above]


@compiled
def occupy_all(ground: Ground, is_one: bool, market: Market, orders: Orders, held: Held) -> None:
    """Take out what all rings use."""
    for job in range(len(held.count)):
        occupy(ground, is_one, market, orders, held, job)


@compiled
def copy_ring(source: Held, target: Held, job: int) -> None:
    """Write the ring of a job into another store of the same spaces."""
    begin = source.start[job]
    for entry in range(begin, begin + source.count[job]):
        target.place[entry] = source.place[entry]
        target.workers[entry] = source.workers[entry]
        target.crossings[entry] = source.crossings[entry]
    target.count[job] = source.count[job]
    target.size[job] = source.size[job]
    target.gain[job] = source.gain[job]
    target.tree[job] = source.tree[job]


@compiled
def copy_all(source: Held, target: Held) -> None:
    """Write all rings into another store of the same spaces."""
    for job in range(len(source.count)):
        copy_ring(source, target, job)
