"""What a command is to look at: a snapshot, or a slot of a scenario."""

from pathlib import Path
from typing import Annotated

import typer

from gadget.errors import BadOption
from gadget.model.codec import read_scenario, read_snapshot
from gadget.model.snapshot import Snapshot

SlotOption = Annotated[
    int | None,
    typer.Option(min=0, help="Take a scenario instead, as it is in this slot with nothing served."),
]


def read_shown(path: Path, slot: int | None) -> Snapshot:
    """The snapshot in a file, or the given slot of the scenario in it."""
    if slot is None:
        return read_snapshot(path)
    scenario = read_scenario(path)
    if slot >= scenario.slots:
        raise BadOption(f"--slot {slot}: {path} has slots 0 … {scenario.slots - 1}. Choose one of them.")
    return scenario.snapshot(slot)
