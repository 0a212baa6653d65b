"""What commands that run simulations share: seeds, networks, restarts, processes."""

import os
from typing import Annotated

import typer
from rich.text import Text

from gadget.cli.console import remarks
from gadget.errors import BadOption
from gadget.model.snapshot import Scenario
from gadget.report.feasibility import say_load, say_never
from gadget.simulate.network import NetworkMode
from gadget.workloads.feasibility import assess

MOST_SEEDS = 10_000

NetworkOption = Annotated[
    NetworkMode,
    typer.Option(
        help="reserved: bandwidth is held for every ring, as in the paper; shared: nothing is held, "
        "rings share links max-min fairly and run at the rate that their share allows."
    ),
]
RestartOption = Annotated[
    float | None,
    typer.Option(
        min=0,
        help="Time that a restart takes of jobs that do not say it. Default: 8, a usual figure for PyTorch, "
        "for jobs with a total of `work`, and 0 for others.",
    ),
]
SeedsOption = Annotated[
    str | None, typer.Option(help="Seeds: 0:3 is 0, 1 and 2; 1,5,9 is these three. Default: 0.")
]
SeedOption = Annotated[
    list[int] | None, typer.Option(min=0, help="One seed; give it several times for more.")
]


def read_seeds(span: str | None, single: list[int] | None) -> list[int]:
    """The seeds of `--seeds` (0:3 or 1,5,9) or of every `--seed`; 0 where neither is given."""
    if span is None:
        return single or [0]
    if single:
        raise BadOption("--seeds and --seed are both given. Give one of them.")
    try:
        if ":" in span:
            first, last = (int(number) for number in span.split(":"))
            numbers = list(range(first, min(last, first + MOST_SEEDS + 1)))
        else:
            numbers = [int(number) for number in span.split(",")]
    except ValueError:
        raise BadOption(f"--seeds {span}: is not understood. Write 0:3 or 1,5,9, say.") from None
    if not numbers or len(numbers) > MOST_SEEDS:
        count = f"more than {MOST_SEEDS:,}" if numbers else "no"
        raise BadOption(f"--seeds {span}: stands for {count} seeds. Name 1 to {MOST_SEEDS:,}.")
    if min(numbers) < 0:
        raise BadOption(f"--seeds {span}: {min(numbers)} is below 0. Name seeds from 0 on.")
    return numbers


def tell_load(scenario: Scenario, name: str) -> None:
    """Say before a run what it asks for against what there is, and whether some jobs can never run."""
    found = assess(scenario)
    for line in (say_load(found)[0], *say_never(found)):
        remarks().print(Text(f"{name}: {line}"))


def count_cores() -> int:
    """The cores that this process may use."""
    return len(os.sched_getaffinity(0))
