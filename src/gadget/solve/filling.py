"""Rings put into what is free, one job at a time, each the best at the prices: the moves of the search.

A market here lies on the ground (see `ground`): taking a ring lowers what is free, releasing it raises it.
"""

import numpy as np

from gadget.solve.compiled import compiled
from gadget.solve.ground import Ground, take_tree
from gadget.solve.held import STAYS, Held, copy_ring, occupy, release
from gadget.solve.lagrangian import Stays, cost_of_stay, toll_of
from gadget.solve.market import Integers, Market, Orders, Scratch
from gadget.solve.pricing_tree import count_fitting, find_best_ring
from gadget.solve.recovery import recover_ring

# Trees of up to so many nodes are searched for the very best ring; in larger ones so many turns are tried.
SMALL = 256
PATIENCE = 3
# A ring that gains this share of what was wished for is good enough to look no further.
CONTENT = 0.98


@compiled
def _can_stay(market: Market, orders: Orders, stays: Stays, job: int) -> bool:
    for entry in range(stays.start[job], stays.start[job + 1]):
        place = stays.node[entry]
        for r in range(orders.demand.shape[1]):
            if stays.workers[entry] * orders.demand[job, r] > market.free[place, r]:
                return False
        if stays.crossings[entry] > 0 and stays.crossings[entry] * orders.gbps[job] > market.width[place]:
            return False
    return True


@compiled
def _stay(stays: Stays, held: Held, job: int) -> None:
    begin, first = held.start[job], stays.start[job]
    count = stays.start[job + 1] - first
    size = 0
    for entry in range(count):
        held.place[begin + entry] = stays.node[first + entry]
        held.workers[begin + entry] = stays.workers[first + entry]
        held.crossings[begin + entry] = stays.crossings[first + entry]
        size += stays.workers[first + entry]
    held.count[job] = count
    held.size[job] = size
    held.gain[job] = stays.gain[job]
    held.tree[job] = STAYS


@compiled
def keep_running(
    ground: Ground, is_one: bool, market: Market, orders: Orders, stays: Stays, held: Held
) -> None:
    """Let every ring that runs go on where it still fits; jobs that have a ring are passed over."""
    for job in range(len(held.count)):
        if held.count[job] == 0 and stays.gain[job] > -np.inf and _can_stay(market, orders, stays, job):
            _stay(stays, held, job)
            occupy(ground, is_one, market, orders, held, job)


@compiled
def _view(ground: Ground, row: int, market: Market, view: Market) -> None:
    """The market as it looks from one of the trees."""
    for node in range(ground.parent.shape[1]):
        place = ground.server_at[row, node]
        if place >= 0:
            for r in range(market.free.shape[1]):
                view.free[node, r] = market.free[place, r]
                view.unit[node, r] = market.unit[place, r]
        link = ground.link_at[row, node]
        view.roomiest[node, :] = np.inf
        view.width[node] = market.width[link] if link >= 0 else -1.0
        view.edge[node] = market.edge[link] if link >= 0 else 0.0


@compiled
def _keep(
    ground: Ground,
    row: int,
    is_one: bool,
    held: Held,
    job: int,
    entries: int,
    scratch: Scratch,
    gain: float,
    size: int,
) -> None:
    """Write the ring just recovered into the store."""
    begin = held.start[job]
    count = 0
    for entry in range(entries):
        node = scratch.out_node[entry]
        if is_one:
            held.place[begin + count] = node
            held.workers[begin + count] = scratch.out_workers[entry]
            held.crossings[begin + count] = scratch.out_crossings[entry]
            count += 1
            continue
        if scratch.out_workers[entry] > 0:
            held.place[begin + count] = ground.server_at[row, node]
            held.workers[begin + count] = scratch.out_workers[entry]
            held.crossings[begin + count] = 0
            count += 1
        if scratch.out_crossings[entry] > 0:
            held.place[begin + count] = ground.link_at[row, node]
            held.workers[begin + count] = 0
            held.crossings[begin + count] = scratch.out_crossings[entry]
            count += 1
    held.count[job] = count
    held.size[job] = size
    held.gain[job] = gain
    held.tree[job] = row


@compiled
def insert(
    ground: Ground,
    is_one: bool,
    market: Market,
    view: Market,
    orders: Orders,
    stays: Stays,
    held: Held,
    job: int,
    floor: float,
    wish: int,
    scratch: Scratch,
) -> float:
    """Give a job that has none its best ring at the prices, if one is worth more than `floor`; its value.

    The ring that ran is kept when no other is worth more by a hair.
    """
    goes_on = False
    if stays.gain[job] > -np.inf and _can_stay(market, orders, stays, job):
        worth = stays.gain[job] - cost_of_stay(market, orders, stays, job)
        if worth > floor:
            floor, goes_on = worth + 1e-9 * abs(stays.gain[job]), True
    most = orders.most[job]
    # Where there are many racks, the most promising ones will do: this is no proof of anything.
    patience = -1 if ground.parent.shape[1] <= SMALL else PATIENCE
    if most > 0:
        begin = orders.gain_start[job]
        gain = orders.gain[begin : begin + most + 1]
        for row in range(ground.parent.shape[0]):
            tree = take_tree(ground, row)
            seen = market
            if not is_one:
                _view(ground, row, market, view)
                seen = view
            value, size, top = find_best_ring(
                tree, seen, orders.demand[job], orders.gbps[job], most, gain, floor, patience, wish, scratch
            )
            if size > 0:
                goes_on = False
                floor = value + 1e-12 * abs(value)
                entries = recover_ring(tree, size, top, scratch)
                _keep(ground, row, is_one, held, job, entries, scratch, gain[size], size)
    if goes_on:
        _stay(stays, held, job)
    if held.count[job] > 0:
        occupy(ground, is_one, market, orders, held, job)
    return floor


@compiled
def place(
    ground: Ground,
    is_one: bool,
    market: Market,
    view: Market,
    orders: Orders,
    stays: Stays,
    held: Held,
    order: Integers,
    wishes: Integers,
    floor: float,
    scratch: Scratch,
) -> None:
    """Jobs without a ring take their best one in turn.

    In a large cluster each first looks only where a ring of the size it wishes for could be, and is content
    with almost what that would gain.
    """
    large = is_one and ground.parent.shape[1] > SMALL
    for turn in range(len(order)):
        job = order[turn]
        if large and (wishes[job] == 0 or count_fitting(market.plenty, orders.demand[job], 0) < 1.0):
            continue
        if large and wishes[job] > 0:
            insert(ground, is_one, market, view, orders, stays, held, job, floor, wishes[job], scratch)
            if held.count[job] > 0:
                if held.gain[job] >= CONTENT * orders.gain[orders.gain_start[job] + wishes[job]]:
                    continue
                release(ground, is_one, market, orders, held, job)
        insert(ground, is_one, market, view, orders, stays, held, job, floor, 0, scratch)


@compiled
def _worth(market: Market, orders: Orders, held: Held, job: int) -> float:
    """What the ring of a job is worth at the prices."""
    worth: float = held.gain[job]
    begin = held.start[job]
    for entry in range(begin, begin + held.count[job]):
        place = held.place[entry]
        for r in range(orders.demand.shape[1]):
            worth -= held.workers[entry] * orders.demand[job, r] * market.unit[place, r]
        if held.crossings[entry] > 0:
            worth -= held.crossings[entry] * toll_of(market, orders.gbps[job], place)
    return worth


@compiled
def fill(
    ground: Ground,
    is_one: bool,
    market: Market,
    view: Market,
    orders: Orders,
    stays: Stays,
    held: Held,
    kept: Held,
    order: Integers,
    wishes: Integers,
    scratch: Scratch,
) -> None:
    """Each job in turn takes its best ring, if worth more than the one it has; `kept` is spare space.

    In a large cluster `wishes` tell who is to look: who has the size it wishes for is left alone, who has
    more looks for that, who has less for more; with a wish of −1 all look for more, where there is any.
    """
    large = is_one and ground.parent.shape[1] > SMALL
    for turn in range(len(order)):
        job = order[turn]
        had = held.count[job] > 0
        floor, wish, worth = 0.0, 0, 0.0
        # Who has none, or wants more than it has, needs a free place for a worker.
        grows = wishes[job] < 0 or wishes[job] > held.size[job]
        if large and grows and count_fitting(market.plenty, orders.demand[job], 0) < 1.0:
            continue
        if large and not had:
            if wishes[job] == 0:
                continue
            wish = max(0, wishes[job])
        if had:
            worth = _worth(market, orders, held, job)
            if worth >= _dream(orders, stays, job):
                continue
            floor = max(0.0, worth + 1e-9 * abs(held.gain[job]))
            if large:
                wish = held.size[job] + 1
                if wishes[job] == held.size[job]:
                    continue
                if 0 <= wishes[job] < held.size[job]:
                    wish = max(1, wishes[job])
            copy_ring(held, kept, job)
            release(ground, is_one, market, orders, held, job)
        insert(ground, is_one, market, view, orders, stays, held, job, floor, wish, scratch)
        if had and held.count[job] == 0 and (floor > 0.0 or worth >= 0.0):
            copy_ring(kept, held, job)
            occupy(ground, is_one, market, orders, held, job)


@compiled
def _dream(orders: Orders, stays: Stays, job: int) -> float:
    """No ring is worth more than this: the one that ran or the best size, if they cost nothing."""
    begin = orders.gain_start[job]
    best: float = max(0.0, stays.gain[job])
    for size in range(1, orders.most[job] + 1):
        best = max(best, orders.gain[begin + size])
    return best


@compiled
def scaled(market: Market, factor: float) -> Market:
    """The same goods at prices scaled by a factor."""
    return Market(
        market.free,
        market.width,
        market.unit * factor,
        market.edge * factor,
        market.cut_start,
        market.cut_shares,
        market.cut_price * factor,
        market.cut_width,
        market.roomiest,
        market.plenty,
        market.pristine,
    )
