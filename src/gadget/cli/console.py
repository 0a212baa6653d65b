"""Where the command line prints: results to standard output, remarks to standard error."""

import sys
from enum import StrEnum
from typing import Annotated

import typer
from rich.console import Console
from rich.table import Table
from rich.text import Text

from gadget.model.decision import Decision
from gadget.model.wording import say_count

# A pipe has no width; 80 columns would cut tables that are then searched for words.
_PIPE_WIDTH = 200


class Shown(StrEnum):
    """How numbers are printed."""

    TABLE = "table"
    JSON = "json"


ShownOption = Annotated[Shown, typer.Option("-o", "--output", help="Tables, or JSON for programs.")]


def output() -> Console:
    """For what was asked for."""
    return Console(width=None if sys.stdout.isatty() else _PIPE_WIDTH, highlight=False, soft_wrap=False)


def remarks() -> Console:
    """For what is said beside it."""
    return Console(stderr=True, width=None if sys.stderr.isatty() else _PIPE_WIDTH, highlight=False)


def table(title: str, *columns: str) -> Table:
    """A table in the house style; columns that start with '#' hold numbers."""
    made = Table(
        title=title, title_justify="left", title_style="bold", header_style="dim", box=None, pad_edge=False
    )
    for column in columns:
        made.add_column(column.removeprefix("#"), justify="right" if column.startswith("#") else "left")
    return made


def show_decision(console: Console, decision: Decision, *, most_rows: int = 60) -> None:
    """A decision for people: rings, waiting jobs, and what is proved."""
    rings = table(
        f"Slot {decision.slot}: {say_count(len(decision.allocation.rings), 'ring')}",
        "job",
        "#workers",
        "servers, in ring order",
    )
    for ring in decision.allocation.rings[:most_rows]:
        stops = " → ".join(f"{server} ×{count}" for server, count in ring.workers_by_server().items())
        rings.add_row(Text(ring.job), str(ring.size), Text(stops))
    console.print(rings)
    _show_rest(console, len(decision.allocation.rings) - most_rows)
    if decision.waiting:
        waiting = table(f"{len(decision.waiting)} waiting", "job", "reason", "detail")
        waiting.columns[1].no_wrap = True
        for one in decision.waiting[:most_rows]:
            waiting.add_row(Text(one.job), Text(one.reason), Text(one.detail))
        console.print()
        console.print(waiting)
        _show_rest(console, len(decision.waiting) - most_rows)
    surrogate = decision.surrogate
    if surrogate is not None:
        console.print()
        console.print(
            f"on the concave majorants of the utilities: {_proof(surrogate.objective, surrogate.upper_bound)}"
        )
    proof = _proof(decision.objective, decision.upper_bound)
    console.print()
    console.print(
        Text(f"{decision.policy}: {proof} ({decision.status}), "),
        Text(f"{decision.seconds:.3f} s"),
        sep="",
    )


def _proof(objective: float, bound: float | None) -> str:
    """An objective beside its bound, and by how much of the bound it may fall short of the best."""
    if bound is None:
        return f"objective {objective:.6g}, no bound"
    gap = f", gap {100 * (bound - objective) / bound:.3f}%" if 0 < bound > objective * (1 + 1e-9) else ""
    return f"objective {objective:.6g}, bound {bound:.6g}{gap}"


def _show_rest(console: Console, rows: int) -> None:
    if rows > 0:
        console.print(f"… and {rows} more; --json shows all")
