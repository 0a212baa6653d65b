"""How a cluster becomes network namespaces: names, addresses, cables, rates and routes. Pure; `netns` acts.

Every node, server or switch, is a namespace with one address of its own; every link is a cable (a veth pair)
with a token bucket at both ends, so each direction is limited on its own. Cables carry no addresses: a route
names the neighbour's address and the cable to it. So any graph works, servers that forward included.
"""

import hashlib
from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass
from ipaddress import IPv4Address

from gadget.errors import InvalidValue
from gadget.model.cluster import Cluster
from gadget.model.quantity import check_positive

MOST_NODES = 1000
# No pair of virtual cables is faster than this: a limit above it says nothing.
_FASTEST_BITS = 200e9
_SMALLEST_BURST = 32 * 1024
# A bucket is filled by a timer: at high rates it must hold what flows between two of its ticks.
_BURST_SECONDS = 0.002
_QUEUE = "50ms"
_FIRST_ADDRESS = IPv4Address("10.0.0.0")


@dataclass(frozen=True, slots=True)
class Port:
    """One end of a cable."""

    interface: str
    neighbour: str
    bits_per_second: float

    @property
    def qdisc(self) -> str:
        """What `tc` is told of this end; empty where no limit is needed."""
        if self.bits_per_second >= _FASTEST_BITS:
            return ""
        burst = max(_SMALLEST_BURST, int(self.bits_per_second / 8 * _BURST_SECONDS))
        rate = max(8, round(self.bits_per_second))
        return f"qdisc replace dev {self.interface} root tbf rate {rate}bit burst {burst} latency {_QUEUE}"


@dataclass(frozen=True, slots=True)
class Node:
    """A server or switch as a namespace."""

    name: str
    namespace: str
    address: str
    ports: tuple[Port, ...]
    next_hops: Mapping[str, str]
    """For every other node that it can reach, the neighbour that leads there."""

    @property
    def forwards(self) -> bool:
        """True when traffic of others may pass."""
        return len(self.ports) > 1


@dataclass(frozen=True, slots=True)
class Plan:
    """All namespaces of a cluster."""

    nodes: Mapping[str, Node]
    fingerprint: str
    """Equal for equal networks: what is there can be used again."""

    def cables(self) -> list[str]:
        """What `ip` is told to make every cable, each once."""
        lines = []
        for node in self.nodes.values():
            for port in node.ports:
                other = self.nodes[port.neighbour]
                if node.namespace < other.namespace:
                    far = next(back.interface for back in other.ports if back.neighbour == node.name)
                    lines.append(
                        f"link add {port.interface} netns {node.namespace} type veth "
                        f"peer name {far} netns {other.namespace}"
                    )
        return lines

    def setup(self, name: str) -> list[str]:
        """What `ip` is told inside one namespace; giving it again mends what a cable lost by going down."""
        node = self.nodes[name]
        cable_to = {port.neighbour: port.interface for port in node.ports}
        # Without a cable the address still is the server's own: ranks beside each other meet there.
        home = node.ports[0].interface if node.ports else "lo"
        lines = ["link set lo up", f"address replace {node.address}/32 dev {home}"]
        lines += [f"link set {port.interface} up" for port in node.ports]
        if len(node.ports) == 1:
            (port,) = node.ports
            targets = {"default": port.neighbour}
        else:
            targets = {f"{self.nodes[far].address}/32": hop for far, hop in node.next_hops.items()}
        lines += [
            f"route replace {target} via {self.nodes[hop].address} dev {cable_to[hop]} onlink "
            f"src {node.address}"
            for target, hop in targets.items()
        ]
        return lines


def namespace_prefix(instance: str) -> str:
    """How the namespaces of one instance begin, and of no other."""
    return f"gadget-{hashlib.sha256(instance.encode()).hexdigest()[:8]}-"


def build_plan(cluster: Cluster, instance: str, scale: float = 1.0) -> Plan:
    """The namespaces of a cluster; `scale` is real bits per bit that the cluster says."""
    check_positive("scale", scale)
    if len(cluster.nodes) > MOST_NODES:
        raise InvalidValue(
            "cluster",
            f"has {len(cluster.nodes)} nodes, more than the {MOST_NODES} that namespaces are made for",
            "Run it with network = loopback",
        )
    prefix = namespace_prefix(instance)
    around = {
        # A link of 0 Gbps carries nothing: no cable.
        node: {beside: gbps for beside, gbps in beside_gbps.items() if gbps > 0}
        for node, beside_gbps in cluster.neighbours.items()
    }
    hops = _find_next_hops(around)
    nodes = {}
    for place, name in enumerate(cluster.nodes):
        ports = tuple(
            Port(f"eth{number}", beside, gbps * 1e9 * scale)
            for number, (beside, gbps) in enumerate(around[name].items())
        )
        address = str(_FIRST_ADDRESS + place + 1)
        nodes[name] = Node(name, f"{prefix}{place}", address, ports, hops[name])
    said = repr([(node.name, node.namespace, node.address, node.ports) for node in nodes.values()])
    return Plan(nodes, hashlib.sha256(said.encode()).hexdigest())


def _find_next_hops(around: Mapping[str, Mapping[str, float]]) -> dict[str, dict[str, str]]:
    """By node and target, the neighbour on a shortest route; ties go to the neighbour named first."""
    hops: dict[str, dict[str, str]] = {node: {} for node in around}
    for target in around:
        seen, frontier = {target}, deque([target])
        while frontier:
            here = frontier.popleft()
            for beside in around[here]:
                if beside not in seen:
                    seen.add(beside)
                    hops[beside][target] = here
                    frontier.append(beside)
    return hops
