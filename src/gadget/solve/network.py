"""A cluster as arrays: the one crossing from names to numbers."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from gadget.model.cluster import Cluster
from gadget.model.job import Job
from gadget.solve.lifetime import once_in_a_life

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Network:
    """Nodes, servers first, and directed links, by number; links 2k and 2k+1 are the two ways of one."""

    nodes: tuple[str, ...]
    is_connected: bool
    servers: int
    """How many servers there are; they are nodes 0 … servers−1."""
    node_number: dict[str, int]
    resource_number: dict[str, int]
    capacity: Floats
    """What each server has of each resource, (servers × resources)."""
    link_gbps: Floats
    """Capacity of each directed link."""
    around: tuple[tuple[tuple[int, int], ...], ...]
    """For each node its neighbours as (node, directed link that leads there)."""

    @cached_property
    def ends(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Node that each directed link leaves, and node that it enters."""
        tail = np.zeros(len(self.link_gbps), dtype=np.int64)
        for node, beside in enumerate(self.around):
            for _, link in beside:
                tail[link] = node
        return tail, tail.reshape(-1, 2)[:, ::-1].ravel()

    @cached_property
    def link_between(self) -> dict[tuple[int, int], int]:
        """The directed link from one node to a neighbour."""
        return {(node, there): link for node, beside in enumerate(self.around) for there, link in beside}

    @cached_property
    def components(self) -> tuple[list[int], ...]:
        """Nodes that routes join, each set in order of discovery."""
        seen = [False] * len(self.nodes)
        found = []
        for start in range(len(self.nodes)):
            if seen[start]:
                continue
            seen[start] = True
            component = [start]
            for node in component:  # grows while it is read
                for beside, _ in self.around[node]:
                    if not seen[beside]:
                        seen[beside] = True
                        component.append(beside)
            found.append(component)
        return tuple(found)

    @cached_property
    def is_forest(self) -> bool:
        """True when there is at most one route between any two nodes."""
        return len(self.link_gbps) // 2 == len(self.nodes) - len(self.components)

    @cached_property
    def hops_to_servers(self) -> NDArray[np.int64]:
        """Links to the nearest server, for each node; the number of nodes where none is reached."""
        count = len(self.nodes)
        hops = np.full(count, count, dtype=np.int64)
        hops[: self.servers] = 0
        frontier = list(range(self.servers))
        for node in frontier:  # grows while it is read
            for beside, _ in self.around[node]:
                if hops[beside] == count:
                    hops[beside] = hops[node] + 1
                    frontier.append(beside)
        return hops

    def demand(self, job: Job) -> Floats | None:
        """What a worker takes of each resource, or None if it needs one that no server has."""
        demand = np.zeros(len(self.resource_number))
        for name, amount in job.resources.items():
            if name in self.resource_number:
                demand[self.resource_number[name]] = amount
            elif amount:
                return None
        return demand


@once_in_a_life
def compile_network(cluster: Cluster) -> Network:
    """The arrays of a cluster."""
    node_number = {name: number for number, name in enumerate(cluster.nodes)}
    resource_number = {name: number for number, name in enumerate(cluster.resource_names)}
    capacity = np.zeros((len(cluster.servers), len(resource_number)))
    for row, server in enumerate(cluster.servers):
        for name, amount in server.resources.items():
            capacity[row, resource_number[name]] = amount
    around: list[list[tuple[int, int]]] = [[] for _ in cluster.nodes]
    for number, link in enumerate(cluster.links):
        a, b = (node_number[end] for end in link.ends)
        around[a].append((b, 2 * number))
        around[b].append((a, 2 * number + 1))
    return Network(
        nodes=cluster.nodes,
        is_connected=cluster.is_connected,
        servers=len(cluster.servers),
        node_number=node_number,
        resource_number=resource_number,
        capacity=capacity,
        link_gbps=np.repeat([float(link.gbps) for link in cluster.links], 2),
        around=tuple(tuple(sorted(beside)) for beside in around),
    )
