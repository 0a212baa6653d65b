"""Where prices start: one price a resource, wherever it is. Where links are wide, they end there too."""

import numpy as np
from scipy import sparse

from gadget.solve.compiled import compiled
from gadget.solve.lp import LinearProgram, solve
from gadget.solve.market import Floats, Orders
from gadget.solve.relaxed import ClassPrices, RelaxedSlot, Reply

_KNAPSACK_STEPS = 40
_SCALE_STEPS = 12
# Cutting planes for several resources together.
_MOST_PLANES = 24
# Once the bound can fall by no more than this share, more steps are not worth it.
_ENOUGH = 1e-5


def find_common_prices(slot: RelaxedSlot) -> tuple[ClassPrices, Reply]:
    """One price a resource with the least bound, up to a little, and what jobs answer.

    Each resource starts at the price at which jobs that look at nothing else take all there is. One price is
    then scaled by the slope of the bound; several are found together by cutting planes.
    """
    totals = slot.server_limit.sum(axis=0)
    alone = np.array([_find_price(slot.orders, r, float(total)) for r, total in enumerate(totals)])
    if np.count_nonzero(alone) < 2:
        return scale_prices(slot, slot.common(alone))
    return _find_together(slot, alone, totals)


@compiled
def _find_price(orders: Orders, resource: int, total: float) -> float:
    """By bisection: the least price at which jobs that see only this resource take no more than there is."""
    high = 0.0
    for job in range(len(orders.most)):
        for size in range(1, orders.most[job] + 1):
            takes = orders.demand[job, resource] * size
            if takes > 0.0:
                high = max(high, orders.gain[orders.gain_start[job] + size] / takes)
    low = 0.0
    if _take(orders, resource, 0.0) <= total:
        return 0.0
    for _ in range(_KNAPSACK_STEPS):
        middle = (low + high) / 2
        if _take(orders, resource, middle) > total:
            low = middle
        else:
            high = middle
    return high


@compiled
def _take(orders: Orders, resource: int, price: float) -> float:
    """What all jobs take of a resource at a price."""
    total = 0.0
    for job in range(len(orders.most)):
        unit = orders.demand[job, resource] * price
        best, chosen = 0.0, 0
        for size in range(1, orders.most[job] + 1):
            worth = orders.gain[orders.gain_start[job] + size] - unit * size
            if worth > best:
                best, chosen = worth, size
        total += orders.demand[job, resource] * chosen
    return total


def scale_prices(
    slot: RelaxedSlot, prices: ClassPrices, *, start: tuple[float, float] = (0.0, 1.0)
) -> tuple[ClassPrices, Reply]:
    """The multiple of these prices with the least bound, by its slope along them, and what jobs answer.

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


def _find_together(slot: RelaxedSlot, alone: Floats, totals: Floats) -> tuple[ClassPrices, Reply]:
    """Kelley's cutting planes: the bound lies above its tangents; ask where their maximum is least."""
    count = len(alone)
    scale = np.where(alone > 0, alone, 1.0)
    tangents: list[Floats] = []
    heights: list[float] = []
    best: tuple[Floats, Reply] | None = None
    starts = [alone * share for share in (1 / np.count_nonzero(alone), 1.0)]
    starts += [np.where(np.arange(count) == r, alone, 0.0) for r in np.flatnonzero(alone)]
    for turn in range(_MOST_PLANES):
        if turn < len(starts):
            prices = starts[turn]
        else:
            prices, least = _lowest(tangents, heights, scale)
            assert best is not None  # the starts have been asked
            if least >= best[1].bound * (1 - _ENOUGH):
                break
        reply = slot.ask(slot.common(prices))[0]
        tangent = totals - reply.server_load.sum(axis=0)
        tangents.append(tangent * scale)
        heights.append(reply.bound - float(tangent @ prices))
        if best is None or reply.bound < best[1].bound:
            best = prices, reply
    assert best is not None  # there is at least one start
    return slot.common(best[0]), best[1]


def _lowest(tangents: list[Floats], heights: list[float], scale: Floats) -> tuple[Floats, float]:
    """Prices at which the greatest tangent is least, none above twice where it started; and how low it is."""
    count, planes = len(scale), len(tangents)
    # Variables: a factor for each price, and the height, which is scaled so that its coefficients are near 1.
    unit = max(abs(height) for height in heights) or 1.0
    matrix = np.column_stack([-np.array(tangents) / unit, np.ones(planes)])
    found = solve(
        LinearProgram(
            np.append(np.zeros(count), -1.0),
            sparse.csc_matrix(matrix),
            np.array(heights) / unit,
            np.full(planes, np.inf),
            np.append(np.zeros(count), -np.inf),
            np.append(np.full(count, 2.0), np.inf),
        )
    )
    if found.values is None:
        return scale, -np.inf
    return found.values[:count] * scale, float(found.values[count]) * unit
