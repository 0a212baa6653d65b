"""gadget trace run: a workload on one pool of GPUs, event by event."""

import csv
import io
import json
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import numpy as np
import typer
from numpy.typing import NDArray
from rich.text import Text

from gadget.cli.console import Shown, ShownOption, remarks, table
from gadget.cli.console import output as standard_output
from gadget.cli.option_groups import spread_groups
from gadget.cli.trace_options import TraceOptions
from gadget.errors import BadOption
from gadget.files import write_whole
from gadget.model.wording import say_count
from gadget.simulate.blind import BlindResult, run_blind
from gadget.workloads.traces.trace import Trace

Integers = NDArray[np.int64]

_ROWS = (
    ("mean completion, s", "mean_completion_seconds"),
    ("median completion, s", "median_completion_seconds"),
    ("95% complete within, s", "p95_completion_seconds"),
    ("99% complete within, s", "p99_completion_seconds"),
    ("mean waiting, s", "mean_waiting_seconds"),
    ("makespan, s", "makespan_seconds"),
    ("utilisation", "utilisation"),
    ("preemptions", "preemptions"),
    ("jobs simulated a second", "jobs_per_second"),
)

_COLUMNS = ("policy", "job", "gpus", "submit_seconds", "start_seconds", "end_seconds", "preemptions")


def run(
    *,
    chosen: TraceOptions,
    gpus: Annotated[int, typer.Option(min=1, help="GPUs of the pool.")],
    policy: Annotated[
        list[str] | None,
        typer.Option(
            help="fifo, fifo:backfill=true, srtf, las, las:queues=3250/7200 (GPU-seconds); give it several "
            "times. Default: fifo, srtf and las."
        ),
    ] = None,
    jobs: Annotated[
        Path | None, typer.Option("--jobs", help="Write start and end of every job into this file (.csv).")
    ] = None,
    shown: ShownOption = Shown.TABLE,
) -> None:
    """Run a trace on one pool of GPUs, wherever these are: no network, no elasticity, from event to event.

    A job takes exactly its GPUs or none, and runs as long as the trace says. Thousands of jobs a second.

    Example:  gadget trace run philly.csv --gpus 2490 --policy fifo --policy srtf --jobs jobs.csv
    """
    labels = policy or ["fifo", "srtf", "las"]
    if len(set(labels)) < len(labels):
        raise BadOption("--policy: one is given twice. Name each once.")
    trace = chosen.read()
    wanted = _find_runnable(trace, gpus)
    run_blind([0], [1], [1], capacity=1, rule=labels[0])  # loads the kernels, which is not to be timed
    runs = {
        label: run_blind(
            trace.submit_seconds[wanted],
            trace.duration_seconds[wanted],
            trace.gpus[wanted].astype(np.int64),
            capacity=gpus,
            rule=label,
        )
        for label in labels
    }
    if jobs is not None:
        write_whole(jobs, _format_jobs(trace, wanted, runs))
    if shown is Shown.JSON:
        found = {label: asdict(one.summarise()) for label, one in runs.items()}
        typer.echo(json.dumps(found, indent=2, allow_nan=False))
    else:
        _show(runs, gpus)
    if len(wanted) < len(trace):
        count = len(trace) - len(wanted)
        remarks().print(Text(f"left out: jobs that share a GPU, last no time or need more GPUs ({count:,})"))
    if jobs is not None:
        remarks().print(Text(f"written: {jobs}"))


def _find_runnable(trace: Trace, gpus: int) -> Integers:
    """Jobs with whole GPUs, no more than there are, and a duration above 0."""
    duration = np.nan_to_num(trace.duration_seconds, nan=-1.0)
    if len(trace) and not (duration >= 0).any():
        raise BadOption("the trace does not tell how long its jobs last. Give --assume-duration.")
    whole = (trace.gpus >= 1) & (trace.gpus == np.floor(trace.gpus)) & (trace.gpus <= gpus)
    return np.flatnonzero(whole & (duration >= 1))


def _show(runs: dict[str, BlindResult], gpus: int) -> None:
    jobs = next(iter(runs.values())).summarise().jobs
    made = table(
        f"{say_count(jobs, 'job')} on a pool of {say_count(gpus, 'GPU')}",
        "",
        *(f"#{label}" for label in runs),
    )
    summaries = [one.summarise() for one in runs.values()]
    for title, name in _ROWS:
        values = [getattr(summary, name) for summary in summaries]
        made.add_row(title, *("–" if value is None else f"{value:,.6g}" for value in values))
    standard_output().print(made)


def _format_jobs(trace: Trace, wanted: Integers, runs: dict[str, BlindResult]) -> bytes:
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(_COLUMNS)
    writer.writerows(_rows(trace, wanted, runs))
    return text.getvalue().encode()


def _rows(trace: Trace, wanted: Integers, runs: dict[str, BlindResult]) -> Iterator[tuple[object, ...]]:
    names = trace.names[wanted].tolist()
    for label, one in runs.items():
        columns = (one.gpus, one.submit_seconds, one.first_start_seconds, one.end_seconds, one.preemptions)
        for name, *values in zip(names, *(column.tolist() for column in columns), strict=True):
            yield (label, name, *values)


def add_to(app: typer.Typer) -> None:
    """Add this command."""
    app.command()(spread_groups(run))
