"""Commands that look at files: show, check, schema."""

import json
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer
from rich.text import Text

from gadget.cli.console import output, remarks
from gadget.cli.reading import SlotOption, read_shown
from gadget.model.claims import find_false_claims
from gadget.model.codec import read_decision, read_scenario
from gadget.model.documents import build_schema
from gadget.model.referee import find_violations
from gadget.model.wording import say_count


class Kind(StrEnum):
    """The kinds of files."""

    SCENARIO = "scenario"
    SNAPSHOT = "snapshot"
    DECISION = "decision"
    JOBS = "jobs"
    PROFILES = "profiles"


def show(
    scenario: Annotated[Path, typer.Argument(help="A scenario file, JSON or YAML; - is standard input.")],
    picture: Annotated[
        Path | None, typer.Option(help="Draw the topology into this file (.svg, .png or .pdf).")
    ] = None,
) -> None:
    """Sum up a scenario for people: servers, link tiers, oversubscription, load by job.

    Example:  gadget show scenario.yaml --picture cluster.svg
    """
    from gadget.report.picture import draw_cluster  # noqa: PLC0415 - what draws takes a second to load
    from gadget.report.summary import summarise  # noqa: PLC0415 - it draws on the above

    found = read_scenario(scenario)
    if picture is not None:
        draw_cluster(found.cluster, picture, title=scenario.name)
    output().print(summarise(found).render())
    if picture is not None:
        remarks().print(Text(f"picture: {picture}"))


def check(
    snapshot: Annotated[Path, typer.Argument(help="The snapshot that was decided on.")],
    decision: Annotated[Path, typer.Argument(help="The decision to judge; - is standard input.")],
    slot: SlotOption = None,
) -> None:
    """Let the referee judge a decision: print every violated constraint, and exit with 1 if there is one.

    Example:  gadget check snapshot.json decision.json
    """
    shown, judged = read_shown(snapshot, slot), read_decision(decision)
    violations = find_violations(shown, judged.allocation) + find_false_claims(shown, judged)
    console = output()
    for violation in violations:
        console.print(Text(f"violated: {violation}"))
    if violations:
        raise typer.Exit(1)
    objective = shown.objective(judged.allocation)
    bound = judged.upper_bound
    claimed = "" if bound is None else f"; a bound of {bound:.6g} is claimed, not verified"
    console.print(
        f"feasible: {say_count(len(judged.allocation.rings), 'ring')}, objective {objective:.6g}{claimed}"
    )


def schema(
    kind: Annotated[Kind, typer.Argument(help="The kind of file.")],
) -> None:
    """Print the JSON Schema of a kind of file.

    Example:  gadget schema scenario > scenario.schema.json
    """
    typer.echo(json.dumps(build_schema(kind), indent=2, ensure_ascii=False))


def add_to(app: typer.Typer) -> None:
    """Add these commands."""
    for command in (show, check, schema):
        app.command()(command)
