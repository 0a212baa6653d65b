"""Rows over time as SVG: a colour for every row and slot."""

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from itertools import groupby

import numpy as np
from numpy.typing import NDArray

from gadget.report.simulation.chart import WIDTH, draw_slot_axis

MOST_ROWS = 60
MOST_COLUMNS = 400
_LEFT, _RIGHT, _TOP, _BOTTOM = 150, 12, 6, 34
_LONGEST_NAME = 24

Shades = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Grid:
    """What is drawn: the names of the rows and the number of each cell's colour, 0 for none."""

    names: Sequence[str]
    shades: Shades
    styles: Sequence[str]
    """The style class of every colour; the first belongs to 1."""
    slots: int
    """Slots that the columns cover."""
    labels: Sequence[str] = ()
    """What is said of every colour where the mouse rests on it; nothing if there are none."""
    row_height: float | None = None


def draw_grid(grid: Grid, *, title: str) -> str:
    """A picture with one line of cells for every row; equal neighbours are drawn as one."""
    rows, columns = grid.shades.shape
    height = grid.row_height or (11 if rows <= 40 else 9.5)
    inside = WIDTH - _LEFT - _RIGHT
    bottom = _TOP + rows * height
    parts = [f'<svg viewBox="0 0 {WIDTH} {bottom + _BOTTOM:g}" role="img" aria-label="{escape(title)}">']
    for place, name in enumerate(grid.names):
        if not name:
            continue
        shown = name if len(name) <= _LONGEST_NAME else f"{name[: _LONGEST_NAME - 1]}…"
        parts.append(
            f'<text class="name" x="{_LEFT - 7}" y="{_TOP + (place + 0.8) * height:.1f}" text-anchor="end">'
            f"{escape(shown)}<title>{escape(name)}</title></text>"
        )
    # Cells are drawn in units of a cell, all of one colour as one path.
    parts.append(
        f'<g shape-rendering="crispEdges" transform="translate({_LEFT} {_TOP}) '
        f'scale({inside / max(columns, 1):.6f} {height})">'
    )
    paths = _find_runs(grid.shades)
    for shade, path in sorted(paths.items()):
        label = f"<title>{escape(grid.labels[shade - 1])}</title>" if grid.labels else ""
        parts.append(f'<path class="{grid.styles[shade - 1]}" d="{path}">{label}</path>')
    parts.append("</g>")
    parts += draw_slot_axis(grid.slots, lambda slot: _LEFT + inside * slot / max(grid.slots, 1), bottom)
    return "".join([*parts, "</svg>"])


def thin(values: NDArray[np.float64]) -> tuple[NDArray[np.float64], int]:
    """At most MOST_COLUMNS columns, each the largest value of its slots, and how many slots a column has."""
    rows, slots = values.shape
    width = max(1, -(-slots // MOST_COLUMNS))
    if width == 1:
        return values, 1
    padded = np.zeros((rows, -(-slots // width) * width))
    padded[:, :slots] = values
    return padded.reshape(rows, -1, width).max(axis=2), width


def _find_runs(shades: Shades) -> dict[int, str]:
    """For every colour the path of its runs of cells."""
    found: dict[int, list[str]] = {}
    for row, line in enumerate(shades.tolist()):
        start = 0
        for shade, cells in groupby(line):
            length = len(list(cells))
            if shade:
                found.setdefault(shade, []).append(f"M{start} {row}h{length}v.88h-{length}z")
            start += length
    return {shade: "".join(runs) for shade, runs in found.items()}
