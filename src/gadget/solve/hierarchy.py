"""A cluster as a tree of cuts: itself where it is a tree, a relaxation where it is not.

Every ring with servers inside and outside a set of nodes leaves the set and enters it again, so Σ b over such
rings keeps within what the links out of the set carry together. A family of nested sets is a tree, and rings
on it are priced exactly. On a tree cluster the subtrees are the sets, and nothing is lost (problem.md §3). On
any other graph we nest the components of "nodes within h hops of a server", h = 0, 1, …: in a leaf–spine or
fat-tree network these are the servers, the racks and the pods, with all their parallel links as one.
"""

from dataclasses import dataclass

import numpy as np

from gadget.solve.lifetime import once_in_a_life
from gadget.solve.market import Floats, Integers, Tree, build_tree
from gadget.solve.network import Network


@dataclass(frozen=True, eq=False)
class Hierarchy:
    """The tree of cuts; nodes are numbered depth first, so that a ring in number order costs least."""

    tree: Tree
    is_exact: bool
    """True when the cluster is a tree (or several), so that counts by server are all there is to a ring."""
    node_of_server: Integers
    """The tree node of each server."""
    network_node: Integers
    """The network node of each tree node; −1 where there is none."""
    depth: Integers
    capacity: Floats
    """What each node has of each resource, (nodes × resources); 0 unless it is a server."""
    gbps: Floats
    """Gbps both in and out of the set below each node; −1 where nothing can cross."""
    width: Floats
    """The widest link among them: a ring that needs more cannot cross."""
    lanes: Integers
    """How many links there are if all are equally wide, else 0; cuts count on them."""
    links: int
    """How many undirected links the network has."""
    cut_start: Integers
    cut_links: Integers
    """Directed links out of each node's set."""


@once_in_a_life
def build_hierarchy(network: Network) -> Hierarchy:
    """The tree of cuts of a network."""
    return _build_tree(network) if network.is_forest else _build_cuts(network)


def _build_tree(network: Network) -> Hierarchy:
    """The trees of the network, under one root that nothing crosses if there are several."""
    roots = [_find_centre(network, component) for component in network.components]
    kids: list[list[tuple[int, int]]] = [[] for _ in network.nodes]
    for root in roots:
        above, stack = {root: -1}, [root]
        while stack:
            node = stack.pop()
            for beside, link in network.around[node]:
                if beside != above[node]:
                    above[beside] = node
                    kids[node].append((beside, link))
                    stack.append(beside)
    if len(roots) == 1:
        top: list[tuple[int, int]] = kids[roots[0]]
        return _number(network, roots[0], top, kids, {}, is_exact=True)
    return _number(network, -1, [(root, -1) for root in roots], kids, {}, is_exact=True)


def _build_cuts(network: Network) -> Hierarchy:
    """Nested components of the nodes within h hops of a server, as a tree over the servers."""
    count, hops = len(network.nodes), network.hops_to_servers
    links = {s: [link for _, link in network.around[s]] for s in range(network.servers)}
    below: dict[int, list[int]] = {s: [] for s in range(network.servers)}
    holder = list(range(count))  # the set that each node lies in by now; servers begin as their own
    fresh = count
    for most in range(int(hops[hops < count].max(initial=0)) + 1):
        for component in _components(network, hops <= most):
            inside = set(component)
            parts = list(dict.fromkeys(holder[node] for node in component if holder[node] in below))
            if not parts:
                continue
            out = [link for node in component for b, link in network.around[node] if b not in inside]
            if len(parts) == 1:
                # The same servers: both cuts hold, keep the tighter one.
                if _gbps(network, out) < _gbps(network, links[parts[0]]):
                    links[parts[0]] = out
                name = parts[0]
            else:
                name, fresh = fresh, fresh + 1
                below[name], links[name] = parts, out
            for node in component:
                holder[node] = name
    inner = {name for parts in below.values() for name in parts}
    tops = [name for name in below if name not in inner]
    kids = [[(kid, -2) for kid in below.get(name, ())] for name in range(fresh)]
    root = tops[0] if len(tops) == 1 and tops[0] >= count else -1
    top = kids[root] if root >= 0 else [(name, -1) for name in tops]
    return _number(network, root, top, kids, links, is_exact=False)


def _number(
    network: Network,
    root: int,
    top: list[tuple[int, int]],
    kids: list[list[tuple[int, int]]],
    links: dict[int, list[int]],
    *,
    is_exact: bool,
) -> Hierarchy:
    """Number the tree depth first. A kid comes with its link: −1 none, −2 those of `links`."""
    names, parents, depths = [root], [-1], [0]
    cuts: list[list[int]] = [[]]
    stack = [(kid, link, 0) for kid, link in reversed(top)]
    while stack:
        name, link, parent = stack.pop()
        here = len(names)
        names.append(name)
        parents.append(parent)
        depths.append(depths[parent] + 1)
        # Out of the subtree leads the opposite direction of the link that came in.
        cuts.append([] if link == -1 else links[name] if link == -2 else [link ^ 1])
        stack.extend((kid, way, here) for kid, way in reversed(kids[name]))
    count = len(names)
    number = np.array(names, dtype=np.int64)
    is_server = (number >= 0) & (number < network.servers)
    node_of_server = np.zeros(network.servers, dtype=np.int64)
    node_of_server[number[is_server]] = np.flatnonzero(is_server)
    capacity = np.zeros((count, network.capacity.shape[1]))
    capacity[is_server] = network.capacity[number[is_server]]
    sizes = np.array([len(cut) for cut in cuts], dtype=np.int64)
    cut_start = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
    cut_links = np.array([link for cut in cuts for link in cut], dtype=np.int64)
    gbps, width, narrowest = np.full(count, -1.0), np.full(count, -1.0), np.full(count, -1.0)
    if len(cut_links):
        some, link_gbps = sizes > 0, network.link_gbps[cut_links]
        first = cut_start[:-1][some]
        gbps[some] = np.add.reduceat(link_gbps, first)
        width[some] = np.maximum.reduceat(link_gbps, first)
        narrowest[some] = np.minimum.reduceat(link_gbps, first)
    parent_of = np.array(parents, dtype=np.int64)
    return Hierarchy(
        tree=build_tree(parent_of, np.ones(count, dtype=np.int64), is_server),
        is_exact=is_exact,
        node_of_server=node_of_server,
        network_node=np.where(number < len(network.nodes), number, -1),
        depth=np.array(depths, dtype=np.int64),
        capacity=capacity,
        gbps=gbps,
        width=width,
        lanes=np.where(width == narrowest, sizes, 0),
        links=len(network.link_gbps) // 2,
        cut_start=cut_start,
        cut_links=cut_links,
    )


def _gbps(network: Network, links: list[int]) -> float:
    return float(network.link_gbps[links].sum())


def _components(network: Network, inside: np.ndarray) -> list[list[int]]:
    """Connected components of the nodes inside."""
    seen: set[int] = set()
    found = []
    for start in np.flatnonzero(inside).tolist():
        if start in seen:
            continue
        seen.add(start)
        component, frontier = [start], [start]
        while frontier:
            for beside, _ in network.around[frontier.pop()]:
                if inside[beside] and beside not in seen:
                    seen.add(beside)
                    component.append(beside)
                    frontier.append(beside)
        found.append(component)
    return found


def _find_centre(network: Network, component: list[int]) -> int:
    """The node of a tree whose farthest node is nearest: peel leaves until one or two are left."""
    degree = {node: len(network.around[node]) for node in component}
    layer = [node for node in component if degree[node] <= 1]
    left = len(component)
    while left > 2:
        left -= len(layer)
        after = []
        for node in layer:
            for beside, _ in network.around[node]:
                degree[beside] -= 1
                if degree[beside] == 1:
                    after.append(beside)
        layer = after
    # Of two, a switch, which the racks hang from, rather than a server.
    return max(layer)
