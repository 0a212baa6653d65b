"""Machines of a cluster as network namespaces, and one more that none of its servers is: the head."""

from gadget.backends.netns import Namespaces
from gadget.model.cluster import Cluster, Link, Server
from gadget.model.resources import Resources

HEAD = "head"
_HEAD_GBPS = 1.0


def enter_network(wires: Namespaces, node: str) -> list[str]:
    """What to put before a command for it to be on this machine, with /sys as it is (`ip` mounts it anew)."""
    return ["nsenter", f"--net=/run/netns/{wires.plan.nodes[node].namespace}", "--"]


def build_wires(cluster: Cluster, instance: str) -> Namespaces:
    """Not made yet. The head is linked to the cluster's first switch."""
    head = Server(HEAD, Resources({"cpu": 1}))
    link = Link((HEAD, cluster.switches[0]), _HEAD_GBPS)
    return Namespaces(Cluster((*cluster.servers, head), cluster.switches, (*cluster.links, link)), instance)
