"""What commands that read a trace share: its files, what is taken of it, and how long its jobs last."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import numpy as np
import typer
from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TimeRemainingColumn

from gadget.cli.amounts import read_span
from gadget.cli.console import remarks
from gadget.workloads.traces import gavel
from gadget.workloads.traces.registry import FORMATS, find_size, read_trace
from gadget.workloads.traces.selection import EVERY, assume_durations, take_window
from gadget.workloads.traces.source import Progress as OnProgress
from gadget.workloads.traces.trace import Trace


@dataclass(frozen=True)
class TraceOptions:
    """Options of every command that reads a trace."""

    files: Annotated[
        list[Path],
        typer.Argument(
            help="Files of one trace, or folders at any depth; plain or gzip, told by content: "
            f"{', '.join(one.title for one in FORMATS)}. - is standard input.",
            show_default=False,
        ),
    ]
    start: Annotated[
        str | None, typer.Option("--from", help="Only jobs from then on, after the first one: 3600, 6h, 2d.")
    ] = None
    end: Annotated[str | None, typer.Option("--to", help="Only jobs before then, after the first one.")] = (
        None
    )
    throughputs: Annotated[
        Path | None,
        typer.Option(help="Gavel's *_throughputs.json: how long its jobs last follows from their steps."),
    ] = None
    gpu_type: Annotated[str, typer.Option(help="The GPU type to take throughputs of.")] = gavel.REFERENCE_GPU
    assume_duration: Annotated[
        list[str] | None,
        typer.Option(
            help="How long jobs last whose trace does not tell, as in 1h, or bert=3h for one application; "
            "may be given several times."
        ),
    ] = None
    strict: Annotated[
        bool, typer.Option("--strict", help="Refuse the trace for its first bad row, instead of skipping it.")
    ] = False

    def read(self) -> Trace:
        """The trace, with durations where it has none and they are given, and only the window asked for."""
        first = 0.0 if self.start is None else read_span("--from", self.start)
        last = np.inf if self.end is None else read_span("--to", self.end)
        durations = _read_durations(self.assume_duration or [])
        rates = None if self.throughputs is None else gavel.read_throughputs(self.throughputs)
        with _show_progress(find_size(self.files)) as progress:
            trace = read_trace(self.files, strict=self.strict, progress=progress)
        if rates is not None:
            trace = gavel.with_durations(trace, rates, self.gpu_type)
        if durations:
            trace = assume_durations(trace, durations)
        return trace if self.start is None and self.end is None else take_window(trace, first, last)


def _read_durations(texts: Sequence[str]) -> dict[str, float]:
    pairs = [text.rpartition("=") for text in texts]
    return {word or EVERY: read_span("--assume-duration", span) for word, _, span in pairs}


@contextmanager
def _show_progress(size: int) -> Iterator[OnProgress]:
    """A bar of bytes read; nothing where no terminal is, or where it would be gone before it is seen."""
    console = remarks()
    columns = (TextColumn("reading"), BarColumn(), DownloadColumn(), TimeRemainingColumn())
    shown = console.is_terminal and size > 1_000_000
    with Progress(*columns, console=console, transient=True, disable=not shown) as bar:
        task = bar.add_task("reading", total=size or None)
        yield lambda more: bar.advance(task, more)
