"""gadget simulate: whole horizons, several policies and seeds at a time."""

from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.text import Text

from gadget.cli.console import output as standard_output
from gadget.cli.console import remarks, table
from gadget.cli.decide import PlacementOption
from gadget.cli.runs import (
    NetworkOption,
    RestartOption,
    SeedOption,
    SeedsOption,
    count_cores,
    read_seeds,
    tell_load,
)
from gadget.errors import BadOption, BrokenConstraint
from gadget.model.codec import read_scenario
from gadget.model.wording import say_count
from gadget.policies.registry import DEFAULT_POLICY, POLICIES, add_options
from gadget.report.simulation.numbers import find_metrics
from gadget.report.simulation.page import build_page
from gadget.report.simulation.progress import show_progress
from gadget.simulate.folder import REPORT, ResultFolder, Setting, find_part, open_folder
from gadget.simulate.network import NetworkMode
from gadget.simulate.result import SimulationResult
from gadget.simulate.simulation import build_tasks, conclude, cut, slow_restarts
from gadget.simulate.sweep import Task, run_sweep


def simulate(
    scenario: Annotated[Path, typer.Argument(help="A scenario file, JSON or YAML; - is standard input.")],
    *,
    output: Annotated[Path, typer.Option("-o", "--output", help="The folder for the results.")],
    policy: Annotated[
        list[str] | None,
        typer.Option(
            help=f"Who decides: {', '.join(POLICIES)}; options as in fifo:workers=2. Give it several times "
            f"to compare. Default: {DEFAULT_POLICY}."
        ),
    ] = None,
    seeds: SeedsOption = None,
    seed: SeedOption = None,
    placement: PlacementOption = None,
    slots: Annotated[int | None, typer.Option(min=1, help="Only the first slots of the scenario.")] = None,
    processes: Annotated[
        int | None,
        typer.Option(
            min=0,
            help="Runs at a time, each in a process of its own; 0: one by one in this. Default: the cores.",
        ),
    ] = None,
    network: NetworkOption = NetworkMode.RESERVED,
    restart_seconds: RestartOption = None,
    resume: Annotated[bool, typer.Option("--resume", help="Go on with what the folder holds.")] = False,
    force: Annotated[bool, typer.Option("--force", help="Replace what the folder holds.")] = False,
) -> None:
    """Run whole horizons and compare policies: numbers, every decision, and a report with pictures.

    Leaves summary.json, slots.csv, jobs.csv, decisions.jsonl and report.html in the folder. Ctrl-C leaves
    what was done so far, marked as partial; --resume goes on from there.

    Example:  gadget simulate scenario.yaml --policy gadget --policy fifo --seeds 0:3 -o results
    """
    if resume and force:
        raise BadOption("--resume keeps what the folder holds, --force throws it away. Give one of them.")
    found = slow_restarts(cut(read_scenario(scenario), slots), restart_seconds)
    labels = [add_options(label, placement=placement) for label in policy or [DEFAULT_POLICY]]
    numbers = read_seeds(seeds, seed)
    tasks = build_tasks(
        found, labels, numbers, network=network, find_part=lambda place, n: find_part(output, place, n)
    )
    setting = Setting.of(found, labels, numbers, network)
    with open_folder(output, setting, resume=resume, force=force) as folder:
        if folder.is_complete:
            remarks().print(Text(f"{output}: is complete, nothing is left to do. Start over with --force."))
            return
        tell_load(found, scenario.name)
        _run(tasks, folder, count_cores() if processes is None else processes, scenario.name)


def _run(tasks: list[Task], folder: ResultFolder, processes: int, title: str) -> None:
    try:
        with show_progress(remarks(), len(tasks)) as on_progress:
            sweep = run_sweep(tasks, processes=min(processes, len(tasks)), on_progress=on_progress)
    except BrokenConstraint as error:
        remarks().print(Text(f"error: {error}"), soft_wrap=True)
        raise typer.Exit(1) from None
    result = conclude(tasks[0].scenario, sweep.runs, tasks[0].network)
    folder.write(result, build_page(result, title))
    _show(standard_output(), result)
    remarks().print(Text(f"written: {folder.path / REPORT} and the files beside it"))
    if not result.complete:
        remarks().print(Text("interrupted: the results are partial. --resume goes on from here."))
    if sweep.signal is not None:
        raise typer.Exit(128 + sweep.signal)


def _show(console: Console, result: SimulationResult) -> None:
    partial = "" if result.complete else ", partial"
    made = table(
        f"{say_count(result.horizon, 'slot')} on {say_count(result.servers, 'server')}{partial}",
        "",
        *(f"#{p}" for p in result.summaries),
    )
    for metric in find_metrics(result):
        made.add_row(metric.title, *(Text(metric.show(summary)) for summary in result.summaries.values()))
    console.print(made)


def add_to(app: typer.Typer) -> None:
    """Add this command."""
    app.command()(simulate)
