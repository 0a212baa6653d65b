"""What commands that run simulations share: seeds, networks, restarts, processes."""

import os
from typing import Annotated

import typer

from gadget.errors import BadOption
from gadget.simulate.network import NetworkMode

MOST_SEEDS = 10_000

NetworkOption = Annotated[
    NetworkMode,
    typer.Option(
        help="reserved: bandwidth is held for every ring, as in the paper; shared: nothing is held, "
        "rings share links max-min fairly and run at the rate that their share allows."
    ),
]
RestartOption = Annotated[
    float,
    typer.Option(min=0, help="Time that a restart takes of jobs that do not say it; 8 is usual for PyTorch."),
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
    if not numbers or min(numbers) < 0 or len(numbers) > MOST_SEEDS:
        raise BadOption(
            f"--seeds {span}: stands for {len(numbers)} seeds. Name 1 to {MOST_SEEDS:,}, none below 0."
        )
    return numbers


def count_cores() -> int:
    """The cores that this process may use."""
    return len(os.sched_getaffinity(0))
