"""A trace in numbers: jobs, arrivals, durations, GPUs, the load it offers; as tables and as JSON."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from typing import Any

import numpy as np
from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from gadget.model.wording import say_count
from gadget.report.bars import WIDTH, draw_bars
from gadget.report.spans import say_span
from gadget.workloads.traces.load import find_load
from gadget.workloads.traces.trace import Floats, Trace

QUANTILES = (0.5, 0.9, 0.99)
MOST_LISTED = 8
HOUR = 3600.0
_EPOCH_FROM = 1e9
"""Clocks beyond this count from 1970 on: it is the year 2001."""


@dataclass(frozen=True, slots=True)
class Quantiles:
    """How some numbers are spread."""

    mean: float
    p50: float
    p90: float
    p99: float
    most: float

    @classmethod
    def of(cls, numbers: Floats) -> "Quantiles | None":
        """The quantiles of one number or more."""
        if not len(numbers):
            return None
        p50, p90, p99 = np.quantile(numbers, QUANTILES).tolist()
        return cls(float(numbers.mean()), p50, p90, p99, float(numbers.max()))


@dataclass(frozen=True, eq=False)
class TraceSummary:
    """The numbers of a trace that people ask for first."""

    source: str
    files: int
    jobs: int
    start: str | None
    """The day and time of the first job, where the trace tells it."""
    span_seconds: float
    """From the first submission to the last."""
    arrivals_per_hour: float
    busiest_hour: int
    """Jobs in the hour with most of them."""
    jobs_by_gpus: Mapping[str, int]
    duration_seconds: Quantiles | None
    without_duration: int
    gpu_hours: float
    offered_load: float | None
    """GPU-seconds submitted per second; None where no duration is known or all jobs come at once."""
    capacity: float | None
    labels: Mapping[str, Mapping[str, int]]
    notes: tuple[str, ...]
    left_out: Mapping[str, int]
    bad_rows: int
    bad_examples: tuple[str, ...]
    bin_seconds: float
    arrivals: Floats
    """Jobs submitted in each bin."""
    load: Floats
    """GPUs held in each bin, if every job runs as soon as it is submitted."""

    @property
    def load_share(self) -> float | None:
        """The offered load over the GPUs there are."""
        if self.offered_load is None or not self.capacity:
            return None
        return self.offered_load / self.capacity

    def to_document(self) -> dict[str, Any]:
        """Plain values for JSON."""
        document = {**asdict(self), "load_share": self.load_share}
        for series in ("arrivals", "load"):
            document[series] = [round(float(number), 6) for number in document[series]]
        return document

    def render(self) -> Group:
        """Tables and pictures for a terminal."""
        parts: list[RenderableType] = [_render_numbers(self), Text()]
        for name, counts in self.labels.items():
            parts += [_render_counts(name, counts, self.jobs), Text()]
        end = say_span(self.bin_seconds * len(self.arrivals))
        each = say_span(self.bin_seconds)
        parts.append(
            draw_bars(self.arrivals, label=f"Jobs submitted, each column {each}", start="0", end=end)
        )
        if self.offered_load is not None:
            label = "GPUs in use, if every job ran as soon as it was submitted"
            parts += [Text(), draw_bars(self.load, label=label, start="0", end=end, level=self.capacity)]
        parts += [Text(), *_render_remarks(self)]
        return Group(*parts)


def summarise_trace(trace: Trace, *, capacity: float | None = None) -> TraceSummary:
    """The numbers of a trace; `capacity` are the GPUs to see its load against."""
    since, duration = trace.since_start, trace.duration_seconds
    known = ~np.isnan(duration)
    span = float(since[-1])
    gpu_seconds = float((trace.gpu_demand[known] * duration[known]).sum())
    edges = np.linspace(0.0, span or 1.0, WIDTH + 1)
    hours = np.bincount((since / HOUR).astype(np.int64)) if span < HOUR * 10_000_000 else np.array([0])
    labels = {
        name: _cut(found.counts())
        for name, found in (
            ("status", trace.status),
            ("group", trace.group),
            ("application", trace.application),
        )
        if found is not None
    }
    return TraceSummary(
        source=trace.source,
        files=len(trace.files),
        jobs=len(trace),
        start=_say_start(float(trace.submit_seconds[0])),
        span_seconds=span,
        arrivals_per_hour=len(trace) / (span / HOUR) if span else float(len(trace)),
        busiest_hour=int(hours.max()),
        jobs_by_gpus=_count_gpus(trace),
        duration_seconds=Quantiles.of(duration[known]),
        without_duration=int((~known).sum()),
        gpu_hours=gpu_seconds / HOUR,
        offered_load=gpu_seconds / span if span and known.any() else None,
        capacity=capacity,
        labels=labels,
        notes=trace.notes,
        left_out=dict(trace.left_out),
        bad_rows=trace.bad.count,
        bad_examples=tuple(map(str, trace.bad.first)),
        bin_seconds=float(edges[1]),
        arrivals=np.histogram(since, edges)[0].astype(np.float64),
        load=find_load(trace, edges),
    )


def _say_start(seconds: float) -> str | None:
    if not _EPOCH_FROM < seconds < 1e11:
        return None
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%d %H:%M:%S")


def _count_gpus(trace: Trace) -> dict[str, int]:
    """Jobs by their GPUs, fewest GPUs first; shares of a GPU together."""
    shared = np.zeros(len(trace), dtype=bool) if trace.gpu_share is None else trace.gpu_share < 1
    counts = {"shared": int(shared.sum())} if shared.any() else {}
    sizes, numbers = np.unique(trace.gpus[~shared], return_counts=True)
    return counts | {str(size): int(count) for size, count in zip(sizes, numbers, strict=True)}


def _cut(counts: Mapping[str, int]) -> dict[str, int]:
    """The first few, and all others together."""
    listed = dict(list(counts.items())[:MOST_LISTED])
    if rest := sum(counts.values()) - sum(listed.values()):
        listed[f"{len(counts) - len(listed):,} others"] = rest
    return listed


def _grid(rows: Iterable[Sequence[str]]) -> Table:
    """Rows of words; nothing in them is markup."""
    table = Table(box=None, pad_edge=False, padding=(0, 3, 0, 0), show_header=False)
    for row in rows:
        table.add_row(*map(Text, row))
    return table


def _render_numbers(summary: TraceSummary) -> Group:
    span = say_span(summary.span_seconds)
    rows = [
        ("span", f"{span} from {summary.start}" if summary.start else span),
        ("arrivals", f"{summary.arrivals_per_hour:,.4g} an hour, {summary.busiest_hour:,} in the busiest"),
        ("GPUs of a job", _say_gpus(summary)),
    ]
    if (found := summary.duration_seconds) is not None:
        told = ", ".join(f"{name} {say_span(seconds)}" for name, seconds in asdict(found).items())
        rows.append(("duration", told))
    if summary.without_duration:
        rows.append(("no duration", say_count(summary.without_duration, "job")))
    if summary.offered_load is not None:
        share = summary.load_share
        of = "" if share is None else f", {share:.1%} of {summary.capacity:,.0f} GPUs"
        rows.append(("offered load", f"{summary.offered_load:,.4g} GPU-seconds a second{of}"))
        rows.append(("work", f"{summary.gpu_hours:,.4g} GPU-hours"))
    title = f"{summary.source}: {say_count(summary.jobs, 'job')} in {say_count(summary.files, 'file')}"
    return Group(Text(title, style="bold"), _grid(rows))


def _say_gpus(summary: TraceSummary) -> str:
    ranked = dict(sorted(summary.jobs_by_gpus.items(), key=lambda item: -item[1]))
    return ", ".join(f"{gpus}: {count / summary.jobs:.1%}" for gpus, count in _cut(ranked).items())


def _render_counts(name: str, counts: Mapping[str, int], jobs: int) -> Group:
    rows = [(word or "not told", f"{count:,}", f"{count / jobs:.1%}") for word, count in counts.items()]
    return Group(Text(f"Jobs by {name}", style="bold"), _grid(rows))


def _render_remarks(summary: TraceSummary) -> list[RenderableType]:
    lines = [f"assumed: {note}" for note in summary.notes]
    lines += [f"left out: jobs that {reason} ({count:,})" for reason, count in summary.left_out.items()]
    lines.append(f"bad rows: {summary.bad_rows:,}" if summary.bad_rows else "bad rows: none")
    lines += [f"  {example}" for example in summary.bad_examples]
    if summary.bad_rows > len(summary.bad_examples):
        lines.append(f"  … and {summary.bad_rows - len(summary.bad_examples):,} more")
    return [Text(line) for line in lines]
