"""Pictures of a comparison: completion times as shares of jobs, and means with their intervals."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from html import escape
from math import log10

import numpy as np
from numpy.typing import NDArray

from gadget.experiments.compare_numbers import Completions, Interval
from gadget.report.simulation.chart import (
    BOTTOM,
    HEIGHT,
    LEFT,
    MOST_POINTS,
    RIGHT,
    TOP,
    WIDTH,
    draw_levels,
    find_ticks,
)
from gadget.report.simulation.numbers import Metric, Wish
from gadget.report.simulation.pictures import draw_legend, frame
from gadget.report.simulation.style import SERIES

_ROW = 24
_HALF = WIDTH // 2
_NAMES = 150
_LONGEST_NAME = 22
Floats = NDArray[np.float64]
Scale = Callable[[float], float]


def draw_completions(policies: Sequence[str], runs: Mapping[str, Sequence[Completions]]) -> str:
    """For every policy the share of all jobs that were complete within so many slots of their arrival."""
    most = max((int(run.slots[-1]) for some in runs.values() for run in some if len(run.slots)), default=0)
    if not most:
        return "<p>No job was completed.</p>"
    top = 10 ** max(1.0, log10(most))

    def x(slots: float) -> float:
        return LEFT + (WIDTH - LEFT - RIGHT) * log10(slots) / log10(top)

    def y(share: float) -> float:
        return TOP + (HEIGHT - TOP - BOTTOM) * (1 - share)

    title = "Share of jobs complete within a time"
    parts = [f'<svg viewBox="0 0 {WIDTH} {HEIGHT}" role="img" aria-label="{title}">']
    parts += draw_levels(find_ticks(0, 1), y, lambda share: f"{100 * share:.0f}%")
    parts += _draw_decades(top, x)
    places = np.unique(np.geomspace(1, most, MOST_POINTS).round()).astype(np.int64)
    for number, policy in enumerate(policies):
        shares = share_complete(runs.get(policy, ()), places)
        steps = "".join(
            f"H{x(at):.1f}V{y(share):.1f}" for at, share in zip(places.tolist(), shares.tolist(), strict=True)
        )
        dashes = ";stroke-dasharray:7 4" if number >= SERIES else ""
        parts.append(
            f'<path class="line s{number % SERIES}" style="fill:none{dashes}" d="M{LEFT} {y(0):.1f}{steps}">'
            f"<title>{escape(policy)}</title></path>"
        )
    said = "further policies dashed" if len(policies) > SERIES else ""
    caption = (
        "Share of all jobs that arrived, of all seeds together; a curve that ends below 100% leaves jobs "
        "unfinished at the end of the horizon."
    )
    return frame(f"{draw_legend(policies, said)}{''.join(parts)}</svg>", caption)


def share_complete(runs: Sequence[Completions], places: NDArray[np.int64]) -> Floats:
    """The share of all jobs of the runs that took no longer than each of the given slots."""
    jobs = sum(run.jobs for run in runs)
    done = sum((np.searchsorted(run.slots, places, side="right") for run in runs), np.zeros(len(places)))
    return done / max(jobs, 1)


def draw_means(
    metric: Metric, policies: Sequence[str], found: Mapping[str, Interval], bound: float | None = None
) -> str:
    """A dot for every policy's mean with its interval; `bound` is a dashed line if it is in reach."""
    known = {policy: one for policy, one in found.items() if one.mean is not None}
    if not known:
        return ""
    numbers = [
        number for one in known.values() for number in (one.mean, one.low, one.high) if number is not None
    ]
    near = bound is not None and 0 < bound <= 3 * max(numbers)
    limits = [*numbers, *([bound] if near and bound is not None else [])]
    ticks = find_ticks(min(0.0, *limits), max(limits), most=4)
    low, high = ticks[0], ticks[-1]
    bottom = TOP + _ROW * len(policies)

    def x(number: float) -> float:
        return _NAMES + (_HALF - _NAMES - 3 * RIGHT) * (number - low) / (high - low)

    parts = [
        f'<svg viewBox="0 0 {_HALF} {bottom + BOTTOM - 14}" role="img" aria-label="{escape(metric.title)}">'
    ]
    for tick in ticks:
        parts.append(f'<path class="grid" d="M{x(tick):.1f} {TOP}V{bottom}"/>')
        parts.append(
            f'<text x="{x(tick):.1f}" y="{bottom + 14}" text-anchor="middle">'
            f"{escape(metric.write(tick))}</text>"
        )
    if near and bound is not None:
        parts.append(f'<path class="bound" d="M{x(bound):.1f} {TOP}V{bottom}"/>')
    for row, policy in enumerate(policies):
        parts += _draw_mean(policy, known.get(policy), f"s{row % SERIES}", TOP + _ROW * (row + 0.5), x)
    wish = {Wish.MORE: "more is better", Wish.LESS: "less is better", Wish.NONE: ""}[metric.wish]
    said = f"{wish}; dashed: the clairvoyant bound" if near else wish
    return f"<div><h3>{escape(metric.title)}</h3>{frame(''.join([*parts, '</svg>']), said)}</div>"


def _draw_mean(policy: str, one: Interval | None, style: str, y: float, x: Scale) -> Iterator[str]:
    shown = policy if len(policy) <= _LONGEST_NAME else f"{policy[: _LONGEST_NAME - 1]}…"
    yield (
        f'<text x="{_NAMES - 8}" y="{y + 4:.1f}" text-anchor="end">{escape(shown)}'
        f"<title>{escape(policy)}</title></text>"
    )
    if one is None or one.mean is None:
        return
    if one.low is not None and one.high is not None:
        yield f'<path class="span {style}" d="M{x(one.low):.1f} {y:.1f}H{x(one.high):.1f}"/>'
    yield f'<circle class="dot {style}" cx="{x(one.mean):.1f}" cy="{y:.1f}" r="4.5"/>'


def _draw_decades(top: float, x: Scale) -> list[str]:
    bottom = HEIGHT - BOTTOM
    parts = [f'<path class="axis" d="M{LEFT} {bottom}H{WIDTH - RIGHT}"/>']
    size = 1
    while size <= top:
        for factor in (1, 2, 5) if top < 1e4 else (1,):
            if size * factor <= top:
                at = x(size * factor)
                parts.append(f'<path class="axis" d="M{at:.1f} {bottom}v4"/>')
                parts.append(
                    f'<text x="{at:.1f}" y="{bottom + 16}" text-anchor="middle">{size * factor:,}</text>'
                )
        size *= 10
    middle = (LEFT + WIDTH - RIGHT) / 2
    parts.append(
        f'<text x="{middle:.1f}" y="{bottom + 30}" text-anchor="middle">'
        "slots from arrival to completion</text>"
    )
    return parts
