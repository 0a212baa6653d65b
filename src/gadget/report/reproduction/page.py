"""The report of the reproduction: figures, claims and settings on one page."""

from collections.abc import Iterator, Sequence
from dataclasses import asdict
from html import escape
from importlib.metadata import version
from pathlib import Path

from gadget.experiments.points import Figure, Measured
from gadget.experiments.settings import Settings
from gadget.files import write_whole
from gadget.report.document import build_document
from gadget.report.reproduction.figures import save_figure
from gadget.report.reproduction.series import find_series
from gadget.report.reproduction.verdicts import Verdict, find_verdicts
from gadget.workloads.paper import BudgetUnit

REPORT_FILE = "report.html"
_TITLE = "GADGET: the paper's experiment, measured"
_ARRIVALS = {
    "google": "Arrivals follow Google's 2011 cluster trace: random windows, thinned to the number of jobs.",
    "profile": "Google's 2011 trace was not found. Arrivals follow a profile of our own that is as bursty "
    "(intensities of hours and minutes with the same mean and variance); set GADGET_TRACES to use the trace.",
}
_NOTES = (
    "The paper's claims are judged by gadget-paper; the lines of gadget, our own policy, stand beside them. "
    "Differences are taken trial by trial, with their standard errors; one counts as real beyond two of "
    "them and beyond a thousandth of the utility. The share embedded counts every active job that has a "
    "ring, also jobs whose sigmoid has levelled off: they gain nothing any more and get rings in room that "
    "would stand idle, the smallest that does no harm. Ratios to the "
    "optimum are taken on the concave majorants that decisions are made on."
)
_PICTURES = (
    (
        "utility",
        Figure.UTILITY,
        BudgetUnit.WORKER_SLOTS,
        "Fig. utility: total utility, budgets in worker-slots",
    ),
    ("utility-iterations", Figure.UTILITY, BudgetUnit.ITERATIONS, "Fig. utility, budgets read in iterations"),
    ("nodes", Figure.NODES, BudgetUnit.WORKER_SLOTS, "Fig. NRF: share embedded against node capacity"),
    ("links", Figure.LINKS, BudgetUnit.WORKER_SLOTS, "Fig. ERF: share embedded against link capacity"),
    ("ratio", Figure.RATIO, BudgetUnit.WORKER_SLOTS, "Fig. ratio: Algorithm 2 against the slot optimum"),
)


def write_report(folder: Path, settings: Settings, measured: Sequence[Measured], arrivals: str) -> Path:
    """Write every figure and the page; returns the page's path."""
    verdicts = find_verdicts(measured)
    parts = [
        f"<h1>{escape(_TITLE)}</h1>",
        f'<p class="soft">{escape(_ARRIVALS[arrivals])} {escape(_clipping(settings))}</p>',
        "<h2>What the paper claims, and what we measured</h2>",
        _table(verdicts),
        f'<p class="soft">{escape(_NOTES)}</p>',
        *_figures(folder, measured),
        "<h2>Settings</h2>",
        _settings(settings),
        f"<footer>gadget {escape(version('gadget-scheduler'))}. Every run is a line of points.jsonl, every "
        "figure has its numbers in a CSV file. Error bars are standard deviations over trials.</footer>",
    ]
    path = folder / REPORT_FILE
    write_whole(path, build_document(_TITLE, parts).encode())
    return path


def _figures(folder: Path, measured: Sequence[Measured]) -> Iterator[str]:
    for name, figure, budget, caption in _PICTURES:
        series = find_series(measured, figure, budget)
        if series:
            yield f"<h2>{escape(caption)}</h2>"
            yield f'<div class="paper">{save_figure(folder, name, series)}</div>'


def _table(verdicts: Sequence[Verdict]) -> str:
    rows = "".join(
        f"<tr><td>{escape(one.claim)}</td><td>{escape(one.measured)}</td>"
        f"<td>{f'<b>{one.answer}</b>: {escape(one.why)}' if one.why else one.answer}</td></tr>"
        for one in verdicts
    )
    return (
        '<div class="wide"><table><thead><tr><th>the paper</th><th>measured</th><th>verdict</th></tr></thead>'
        f"<tbody>{rows}</tbody></table></div>"
    )


def _clipping(settings: Settings) -> str:
    if settings.clipped:
        return "Baselines with a fixed number of workers draw it from 1 to 10 and clip it to N."
    return "Baselines with a fixed number of workers draw it from 1 to 10; every job's N is raised to it."


def _settings(settings: Settings) -> str:
    rows = "".join(
        f'<tr><th>{escape(name)}</th><td class="n">{escape(str(value))}</td></tr>'
        for name, value in asdict(settings).items()
    )
    return f"<table><tbody>{rows}</tbody></table>"
