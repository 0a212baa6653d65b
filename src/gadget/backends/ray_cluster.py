"""What Ray says of its nodes, as servers: their names, what is in them, and what is left for us.

Servers go by a label of their nodes (`host`), or by the address of a node without it. A cluster file says
which of them are ours, how much of each, and how they are linked; where it names more than a node has, the
node is right. Without one, every node with GPUs is ours, in racks if they have a label `rack`.
"""

import logging
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from gadget.model.cluster import Cluster, Link, Server
from gadget.model.quantity import TOLERANCE
from gadget.model.resources import Resources

_log = logging.getLogger(__name__)

HOST_LABEL = "host"
RACK_LABEL = "rack"
ASSUMED_GBPS = 100.0
"""Of every link, where no file says it."""
CORE = "ray-core"
# How Ray calls what has a name of its own there; anything else is a custom resource of the same name.
_IN_RAY = {"gpu": "GPU", "cpu": "CPU"}


@dataclass(frozen=True, slots=True)
class Node:
    """A Ray node that is alive, under its server's name."""

    id: str
    server: str
    address: str
    rack: str = ""
    amounts: Mapping[str, float] = field(default_factory=dict)
    """All that is in it, in our names."""
    free: Mapping[str, float] = field(default_factory=dict)


def read_nodes(
    told: Iterable[Mapping[str, Any]], *, only: Mapping[str, str] | None = None
) -> tuple[dict[str, Node], dict[str, str]]:
    """The living nodes by server, and why dead ones died; `only` are labels that nodes of ours have."""
    alive: dict[str, Node] = {}
    dead: dict[str, str] = {}
    for one in told:
        labels = one["labels"]
        if any(labels.get(name) != value for name, value in (only or {}).items()):
            continue
        server = labels.get(HOST_LABEL) or one["address"]
        if not one["alive"]:
            dead[server] = one["why"] or "its node died"
        elif server in alive:
            _log.debug("two Ray nodes go by the name %s; %s is left out", server, one["id"])
        else:
            alive[server] = Node(
                one["id"],
                server,
                one["address"],
                labels.get(RACK_LABEL, ""),
                _in_our_names(one["amounts"]),
                _in_our_names(one["free"]),
            )
    return alive, dead


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
    racks = {name: nodes[name].rack if name in nodes else "" for name in servers}
    switches = [CORE, *sorted({rack for rack in racks.values() if rack})]
    uplinks = [Link((rack, CORE), ASSUMED_GBPS) for rack in switches[1:]]
    cables = [Link((name, racks[name] or CORE), ASSUMED_GBPS) for name in sorted(servers)]
    made = tuple(Server(name, servers[name]) for name in sorted(servers))
    return Cluster(made, tuple(switches), (*cables, *uplinks))


def limit_cluster(
    cluster: Cluster, nodes: Mapping[str, Node], held: Mapping[str, Mapping[str, float]]
) -> Cluster:
    """The cluster with no more on each server than its node has, and than others have left of it.

    `held` is what our own ranks have there: free to us in the sense that no other has it.
    """

    def limit(server: Server) -> Server:
        if (node := nodes.get(server.name)) is None:
            return server
        ours = held.get(server.name, {})
        amounts = {}
        for name, amount in server.resources.items():
            if name not in node.amounts:
                # Ray keeps no account of it; of GPUs and cores it does, and there are none.
                amounts[name] = 0.0 if name in _IN_RAY else amount
                continue
            left = node.free.get(name, 0.0) + ours.get(name, 0.0)
            most = min(node.amounts[name], left)
            amounts[name] = amount if amount <= most + TOLERANCE * max(1.0, amount) else max(most, 0.0)
        return Server(server.name, Resources(amounts))

    return Cluster(tuple(map(limit, cluster.servers)), cluster.switches, cluster.links)


def demand(resources: Mapping[str, float], there: Mapping[str, float]) -> dict[str, float]:
    """What Ray is asked for one worker: of resources that the node has an account of."""
    return {_IN_RAY.get(name, name): amount for name, amount in resources.items() if amount and name in there}


def sum_held(workers: Iterable[tuple[str, Mapping[str, float]]]) -> dict[str, dict[str, float]]:
    """What all workers hold, by server."""
    held: dict[str, dict[str, float]] = {}
    for server, amounts in workers:
        here = held.setdefault(server, {})
        for name, amount in amounts.items():
            here[name] = here.get(name, 0.0) + amount
    return held


def _in_our_names(amounts: Mapping[str, float]) -> dict[str, float]:
    ours = {value: key for key, value in _IN_RAY.items()}
    kept_out = ("node:", "object_store_memory", "memory", "accelerator_type:")
    return {ours.get(name, name): amount for name, amount in amounts.items() if not name.startswith(kept_out)}
