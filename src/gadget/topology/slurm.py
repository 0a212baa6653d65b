"""What Slurm's two topology files share: switches with their children, and blocks of nodes."""

from collections.abc import Iterable
from dataclasses import dataclass

from gadget.topology.draft import MADE_UP, Draft
from gadget.topology.hostlist import expand_hostlist
from gadget.topology.network import Topology
from gadget.topology.source import Place, Source


@dataclass(frozen=True, slots=True)
class SwitchEntry:
    """A switch, and hostlists of the switches or nodes below it."""

    name: str
    place: Place
    switches: str | None = None
    nodes: str | None = None
    gbps: float | None = None
    """Of each link from this switch down."""


@dataclass(frozen=True, slots=True)
class BlockEntry:
    """A block and the hostlist of its nodes."""

    name: str
    place: Place
    nodes: str | None = None


def build_slurm_tree(source: Source, form: str, entries: Iterable[SwitchEntry], join: str | None) -> Topology:
    """The tree of switches. A node may hang from several leaf switches, as Slurm allows with a warning."""
    entries = tuple(entries)
    draft = Draft(source)
    for entry in entries:
        if entry.nodes is not None and entry.switches is not None:
            raise source.complain(
                f"switch {entry.name!r} has both switches and nodes below it, which Slurm refuses",
                "Put the nodes below a switch of their own",
                entry.place,
            )
        draft.add_switch(entry.name, entry.place)
    several: dict[str, None] = {}
    for entry in entries:
        for switch in _expand(source, entry.switches, entry.place):
            draft.check_switch(switch, entry.place)
            draft.hang(switch, entry.name, entry.place, entry.gbps)
        below: set[str] = set()
        for node in _expand(source, entry.nodes, entry.place):
            if node in below:
                raise source.complain(
                    f"node {node!r} stands twice below switch {entry.name!r}",
                    "Leave out one of them",
                    entry.place,
                )
            below.add(node)
            if draft.has_host(node):
                several[node] = None
            else:
                draft.add_host(node, entry.place)
            draft.add_cable(node, entry.name, entry.gbps)
    if several:
        first = next(iter(several))
        draft.remarks.append(
            f"nodes that hang from more than one switch, so that this is no tree: {len(several)} "
            f"(first: {first!r})"
        )
    if any(entry.gbps is not None for entry in entries):
        draft.remarks.append(
            "LinkSpeed, which has no unit in Slurm, is read as Gbps of each link below a switch"
        )
    return draft.finish(form, join=join, rooted=True)


def build_slurm_blocks(
    source: Source, form: str, entries: Iterable[BlockEntry], join: str | None
) -> Topology:
    """Blocks as switches below one that is made up: what joins blocks, Slurm does not say."""
    draft = Draft(source)
    entries = tuple(entries)
    for entry in entries:
        draft.add_switch(entry.name, entry.place)
    for entry in entries:
        for node in _expand(source, entry.nodes, entry.place):
            if not draft.has_host(node):
                draft.add_host(node, entry.place)
            draft.hang(node, entry.name, entry.place)
    return draft.finish(form, join=join or MADE_UP, rooted=True, levels={1: "block"})


def _expand(source: Source, hostlist: str | None, place: Place) -> list[str]:
    if hostlist is None:
        return []
    if hostlist.upper() == "ALL":
        raise source.complain("ALL stands for nodes that only slurm.conf names", "Name the nodes", place)
    with source.complaining(place):
        return expand_hostlist(hostlist)
