"""gadget trace, gadget feasibility: workloads of other systems, and what they ask of a cluster."""

import json
from pathlib import Path
from typing import Annotated

import numpy as np
import typer
from rich.console import Console
from rich.text import Text

from gadget.cli.amounts import read_range, read_sample
from gadget.cli.cluster_option import ClusterOption, read_cluster_option
from gadget.cli.console import Shown, ShownOption, output, remarks
from gadget.cli.option_groups import spread_groups
from gadget.cli.trace_options import TraceOptions
from gadget.errors import BadOption
from gadget.files import STANDARD_STREAM
from gadget.model.codec import read_scenario, write
from gadget.model.snapshot import DEFAULT_SLOT_SECONDS
from gadget.model.wording import say_count
from gadget.report.feasibility import render_feasibility, to_document
from gadget.report.trace import summarise_trace
from gadget.workloads.feasibility import assess
from gadget.workloads.traces.conversion import (
    DEFAULT_GBPS,
    RIGID,
    ConversionParams,
    Elasticity,
    Family,
    Worth,
    convert,
)
from gadget.workloads.traces.selection import take_sample
from gadget.workloads.traces.trace import Trace

app = typer.Typer(
    name="trace",
    help="Workloads of other systems: look at them, and make scenarios of them.",
    epilog="Example:  gadget trace show philly.csv --gpus 2000",
    no_args_is_help=True,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"]},
)


@app.command()
@spread_groups
def show(
    *,
    chosen: TraceOptions,
    gpus: Annotated[float | None, typer.Option(min=0, help="See the load against this many GPUs.")] = None,
    cluster: Annotated[
        str | None, typer.Option(help="See the load against the GPUs of this cluster, as in trace convert.")
    ] = None,
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
    trace = chosen.read()
    summary = summarise_trace(trace, capacity=capacity)
    if picture is not None:
        from gadget.report.trace_picture import draw_trace  # noqa: PLC0415 - what draws takes a second to load

        draw_trace(
            summary, picture, title=f"{trace.source}: {chosen.files[0].name}, {say_count(len(trace), 'job')}"
        )
    if shown is Shown.JSON:
        typer.echo(json.dumps(summary.to_document(), indent=2, ensure_ascii=False, allow_nan=False))
    else:
        output().print(summary.render())
    if picture is not None:
        remarks().print(Text(f"picture: {picture}"))


@app.command("convert")
@spread_groups
def convert_(
    *,
    chosen: TraceOptions,
    cluster: ClusterOption,
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
    trace = chosen.read()
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


def _tell_remarks(console: Console, trace: Trace, left_out: dict[str, int]) -> None:
    for note in trace.notes:
        console.print(Text(f"assumed: {note}"))
    for reason, count in {**trace.left_out, **left_out}.items():
        console.print(Text(f"left out: jobs that {reason} ({count:,})"))
    if trace.bad.count:
        console.print(Text(f"bad rows: {trace.bad.count:,}, skipped; the first: {trace.bad.first[0]}"))


def add_to(main: typer.Typer) -> None:
    """Add these commands."""
    main.add_typer(app)
    main.command()(feasibility)
