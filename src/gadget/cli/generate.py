"""gadget generate: scenarios to start from."""

import inspect
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any, get_type_hints

import numpy as np
import typer
from rich.text import Text

from gadget.cli.console import remarks
from gadget.errors import BadOption
from gadget.files import STANDARD_STREAM
from gadget.model.builders import (
    build_fat_tree,
    build_leaf_spine,
    build_paper_cluster,
    build_ring4,
    build_torus,
)
from gadget.model.cluster import Cluster
from gadget.model.codec import write
from gadget.model.resources import Resources
from gadget.model.snapshot import DEFAULT_SLOT_SECONDS, Scenario
from gadget.model.wording import say_count
from gadget.workloads.arrivals import draw_profile_arrivals
from gadget.workloads.paper import BudgetUnit, UtilityFamily, build_paper_jobs

app = typer.Typer(
    name="generate",
    help="Make a scenario: a cluster and random jobs for it. Same seed, same bytes.",
    epilog="Example:  gadget generate paper --jobs 60 --seed 1 -o scenario.yaml",
    no_args_is_help=True,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"]},
)

Rng = np.random.Generator
Gpus = Annotated[int, typer.Option(min=1, max=1_000_000, help="GPUs of each server.")]
Gbps = Annotated[float, typer.Option(min=0, help="Gbps of each link, per direction.")]


def _save_scenario(
    *,
    jobs: Annotated[int, typer.Option(min=0, max=1_000_000, help="How many jobs.")],
    max_workers: Annotated[
        int, typer.Option(min=1, max=100_000, help="Largest ring that a job may ask for.")
    ],
    slots: Annotated[int, typer.Option(min=1, max=10_000_000, help="How many slots.")] = 200,
    utility: Annotated[UtilityFamily, typer.Option(help="The jobs' utility.")] = UtilityFamily.SIGMOID,
    budget: Annotated[BudgetUnit, typer.Option(help="How to read the paper's F.")] = BudgetUnit.WORKER_SLOTS,
    seed: Annotated[int, typer.Option(min=0, help="Seed of all that is random.")] = 0,
    output: Annotated[
        Path,
        typer.Option("-o", "--output", help="The file to write (.json, else YAML); - is standard output."),
    ] = STANDARD_STREAM,
    build: Callable[[Rng], Cluster],
) -> None:
    rng = np.random.default_rng(seed)
    cluster = build(rng)
    made = draw_scenario(
        rng, cluster, jobs=jobs, slots=slots, max_workers=max_workers, utility=utility, budget=budget
    )
    write(output, made)
    remark_written(output, made)


def draw_scenario(
    rng: Rng,
    cluster: Cluster,
    *,
    jobs: int,
    slots: int,
    max_workers: int,
    utility: UtilityFamily = UtilityFamily.SIGMOID,
    budget: BudgetUnit = BudgetUnit.WORKER_SLOTS,
) -> Scenario:
    """A cluster with random jobs, which arrive by the profile and are made as the paper's are."""
    arrivals = draw_profile_arrivals(rng, jobs, slots, DEFAULT_SLOT_SECONDS)
    made = build_paper_jobs(rng, arrivals, max_workers=max_workers, utility=utility, budget_unit=budget)
    return Scenario(cluster, made, slots)


def remark_written(path: Path, made: Scenario) -> None:
    """Tell what was written to a file."""
    if path != STANDARD_STREAM:
        told = ((len(made.cluster.servers), "server"), (len(made.jobs), "job"), (made.slots, "slot"))
        remarks().print(Text(f"written: {path} ({', '.join(say_count(*one) for one in told)})"))


def _kind(**defaults: int) -> Callable[[Callable[..., Cluster]], Callable[..., Cluster]]:
    """Make a command of a function that builds a cluster: its own options, then those of every scenario."""

    def register(build: Callable[..., Cluster]) -> Callable[..., Cluster]:
        own = [p for name, p in inspect.signature(build).parameters.items() if name != "rng"]
        common = [p for name, p in inspect.signature(_save_scenario).parameters.items() if name != "build"]
        common = [p.replace(default=defaults.get(p.name, p.default)) for p in common]

        def command(**options: Any) -> None:
            cluster_options = {parameter.name: options.pop(parameter.name) for parameter in own}
            _save_scenario(**options, build=lambda rng: build(rng, **cluster_options))

        keyword = inspect.Parameter.KEYWORD_ONLY
        command.__signature__ = inspect.Signature(  # type: ignore[attr-defined]  # what typer reads
            [p.replace(kind=keyword) for p in (*own, *common)]
        )
        command.__annotations__ = {
            **get_type_hints(build, include_extras=True),
            **get_type_hints(_save_scenario, include_extras=True),
        }
        command.__doc__ = build.__doc__
        app.command(build.__name__.replace("_", "-"))(command)
        return build

    return register


@_kind(jobs=60, max_workers=5)
def paper(
    rng: Rng,
    servers: Annotated[int, typer.Option(min=1, max=1_000_000, help="How many servers.")] = 50,
) -> Cluster:
    """The paper's experiment (Sec. VI): servers of 1 to 8 GPUs thrown into 2 to 5 racks.

    Example:  gadget generate paper --jobs 60 --seed 1 -o scenario.yaml
    """
    return build_paper_cluster(rng, servers=servers)


@_kind(jobs=20, max_workers=16)
def fat_tree(
    rng: Rng,  # noqa: ARG001 - nothing random here
    k: Annotated[int, typer.Option("-k", min=2, max=128, help="Ports of each switch, an even number.")] = 4,
    gpus: Gpus = 8,
    gbps: Gbps = 100,
) -> Cluster:
    """A k-ary fat-tree: k³/4 servers, several routes between any two pods.

    Example:  gadget generate fat-tree -k 4 --jobs 20 -o scenario.yaml
    """
    return build_fat_tree(k, resources=Resources({"gpu": gpus}), server_gbps=gbps, fabric_gbps=gbps)


@_kind(jobs=40, max_workers=16)
def leaf_spine(
    rng: Rng,  # noqa: ARG001 - nothing random here
    *,
    leaves: Annotated[int, typer.Option(min=1, help="Leaf switches.")] = 4,
    spines: Annotated[int, typer.Option(min=1, help="Spine switches; one makes it a tree.")] = 2,
    servers_per_leaf: Annotated[int, typer.Option(min=1, help="Servers under each leaf.")] = 8,
    gpus: Gpus = 8,
    gbps: Gbps = 100,
    uplink_gbps: Annotated[float, typer.Option(min=0, help="Gbps from each leaf to each spine.")] = 400,
) -> Cluster:
    """Leaf switches with their servers, each joined to every spine.

    Example:  gadget generate leaf-spine --leaves 4 --spines 2 --servers-per-leaf 8 -o scenario.yaml
    """
    resources = Resources({"gpu": gpus})
    return build_leaf_spine(
        leaves, spines, servers_per_leaf, resources=resources, server_gbps=gbps, uplink_gbps=uplink_gbps
    )


@_kind(jobs=20, max_workers=16)
def torus(
    rng: Rng,  # noqa: ARG001 - nothing random here
    dims: Annotated[str, typer.Option(help="Lengths of the grid, as in 4x4 or 4x4x2.")] = "4x4",
    gpus: Gpus = 8,
    gbps: Gbps = 100,
) -> Cluster:
    """Servers on a grid, joined to their neighbours, ends of rows joined too; no switches.

    Example:  gadget generate torus --dims 4x4 --jobs 20 -o scenario.yaml
    """
    try:
        lengths = [int(length) for length in dims.lower().split("x")]
    except ValueError:
        raise BadOption(f"--dims {dims}: lengths are whole numbers joined by x. Write 4x4, say.") from None
    return build_torus(lengths, resources=Resources({"gpu": gpus}), gbps=gbps)


@_kind(jobs=4, max_workers=5)
def ring4(
    rng: Rng,  # noqa: ARG001 - nothing random here
    gpus: Gpus = 2,
    gbps: Gbps = 100,
) -> Cluster:
    """The four servers of the paper's figure on placement, cabled in a circle.

    Example:  gadget generate ring4 --gpus 2 --jobs 4 -o scenario.yaml
    """
    return build_ring4(resources=Resources({"gpu": gpus}), gbps=gbps)
