"""What commands that read a cluster description share: its file and format, and what is assumed."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer

from gadget.errors import BadOption
from gadget.topology.assumptions import Assumptions, fill_in
from gadget.topology.formats import FORMATS, read_topology
from gadget.topology.kubernetes import PRESETS
from gadget.topology.network import Topology
from gadget.topology.options import ReadOptions


@dataclass(frozen=True)
class TopologyOptions:
    """Options of every command that reads a cluster description."""

    file: Annotated[Path, typer.Argument(help="The description of a cluster; - is standard input.")]
    form: Annotated[
        str | None, typer.Option("--format", help=f"Its format, if not by its content: {', '.join(FORMATS)}.")
    ] = None
    level: Annotated[
        list[str] | None,
        typer.Option(
            help="Kubernetes: a node label, topmost first, once for each level; or one of "
            f"{', '.join(PRESETS)}."
        ),
    ] = None
    nodes: Annotated[
        Path | None,
        typer.Option(help="Volcano: nodes for patterns and labels, from kubectl get nodes -o json."),
    ] = None
    name: Annotated[
        str | None, typer.Option("--topology", help="Slurm's topology.yaml: which of its topologies.")
    ] = None
    join: Annotated[
        str | None, typer.Option(help="Put a switch of this name above parts that the file leaves apart.")
    ] = None
    gbps: Annotated[
        list[str] | None,
        typer.Option(
            metavar="[TIER=]GBPS",
            help="Bandwidth of each link up to a tier (its number or name), or of all, where the file has "
            "none.",
        ),
    ] = None
    gpus: Annotated[
        int | None, typer.Option(min=0, max=1_000_000, help="GPUs of each server that does not tell its own.")
    ] = None
    resource: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME=AMOUNT", help="Amount of a resource of each server that does not tell it."
        ),
    ] = None

    def read(self) -> Topology:
        """The topology, its gaps filled with what is assumed."""
        options = ReadOptions(tuple(self.level or ()), self.nodes, self.name, self.join)
        assumptions = parse_assumptions(self.gbps, self.gpus, self.resource)
        return fill_in(read_topology(self.file, options, form=self.form), assumptions)


def parse_assumptions(gbps: list[str] | None, gpus: int | None, resource: list[str] | None) -> Assumptions:
    """What --gbps, --gpus and --resource say."""
    by_tier: dict[str, float] = {}
    other: float | None = None
    for text in gbps or ():
        tier, equals, amount = text.rpartition("=")
        if not equals:
            if other is not None:
                raise BadOption(f"--gbps {text}: a bandwidth for all links is given twice. Keep one.")
            other = _parse_number("--gbps", text, amount)
        elif not tier or tier in by_tier:
            raise BadOption(
                f"--gbps {text}: names no tier, or one again. Write --gbps 1=400, each tier once."
            )
        else:
            by_tier[tier] = _parse_number("--gbps", text, amount)
    amounts: dict[str, float] = {} if gpus is None else {"gpu": gpus}
    for text in resource or ():
        name, equals, amount = text.rpartition("=")
        if not name or name in amounts:
            raise BadOption(
                f"--resource {text}: names no resource, or one again. Write --resource cpu=64, once."
            )
        amounts[name] = _parse_number("--resource", text, amount)
    return Assumptions(by_tier, other, amounts)


def _parse_number(option: str, text: str, amount: str) -> float:
    try:
        number = float(amount)
    except ValueError:
        raise BadOption(f"{option} {text}: {amount!r} is no number. Give one.") from None
    return int(number) if number.is_integer() else number
