"""Few straight pieces that lie nowhere below a job's utility: what its worker-slots can be worth at most."""

import math
from bisect import bisect_right
from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from gadget.model.capped import Capped
from gadget.model.job import Job
from gadget.model.utility import Energy, Table, Utility

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]

# Every number of worker-slots up to this is a point of its own; beyond, points stand this fraction apart.
DENSE = 4096
# Envelopes of more pieces are simplified, as long as they rise by no more than this share of the whole gain.
FEW_PIECES = 48
SIMPLIFY = 5e-5
_SWEEPS = 30
# Where work depends on the ring, every step between points is looked at in so many parts.
_PARTS = 16


@dataclass(frozen=True, eq=False)
class Envelope:
    """A concave rise from 0: `width[0]` worker-slots gain `gain[0]` together, and so on, steepest first."""

    width: Floats
    gain: Floats


def find_envelope(job: Job, reachable: int, slot_seconds: float) -> Envelope:
    """What 0 … reachable worker-slots gain over μ(0): the least concave majorant, as far as it rises.

    Simplified where it has many corners. With `timing`, a worker-slot does at most the work of one in the
    smallest ring, where it is fastest, and may do less: μ counts with the most it reaches up to there.
    """
    if job.work is not None:
        # No more than is needed when every worker-slot is the fastest: from there on it is level.
        needed = math.ceil(job.work / _find_fastest(job, slot_seconds) * (1 + 1e-9))
        reachable = min(reachable, max(needed, job.min_workers))
    points = _spread_points(reachable)
    values = _find_values(job, points, slot_seconds)
    if not np.all(np.isfinite(values)):
        return Envelope(np.array([float(reachable)]), np.array([np.inf]))
    corners = _find_hull(*_fill_steps(points, values))
    corners = corners[: int(np.argmax(corners[:, 1])) + 1]
    if len(corners) > FEW_PIECES:
        corners = _simplify(corners, SIMPLIFY * corners[-1, 1])
    rise = np.diff(corners, axis=0)
    return Envelope(rise[:, 0], rise[:, 1])


def _find_fastest(job: Job, slot_seconds: float) -> float:
    """The most work that a worker does in a slot: in the smallest ring."""
    return float(job.work_in_slot(job.min_workers, slot_seconds)) / job.min_workers


@lru_cache(maxsize=256)
def _spread_points(reachable: int) -> Integers:
    """0, 1, 2, …, then ever farther apart, up to `reachable`."""
    if reachable <= DENSE:
        return np.arange(reachable + 1)
    count = int(np.ceil(np.log(reachable / DENSE) * DENSE)) + 1
    beyond = np.geomspace(DENSE, reachable, count + 1).astype(np.int64)[1:-1]
    return np.unique(np.concatenate([np.arange(DENSE + 1), beyond, [reachable]]))


def _find_values(job: Job, points: Integers, slot_seconds: float) -> Floats:
    """For each point what it, and any number of worker-slots since the point before, can gain at most."""
    fastest = _find_fastest(job, slot_seconds)
    work: Floats = fastest * points.astype(np.float64)
    values = job.worth.gain(0.0, work)
    if job.worth.non_decreasing:
        return values
    if not job.work_is_proportional:
        parts: Floats = np.linspace(work[:-1], work[1:], _PARTS + 1, dtype=np.float64)
        most = np.maximum(values[1:], _most_between(job.worth, parts[:-1], parts[1:]).max(axis=0))
        return np.maximum.accumulate(np.concatenate([values[:1], most]))
    apart = np.flatnonzero(np.diff(points) > 1)
    values[apart + 1] = np.maximum(
        values[apart + 1], _most_between(job.worth, work[apart] + fastest, work[apart + 1])
    )
    return values


def _fill_steps(points: Integers, values: Floats) -> tuple[Floats, Floats]:
    """The points, and the first number of every wide step between two, worth what the step can be."""
    wide = np.flatnonzero(np.diff(points) > 1)
    places = np.insert(points, wide + 1, points[wide] + 1)
    return places.astype(np.float64), np.insert(values, wide + 1, values[wide + 1])


def _most_between(utility: Utility, start: Floats, end: Floats) -> Floats:
    """No less than the gain over μ(0) at any work from `start` to `end`; infinite where nothing is known."""
    if utility.non_decreasing:
        return utility.gain(0.0, end)
    match utility:
        case Capped(inner=inner, most=cap):
            return _most_between(inner, np.minimum(start, cap), np.minimum(end, cap))
        case Energy(progress=None):
            return utility.gain(0.0, start)
        case Energy(progress=Utility() as progress):
            # What is gained by the end, less what is spent by the start.
            return _most_between(progress, start, end) + replace(utility, progress=None).gain(0.0, start)
        case Table(points=points):
            most = np.maximum(utility.gain(0.0, start), utility.gain(0.0, end))
            for work, value in points:
                inside = (start <= work) & (work <= end)
                most = np.where(inside, np.maximum(most, value - utility.value(0.0)), most)
            return most
        case _:
            return np.full_like(end, np.inf)


def _find_hull(places: Floats, heights: Floats) -> Floats:
    """Corners (place, height) of the least concave line above all points, which are sorted by place."""
    # A point on or below the line between its neighbours is no corner; most go in a few sweeps over all.
    for _ in range(_SWEEPS):
        run, rise = np.diff(places), np.diff(heights)
        kept = np.concatenate([[True], rise[:-1] * run[1:] > rise[1:] * run[:-1], [True]])
        if kept.all():
            return np.column_stack([places, heights])
        places, heights = places[kept], heights[kept]
    corners: list[tuple[float, float]] = []
    for x, y in zip(places.tolist(), heights.tolist(), strict=True):
        while len(corners) > 1 and _lies_below(corners[-2], corners[-1], x, y):
            corners.pop()
        corners.append((x, y))
    return np.array(corners)


def _lies_below(left: tuple[float, float], middle: tuple[float, float], x: float, y: float) -> bool:
    """True when `middle` is on or below the line from `left` to (x, y)."""
    return (middle[1] - left[1]) * (x - left[0]) <= (y - left[1]) * (middle[0] - left[0])


def _simplify(corners: Floats, excess: float) -> Floats:
    """Fewer corners: some sides are prolonged until they meet, at most `excess` above the corners between.

    The gap between two prolonged sides and the line below is largest where they meet.
    """
    places: list[float] = corners[:, 0].tolist()
    heights: list[float] = corners[:, 1].tolist()
    slopes: list[float] = (np.diff(corners[:, 1]) / np.diff(corners[:, 0])).tolist()

    def meet(first: int, second: int) -> tuple[float, float]:
        """Where two sides meet when prolonged; not below either of them."""
        bend = slopes[first] - slopes[second]
        lift = heights[second] + slopes[second] * (places[first] - places[second]) - heights[first]
        x = places[first] + lift / bend if bend > 0 else places[second]
        x = min(max(x, places[first + 1]), places[second])
        on_first = heights[first] + slopes[first] * (x - places[first])
        return x, max(on_first, heights[second] + slopes[second] * (x - places[second]))

    def is_near(first: int, second: int) -> bool:
        x, y = meet(first, second)
        below = bisect_right(places, x, first, second) - 1
        return y - heights[below] - slopes[below] * (x - places[below]) <= excess

    kept = [(places[0], heights[0])]
    side, last = 0, len(slopes) - 1
    while side < last:
        following, far = side + 1, last
        while following < far:  # halve towards the farthest side that can follow this one
            middle = (following + far + 1) // 2
            following, far = (middle, far) if is_near(side, middle) else (following, middle - 1)
        kept.append(meet(side, following))
        side = following
    return np.array([*kept, (places[-1], heights[-1])])
