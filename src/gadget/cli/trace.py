"""gadget trace, gadget feasibility: workloads of other systems, and what they ask of a cluster."""

import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import numpy as np
import typer
from rich.console import Console
from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TimeRemainingColumn
from rich.text import Text

from gadget.cli.amounts import read_range, read_sample, read_span
from gadget.cli.cluster_option import ClusterOption, read_cluster_option
from gadget.cli.console import output, remarks
from gadget.errors import BadOption
from gadget.files import STANDARD_STREAM
from gadget.model.codec import read_scenario, write
from gadget.model.snapshot import DEFAULT_SLOT_SECONDS
from gadget.model.wording import say_count
from gadget.report.feasibility import render_feasibility, to_document
from gadget.report.trace import summarise_trace
from gadget.workloads.feasibility import assess
from gadget.workloads.traces import gavel
from gadget.workloads.traces.conversion import (
    DEFAULT_GBPS,
    RIGID,
    ConversionParams,
    Elasticity,
    Family,
    Worth,
    convert,
)
from gadget.workloads.traces.registry import FORMATS, find_size, read_trace
from gadget.workloads.traces.selection import EVERY, assume_durations, take_sample, take_window
from gadget.workloads.traces.source import Progress as OnProgress
from gadget.workloads.traces.trace import Trace

app = typer.Typer(
    name="trace",
    help="Workloads of other systems: look at them, and make scenarios of them.",
    epilog="Example:  gadget trace show philly.csv --gpus 2000",
    no_args_is_help=True,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"]},
)


class Shown(StrEnum):
    """How numbers are printed."""

    TABLE = "table"
    JSON = "json"


FilesArgument = Annotated[
    list[Path],
    typer.Argument(
        help="Files of one trace, or folders at any depth; plain or gzip, told by content: "
        f"{', '.join(one.title for one in FORMATS)}. - is standard input.",
        show_default=False,
    ),
]
StrictOption = Annotated[
    bool, typer.Option("--strict", help="Refuse the trace for its first bad row, instead of skipping it.")
]
ThroughputsOption = Annotated[
    Path | None,
    typer.Option(help="Gavel's *_throughputs.json: how long its jobs last follows from their steps."),
]
GpuTypeOption = Annotated[str, typer.Option(help="The GPU type to take throughputs of.")]
AssumeOption = Annotated[
    list[str] | None,
    typer.Option(
        help="How long jobs last whose trace does not tell, as in 1h, or bert=3h for one application; may be "
        "given several times."
    ),
]
FromOption = Annotated[
    str | None, typer.Option("--from", help="Only jobs from then on, after the first one: 3600, 6h, 2d.")
]
ToOption = Annotated[str | None, typer.Option("--to", help="Only jobs before then, after the first one.")]
ShownOption = Annotated[Shown, typer.Option("-o", "--output", help="Tables, or JSON for programs.")]


@app.command()
def show(
    files: FilesArgument,
    *,
    gpus: Annotated[float | None, typer.Option(min=0, help="See the load against this many GPUs.")] = None,
    cluster: Annotated[
        str | None, typer.Option(help="See the load against the GPUs of this cluster, as in trace convert.")
    ] = None,
    start: FromOption = None,
    end: ToOption = None,
    throughputs: ThroughputsOption = None,
    gpu_type: GpuTypeOption = gavel.REFERENCE_GPU,
    assume_duration: AssumeOption = None,
    strict: StrictOption = False,
    picture: Annotated[
        Path | None, typer.Option(help="Draw arrivals and load into this file (.svg, .png or .pdf).")
    ] = None,
    shown: ShownOption = Shown.TABLE,
) -> None:
    """Sum up a trace: jobs, arrivals, GPUs, durations, the load it offers, and rows that cannot be read.

    Example:  gadget trace show philly.csv --gpus 2000 --picture philly.svg
    """
    if gpus is not None and cluster is not None:
        raise BadOption("--gpus and --cluster both tell how many GPUs there are. Give one of them.")
    capacity = gpus if cluster is None else read_cluster_option(cluster).total("gpu")
    trace = read_chosen(
        files,
        strict=strict,
        start=start,
        end=end,
        throughputs=throughputs,
        gpu_type=gpu_type,
        assumed=assume_duration,
    )
    summary = summarise_trace(trace, capacity=capacity)
    if picture is not None:
        from gadget.report.trace_picture import draw_trace  # noqa: PLC0415 - what draws takes a second to load

        draw_trace(summary, picture, title=f"{trace.source}: {files[0].name}, {say_count(len(trace), 'job')}")
    if shown is Shown.JSON:
        typer.echo(json.dumps(summary.to_document(), indent=2, ensure_ascii=False, allow_nan=False))
    else:
        output().print(summary.render())
    if picture is not None:
        remarks().print(Text(f"picture: {picture}"))


@app.command("convert")
def convert_(
    files: FilesArgument,
    *,
    cluster: ClusterOption,
    start: FromOption = None,
    end: ToOption = None,
    sample: Annotated[
        str | None, typer.Option(help="Only so many jobs, or a share: 500, 10% or 0.1.")
    ] = None,
    seed: Annotated[int, typer.Option(min=0, help="Seed of all that is random.")] = 0,
    elastic: Annotated[
        str | None,
        typer.Option(
            help="Smallest and largest ring: 1:8, or with x in multiples of the traced GPUs, as in 1:2x. "
            "Default: as many workers as the trace has GPUs, no more and no fewer."
        ),
    ] = None,
    slot_seconds: Annotated[float, typer.Option(min=1e-3, help="Length of a slot.")] = DEFAULT_SLOT_SECONDS,
    slots: Annotated[
        int | None,
        typer.Option(
            min=1, max=10_000_000, help="How many slots; default: until the last job ends if it never waits."
        ),
    ] = None,
    rate: Annotated[float, typer.Option(min=1e-6, help="Work per worker-slot.")] = 1.0,
    bandwidth_gbps: Annotated[
        str, typer.Option(help="Gbps that a ring reserves, or a range to draw from: 0.1:5.")
    ] = f"{DEFAULT_GBPS:g}",
    utility: Annotated[
        Family, typer.Option(help="How a job's worth grows with its work, up to its worth when done.")
    ] = Family.LINEAR,
    worth: Annotated[
        Worth, typer.Option(help="What a finished job is worth: 1 (times its priority), or its GPU time.")
    ] = Worth.JOB,
    throughputs: ThroughputsOption = None,
    gpu_type: GpuTypeOption = gavel.REFERENCE_GPU,
    assume_duration: AssumeOption = None,
    strict: StrictOption = False,
    scenario: Annotated[
        Path,
        typer.Option("-o", "--output", help="The scenario (.json, else YAML); - is standard output."),
    ],
) -> None:
    """Make a scenario of a trace on a cluster, and tell what it asks of the cluster.

    A job has the work that its GPUs did in the trace: with as many workers it lasts as long as there.

    Example:  gadget trace convert philly.csv --cluster leaf-spine --to 1d --elastic 1:2x -o philly.json
    """
    params = ConversionParams(
        slot_seconds=slot_seconds,
        slots=slots,
        elastic=RIGID if elastic is None else Elasticity.parse(elastic),
        rate=rate,
        bandwidth_gbps=read_range("--bandwidth-gbps", bandwidth_gbps),
        utility=utility,
        worth=worth,
    )
    wanted = None if sample is None else read_sample(sample)
    target = read_cluster_option(cluster)
    rng = np.random.default_rng(seed)
    trace = read_chosen(
        files,
        strict=strict,
        start=start,
        end=end,
        throughputs=throughputs,
        gpu_type=gpu_type,
        assumed=assume_duration,
    )
    if wanted is not None:
        trace = take_sample(trace, wanted, rng)
    made = convert(trace, target, params, rng)
    found = assess(made.scenario)
    write(scenario, made.scenario)
    console = remarks() if scenario == STANDARD_STREAM else output()
    _tell_remarks(console, trace, made.left_out)
    console.print(render_feasibility(found))
    if scenario != STANDARD_STREAM:
        sizes = f"servers: {len(target.servers):,}, jobs: {found.jobs:,}, slots: {found.slots:,}"
        remarks().print(Text(f"written: {scenario} ({sizes})"))


def feasibility(
    scenario: Annotated[Path, typer.Argument(help="A scenario file, JSON or YAML; - is standard input.")],
    shown: ShownOption = Shown.TABLE,
) -> None:
    """Tell before a run what a scenario asks for against what there is, and which jobs can never run.

    Exits with 1 if there is a job that could not run even alone.

    Example:  gadget feasibility scenario.yaml
    """
    found = assess(read_scenario(scenario))
    if shown is Shown.JSON:
        typer.echo(json.dumps(to_document(found), indent=2, ensure_ascii=False, allow_nan=False))
    else:
        output().print(render_feasibility(found))
    if not found.is_possible:
        raise typer.Exit(1)


def read_chosen(
    files: Sequence[Path],
    *,
    strict: bool,
    start: str | None,
    end: str | None,
    throughputs: Path | None,
    gpu_type: str,
    assumed: Sequence[str] | None,
) -> Trace:
    """The trace, with durations where it has none and they are given, and only the window asked for."""
    first = 0.0 if start is None else read_span("--from", start)
    last = np.inf if end is None else read_span("--to", end)
    durations = _read_durations(assumed or [])
    rates = None if throughputs is None else gavel.read_throughputs(throughputs)
    with _show_progress(find_size(files)) as progress:
        trace = read_trace(files, strict=strict, progress=progress)
    if rates is not None:
        trace = gavel.with_durations(trace, rates, gpu_type)
    if durations:
        trace = assume_durations(trace, durations)
    return trace if start is None and end is None else take_window(trace, first, last)


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


def _tell_remarks(console: Console, trace: Trace, left_out: dict[str, int]) -> None:
    for note in trace.notes:
        console.print(Text(f"assumed: {note}"))
    for reason, count in {**trace.left_out, **left_out}.items():
        console.print(Text(f"left out: {say_count(count, 'job')} that {reason}"))
    if trace.bad.count:
        console.print(Text(f"bad rows: {trace.bad.count:,}, skipped; the first: {trace.bad.first[0]}"))


def add_to(main: typer.Typer) -> None:
    """Add these commands."""
    main.add_typer(app)
    main.command()(feasibility)
