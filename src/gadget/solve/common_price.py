"""Where prices start: one price a resource, wherever it is. Where links are wide, they end there too."""

import numpy as np
from scipy import sparse

from gadget.solve.compiled import compiled
from gadget.solve.lp import LinearProgram, solve
from gadget.solve.market import Floats, Orders
from gadget.solve.relaxed import ClassPrices, RelaxedSlot, Reply

_KNAPSACK_STEPS = 40
_SCALE_STEPS = 12
_FIRST_STEP = 0.05
# Cutting planes for several resources together.
_MOST_PLANES = 24


def find_common_prices(slot: RelaxedSlot, enough: float) -> tuple[ClassPrices, Reply]:
    """One price a resource with the least bound, up to a share of `enough`, and what jobs answer.

    Each resource starts at the price at which jobs that look at nothing else take all there is. One price is
    then scaled by the slope of the bound; several are found together by cutting planes.
    """
    totals = slot.server_limit.sum(axis=0)
    alone = np.array([_find_price(slot.orders, r, float(total)) for r, total in enumerate(totals)])
    if np.count_nonzero(alone) < 2:
        return scale_prices(slot, slot.common(alone), enough)
    return _find_together(slot, alone, totals, enough)


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


def scale_prices(slot: RelaxedSlot, prices: ClassPrices, enough: float) -> tuple[ClassPrices, Reply]:
    """The multiple of these prices with the least bound, by its slope along them, and what jobs answer.

    From 1 on in steps that double until the slope changes its sign, then by bisection. The bound is convex,
    so it falls by no more than slope · distance to the other end: a share of `enough` of that will do.
    """
    low, high, low_slope, high_slope = 0.0, np.inf, -np.inf, np.inf
    best_factor, best = 1.0, slot.ask(prices)
    factor, step, slope = 1.0, _FIRST_STEP, best.left_over
    for _ in range(_SCALE_STEPS):
        if slope < 0:  # more is sold than there is: dearer
            low, low_slope = factor, slope
        else:
            high, high_slope = factor, slope
        # By how much it can fall from either end: each tangent lies below the bound.
        fall = min(high_slope * (high - low), -low_slope * (high - low)) if high < np.inf else np.inf
        if fall <= enough * abs(best.bound):
            break
        if low > 0.0 and high < np.inf:
            factor = (low + high) / 2
        else:
            factor = high - step if high < np.inf else low + step
            factor, step = max(factor, high / 2 if high < np.inf else 0.0), 2 * step
        reply = slot.ask(prices.scaled(factor))
        slope = reply.left_over / factor
        if reply.bound < best.bound:
            best_factor, best = factor, reply
    return prices.scaled(best_factor), best


def _find_together(
    slot: RelaxedSlot, alone: Floats, totals: Floats, enough: float
) -> tuple[ClassPrices, Reply]:
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
            if least >= best[1].bound * (1 - enough):
                break
        reply = slot.ask(slot.common(prices))
        tangent = totals - reply.size @ slot.orders.demand
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
    return np.maximum(found.values[:count], 0.0) * scale, float(found.values[count]) * unit
