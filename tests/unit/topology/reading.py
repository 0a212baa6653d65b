"""Texts read as if they were files."""

from collections.abc import Callable
from pathlib import Path

import pytest

from gadget.errors import BadFile
from gadget.topology.formats import find_format
from gadget.topology.network import Topology
from gadget.topology.options import DEFAULT_OPTIONS, ReadOptions
from gadget.topology.source import Source


def read_text(text: str, options: ReadOptions = DEFAULT_OPTIONS, *, name: str = "file") -> Topology:
    """What a text says, its format recognised."""
    source = Source(Path(name), text.encode())
    return find_format(source).read(source, options)


def refused(
    read: Callable[..., Topology], text: str, said: str, options: ReadOptions = DEFAULT_OPTIONS
) -> None:
    """The text is refused in one line that holds what is said, and ends with a mend."""
    with pytest.raises(BadFile) as caught:
        read(text, options)
    message = str(caught.value)
    assert said in message
    assert "\n" not in message
    assert message.endswith(".")


def links(topology: Topology) -> dict[str, float | None]:
    """Every cable by its ends."""
    return {f"{a}-{b}": cable.gbps for cable in topology.cables for a, b in [cable.ends]}


def tiers(topology: Topology) -> dict[str, int]:
    """Every switch with its tier."""
    return {switch.name: switch.tier for switch in topology.switches}


def names(topology: Topology) -> list[str]:
    """The hosts, in order."""
    return [host.name for host in topology.hosts]
