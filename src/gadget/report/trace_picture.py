"""A picture of a trace: when its jobs come, and how many GPUs they would hold."""

from pathlib import Path

import numpy as np
from matplotlib.figure import Figure

from gadget.report.saving import save_picture
from gadget.report.trace import HOUR, TraceSummary

_ARRIVALS, _LOAD, _CAPACITY = "#56B4E9", "#0072B2", "#D55E00"
_DAY = 24 * HOUR


def draw_trace(summary: TraceSummary, path: Path, *, title: str = "") -> None:
    """Draw arrivals and load over time to a .svg, .png or .pdf file."""
    save_picture(path, lambda: build_figure(summary, title=title))


def build_figure(summary: TraceSummary, *, title: str = "") -> Figure:
    """The picture as a matplotlib figure."""
    has_load = summary.offered_load is not None
    figure = Figure(figsize=(8, 5.4 if has_load else 3), layout="constrained")
    panels = figure.subplots(2 if has_load else 1, 1, sharex=True, squeeze=False)[:, 0]
    unit, name = (_DAY, "days") if summary.span_seconds > 2 * _DAY else (HOUR, "hours")
    width = summary.bin_seconds / unit
    left = np.arange(len(summary.arrivals)) * width
    panels[0].bar(left, summary.arrivals, width=width, align="edge", color=_ARRIVALS)
    panels[0].set_ylabel("jobs submitted")
    if has_load:
        panels[1].stairs(summary.load, np.append(left, left[-1] + width), color=_LOAD, fill=True)
        panels[1].set_ylabel("GPUs in use, if no job waits")
        if summary.capacity:
            panels[1].axhline(summary.capacity, color=_CAPACITY, linestyle="--")
            panels[1].annotate(
                f"{summary.capacity:,.0f} GPUs",
                (0.99, summary.capacity),
                xycoords=("axes fraction", "data"),
                ha="right",
                va="bottom",
                color=_CAPACITY,
            )
    panels[-1].set_xlabel(f"{name} after the first job")
    for axes in panels:
        axes.spines[["top", "right"]].set_visible(False)
        axes.grid(axis="y", color="#dddddd", linewidth=0.8)
        axes.set_axisbelow(True)
        axes.set_ylim(bottom=0)
        axes.set_xlim(0, left[-1] + width)
    panels[0].set_title(title, loc="left", fontsize=11, parse_math=False)
    return figure
