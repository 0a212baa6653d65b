"""Tables of a benchmark: a case, what it must reach, what was measured."""

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Row:
    """One line; `is_met` is None where nothing is asked for."""

    case: str
    must: str
    measured: str
    is_met: bool | None = None


def print_head(*heads: str) -> None:
    print_cells(heads)
    print_cells(["---"] * len(heads))


def print_cells(cells: Sequence[str]) -> None:
    """At once, so that a long run shows how far it is."""
    print("| " + " | ".join(cells) + " |", flush=True)


def print_row(row: Row) -> None:
    verdict = "" if row.is_met is None else "met" if row.is_met else "MISSED"
    print_cells((row.case, row.must, row.measured, verdict))
