"""Kubernetes nodes, as `kubectl get nodes -o json` or `-o yaml` prints them, and the labels that place them.

The levels are labels from the top of the network down, as in a Kueue or KAI Topology. Nodes with the same
values down to a level hang from the same switch: a value need be unique only below those above it.
"""

import re
from collections import Counter
from dataclasses import dataclass

from gadget.errors import BadOption
from gadget.model.names import nearest_hint
from gadget.topology.draft import MADE_UP, Draft
from gadget.topology.network import Topology
from gadget.topology.objects import Node, read_nodes
from gadget.topology.options import ReadOptions
from gadget.topology.source import Source

FORMAT = "kubernetes"
_SIGN = re.compile(r"""["']?kind["']?\s*:\s*["']?Node(List)?["']?\s*[,}#]?\s*$""", re.MULTILINE)
_COMPACT = re.compile(r'"kind"\s*:\s*"Node(List)?"')

Path = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Preset:
    """The labels of one provider, from the top down."""

    labels: tuple[str, ...]
    unique: bool
    """True when a value means the same switch wherever it stands."""


PRESETS = {
    "gcp": Preset(
        tuple(f"cloud.google.com/gce-topology-{one}" for one in ("block", "subblock", "host")), True
    ),
    "aws": Preset(tuple(f"topology.k8s.aws/network-node-layer-{layer}" for layer in (1, 2, 3)), True),
    "oci": Preset(tuple(f"oci.oraclecloud.com/host.{one}" for one in ("network_block_id", "rack_id")), False),
    "topograph": Preset(
        tuple(f"network.topology.nvidia.com/{one}" for one in ("core", "spine", "leaf")), True
    ),
}
# A level that names the machine: no switch where each value has one node.
_MACHINES = {"kubernetes.io/hostname", "cloud.google.com/gce-topology-host"}


def recognise(source: Source) -> bool:
    """True for a file with an object of kind Node."""
    return _SIGN.search(source.text) is not None or _COMPACT.search(source.text) is not None


def read(source: Source, options: ReadOptions) -> Topology:
    """The tree of switches that the labels of the levels tell."""
    nodes = read_nodes(source)
    if not nodes:
        raise source.complain("lists no nodes", "Give what `kubectl get nodes -o json` prints")
    draft = Draft(source)
    for node in nodes:
        draft.add_host(node.name, node.part.place, node.resources)
    labels, unique = _choose_levels(source, nodes, options.levels)
    paths = {node.name: _find_path(node, labels) for node in nodes}
    if len(labels) > 1 and labels[-1] in _MACHINES and len(set(paths.values())) == len(paths):
        labels = labels[:-1]
        paths = {name: path[:-1] for name, path in paths.items()}
    if unique:
        _check_unique(nodes, paths, labels)
    names = _name_switches(paths)
    placed: set[Path] = set()
    for node in nodes:
        child, path = node.name, paths[node.name]
        for depth in range(len(path), 0, -1):
            switch = path[:depth]
            is_new = switch not in placed
            if is_new:
                placed.add(switch)
                draft.add_switch(names[switch], node.part.place, len(labels) - depth + 1)
            draft.hang(child, names[switch], node.part.place)
            if not is_new:
                break
            child = names[switch]
    if cordoned := [node.name for node in nodes if node.cordoned]:
        draft.remarks.append(f"cordoned nodes, read all the same: {len(cordoned)} (first: {cordoned[0]!r})")
    levels = {len(labels) - place: _short(label) for place, label in enumerate(labels)}
    return draft.finish(FORMAT, join=options.join or MADE_UP, levels=levels, rooted=True)


def _choose_levels(source: Source, nodes: list[Node], wanted: Path) -> tuple[Path, bool]:
    """The labels to go by, from the top down, and whether their values are unique in themselves."""
    carried = {label for node in nodes for label in node.labels}
    preset = PRESETS.get(wanted[0]) if len(wanted) == 1 else None
    if not wanted:
        preset = next((one for one in PRESETS.values() if carried & {*one.labels}), None)
        if preset is None:
            raise source.complain(
                f"the nodes carry none of the labels of {', '.join(PRESETS)}",
                "Give the labels that place them, topmost first: --level LABEL --level LABEL",
            )
    if preset is not None:
        labels = tuple(label for label in preset.labels if label in carried)
        if not labels:
            raise source.complain(
                f"no node carries a label of {wanted[0]}", f"That has {', '.join(preset.labels)}"
            )
        return labels, preset.unique
    if len(set(wanted)) < len(wanted):
        raise BadOption("--level names a label twice. Name each level once, topmost first.")
    for label in wanted:
        if label not in carried:
            hint = nearest_hint(label, carried)
            raise source.complain(f"no node carries the label {label!r}{hint}", "Correct --level")
    return wanted, False


def _find_path(node: Node, labels: Path) -> Path:
    """The node's values of the labels, from the top down."""
    for label in labels:
        if not node.labels.get(label):
            raise node.part.complain(
                f"(node {node.name!r}) has no label {label!r}",
                f"Label it, or list only nodes that are: kubectl get nodes -l {label} -o json",
            )
    return tuple(node.labels[label] for label in labels)


def _check_unique(nodes: list[Node], paths: dict[str, Path], labels: Path) -> None:
    seen: dict[tuple[int, str], Path] = {}
    for node in nodes:
        path = paths[node.name]
        for depth in range(2, len(path) + 1):
            before = seen.setdefault((depth, path[depth - 1]), path[:depth])
            if before != path[:depth]:
                raise node.part.complain(
                    f"(node {node.name!r}) has {labels[depth - 1]} {path[depth - 1]!r} "
                    f"below {path[depth - 2]!r}, another node has it below {before[-2]!r}",
                    "Correct the labels, or list them with --level to tell such switches apart",
                )


def _name_switches(paths: dict[str, Path]) -> dict[Path, str]:
    """Its value for each switch; all values down to it, for a whole level, where one alone is no name."""
    prefixes = {path[:depth]: None for path in paths.values() for depth in range(1, len(path) + 1)}
    count = Counter(prefix[-1] for prefix in prefixes)
    crowded = {len(prefix) for prefix in prefixes if count[prefix[-1]] > 1 or prefix[-1] in paths}
    return {prefix: "/".join(prefix) if len(prefix) in crowded else prefix[-1] for prefix in prefixes}


def _short(label: str) -> str:
    return label.rpartition("/")[2]
