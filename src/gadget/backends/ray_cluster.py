"""What Ray says of its nodes, as servers: their names, what is in them, and what is left for us.

Servers go by a label of their nodes (`host`), or by the address of a node without it. A cluster file says
which of them are ours, how much of each, and how they are linked; where it names more than a node has, the
node is right. Without one, every node with GPUs is ours, in racks if they have a label `rack`.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from gadget.model.cluster import Cluster, Link, Server
from gadget.model.quantity import TOLERANCE
from gadget.model.resources import Resources

HOST_LABEL = "host"
RACK_LABEL = "rack"
ASSUMED_GBPS = 100.0
"""Of every link, where no file says it."""
# No label and no address has a slash in it, so that no server goes by the name of a switch.
CORE = "ray/core"
RACK_PREFIX = "rack/"
# How Ray calls what has a name of its own there; anything else is a custom resource of the same name.
_IN_RAY = {"gpu": "GPU", "cpu": "CPU"}
# Ray counts in ten-thousandths, each worker's share by itself.
_GRAIN = 1e-3

Amounts = Mapping[str, float]


@dataclass(frozen=True, slots=True)
class Node:
    """A Ray node that is alive, under its server's name."""

    id: str
    server: str
    address: str
    rack: str = ""
    amounts: Amounts = field(default_factory=dict)
    """All that is in it, in our names."""
    free: Amounts = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Roll:
    """Who answered one look."""

    alive: Mapping[str, Node]
    """By server."""
    dead: Mapping[str, str]
    """Why the nodes of these servers died."""
    twins: frozenset[str] = frozenset()
    """Servers by whose name several living nodes go; one of them counts."""


def read_nodes(
    told: Iterable[Mapping[str, Any]],
    *,
    only: Mapping[str, str] | None = None,
    before: Mapping[str, Node] | None = None,
) -> Roll:
    """The nodes by server; `only` are labels that nodes of ours have, `before` those that counted so far."""
    alive: dict[str, Node] = {}
    dead: dict[str, str] = {}
    twins: set[str] = set()
    for one in told:
        labels = one["labels"]
        if any(labels.get(name) != value for name, value in (only or {}).items()):
            continue
        server = labels.get(HOST_LABEL) or one["address"]
        if not one["alive"]:
            dead[server] = one["why"] or "its node died"
            continue
        if server in alive:
            twins.add(server)
            if before is None or server not in before or one["id"] != before[server].id:
                continue
        amounts = _in_our_names(one["amounts"])
        free = amounts if one["free"] is None else _in_our_names(one["free"])
        alive[server] = Node(one["id"], server, one["address"], labels.get(RACK_LABEL, ""), amounts, free)
    return Roll(alive, dead, frozenset(twins))


def find_cluster(nodes: Mapping[str, Node], wanted: Cluster | None, known: Cluster | None) -> Cluster:
    """The servers that are ours, with their links; also those of an earlier look that are not there now."""
    if wanted is not None:
        return wanted
    before = {} if known is None else known.server_by_name
    has_gpus = any(node.amounts.get("gpu") for node in nodes.values()) or any(
        server.resources.get("gpu") for server in before.values()
    )
    what = "gpu" if has_gpus else "cpu"
    servers = {name: server.resources for name, server in before.items()}
    servers |= {
        name: Resources({key: node.amounts[key] for key in ("gpu", "cpu") if key in node.amounts})
        for name, node in nodes.items()
        if node.amounts.get(what)
    }
    if known is not None and servers.keys() == before.keys():
        return Cluster(
            tuple(Server(server.name, servers[server.name]) for server in known.servers),
            known.switches,
            known.links,
        )
    racks = _find_racks(known) | {name: node.rack for name, node in nodes.items()}
    switches = [CORE, *sorted({f"{RACK_PREFIX}{racks[name]}" for name in servers if racks.get(name)})]
    uplinks = [Link((rack, CORE), ASSUMED_GBPS) for rack in switches[1:]]
    cables = [
        Link((name, f"{RACK_PREFIX}{racks[name]}" if racks.get(name) else CORE), ASSUMED_GBPS)
        for name in sorted(servers)
    ]
    made = tuple(Server(name, servers[name]) for name in sorted(servers))
    return Cluster(made, tuple(switches), (*cables, *uplinks))


def _find_racks(known: Cluster | None) -> dict[str, str]:
    """The racks of servers as an earlier look found them."""
    links = () if known is None else known.links
    return {
        server: switch.removeprefix(RACK_PREFIX)
        for link in links
        for server, switch in (link.ends, link.ends[::-1])
        if switch.startswith(RACK_PREFIX) and server != CORE
    }


def find_taken(node: Node, held: Amounts) -> dict[str, float]:
    """What others have of a node; `held` is what our own ranks have there."""
    left = {name: node.free.get(name, 0.0) + held.get(name, 0.0) for name in node.amounts}
    taken = {name: amount - left[name] for name, amount in node.amounts.items()}
    return {name: amount for name, amount in taken.items() if amount > _GRAIN}


def limit_cluster(cluster: Cluster, nodes: Mapping[str, Node], taken: Mapping[str, Amounts]) -> Cluster:
    """The cluster with no more on each server than its node has, and than others have left of it."""

    def limit(server: Server) -> Server:
        if (node := nodes.get(server.name)) is None:
            return server
        others = taken.get(server.name, {})
        amounts = {}
        for name, amount in server.resources.items():
            if name not in node.amounts:
                # Ray keeps no account of it; of GPUs and cores it does, and there are none.
                amounts[name] = 0.0 if name in _IN_RAY else amount
                continue
            most = node.amounts[name] - others.get(name, 0.0)
            amounts[name] = amount if amount <= most + TOLERANCE * max(1.0, amount) else max(most, 0.0)
        return Server(server.name, Resources(amounts))

    return Cluster(tuple(map(limit, cluster.servers)), cluster.switches, cluster.links)


def demand(resources: Amounts, there: Amounts) -> dict[str, float]:
    """What Ray is asked for one worker: of resources that the node has an account of."""
    return {_IN_RAY.get(name, name): amount for name, amount in resources.items() if amount and name in there}


def sum_amounts(workers: Iterable[tuple[str, Amounts]]) -> dict[str, dict[str, float]]:
    """What all workers have, by server."""
    held: dict[str, dict[str, float]] = {}
    for server, amounts in workers:
        here = held.setdefault(server, {})
        for name, amount in amounts.items():
            here[name] = here.get(name, 0.0) + amount
    return held


def _in_our_names(amounts: Amounts) -> dict[str, float]:
    ours = {value: key for key, value in _IN_RAY.items()}
    kept_out = ("node:", "object_store_memory", "memory", "accelerator_type:")
    return {ours.get(name, name): amount for name, amount in amounts.items() if not name.startswith(kept_out)}
