"""Kubernetes objects in a file: one, several documents, or lists of them, as kubectl prints."""

import math
import re
from collections.abc import Iterator
from dataclasses import dataclass

from gadget.model.resources import Resources
from gadget.topology.source import Part, Source

_QUANTITY = re.compile(r"([+-]?[0-9]*\.?[0-9]+|[0-9]+\.)(?:([eE][+-]?[0-9]{1,3})|(m|u|n|k|[KMGTPE]i?))?")
_SUFFIXES = {
    "n": 1e-9,
    "u": 1e-6,
    "m": 1e-3,
    **{letter: 1000.0**power for power, letter in enumerate("kMGTPE", 1)},
    **{f"{letter}i": 1024.0**power for power, letter in enumerate("KMGTPE", 1)},
}
_GPUS = ("nvidia.com/gpu", "amd.com/gpu")


@dataclass(frozen=True, slots=True)
class Node:
    """A node of a Kubernetes cluster."""

    name: str
    part: Part
    labels: dict[str, str]
    resources: Resources
    cordoned: bool


def iterate_objects(source: Source) -> Iterator[Part]:
    """Every object of a file; lists are opened."""
    waiting = list(reversed(source.documents))
    while waiting:
        part = waiting.pop()
        kind = part.need("kind").text()
        items = part.get("items")
        if kind.endswith("List") and items is not None:
            waiting += reversed(list(items.items()))
        else:
            yield part


def read_nodes(source: Source) -> list[Node]:
    """The nodes of a file, with what their pods may use; other objects are passed over."""
    parts = iterate_objects(source)
    found = [_read_node(part) for part in parts if part.need("kind").text() == "Node"]
    # Where no node has GPUs, their device plugin does not run, and how many there are is not known.
    if not any(node.resources.get("gpu") for node in found):
        return [_without_gpus(node) for node in found]
    return found


def _read_node(part: Part) -> Node:
    labels = part.need("metadata").get("labels")
    amounts = part.find("status", "allocatable") or part.find("status", "capacity")
    unschedulable = part.find("spec", "unschedulable")
    return Node(
        part.need("metadata", "name").text(),
        part,
        {key: str(value.value) for key, value in labels.pairs()} if labels else {},
        _read_resources(amounts) if amounts else Resources({}),
        unschedulable is not None and unschedulable.value is True,
    )


def _read_resources(amounts: Part) -> Resources:
    found: dict[str, float] = {"gpu": 0}
    for key, value in amounts.pairs():
        if key in _GPUS:
            found["gpu"] += parse_quantity(value)
        elif key == "cpu":
            found["cpu"] = parse_quantity(value)
        elif key == "memory":
            found["memory_gib"] = parse_quantity(value) / 1024**3
    with amounts.source.complaining(amounts.place):
        return Resources(found)


def _without_gpus(node: Node) -> Node:
    kept = Resources({name: amount for name, amount in node.resources.items() if name != "gpu"})
    return Node(node.name, node.part, node.labels, kept, node.cordoned)


def parse_quantity(part: Part) -> float:
    """A Kubernetes quantity: 128, 127910m, 1.5Gi, 129e6."""
    text = str(part.value)
    found = _QUANTITY.fullmatch(text) if not isinstance(part.value, bool) else None
    if found is None:
        raise part.complain(f"is {text!r}, not a quantity", "Give one as in 8, 500m or 64Gi")
    amount = float(found[1] + (found[2] or "")) * _SUFFIXES.get(found[3] or "", 1.0)
    if not math.isfinite(amount) or amount < 0:
        raise part.complain(f"is {text!r}", "Give a finite amount of 0 or more")
    return int(amount) if amount.is_integer() else amount
