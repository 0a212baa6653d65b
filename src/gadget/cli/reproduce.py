"""gadget reproduce: the paper's experiment in one command."""

from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)
from rich.text import Text

from gadget.cli.console import output, remarks, table
from gadget.errors import BadOption
from gadget.experiments.run import read_arrivals, run_experiment
from gadget.experiments.settings import Settings, quick
from gadget.report.reproduction.verdicts import find_verdicts


def reproduce(
    folder: Annotated[
        Path, typer.Option("-o", "--output", help="The folder for figures, data and report.")
    ] = Path("out/reproduce"),
    *,
    jobs: Annotated[
        str | None, typer.Option(help="Numbers of jobs of the first figure, as in 50,100,200.")
    ] = None,
    trials: Annotated[int | None, typer.Option(min=1, help="Trials of each point.")] = None,
    slots: Annotated[int | None, typer.Option(min=1, help="Slots of each run.")] = None,
    rounds: Annotated[int | None, typer.Option(min=1, help="u_b: roundings of Algorithm 2 at most.")] = None,
    is_quick: Annotated[
        bool, typer.Option("--quick", help="A small version: two minutes on two cores.")
    ] = False,
    unclipped: Annotated[
        bool, typer.Option("--unclipped", help="Raise every N to the number of workers that baselines draw.")
    ] = False,
    seed: Annotated[int, typer.Option(min=0, help="Seed of all that is random.")] = 0,
    resume: Annotated[
        bool, typer.Option("--resume", help="Go on where an earlier run was broken off.")
    ] = False,
    force: Annotated[
        bool, typer.Option("--force", help="Start anew in a folder that holds results.")
    ] = False,
    processes: Annotated[int | None, typer.Option(min=1, help="Processes; default: one a core.")] = None,
) -> None:
    """Measure the paper's four figures: CSV, PNG and SVG of each, and a report beside the paper's claims.

    Arrivals come from Google's trace where it is found (GADGET_TRACES, or ../shared/traces). Ctrl-C keeps
    what was measured; --resume goes on.

    Example:  gadget reproduce --quick -o out/reproduce
    """
    if resume and force:
        raise BadOption("--resume keeps what the folder holds, --force throws it away. Give one of them.")
    settings = quick(Settings()) if is_quick else Settings()
    given = {"trials": trials, "slots": slots, "rounds": rounds, "jobs": _read_jobs(jobs)}
    chosen = {key: value for key, value in given.items() if value is not None}
    settings = replace(settings, seed=seed, clipped=not unclipped, **chosen)  # type: ignore[arg-type]  # each under its own name
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=remarks()) as bar:
        task = bar.add_task("points", total=None)

        def tell(done: int, of: int) -> None:
            bar.update(task, completed=done, total=of)

        measured = run_experiment(
            settings, folder, resume=resume, force=force, processes=processes, progress=tell
        )
    from gadget.report.reproduction.page import write_report  # noqa: PLC0415 - what draws takes a second to load

    path = write_report(folder, settings, measured, read_arrivals(folder))
    verdicts = table("The paper's claims", "claim", "measured", "verdict")
    for one in find_verdicts(measured):
        verdicts.add_row(
            Text(one.claim), Text(one.measured), Text(f"{one.answer}: {one.why}" if one.why else one.answer)
        )
    output().print(verdicts)
    output().print(Text(f"\nreport: {path}"))


def _read_jobs(text: str | None) -> tuple[int, ...] | None:
    if text is None:
        return None
    try:
        return tuple(int(number) for number in text.split(","))
    except ValueError:
        raise BadOption(f"--jobs {text}: numbers are joined by commas. Write 50,100,200, say.") from None


def add_to(app: typer.Typer) -> None:
    """Add this command."""
    app.command()(reproduce)
