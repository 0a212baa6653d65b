"""Where prices start: one price a resource, found by bisection. Where links are wide, they end there too."""

import numpy as np

from gadget.solve.market import Floats, Orders
from gadget.solve.relaxed import ClassPrices, RelaxedSlot, Reply

_KNAPSACK_STEPS = 40
_SCALE_STEPS = 12
# Once a step changes the bound by less than this share, more of them are not worth it.
_ENOUGH = 1e-5


def find_common_prices(slot: RelaxedSlot) -> ClassPrices:
    """The price of each resource at which jobs that look at nothing else take all there is."""
    orders = slot.orders
    gains = _as_table(orders)
    sizes = np.arange(gains.shape[1])
    totals = slot.server_limit.sum(axis=0)
    prices = np.zeros(len(totals))
    for resource, total in enumerate(totals):
        takes = orders.demand[:, resource, None] * sizes
        if (np.argmax(gains, axis=1) * orders.demand[:, resource]).sum() <= total:
            continue  # nobody is short of it
        with np.errstate(divide="ignore", invalid="ignore"):
            high = float(np.nanmax(np.where((takes > 0) & (gains > 0), gains / takes, 0.0)))
        low = 0.0
        for _ in range(_KNAPSACK_STEPS):
            middle = (low + high) / 2
            taken = np.take_along_axis(
                takes, np.argmax(gains - middle * takes, axis=1)[:, None], axis=1
            ).sum()
            low, high = (middle, high) if taken > total else (low, middle)
        prices[resource] = high
    return slot.common(prices)


def scale_prices(
    slot: RelaxedSlot, prices: ClassPrices, *, start: tuple[float, float] = (0.0, 1.0)
) -> tuple[ClassPrices, Reply]:
    """The multiple of these prices with the least bound, by its slope along them, and what it answers.

    `start` is where the factor is thought to lie; the bracket moves on when it does not lie there.
    """
    low, high = start
    best_factor, best = high, slot.ask(prices.scaled(high))[0]
    slope = _slope(slot, prices, best)
    steps = _SCALE_STEPS
    while steps and slope < 0:  # more is sold than there is: dearer
        low, high = high, high + max(high - low, 0.05 * high)
        reply = slot.ask(prices.scaled(high))[0]
        slope = _slope(slot, prices, reply)
        if reply.bound < best.bound:
            best_factor, best = high, reply
        steps -= 1
    # The bound is convex: below `high` it falls by no more than slope · (high − low).
    while steps and slope * (high - low) > _ENOUGH * abs(best.bound):
        middle = (low + high) / 2
        reply = slot.ask(prices.scaled(middle))[0]
        if reply.bound < best.bound:
            best_factor, best = middle, reply
        fall = _slope(slot, prices, reply)
        if fall < 0:
            low = middle
        else:
            high, slope = middle, fall
        steps -= 1
    return prices.scaled(best_factor), best


def _slope(slot: RelaxedSlot, prices: ClassPrices, reply: Reply) -> float:
    """How the bound changes along the prices: what is left over, at these prices."""
    servers = (prices.unit * (slot.server_limit - reply.server_load)).sum()
    return float(servers + (prices.edge * (slot.edge_limit - reply.edge_load)).sum())


def _as_table(orders: Orders) -> Floats:
    """Gains by job and size, 0 for size 0, −∞ where there is none."""
    width = int(orders.most.max(initial=0)) + 1
    table = np.full((len(orders.most), width), -np.inf)
    sizes = np.arange(width)
    inside = sizes[None, :] <= orders.most[:, None]
    table[inside] = orders.gain
    table[:, 0] = 0.0
    return table
