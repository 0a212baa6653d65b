"""Columns of numbers as a picture of text, for terminals."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from rich.text import Text

EIGHTHS = " ▁▂▃▄▅▆▇█"
WIDTH, HEIGHT = 72, 6


def draw_bars(
    values: Sequence[float] | NDArray[np.float64],
    *,
    label: str,
    start: str,
    end: str,
    level: float | None = None,
    height: int = HEIGHT,
) -> Text:
    """One column a value, from 0 up to the greatest; what is above `level` in another colour.

    `label` stands above, `start` and `end` below the first and the last column.
    """
    heights = np.nan_to_num(np.asarray(values, dtype=np.float64), posinf=0.0)
    top = max(float(heights.max(initial=0.0)), level or 0.0) or 1.0
    eighths = np.ceil(np.clip(heights / top, 0, 1) * height * 8 - 1e-9).astype(np.int64)
    picture = Text(f"{label}\n", no_wrap=True)
    marks = {height - 1: _number(top), 0: "0"}
    margin = max(map(len, marks.values()))
    limit = None if level is None else level / top * height
    for row in range(height - 1, -1, -1):
        picture.append(f"{marks.get(row, ''):>{margin}} ", style="dim")
        for filled in np.clip(eighths - 8 * row, 0, 8).tolist():
            above = limit is not None and row + (filled / 8) > limit + 1e-9
            picture.append(EIGHTHS[filled], style="red" if above else "cyan")
        if limit is not None and row <= limit <= row + 1 and (row == height - 1 or limit < row + 1):
            picture.append(f" ← {_number(level or 0.0)}", style="dim")
        picture.append("\n")
    picture.append(f"{'':>{margin}} {start}{end:>{max(1, len(heights) - len(start))}}", style="dim")
    return picture


def thin(values: NDArray[np.float64], width: int = WIDTH) -> NDArray[np.float64]:
    """At most `width` columns, each the greatest of the values it stands for."""
    if len(values) <= width:
        return values
    return np.maximum.reduceat(values, np.linspace(0, len(values), width, endpoint=False).astype(np.int64))


def _number(number: float) -> str:
    return f"{number:,.0f}" if number >= 100 or number == int(number) else f"{number:.3g}"
