"""A topology as a tree with a root, for formats that can say nothing else."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from gadget.errors import InvalidValue
from gadget.topology.network import Topology


@dataclass(frozen=True, slots=True)
class Written:
    """The text of a file, and what of the topology it cannot hold."""

    text: str
    lost: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Rooted:
    """A tree of switches with hosts at its leaves."""

    topology: Topology
    below: Mapping[str, tuple[str, ...]]
    """What hangs from each switch, in the topology's order: hosts alone or switches alone."""
    gbps: Mapping[str, float | None]
    """Of the cable from each node up."""

    @property
    def switches(self) -> tuple[str, ...]:
        """All switches, in the topology's order."""
        return tuple(switch.name for switch in self.topology.switches)

    @property
    def names_resources(self) -> bool:
        """True when something is known of what hosts have."""
        return any(host.resources for host in self.topology.hosts)

    def is_host(self, node: str) -> bool:
        """True for a host, false for a switch."""
        return node not in self.below


def find_rooted(topology: Topology, target: str) -> Rooted:
    """The topology as a rooted tree; InvalidValue tells why it is none that `target` can hold."""
    tiers = topology.tier_of
    below: dict[str, list[str]] = {switch.name: [] for switch in topology.switches}
    gbps: dict[str, float | None] = {}
    roots: list[str] = []
    for node, around in topology.neighbours.items():
        above = [other for other in around if tiers[other] > tiers[node]]
        beside = [other for other in around if tiers[other] == tiers[node]]
        if beside or len(above) > 1:
            shown = mention((beside + above)[:2])
            kind = "of its own tier" if beside else "above it"
            raise InvalidValue(
                "",
                f"the network is no tree: {node!r} has links to {shown}, {kind}; {target} holds only trees",
                "Write a scenario (--to gadget), which holds any network",
            )
        if not above:
            roots.append(node)
            continue
        below[above[0]].append(node)
        gbps[node] = around[above[0]].gbps
    if len(roots) != 1 or roots[0] not in below:
        raise InvalidValue(
            "",
            f"the network has no one switch at the top ({mention(roots)} stand there); {target} needs one",
            "Add a switch that joins them",
        )
    for switch, children in below.items():
        if len({tiers[child] == 0 for child in children}) > 1:
            raise InvalidValue(
                "",
                f"switch {switch!r} has both switches and servers below it; {target} cannot say that",
                "Put the servers below a switch of their own",
            )
    return Rooted(topology, {switch: tuple(children) for switch, children in below.items()}, gbps)


def mention(names: Sequence[str]) -> str:
    """A few names for a sentence."""
    shown = ", ".join(map(repr, names[:3]))
    return shown if len(names) <= 3 else f"{shown} and {len(names) - 3} more"
