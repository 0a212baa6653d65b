"""A topology while its file is read: nodes and cables with their places, so that complaints tell lines."""

from collections.abc import Iterable, Mapping

from gadget.model.names import check_name, nearest_hint
from gadget.model.resources import Resources
from gadget.topology.network import NOTHING_KNOWN, Cable, Host, Switch, Topology, find_parts
from gadget.topology.source import Place, Source
from gadget.topology.tiers import find_heights, find_tiers

MADE_UP = "fabric"
"""The name of a switch that joins what a format leaves apart."""


class Draft:
    """Collects nodes and cables in the order of the file."""

    def __init__(self, source: Source) -> None:
        self.source = source
        self.remarks: list[str] = []
        self._places: dict[str, Place] = {}
        self._hosts: dict[str, Resources] = {}
        self._switches: dict[str, int] = {}
        self._cables: dict[tuple[str, str], float | None] = {}
        self._parents: dict[str, tuple[str, Place]] = {}

    def add_host(self, name: str, place: Place, resources: Resources = NOTHING_KNOWN) -> None:
        """A machine; its name is new."""
        self._claim(name, place, "a node")
        self._hosts[name] = resources

    def add_switch(self, name: str, place: Place, tier: int = 0) -> None:
        """A switch; its name is new. Without a tier it is found out from the cables."""
        self._claim(name, place, "a switch")
        self._switches[name] = tier

    def has_host(self, name: str) -> bool:
        """True when there is a machine of this name."""
        return name in self._hosts

    def check_switch(self, name: str, place: Place) -> None:
        """Complain of a name that no switch has."""
        if name not in self._switches:
            raise self.source.complain(
                f"{name!r} is no switch{nearest_hint(name, self._switches)}",
                "Correct the name, or describe the switch",
                place,
            )

    def add_cable(self, lower: str, upper: str, gbps: float | None = None) -> None:
        """A cable between two nodes; parallel ones become one with the sum, unknown if one of them is."""
        pair = (upper, lower) if (upper, lower) in self._cables else (lower, upper)
        if pair in self._cables:
            before = self._cables[pair]
            gbps = None if before is None or gbps is None else before + gbps
        self._cables[pair] = gbps

    def hang(self, child: str, parent: str, place: Place, gbps: float | None = None) -> None:
        """A cable to the only node above."""
        if child in self._parents:
            other, first = self._parents[child]
            again = "twice" if other == parent else f"and from {other!r}"
            raise self.source.complain(
                f"{child!r} hangs from {parent!r} {again}{self._line(first)}",
                "Keep one of them; in this format a node hangs from one place",
                place,
            )
        self._parents[child] = (parent, place)
        self.add_cable(child, parent, gbps)

    def finish(
        self, name: str, *, join: str | None, levels: Mapping[int, str] | None = None, rooted: bool = False
    ) -> Topology:
        """The topology, connected; `rooted` takes tiers from the order of hanging, else from the cables.

        Parts that no cable joins get a switch above them if `join` names one, and else are complained of.
        """
        if not self._hosts:
            raise self.source.complain("names no machines", "Describe at least one")
        if rooted:
            self._check_no_cycle()
        self._find_tiers(rooted)
        parts = find_parts(self._around())
        if len(parts) > 1:
            if join is None:
                here, there = parts[0][0], parts[1][0]
                raise self.source.complain(
                    f"{there!r} has no route to {here!r}; the network falls into {len(parts)} parts",
                    "Describe what joins them, or give --join NAME for a switch above them",
                    self._places[there],
                )
            self._join(parts, join)
        return Topology(
            tuple(Host(host, resources) for host, resources in self._hosts.items()),
            tuple(Switch(switch, tier) for switch, tier in self._switches.items()),
            tuple(Cable(ends, gbps) for ends, gbps in self._cables.items()),
            {} if levels is None else levels,
            format=name,
            remarks=tuple(self.remarks),
        )

    def _claim(self, name: str, place: Place, kind: str) -> None:
        with self.source.complaining(place):
            check_name("a name", name)
        if name in self._places:
            before = "a node" if name in self._hosts else "a switch"
            again = "again" if before == kind else "too"
            raise self.source.complain(
                f"{name!r} is {before} already{self._line(self._places[name])}, and here {kind} {again}",
                "Rename one of them, or leave it out",
                place,
            )
        self._places[name] = place

    def _line(self, place: Place) -> str:
        line = self.source.find_line(place) if isinstance(place, tuple) else place
        return f" (line {line})" if line else ""

    def _around(self) -> dict[str, list[str]]:
        around: dict[str, list[str]] = {node: [] for node in (*self._hosts, *self._switches)}
        for a, b in self._cables:
            around[a].append(b)
            around[b].append(a)
        return around

    def _check_no_cycle(self) -> None:
        done: set[str] = set()
        for start in self._parents:
            path: list[str] = []
            node: str | None = start
            while node is not None and node not in done:
                if node in path:
                    circle = " → ".join(map(repr, (*path[path.index(node) :], node)))
                    raise self.source.complain(
                        f"switches hang from each other in a circle: {circle}",
                        "Leave one of these out; a tree has no circle",
                        self._parents[node][1],
                    )
                path.append(node)
                node = self._parents[node][0] if node in self._parents else None
            done.update(path)

    def _find_tiers(self, rooted: bool) -> None:
        if all(self._switches.values()):
            return
        if rooted:
            below: dict[str, list[str]] = {switch: [] for switch in self._switches}
            for lower, upper in self._cables:
                below[upper].append(lower)
            found = find_heights(below)
        else:
            found = find_tiers(self._around(), self._hosts)
        self._switches = {switch: found[switch] for switch in self._switches}

    def _join(self, parts: Iterable[list[str]], wanted: str) -> None:
        name = wanted
        while name in self._places:
            name += "+"
        top = max(self._switches.values(), default=0)
        tops: list[str] = []
        for part in parts:
            highest = max(self._switches.get(node, 0) for node in part)
            tops += [node for node in part if self._switches.get(node, 0) == highest]
        self._switches[name] = top + 1
        for node in tops:
            self.add_cable(node, name)
        self.remarks.append(
            f"switch {name!r} is made up: it joins {len(tops)} nodes that the file leaves apart"
        )
