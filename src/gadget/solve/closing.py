"""From workers by server to a ring: depth-first order over a tree closes it at least cost.

Every tree edge that separates two of the ring's servers is crossed exactly once in each direction, and no
ring can do less (problem.md §3).
"""

from gadget.model.job import Job
from gadget.model.ring import Ring
from gadget.solve.ground import Sites
from gadget.solve.network import Network

Parents = dict[int, int]
"""A tree: each node's parent, the root its own, parents before children."""


def close_ring(network: Network, job: Job, chosen: dict[int, int], parent: Parents) -> Ring:
    """The ring over the chosen servers in depth-first order of the tree, routed along it."""
    names = network.nodes
    stops = _depth_first(parent, chosen)
    workers = tuple(names[stop] for stop in stops for _ in range(chosen[stop]))
    if len(workers) == 1:
        return Ring(job.name, workers, ())
    routes: list[tuple[str, ...]] = []
    for place, stop in enumerate(stops):
        routes += [(names[stop],)] * (chosen[stop] - 1)
        routes.append(tuple(names[node] for node in _route(parent, stop, stops[(place + 1) % len(stops)])))
    return Ring(job.name, workers, tuple(routes))


def _depth_first(parent: Parents, chosen: dict[int, int]) -> list[int]:
    below: dict[int, list[int]] = {node: [] for node in parent}
    root = next(iter(parent))
    for node, above in parent.items():
        if node != root:
            below[above].append(node)
    order, stack = [], [root]
    while stack:
        node = stack.pop()
        if node in chosen:
            order.append(node)
        stack.extend(reversed(below[node]))
    return order


def _route(parent: Parents, here: int, there: int) -> list[int]:
    """The way from one node of the tree to another: up to where their ways to the root meet, then down."""
    up, down = _to_root(parent, here), _to_root(parent, there)
    while len(up) > 1 and len(down) > 1 and up[-2] == down[-2]:
        up.pop()
        down.pop()
    return up + down[-2::-1]


def _to_root(parent: Parents, node: int) -> list[int]:
    way = [node]
    while parent[node] != node:
        node = parent[node]
        way.append(node)
    return way


def close_counts(network: Network, sites: Sites, row: int, job: str, chosen: dict[int, int]) -> Ring:
    """The ring over the chosen servers on one of the trees of the ground; its numbers are depth-first."""
    names, parent, node_of = network.nodes, sites.parents[row], sites.nodes[row]
    stops = sorted((sites.tree_node(row, server), server) for server in chosen)
    workers = tuple([name for _, server in stops for name in [names[server]] * chosen[server]])
    if len(workers) == 1:
        return Ring(job, workers, ())
    routes: list[tuple[str, ...]] = []
    for place, (node, server) in enumerate(stops):
        routes += [(names[server],)] * (chosen[server] - 1)
        there = stops[(place + 1) % len(stops)][0]
        up, down = [node], [there]
        # Numbers fall on the way to the root: the greater of the two climbs until both meet.
        while up[-1] != down[-1]:
            if up[-1] > down[-1]:
                up.append(parent[up[-1]])
            else:
                down.append(parent[down[-1]])
        down.pop()
        routes.append(tuple([names[node_of[step]] for step in up + down[::-1]]))
    return Ring(job, workers, tuple(routes))
