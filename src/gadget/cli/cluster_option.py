"""--cluster: a file that holds a cluster, or a shape that is built here."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer

from gadget.errors import BadOption, InvalidValue
from gadget.model.builders import (
    build_fat_tree,
    build_leaf_spine,
    build_paper_cluster,
    build_ring4,
    build_torus,
)
from gadget.model.cluster import Cluster
from gadget.model.codec import read_cluster
from gadget.model.names import nearest_hint
from gadget.model.resources import Resources

ClusterOption = Annotated[
    str,
    typer.Option(
        help="A file with a cluster (its own keys, or a scenario or snapshot), or a shape: paper, fat-tree, "
        "leaf-spine, torus, ring4, with options as in leaf-spine:leaves=4,spines=2,gpus=8."
    ),
]

Options = dict[str, Any]
SHAPES: Mapping[str, tuple[Callable[[Options], Cluster], Options]] = {
    "paper": (
        lambda o: build_paper_cluster(np.random.default_rng(o["seed"]), servers=o["servers"]),
        {"servers": 50, "seed": 0},
    ),
    "fat-tree": (
        lambda o: build_fat_tree(o["k"], resources=_gpus(o), server_gbps=o["gbps"], fabric_gbps=o["gbps"]),
        {"k": 4, "gpus": 8, "gbps": 100.0},
    ),
    "leaf-spine": (
        lambda o: build_leaf_spine(
            o["leaves"],
            o["spines"],
            o["servers"],
            resources=_gpus(o),
            server_gbps=o["gbps"],
            uplink_gbps=o["uplink_gbps"],
        ),
        {"leaves": 4, "spines": 2, "servers": 8, "gpus": 8, "gbps": 100.0, "uplink_gbps": 400.0},
    ),
    "torus": (
        lambda o: build_torus(_lengths(o["dims"]), resources=_gpus(o), gbps=o["gbps"]),
        {"dims": "4x4", "gpus": 8, "gbps": 100.0},
    ),
    "ring4": (
        lambda o: build_ring4(resources=_gpus(o), gbps=o["gbps"]),
        {"gpus": 2, "gbps": 100.0},
    ),
}


def read_cluster_option(text: str) -> Cluster:
    """The cluster that --cluster names: a shape where it is one and no file has that name."""
    name, _, given = text.partition(":")
    is_there = _is_there(Path(text))
    if name not in SHAPES or is_there:
        if not is_there and (hint := nearest_hint(name, SHAPES)):
            raise BadOption(f"--cluster {text}: is no file, nor a shape{hint}. Shapes: {', '.join(SHAPES)}.")
        return read_cluster(Path(text))
    build, options = SHAPES[name]
    chosen = dict(options)
    for part in filter(None, given.split(",")):
        key, equals, value = part.partition("=")
        if key not in options or not equals:
            raise BadOption(
                f"--cluster {text}: {part!r} is no option of {name}{nearest_hint(key, options)}. "
                f"Known: {', '.join(options)}; write leaves=4, say."
            )
        try:
            chosen[key] = type(options[key])(value)
        except ValueError:
            raise BadOption(f"--cluster {text}: {key} is {value!r}, no number. Give a number.") from None
    try:
        return build(chosen)
    except InvalidValue as error:
        raise BadOption(f"--cluster {text}: {error}") from None


def _is_there(path: Path) -> bool:
    try:
        return path.exists()
    except OSError:  # a name that no file can have
        return False


def _gpus(options: Options) -> Resources:
    return Resources({"gpu": options["gpus"]})


def _lengths(dims: str) -> list[int]:
    try:
        return [int(length) for length in dims.lower().split("x")]
    except ValueError:
        raise InvalidValue("dims", f"is {dims}", "Join whole numbers by x, as in 4x4") from None
