"""The figures as pictures (SVG, PNG) and as data (CSV)."""

import csv
import io
import re
from collections.abc import Sequence
from pathlib import Path

import matplotlib as mpl
from matplotlib.figure import Figure as Canvas

from gadget.experiments.points import Figure
from gadget.files import write_whole
from gadget.report.reproduction.series import Series

AXES = {
    Figure.UTILITY: ("number of jobs", "total utility"),
    Figure.NODES: ("GPUs in the cluster (× 100)", "share of active jobs embedded"),
    Figure.LINKS: ("Gbps of all server links (× 200)", "share of active jobs embedded"),
    Figure.RATIO: ("number of jobs", "gain ÷ gain of the slot optimum"),
}
# Okabe and Ito's colours: told apart by everybody.
_COLOURS = ("#0072B2", "#E69F00", "#009E73", "#D55E00", "#CC79A7")
_MARKS = "osD^v"


def save_figure(folder: Path, name: str, series: Sequence[Series]) -> str:
    """Write NAME.csv, NAME.png and NAME.svg; returns the SVG text."""
    write_whole(folder / f"{name}.csv", _to_csv(series).encode())
    svg = b""
    for suffix in ("png", "svg"):
        # No date and fixed ids: the same numbers give the same bytes.
        with mpl.rc_context({"svg.hashsalt": name, "svg.fonttype": "none"}):
            picture = io.BytesIO()
            metadata = {"Date": None} if suffix == "svg" else {"Software": None}
            _draw(series).savefig(picture, format=suffix, dpi=150, metadata=metadata)
        write_whole(folder / f"{name}.{suffix}", picture.getvalue())
        svg = picture.getvalue()
    text = svg.decode()
    # Inside a page the drawing program's metadata, with its addresses, says nothing.
    return re.sub(r"<metadata>.*?</metadata>", "", text[text.index("<svg") :], flags=re.DOTALL)


def _draw(series: Sequence[Series]) -> Canvas:
    canvas = Canvas(figsize=(6.4, 3.8), layout="constrained")
    axes = canvas.add_subplot()
    figure = series[0].figure
    for place, line in enumerate(series):
        axes.errorbar(
            line.x,
            line.mean,
            yerr=line.spread if line.trials > 1 else None,
            label=line.name,
            color=_COLOURS[place % len(_COLOURS)],
            marker=_MARKS[place % len(_MARKS)],
            markersize=5,
            capsize=3,
            linewidth=1.6,
        )
    across, up = AXES[figure]
    axes.set_xlabel(across)
    axes.set_ylabel(up)
    if figure is Figure.RATIO:
        axes.axhspan(0.6, 0.8, color="#999999", alpha=0.2, linewidth=0, label="the paper: 60–80%")
        axes.axhline(1 / 3, color="#999999", linestyle=":", label="Thm 8: 1/3")
    if figure is not Figure.UTILITY:
        axes.set_ylim(bottom=0)
    axes.grid(axis="y", color="#dddddd", linewidth=0.8)
    axes.spines[["top", "right"]].set_visible(False)
    axes.legend(frameon=False, fontsize=9)
    return canvas


def _to_csv(series: Sequence[Series]) -> str:
    text = io.StringIO()
    table = csv.writer(text, lineterminator="\n")
    table.writerow(["figure", "budget", "series", "x", "mean", "standard_deviation", "trials"])
    for line in series:
        for x, mean, spread in zip(line.x, line.mean, line.spread, strict=True):
            table.writerow(
                [line.figure, line.budget, line.name, f"{x:g}", repr(mean), repr(spread), line.trials]
            )
    return text.getvalue()
