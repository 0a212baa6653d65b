"""What a description of a cluster tells, in the words of no format; numbers may be unknown or assumed."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property

from gadget.errors import InvalidValue
from gadget.model.names import check_name, nearest_hint
from gadget.model.quantity import check_at_least_zero
from gadget.model.resources import Resources

NOTHING_KNOWN = Resources({})


@dataclass(frozen=True, slots=True)
class Host:
    """A machine that can host workers; a resource that is not named is unknown, not absent."""

    name: str
    resources: Resources = NOTHING_KNOWN
    assumed: tuple[str, ...] = ()
    """The resources whose amounts no file told."""


@dataclass(frozen=True, slots=True)
class Switch:
    """A switch, or whatever a format calls the thing that nodes hang from; tier 1 is next to the hosts."""

    name: str
    tier: int


@dataclass(frozen=True, slots=True)
class Cable:
    """All cables between two nodes as one full-duplex link; the lower node stands first."""

    ends: tuple[str, str]
    gbps: float | None = None
    assumed: bool = False
    """True when no file told the bandwidth."""


@dataclass(frozen=True)
class Topology:
    """Hosts and switches by tier, joined by cables; node names are unique over both kinds."""

    hosts: tuple[Host, ...]
    switches: tuple[Switch, ...]
    cables: tuple[Cable, ...]
    levels: Mapping[int, str] = field(default_factory=dict)
    """What the format calls the switches of a tier, where it has a name for them."""
    format: str = field(default="", compare=False)
    remarks: tuple[str, ...] = field(default=(), compare=False)
    """What the reader made up, left out or merged."""

    def __post_init__(self) -> None:
        known: set[str] = set()
        for name in (*(host.name for host in self.hosts), *(switch.name for switch in self.switches)):
            check_name("name", name)
            if name in known:
                raise InvalidValue("", f"two nodes are named {name!r}", "Rename one of them")
            known.add(name)
        joined: set[frozenset[str]] = set()
        for cable in self.cables:
            self._check_cable(cable, known, joined)
        order = {name: place for place, name in enumerate(self.tier_of)}
        tiers = self.tier_of

        def lower_first(cable: Cable) -> Cable:
            a, b = sorted(cable.ends, key=lambda end: (tiers[end], order[end]))
            return cable if cable.ends == (a, b) else Cable((a, b), cable.gbps, cable.assumed)

        cables = sorted(
            map(lower_first, self.cables), key=lambda cable: (order[cable.ends[0]], order[cable.ends[1]])
        )
        object.__setattr__(self, "cables", tuple(cables))

    @staticmethod
    def _check_cable(cable: Cable, known: set[str], joined: set[frozenset[str]]) -> None:
        for end in cable.ends:
            if end not in known:
                raise InvalidValue(
                    "", f"a cable ends at {end!r}, which is no node{nearest_hint(end, known)}", "Add the node"
                )
        pair = frozenset(cable.ends)
        if len(pair) == 1 or pair in joined:
            a, b = cable.ends
            raise InvalidValue("", f"{a!r} and {b!r} are joined by two cables, or are one", "Merge them")
        joined.add(pair)
        if cable.gbps is not None:
            check_at_least_zero("gbps", cable.gbps)

    @cached_property
    def tier_of(self) -> Mapping[str, int]:
        """The tier of every node, hosts first; theirs is 0."""
        return {host.name: 0 for host in self.hosts} | {switch.name: switch.tier for switch in self.switches}

    @cached_property
    def tiers(self) -> tuple[int, ...]:
        """The tiers that switches have, lowest first."""
        return tuple(sorted({switch.tier for switch in self.switches}))

    @cached_property
    def neighbours(self) -> Mapping[str, Mapping[str, Cable]]:
        """For each node the nodes it is cabled to."""
        around: dict[str, dict[str, Cable]] = {name: {} for name in self.tier_of}
        for cable in self.cables:
            a, b = cable.ends
            around[a][b] = around[b][a] = cable
        return around

    @cached_property
    def is_connected(self) -> bool:
        """True when every node can reach every other."""
        return len(find_parts(self.neighbours)) <= 1

    @cached_property
    def is_tree(self) -> bool:
        """True when there is exactly one route between any two nodes."""
        return self.is_connected and len(self.cables) == len(self.tier_of) - 1

    def tier_of_cable(self, cable: Cable) -> int:
        """The tier of a cable's upper end: 1 from host to leaf; 0 where two hosts are joined."""
        return self.tier_of[cable.ends[1]]

    def tier_name(self, tier: int) -> str:
        """'tier 2 (spine)', or 'tier 2' where the format has no name for it."""
        return f"tier {tier} ({self.levels[tier]})" if self.levels.get(tier) else f"tier {tier}"


def find_parts(neighbours: Mapping[str, Iterable[str]]) -> list[list[str]]:
    """The connected parts of a graph, each in the order in which it is met."""
    parts: list[list[str]] = []
    seen: set[str] = set()
    for start in neighbours:
        if start in seen:
            continue
        seen.add(start)
        part = [start]
        for node in part:
            for other in neighbours[node]:
                if other not in seen:
                    seen.add(other)
                    part.append(other)
        parts.append(part)
    return parts
