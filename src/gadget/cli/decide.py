"""Commands that decide: solve, preview."""

from itertools import islice
from pathlib import Path
from typing import Annotated

import typer
from rich.text import Text

from gadget.cli.console import output, remarks, show_decision
from gadget.cli.reading import SlotOption, read_shown
from gadget.errors import BadOption
from gadget.files import write_whole
from gadget.model.codec import format_json, read_scenario, write
from gadget.model.decision import Decision
from gadget.model.snapshot import Snapshot
from gadget.model.wording import say_count
from gadget.policies.policy import ask
from gadget.policies.registry import DEFAULT_POLICY, POLICIES, build_policy
from gadget.policies.ring_placement import Placer
from gadget.simulate.loop import run_slots
from gadget.solve.exact import Solver

PolicyOption = Annotated[
    str,
    typer.Option(help=f"Who decides: {', '.join(POLICIES)}; options as in fifo:workers=2,backfill=true."),
]
SeedOption = Annotated[int, typer.Option(min=0, help="Same input and seed, same decision.")]
PlacementOption = Annotated[
    Placer | None,
    typer.Option(
        help="Who places the jobs that a policy has chosen, where it does not optimise: the greedy placement "
        "common to all, or the ring solver of gadget."
    ),
]
PictureOption = Annotated[
    Path | None, typer.Option(help="Draw the cluster with its rings into this file (.svg, .png or .pdf).")
]


def solve(
    snapshot: Annotated[Path, typer.Argument(help="A snapshot file, JSON or YAML; - is standard input.")],
    *,
    policy: PolicyOption = DEFAULT_POLICY,
    seed: SeedOption = 0,
    time_limit: Annotated[
        float | None,
        typer.Option(
            min=0,
            help="Seconds that gadget and optimal may search; gadget uses them all unless its gap closes. "
            "Without a limit it ends by its own effort, and the same input gives the same decision.",
        ),
    ] = None,
    gap: Annotated[
        float | None,
        typer.Option(
            min=0,
            help="Relative gap at which gadget and optimal end. Default: 0.0005 for gadget, 0.01 where the "
            "slot is large; 0 for optimal.",
        ),
    ] = None,
    solver: Annotated[
        Solver | None,
        typer.Option(help="Who solves integer programs; auto: Gurobi where it may, HiGHS otherwise."),
    ] = None,
    placement: PlacementOption = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print the decision as JSON.")] = False,
    slot: SlotOption = None,
    save: Annotated[
        Path | None, typer.Option("-o", "--output", help="Write the decision to this file as well.")
    ] = None,
    picture: PictureOption = None,
) -> None:
    """Decide one slot: which jobs get rings, of how many workers, on which servers, over which links.

    Example:  gadget solve snapshot.json --policy fifo --json > decision.json
    """
    if save is not None and save == picture:
        raise BadOption(f"{save}: is named for the decision and for the picture. Name two files.")
    decider = build_policy(policy, time_limit=time_limit, gap=gap, solver=solver, placement=placement)
    shown = read_shown(snapshot, slot)
    decision = ask(decider, shown, seed)
    if save is not None:
        write(save, decision)
    if picture is not None:
        draw_slot(shown, decision, picture)
    if as_json:
        write_whole(Path("-"), format_json(decision).encode())
    else:
        show_decision(output(), decision)
    for path in (save, picture):
        if path is not None:
            remarks().print(Text(f"written: {path}"))


def draw_slot(shown: Snapshot, decision: Decision, path: Path) -> None:
    """Draw a slot with its rings."""
    from gadget.report.picture import draw_cluster  # noqa: PLC0415 - what draws takes a second to load

    title = f"Slot {decision.slot}, {decision.policy}"
    jobs = [active.job for active in shown.jobs]
    draw_cluster(shown.cluster, path, allocation=decision.allocation, jobs=jobs, title=title)


def preview(
    scenario: Annotated[Path, typer.Argument(help="A scenario file, JSON or YAML; - is standard input.")],
    slots: Annotated[
        int, typer.Option(min=1, help="How many slots to decide, from the first arrival on.")
    ] = 3,
    policy: PolicyOption = DEFAULT_POLICY,
    seed: SeedOption = 0,
    picture: PictureOption = None,
) -> None:
    """Decide the first slots of a scenario and show their rings, as tables and as a picture of the last.

    Example:  gadget preview scenario.yaml --slots 3 --picture rings.svg
    """
    found = read_scenario(scenario)
    decider = build_policy(policy)
    first = min((job.arrival for job in found.jobs), default=0)
    console = output()
    last = None
    for step in islice(run_slots(found, decider, seed=seed), first, first + slots):
        show_decision(console, step.decision)
        console.print()
        last = step.snapshot, step.decision
    if last is None:
        raise BadOption(
            f"{scenario}: no job arrives within its {say_count(found.slots, 'slot')}. "
            "Raise slots or lower arrivals."
        )
    if picture is not None:
        shown, decision = last
        draw_slot(shown, decision, picture)
        remarks().print(Text(f"picture: {picture}"))


def add_to(app: typer.Typer) -> None:
    """Add these commands."""
    for command in (solve, preview):
        app.command()(command)
