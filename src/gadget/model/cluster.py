"""The cluster: servers, switches and full-duplex links; any graph, and it knows when it is a tree."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property

from gadget.errors import InvalidValue
from gadget.model.names import check_name, nearest_hint
from gadget.model.quantity import check_at_least_zero
from gadget.model.resources import Resources


@dataclass(frozen=True, slots=True)
class Server:
    """A machine that can host workers; it forwards traffic too when links pass through it."""

    name: str
    resources: Resources

    def __post_init__(self) -> None:
        check_name("name", self.name)


@dataclass(frozen=True, slots=True)
class Link:
    """A full-duplex cable: `gbps` holds in each direction on its own."""

    ends: tuple[str, str]
    gbps: float

    def __post_init__(self) -> None:
        check_at_least_zero("gbps", self.gbps)
        if self.ends[0] == self.ends[1]:
            raise InvalidValue("ends", f"join {self.ends[0]!r} to itself", "Name two different nodes")


@dataclass(frozen=True)
class Cluster:
    """Servers and switches joined by links. Node names are unique over both kinds.

    A file must hold a connected cluster with a server; a value may have lost either by `without`.
    """

    servers: tuple[Server, ...]
    switches: tuple[str, ...]
    links: tuple[Link, ...]

    def __post_init__(self) -> None:
        seen: dict[str, str] = {}
        for place, server in enumerate(self.servers):
            _claim(seen, server.name, f"servers[{place}].name")
        for place, switch in enumerate(self.switches):
            check_name(f"switches[{place}]", switch)
            _claim(seen, switch, f"switches[{place}]")
        joined: dict[tuple[str, str], int] = {}
        for place, link in enumerate(self.links):
            for end in link.ends:
                if end not in seen:
                    raise InvalidValue(
                        f"links[{place}].ends",
                        f"name {end!r}, which is no server or switch{nearest_hint(end, seen)}",
                        "Correct the name, or add the node",
                    )
            a, b = link.ends
            if (first := joined.setdefault((a, b) if a < b else (b, a), place)) != place:
                raise InvalidValue(
                    f"links[{place}].ends",
                    f"join {a!r} and {b!r}, as links[{first}] does",
                    "Merge both into one link with the sum of their gbps",
                )

    @cached_property
    def server_by_name(self) -> Mapping[str, Server]:
        """The servers by name."""
        return {server.name: server for server in self.servers}

    @cached_property
    def nodes(self) -> tuple[str, ...]:
        """All node names, servers first."""
        return (*(server.name for server in self.servers), *self.switches)

    @cached_property
    def neighbours(self) -> Mapping[str, Mapping[str, float]]:
        """For each node the nodes it is linked to, with the link's Gbps per direction."""
        around: dict[str, dict[str, float]] = {node: {} for node in self.nodes}
        for link in self.links:
            a, b = link.ends
            around[a][b] = link.gbps
            around[b][a] = link.gbps
        return around

    @cached_property
    def resource_names(self) -> tuple[str, ...]:
        """Every resource that some server has, in order of first mention."""
        return tuple(dict.fromkeys(name for server in self.servers for name in server.resources))

    @cached_property
    def is_connected(self) -> bool:
        """True when every node can reach every other (an empty cluster is connected)."""
        return not self.nodes or len(self.reach(self.nodes[0])) == len(self.nodes)

    @cached_property
    def is_tree(self) -> bool:
        """True when there is exactly one route between any two nodes."""
        return self.is_connected and len(self.links) == max(0, len(self.nodes) - 1)

    def reach(self, start: str) -> frozenset[str]:
        """All nodes that a route from `start` can end at, `start` included."""
        found, frontier = {start}, [start]
        while frontier:
            for node in self.neighbours[frontier.pop()]:
                if node not in found:
                    found.add(node)
                    frontier.append(node)
        return frozenset(found)

    def total(self, resource: str) -> float:
        """The amount of `resource` in the whole cluster."""
        return sum(server.resources.get(resource, 0) for server in self.servers)

    def without(self, names: Iterable[str], *, forwarding: bool = False) -> "Cluster":
        """The cluster when the named servers host no workers.

        Failed servers go with their links. Drained ones still forward what passes through them
        (in a torus, say): `forwarding=True` keeps those with more than one link as switches.
        """
        gone = set(names)
        if unknown := sorted(gone - self.server_by_name.keys()):
            raise InvalidValue(
                "",
                f"no server is named {unknown[0]!r}{nearest_hint(unknown[0], self.server_by_name)}",
                "Name servers of this cluster",
            )
        kept = {name for name in gone if forwarding and len(self.neighbours[name]) > 1}
        lost = gone - kept
        return Cluster(
            tuple(server for server in self.servers if server.name not in gone),
            (*self.switches, *(s.name for s in self.servers if s.name in kept)),
            tuple(link for link in self.links if lost.isdisjoint(link.ends)),
        )


def _claim(seen: dict[str, str], name: str, key: str) -> None:
    if name in seen:
        raise InvalidValue(key, f"is {name!r}, a name that {seen[name]} has already", "Rename one of them")
    seen[name] = key
