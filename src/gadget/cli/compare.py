"""gadget compare: many scenarios, policies and seeds at a time, and one report."""

from pathlib import Path
from typing import Annotated

import typer
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
from gadget.experiments.compare import REPORT, Grid, GridFolder, open_grid, read_grid
from gadget.experiments.compare_numbers import Comparison, read_comparison, write_comparison
from gadget.files import write_whole
from gadget.model.wording import say_count
from gadget.policies.registry import POLICIES, add_options
from gadget.report.comparison.page import Showing, build_page
from gadget.report.simulation.numbers import NOTHING, figure, percent, ratio
from gadget.report.simulation.page import build_page as build_scenario_page
from gadget.report.simulation.progress import show_progress
from gadget.simulate.network import NetworkMode
from gadget.simulate.sweep import run_sweep

_SHOWN = (
    ("utility", "total_utility", figure),
    ("/ bound", "measured_ratio", ratio),
    ("completion", "mean_completion_slots", figure),
    ("waiting", "mean_waiting_slots", figure),
    ("fairness", "jain_index", ratio),
    ("gpu", "utilisation_gpu", percent),
    ("fragments", "fragmentation", percent),
    ("cross-rack", "cross_rack_share", percent),
    ("restarts", "restarts", figure),
    ("s / slot", "seconds_per_slot", figure),
)


def compare(
    scenarios: Annotated[list[Path], typer.Argument(help="Scenario files, JSON or YAML.")],
    *,
    output: Annotated[Path, typer.Option("-o", "--output", help="The folder for the results.")],
    policy: Annotated[
        list[str],
        typer.Option(
            help=f"Who decides: {', '.join(POLICIES)}; options as in fifo:workers=2. Give it several times. "
            "The first is what others are related to over several scenarios."
        ),
    ],
    seeds: SeedsOption = None,
    seed: SeedOption = None,
    placement: PlacementOption = None,
    slots: Annotated[int | None, typer.Option(min=1, help="Only the first slots of each scenario.")] = None,
    processes: Annotated[
        int | None,
        typer.Option(
            "--processes",
            "--jobs",
            "-j",
            min=0,
            help="Runs at a time, each in a process of its own; 0: one by one in this. Default: the cores.",
        ),
    ] = None,
    network: NetworkOption = NetworkMode.RESERVED,
    restart_seconds: RestartOption = None,
    gantt_seed: Annotated[
        int | None, typer.Option(min=0, help="Whose rings the charts show. Default: the first seed.")
    ] = None,
    gantt_servers: Annotated[
        int, typer.Option(min=0, help="Servers in a chart at most, the busiest; 0: no charts.")
    ] = 16,
    resume: Annotated[bool, typer.Option("--resume", help="Go on with what the folder holds.")] = False,
    force: Annotated[bool, typer.Option("--force", help="Replace what the folder holds.")] = False,
) -> None:
    """Run every policy with every seed on every scenario: one report, with confidence intervals.

    Leaves comparison.json, comparison.csv and report.html, and for each scenario a folder with the files of
    gadget simulate. Ctrl-C leaves what was done so far; --resume goes on from there, and draws the report
    anew.

    Example:  gadget compare a.yaml b.yaml --policy gadget --policy fifo --seeds 0:5 -o comparison
    """
    if resume and force:
        raise BadOption("--resume keeps what the folder holds, --force throws it away. Give one of them.")
    numbers = read_seeds(seeds, seed)
    if gantt_seed is not None and gantt_seed not in numbers:
        raise BadOption(f"--gantt-seed {gantt_seed}: is none of the seeds. Name one of them.")
    labels = [add_options(label, placement=placement) for label in policy]
    grid = read_grid(
        scenarios, labels, numbers, slots=slots, network=network, restart_seconds=restart_seconds
    )
    showing = Showing(numbers[0] if gantt_seed is None else gantt_seed, gantt_servers)
    with open_grid(output, grid, resume=resume, force=force) as folder:
        if folder.tasks:
            for one in grid.scenarios:
                tell_load(one.scenario, one.name)
        signal = _run(folder, count_cores() if processes is None else processes)
        comparison = _report(output, grid, showing)
    remarks().print(Text(f"written: {output / REPORT} and the files beside it"))
    if not comparison.complete:
        remarks().print(Text("interrupted: the results are partial. --resume goes on from here."))
    if signal is not None:
        raise typer.Exit(128 + signal)


def _run(folder: GridFolder, processes: int) -> int | None:
    """Do what is left of the grid; the signal that broke it off, if one did."""
    if not folder.tasks:
        remarks().print(Text(f"{folder.path}: all runs are complete; the report is drawn anew."))
        return None
    try:
        with show_progress(remarks(), len(folder.tasks)) as tell:
            sweep = run_sweep(
                folder.tasks, processes=min(processes, len(folder.tasks)), on_progress=folder.naming(tell)
            )
    except BrokenConstraint as error:
        remarks().print(Text(f"error: {error}"), soft_wrap=True)
        raise typer.Exit(1) from None
    folder.write(sweep.runs, build_scenario_page)
    return sweep.signal


def _report(path: Path, grid: Grid, showing: Showing) -> Comparison:
    comparison = read_comparison(path)
    write_comparison(path, comparison)
    write_whole(path / REPORT, build_page(path, grid, comparison, showing).encode())
    for one in comparison.scenarios:
        partial = "" if one.complete else ", partial"
        made = table(
            f"{one.name}: {say_count(one.slots, 'slot')} on {say_count(one.servers, 'server')}{partial}",
            "policy",
            *(f"#{title}" for title, _, _ in _SHOWN),
        )
        for label, numbers in one.policies.items():
            means = [(numbers[name].mean if name in numbers else None, write) for _, name, write in _SHOWN]
            made.add_row(Text(label), *(NOTHING if mean is None else write(mean) for mean, write in means))
        standard_output().print(made)
    return comparison


def add_to(app: typer.Typer) -> None:
    """Add this command."""
    app.command()(compare)
