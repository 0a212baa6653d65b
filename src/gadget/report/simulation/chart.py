"""Lines over time as SVG; colours come from the page's style."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from html import escape

import numpy as np
from numpy.typing import NDArray

from gadget.report.simulation.style import SERIES

Floats = NDArray[np.float64]

WIDTH, HEIGHT = 960, 270
LEFT, RIGHT, TOP, BOTTOM = 58, 12, 12, 34
MOST_POINTS = 480


@dataclass(frozen=True, eq=False)
class Line:
    """One line: its middle, and the least and the most where several runs lie behind it."""

    name: str
    middle: Floats
    least: Floats
    most: Floats


def line_of(name: str, runs: Sequence[Sequence[float]]) -> Line:
    """The mean of several runs and the band between them, as far as all of them go."""
    length = min(len(run) for run in runs)
    values = np.array([run[:length] for run in runs], dtype=np.float64)
    return Line(name, values.mean(axis=0), values.min(axis=0), values.max(axis=0))


def draw_lines(
    lines: Sequence[Line],
    slots: int,
    write: Callable[[float], str],
    *,
    title: str,
    top: float | None = None,
    bound: tuple[str, float] | None = None,
) -> str:
    """A chart of the lines over all slots, with ticks written by `write`; `bound` is a dashed level."""
    values = np.concatenate([np.concatenate([line.least, line.most]) for line in lines])
    highest = max([*values.tolist(), *([bound[1]] if bound else [])], default=0.0) if top is None else top
    ticks = find_ticks(min(0.0, float(values.min(initial=0.0))), highest)
    low, high = ticks[0], ticks[-1]

    def x(slot: float) -> float:
        return LEFT + (WIDTH - LEFT - RIGHT) * slot / max(slots, 1)

    def y(value: float) -> float:
        return TOP + (HEIGHT - TOP - BOTTOM) * (1 - (value - low) / (high - low))

    parts = [f'<svg viewBox="0 0 {WIDTH} {HEIGHT}" role="img" aria-label="{escape(title)}">']
    parts += draw_levels(ticks, y, write)
    parts += draw_slot_axis(slots, x, HEIGHT - BOTTOM)
    if bound is not None:
        parts.append(f'<path class="bound" d="M{LEFT} {y(bound[1]):.1f}H{WIDTH - RIGHT}"/>')
        parts.append(f'<text x="{LEFT + 6}" y="{y(bound[1]) - 5:.1f}">{escape(bound[0])}</text>')
    for number, line in enumerate(lines):
        parts += _draw_line(line, f"s{number % SERIES}", x, y)
    return "".join([*parts, "</svg>"])


def draw_levels(
    ticks: Sequence[float], y: Callable[[float], float], write: Callable[[float], str]
) -> list[str]:
    """A line across the picture at every tick, with its number."""
    parts = []
    for tick in ticks:
        parts.append(f'<path class="grid" d="M{LEFT} {y(tick):.1f}H{WIDTH - RIGHT}"/>')
        parts.append(
            f'<text x="{LEFT - 8}" y="{y(tick) + 4:.1f}" text-anchor="end">{escape(write(tick))}</text>'
        )
    return parts


def draw_slot_axis(slots: int, x: Callable[[float], float], bottom: float) -> list[str]:
    """The slots under a picture."""
    parts = [f'<path class="axis" d="M{x(0):.1f} {bottom}H{x(slots):.1f}"/>']
    for tick in find_ticks(0, slots, most=10):
        if tick <= slots and tick == int(tick):
            parts.append(f'<path class="axis" d="M{x(tick):.1f} {bottom}v4"/>')
            parts.append(f'<text x="{x(tick):.1f}" y="{bottom + 16}" text-anchor="middle">{int(tick)}</text>')
    parts.append(f'<text x="{x(slots / 2):.1f}" y="{bottom + 30}" text-anchor="middle">slot</text>')
    return parts


def find_ticks(low: float, high: float, *, most: int = 6) -> list[float]:
    """Round numbers from at most `low` to at least `high`."""
    # What is flat, or as good as flat, gets a span to stand in.
    span = max(high - low, 1e-9 * max(abs(low), abs(high)))
    rough = (span if span > 1e-200 else 1.0) / (most - 1)
    size = 10.0 ** math.floor(math.log10(rough))
    step = next(size * factor for factor in (1, 2, 2.5, 5, 10) if size * factor >= rough * (1 - 1e-9))
    first, last = math.floor(low / step + 1e-9), math.ceil(high / step - 1e-9)
    return [number * step for number in range(first, max(last, first + 1) + 1)]


def _draw_line(line: Line, style: str, x: Callable[[float], float], y: Callable[[float], float]) -> list[str]:
    if not len(line.middle):
        return []
    # A slot's value holds at its end; long runs are thinned to what a screen can show.
    places = np.unique(np.linspace(0, len(line.middle) - 1, min(len(line.middle), MOST_POINTS)).astype(int))
    points = [f"{x(at + 1):.1f} {y(line.middle[at]):.1f}" for at in places]
    parts = []
    if np.any(line.most > line.least):
        above = [f"{x(at + 1):.1f} {y(line.most[at]):.1f}" for at in places]
        below = [f"{x(at + 1):.1f} {y(line.least[at]):.1f}" for at in places[::-1]]
        parts.append(f'<path class="band {style}" d="M{"L".join(above + below)}Z"/>')
    parts.append(
        f'<path class="line {style}" style="fill:none" d="M{"L".join(points)}">'
        f"<title>{escape(line.name)}</title></path>"
    )
    return parts
