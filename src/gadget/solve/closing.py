"""From workers by server to a ring: depth-first order over a tree closes it at least cost.

Every tree edge that separates two of the ring's servers is crossed exactly once in each direction, and no
ring can do less (problem.md §3).
"""

from gadget.model.job import Job
from gadget.model.ring import Ring
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
