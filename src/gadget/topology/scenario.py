"""GADGET's own files: the cluster of a scenario or snapshot, so that it can be written for others."""

import re
from dataclasses import replace

from gadget.model.cluster import Cluster
from gadget.model.codec import read_content
from gadget.model.decision import Decision
from gadget.model.wording import say_count
from gadget.topology.network import Cable, Host, Switch, Topology
from gadget.topology.options import ReadOptions
from gadget.topology.source import Source
from gadget.topology.tiers import find_tiers

FORMAT = "gadget"
_SIGN = re.compile(
    r"""\bcluster["']?\s*:\s*(?:\#[^\n]*)?\s*[{]?\s*["']?(?:servers|switches|links)["']?\s*:"""
)


def recognise(source: Source) -> bool:
    """True for a file with a cluster of servers, switches or links."""
    return _SIGN.search(source.text) is not None


def read(source: Source, options: ReadOptions) -> Topology:  # noqa: ARG001 - our files say all themselves
    """The cluster of a scenario or snapshot."""
    found = read_content(source.path, source.content)
    if isinstance(found, Decision):
        raise source.complain("is a decision, which has no cluster", "Give a scenario or a snapshot")
    described = describe_cluster(found.cluster)
    if not found.jobs:
        return described
    return replace(
        described,
        remarks=(
            *described.remarks,
            f"without its {say_count(len(found.jobs), 'job')}",
        ),
    )


def describe_cluster(cluster: Cluster) -> Topology:
    """A cluster as a topology; tiers follow from its links."""
    hosts = [server.name for server in cluster.servers]
    tiers = find_tiers(cluster.neighbours, hosts)
    return Topology(
        tuple(Host(server.name, server.resources) for server in cluster.servers),
        tuple(Switch(switch, tiers[switch]) for switch in cluster.switches),
        tuple(Cable(link.ends, link.gbps) for link in cluster.links),
        format=FORMAT,
    )
