"""Numbers that a description leaves out: filled in by hand, marked as assumed, and listed."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from gadget.errors import BadOption
from gadget.model.cluster import Cluster, Link, Server
from gadget.model.names import nearest_hint
from gadget.model.quantity import check_at_least_zero
from gadget.model.resources import Resources
from gadget.model.wording import say_count
from gadget.topology.network import Cable, Host, Topology


@dataclass(frozen=True, slots=True)
class Assumptions:
    """What to take for bandwidths and resources that no file tells."""

    gbps: Mapping[str, float] = field(default_factory=dict)
    """By tier, as a number or as the format calls it."""
    other_gbps: float | None = None
    """For tiers that `gbps` does not name."""
    resources: Mapping[str, float] = field(default_factory=dict)
    """Of each server that does not tell its own."""

    def __post_init__(self) -> None:
        for tier, gbps in self.gbps.items():
            check_at_least_zero(f"--gbps {tier}", gbps)
        if self.other_gbps is not None:
            check_at_least_zero("--gbps", self.other_gbps)
        for name, amount in self.resources.items():
            check_at_least_zero(f"--resource {name}", amount)


def fill_in(topology: Topology, assumptions: Assumptions) -> Topology:
    """The topology with assumed numbers where it has none; what a file told stays as it is."""
    by_tier = {_find_tier(topology, key): gbps for key, gbps in assumptions.gbps.items()}
    missing = Counter(topology.tier_of_cable(cable) for cable in topology.cables if cable.gbps is None)
    for (tier, _), key in zip(by_tier.items(), assumptions.gbps, strict=False):
        if not missing[tier]:
            raise BadOption(
                f"--gbps {key}: all links of {topology.tier_name(tier)} have their bandwidth. Leave it out."
            )

    def fill_cable(cable: Cable) -> Cable:
        gbps = by_tier.get(topology.tier_of_cable(cable), assumptions.other_gbps)
        return cable if cable.gbps is not None or gbps is None else Cable(cable.ends, gbps, assumed=True)

    def fill_host(host: Host) -> Host:
        new = {name: n for name, n in assumptions.resources.items() if name not in host.resources}
        return Host(host.name, Resources({**host.resources, **new}), (*host.assumed, *new)) if new else host

    for name in assumptions.resources:
        if all(name in host.resources for host in topology.hosts):
            raise BadOption(f"{name}: every server tells how much it has. Leave the option out.")
    return replace(
        topology,
        hosts=tuple(map(fill_host, topology.hosts)),
        cables=tuple(map(fill_cable, topology.cables)),
    )


def _find_tier(topology: Topology, key: str) -> int:
    tiers = sorted({topology.tier_of_cable(cable) for cable in topology.cables})
    for tier in tiers:
        if (
            key in (str(tier), topology.levels.get(tier))
            or key.lower() == topology.levels.get(tier, "").lower()
        ):
            return tier
    known = [topology.levels.get(tier) or str(tier) for tier in tiers]
    shown = ", ".join(topology.tier_name(tier) for tier in tiers) or "none"
    raise BadOption(f"--gbps {key}: no links are of that tier{nearest_hint(key, known)}. There are: {shown}.")


def list_assumed(topology: Topology) -> list[str]:
    """What no file told, in a line each."""
    cables = Counter(
        (topology.tier_of_cable(cable), cable.gbps) for cable in topology.cables if cable.assumed
    )
    lines = [
        f"{gbps:g} Gbps on each link up to {topology.tier_name(tier)}, {count:,} in all"
        for (tier, gbps), count in sorted(cables.items(), key=lambda item: item[0][0])
        if gbps is not None
    ]
    amounts = Counter((name, host.resources[name]) for host in topology.hosts for name in host.assumed)
    return lines + [
        f"{amount:g} {name} on each of {say_count(count, 'server')}"
        for (name, amount), count in amounts.items()
    ]


def build_cluster(topology: Topology) -> Cluster:
    """The cluster of a topology without gaps; BadOption tells how to fill one."""
    for cable in topology.cables:
        if cable.gbps is None:
            tier = topology.tier_of_cable(cable)
            name = topology.tier_name(tier)
            count = sum(c.gbps is None and topology.tier_of_cable(c) == tier for c in topology.cables)
            raise BadOption(
                f"no bandwidth is known of {say_count(count, 'link')} up to {name} "
                f"(first: {' – '.join(cable.ends)}). "
                f"Give --gbps {tier}=VALUE, or --gbps VALUE for all that are missing."
            )
    if unknown := [host.name for host in topology.hosts if not host.resources]:
        raise BadOption(
            f"nothing is known of what is in {say_count(len(unknown), 'server')} (first: {unknown[0]!r}). "
            "Give --gpus N, or --resource NAME=AMOUNT."
        )
    return Cluster(
        tuple(Server(host.name, host.resources) for host in topology.hosts),
        tuple(switch.name for switch in topology.switches),
        tuple(Link(cable.ends, cable.gbps) for cable in topology.cables if cable.gbps is not None),
    )
