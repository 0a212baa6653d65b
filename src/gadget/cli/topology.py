"""gadget topology: cluster descriptions of other systems, shown and converted."""

import json
from enum import StrEnum
from itertools import islice
from pathlib import Path
from typing import Annotated

import numpy as np
import typer
from rich.console import Console
from rich.text import Text

from gadget.cli.console import Shown, ShownOption, output, remarks, table
from gadget.cli.generate import draw_scenario, remark_written
from gadget.cli.option_groups import spread_groups
from gadget.cli.topology_options import TopologyOptions
from gadget.errors import BadFile, BadOption, InvalidValue
from gadget.files import STANDARD_STREAM, write_whole
from gadget.model.codec import format_json
from gadget.model.encoding import to_document
from gadget.model.snapshot import Scenario
from gadget.model.wording import say_count
from gadget.model.yaml_text import format_yaml
from gadget.topology.assumptions import build_cluster, list_assumed
from gadget.topology.formats import FORMATS
from gadget.topology.network import Topology
from gadget.topology.sketch import sketch
from gadget.topology.summary import Spread, Tier, count_kinds, describe_as_json, summarise_topology

MOST_LINES = 40
MOST_KINDS = 10

app = typer.Typer(
    name="topology",
    help="Read cluster descriptions of Slurm, Kubernetes, Volcano, Topograph, InfiniBand, Alibaba Lingjun.",
    epilog="Example:  gadget topology convert topology.conf --gbps 400 --gpus 8 --jobs 20 -o scenario.yaml",
    no_args_is_help=True,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"]},
)


class Target(StrEnum):
    """What a topology can be written as."""

    GADGET = "gadget"
    SLURM = "slurm"
    VOLCANO = "volcano"


@app.command()
@spread_groups
def show(
    *,
    chosen: TopologyOptions,
    shown: ShownOption = Shown.TABLE,
    picture: Annotated[
        Path | None, typer.Option(help="Draw the network into this file (.svg, .png or .pdf).")
    ] = None,
) -> None:
    """Sum up a cluster: servers, switches and links by tier, what is known and what is assumed, a sketch.

    Example:  gadget topology show topology.conf --gbps 1=400 --gbps 2=1600
    """
    file, topology = chosen.file, chosen.read()
    if picture is not None:
        from gadget.report.picture import draw_cluster  # noqa: PLC0415 - what draws takes a second to load

        draw_cluster(build_cluster(topology), picture, title=file.name)
    if shown is Shown.JSON:
        text = json.dumps(describe_as_json(topology), indent=2, ensure_ascii=False) + "\n"
        write_whole(STANDARD_STREAM, text.encode())
    else:
        _show(output(), topology)
    if picture is not None:
        remarks().print(Text(f"picture: {picture}"))


@app.command()
@spread_groups
def convert(
    *,
    chosen: TopologyOptions,
    to: Annotated[Target, typer.Option(help="What to write.")] = Target.GADGET,
    jobs: Annotated[
        int, typer.Option(min=0, max=1_000_000, help="How many random jobs, as gadget generate makes them.")
    ] = 0,
    max_workers: Annotated[
        int, typer.Option(min=1, max=100_000, help="Largest ring that a random job may ask for.")
    ] = 16,
    slots: Annotated[int, typer.Option(min=1, max=10_000_000, help="How many slots.")] = 200,
    seed: Annotated[int, typer.Option(min=0, help="Seed of the random jobs.")] = 0,
    save: Annotated[
        Path, typer.Option("-o", "--output", help="The file to write; - is standard output.")
    ] = STANDARD_STREAM,
) -> None:
    """Write a cluster as a scenario of GADGET, as Slurm's topology.conf or as Volcano's HyperNodes.

    Example:  gadget topology convert topo.csv --gbps 200 --gpus 8 --jobs 50 -o scenario.yaml
    """
    if jobs and to is not Target.GADGET:
        raise BadOption(f"--jobs {jobs}: {to} files hold no jobs. Leave it out, or write --to gadget.")
    file, topology = chosen.file, chosen.read()
    if to is Target.GADGET:
        rng = np.random.default_rng(seed)
        cluster = build_cluster(topology)
        scenario = draw_scenario(rng, cluster, jobs=jobs, slots=slots, max_workers=max_workers)
        _save_scenario(save, file, topology, scenario)
    else:
        _save_foreign(save, file, topology, to)
    for line in topology.remarks:
        remarks().print(Text(f"note: {line}"))
    for line in list_assumed(topology):
        remarks().print(Text(f"assumed: {line}"))


def _save_scenario(save: Path, file: Path, topology: Topology, scenario: Scenario) -> None:
    if save.suffix.lower() == ".json":
        text = format_json(scenario)
    else:
        told = [f"cluster from {file.name} ({FORMATS[topology.format].title})", *topology.remarks]
        comment = [*told, *(f"assumed: {line}" for line in list_assumed(topology))]
        text = "".join(f"# {line}\n" for line in map(_one_line, comment)) + format_yaml(to_document(scenario))
    write_whole(save, text.encode())
    remark_written(save, scenario)


def _one_line(text: str) -> str:
    return text if text.isprintable() else ascii(text)


def _save_foreign(save: Path, file: Path, topology: Topology, to: Target) -> None:
    write = FORMATS[to].write
    assert write is not None
    try:
        written = write(topology)
    except InvalidValue as error:
        raise BadFile(f"{file}: {error.problem}. {error.mend}.") from None
    write_whole(save, written.text.encode())
    if save != STANDARD_STREAM:
        counts = f"{say_count(len(topology.hosts), 'server')}, {say_count(len(topology.switches), 'switch')}"
        remarks().print(Text(f"written: {save} ({counts})"))
    for line in written.lost:
        remarks().print(Text(f"left out: {line}"))


def _show(console: Console, topology: Topology) -> None:
    summary = summarise_topology(topology)
    shape = "a tree" if summary.is_tree else "no tree"
    title = FORMATS[summary.format].title
    counts = f"{say_count(summary.servers, 'server')}, {say_count(summary.switches, 'switch')}"
    console.print(Text(f"{title}: {counts}, {shape}"))
    for line in summary.remarks:
        console.print(Text(f"note: {line}"))
    console.print()
    servers = table("Servers", "each has", "#servers")
    kinds = count_kinds(topology)
    for kind, count in kinds[:MOST_KINDS]:
        servers.add_row(Text(kind), f"{count:,}")
    if rest := kinds[MOST_KINDS:]:
        servers.add_row(say_count(len(rest), "other kind"), f"{sum(count for _, count in rest):,}")
    console.print(servers)
    gpus = summary.resources.get("gpu")
    console.print(Text(f"GPUs: {gpus.total:,.6g}" if gpus else "GPUs: not known; --gpus N fills them in"))
    console.print()
    columns = (
        "tier",
        "#switches",
        "#links below",
        "#Gbps",
        "#known",
        "#assumed",
        "#missing",
        "#oversubscription",
    )
    links = table("Switches and links by tier", *columns)
    for tier in summary.tiers:
        links.add_row(*_tier_row(topology, tier))
    console.print(links)
    for line in summary.assumed:
        console.print(Text(f"assumed: {line}"))
    console.print()
    lines = list(islice(sketch(topology), MOST_LINES + 1))
    for line in lines[:MOST_LINES]:
        console.print(Text(line), no_wrap=True, overflow="ellipsis")
    if len(lines) > MOST_LINES:
        console.print("… and more; -o json shows all")


def _tier_row(topology: Topology, tier: Tier) -> list[Text]:
    known = tier.links - tier.assumed - tier.missing
    cells = [
        topology.tier_name(tier.tier).removeprefix("tier "),
        f"{tier.switches:,}",
        f"{tier.links:,}",
        _shown(tier.gbps),
        f"{known:,}",
        f"{tier.assumed:,}",
        f"{tier.missing:,}",
        _shown(tier.oversubscription),
    ]
    return [Text(cell) for cell in cells]


def _shown(spread: Spread | None) -> str:
    if spread is None:
        return "–"
    return " … ".join(dict.fromkeys(f"{number:.4g}" for number in (spread.least, spread.median, spread.most)))
