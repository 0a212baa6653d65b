"""A picture of fits: predicted against measured times of placements that were left out."""

import math
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

from gadget.report.fit_table import FittedApplication
from gadget.report.picture import INK, LINE, SOFT, STRONG
from gadget.report.saving import save_picture

_SIDE = 3.1
_MOST_COLUMNS = 3
_MARGIN = 1.2


def draw_fits(applications: Sequence[FittedApplication], path: Path) -> None:
    """Draw one square for each application to a .svg, .png or .pdf file."""
    save_picture(path, lambda: build_figure(applications))


def build_figure(applications: Sequence[FittedApplication]) -> Figure:
    """The picture as a matplotlib figure."""
    columns = min(len(applications), _MOST_COLUMNS)
    rows = math.ceil(len(applications) / columns)
    figure = Figure(figsize=(_SIDE * columns, _SIDE * rows + 0.4), facecolor="white", layout="constrained")
    squares = figure.subplots(rows, columns, squeeze=False).ravel()
    for axes, one in zip(squares, applications, strict=False):
        _draw_square(axes, one)
    for axes in squares[len(applications) :]:
        axes.set_axis_off()
    figure.suptitle("Seconds of a step on placements held out of the fit", fontsize=10, color=INK)
    return figure


def _draw_square(axes: Axes, one: FittedApplication) -> None:
    measured = one.fits[0].measured.step_seconds
    low, high = float(measured.min()) / _MARGIN, float(measured.max()) * _MARGIN
    axes.plot([low, high], [low, high], color=LINE, linewidth=1, zorder=1)
    for fit, colour in zip(one.fits, (STRONG[1], STRONG[0]), strict=False):
        axes.scatter(
            fit.measured.step_seconds,
            # What lies outside the square is shown on its edge.
            np.clip(fit.predicted, low, high),
            s=4,
            color=colour,
            alpha=0.45,
            linewidths=0,
            label=f"{fit.law}, median {100 * fit.median_error:.1f}%",
            zorder=2,
            clip_on=False,
        )
    axes.set(xscale="log", yscale="log", xlim=(low, high), ylim=(low, high), aspect="equal")
    axes.set_title(one.measured.name.replace("$", r"\$"), fontsize=9, color=INK)
    axes.set_xlabel("measured", fontsize=8, color=SOFT)
    axes.set_ylabel("predicted", fontsize=8, color=SOFT)
    for axis in (axes.xaxis, axes.yaxis):
        axis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)))
        axis.set_major_formatter(FuncFormatter(lambda seconds, _: f"{seconds:g}"))
        axis.set_minor_formatter(NullFormatter())
    axes.tick_params(which="both", labelsize=7, colors=SOFT)
    for side in axes.spines.values():
        side.set_color(LINE)
    axes.legend(fontsize=7, frameon=False, loc="upper left", markerscale=2)
