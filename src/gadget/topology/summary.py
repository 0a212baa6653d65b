"""A topology in numbers: what there is on each tier, how fast, and what is known, assumed or missing."""

import math
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from statistics import median
from typing import Any

from gadget.topology.assumptions import list_assumed
from gadget.topology.network import Topology


@dataclass(frozen=True, slots=True)
class Spread:
    """The least, the middle and the greatest of some numbers."""

    least: float
    median: float
    most: float


@dataclass(frozen=True, slots=True)
class Tier:
    """The switches of a tier, and the links whose upper end is one of them; tier 0 joins hosts directly."""

    tier: int
    level: str
    switches: int
    links: int
    gbps: Spread | None
    """None where nothing is known."""
    assumed: int
    missing: int
    oversubscription: Spread | None
    """Gbps below a switch over Gbps above it; None at the top, and where a bandwidth is missing."""


@dataclass(frozen=True, slots=True)
class Amount:
    """How much of a resource the servers have, and how many of them were assumed to, or do not tell."""

    total: float
    assumed: int
    missing: int


@dataclass(frozen=True, slots=True)
class TopologySummary:
    """A topology in numbers."""

    format: str
    servers: int
    switches: int
    links: int
    is_tree: bool
    tiers: tuple[Tier, ...]
    resources: Mapping[str, Amount]
    assumed: tuple[str, ...]
    remarks: tuple[str, ...]


def summarise_topology(topology: Topology) -> TopologySummary:
    """The numbers that people ask for first."""
    tiers = sorted({topology.tier_of_cable(cable) for cable in topology.cables} | {*topology.tiers})
    names = dict.fromkeys(name for host in topology.hosts for name in host.resources)
    return TopologySummary(
        format=topology.format,
        servers=len(topology.hosts),
        switches=len(topology.switches),
        links=len(topology.cables),
        is_tree=topology.is_tree,
        tiers=tuple(_measure_tier(topology, tier) for tier in tiers),
        resources={name: _measure_resource(topology, name) for name in names},
        assumed=tuple(list_assumed(topology)),
        remarks=topology.remarks,
    )


def _measure_tier(topology: Topology, tier: int) -> Tier:
    cables = [cable for cable in topology.cables if topology.tier_of_cable(cable) == tier]
    return Tier(
        tier=tier,
        level=topology.levels.get(tier, ""),
        switches=sum(switch.tier == tier for switch in topology.switches),
        links=len(cables),
        gbps=_spread(cable.gbps for cable in cables if cable.gbps is not None),
        assumed=sum(cable.assumed for cable in cables),
        missing=sum(cable.gbps is None for cable in cables),
        oversubscription=_find_oversubscription(topology, tier),
    )


def _measure_resource(topology: Topology, name: str) -> Amount:
    return Amount(
        total=sum(host.resources.get(name, 0) for host in topology.hosts),
        assumed=sum(name in host.assumed for host in topology.hosts),
        missing=sum(name not in host.resources for host in topology.hosts),
    )


def _find_oversubscription(topology: Topology, tier: int) -> Spread | None:
    tiers = topology.tier_of
    ratios: list[float] = []
    for switch in topology.switches:
        if switch.tier != tier:
            continue
        above: list[float | None] = []
        below: list[float | None] = []
        for other, cable in topology.neighbours[switch.name].items():
            if tiers[other] != tier:
                (above if tiers[other] > tier else below).append(cable.gbps)
        if not above or not below:
            continue
        if None in above or None in below:
            return None
        up, down = (sum(filter(None, gbps)) for gbps in (above, below))
        ratios.append(down / up if up else math.inf)
    return _spread(ratios)


def _spread(numbers: Iterable[float]) -> Spread | None:
    found = list(numbers)
    return Spread(min(found), median(found), max(found)) if found else None


def describe_as_json(topology: Topology) -> dict[str, Any]:
    """The summary with every server, switch and link, for programs."""
    summary = summarise_topology(topology)

    def spread(one: Spread | None) -> list[float | None] | None:
        numbers = (one.least, one.median, one.most) if one else ()
        return [number if math.isfinite(number) else None for number in numbers] or None

    return {
        "format": summary.format,
        "is_tree": summary.is_tree,
        "tiers": [
            {
                "tier": tier.tier,
                "level": tier.level or None,
                "switches": tier.switches,
                "links": tier.links,
                "gbps": spread(tier.gbps),
                "assumed": tier.assumed,
                "missing": tier.missing,
                "oversubscription": spread(tier.oversubscription),
            }
            for tier in summary.tiers
        ],
        "resources": {
            name: {"total": amount.total, "assumed": amount.assumed, "missing": amount.missing}
            for name, amount in summary.resources.items()
        },
        "assumed": list(summary.assumed),
        "remarks": list(summary.remarks),
        "servers": [
            {"name": host.name, "resources": dict(host.resources), "assumed": list(host.assumed)}
            for host in topology.hosts
        ],
        "switches": [{"name": switch.name, "tier": switch.tier} for switch in topology.switches],
        "links": [
            {"ends": list(cable.ends), "gbps": cable.gbps, "assumed": cable.assumed}
            for cable in topology.cables
        ],
    }


def count_kinds(topology: Topology) -> list[tuple[str, int]]:
    """What servers have, in words, and how many have it; most common first."""
    kinds = Counter(
        ", ".join(f"{amount:.6g} {name}" for name, amount in host.resources.items()) or "not known"
        for host in topology.hosts
    )
    return kinds.most_common()
