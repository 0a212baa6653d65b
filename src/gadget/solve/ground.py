"""Where rings can lie: one tree, or several spanning trees of a graph, over the same servers and links.

A ring on a tree crosses each of its links once in each direction, so one number a link says what is free. On
a graph every ring lies on one of several shortest-path trees: through each spine of a leaf–spine network,
each core of a fat-tree, from each server of a torus. Different rings take different trees as prices and room
tell them to, so that parallel links share the load.
"""

from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np

from gadget.solve.classes import find_classes
from gadget.solve.compiled import compiled
from gadget.solve.hierarchy import Hierarchy, build_hierarchy
from gadget.solve.lifetime import once_in_a_life
from gadget.solve.market import Booleans, Integers, Tree, build_tree
from gadget.solve.network import Network

# Nodes of all trees together: what a job looks at when it seeks a place.
MOST_NODES = 6_000


class Ground(NamedTuple):
    """Trees as rows, and where their nodes and links lie on the ground: servers first, then links."""

    parent: Integers
    kid_start: Integers
    kids: Integers
    is_server: Booleans
    end: Integers
    server_at: Integers
    """Ground place of each node that is a server, else −1."""
    link_at: Integers
    """Ground place of the link to each node's parent, else −1."""
    copies: Integers
    look: Integers
    """Classes of the nodes where there is one tree; on a graph all nodes differ."""


@compiled
def take_tree(ground: Ground, row: int) -> Tree:
    """One of the trees."""
    return Tree(
        ground.parent[row],
        ground.kid_start[row],
        ground.kids[row],
        ground.copies,
        ground.is_server[row],
        ground.end[row],
        ground.look,
    )


@dataclass(frozen=True, eq=False)
class Sites:
    """The ground of a network, with what is needed to come and go between it and names."""

    ground: Ground
    is_one: bool
    """True when there is one tree and its node numbers are the ground places."""
    places: int
    place_of_server: Integers
    place_of_link: Integers
    """Ground place of each undirected link."""
    node_of: Integers
    """Network node of each tree node, a row a tree; −1 for a root that stands for none."""

    @cached_property
    def _node_of_server(self) -> list[list[int]]:
        found = np.full((len(self.node_of), len(self.place_of_server)), -1, dtype=np.int64)
        rows, nodes = np.nonzero(self.ground.is_server)
        found[rows, self.node_of[rows, nodes]] = nodes
        return [list(row) for row in found.tolist()]

    @cached_property
    def parents(self) -> list[list[int]]:
        """Parents of each tree's nodes as plain numbers, for code that climbs node by node."""
        return [list(row) for row in self.ground.parent.tolist()]

    @cached_property
    def nodes(self) -> list[list[int]]:
        """`node_of` as plain numbers."""
        return [list(row) for row in self.node_of.tolist()]

    def tree(self, row: int) -> Tree:
        """One of the trees."""
        return take_tree(self.ground, row)

    def tree_node(self, row: int, server: int) -> int:
        """The node of a server on one of the trees."""
        return self._node_of_server[row][server]


@once_in_a_life
def find_sites(network: Network) -> Sites:
    """The ground of a network."""
    return _lay_tree(network) if network.is_forest else _lay_graph(network)


def _lay_tree(network: Network) -> Sites:
    hierarchy = build_hierarchy(network)
    tree, count = hierarchy.tree, len(hierarchy.tree.parent)
    place_of_link = np.full(len(network.link_gbps) // 2, -1, dtype=np.int64)
    crossed = np.flatnonzero(np.diff(hierarchy.cut_start))
    place_of_link[hierarchy.cut_links // 2] = crossed
    own = np.arange(count, dtype=np.int64)
    ground = Ground(
        tree.parent[None],
        tree.kid_start[None],
        tree.kids[None],
        tree.is_server[None],
        tree.end[None],
        np.where(tree.is_server, own, -1)[None],
        own[None],
        tree.copies,
        find_classes(hierarchy).class_of,
    )
    return Sites(ground, True, count, hierarchy.node_of_server, place_of_link, hierarchy.network_node[None])


def _lay_graph(network: Network) -> Sites:
    hierarchy = build_hierarchy(network)
    roots = _choose_roots(network, hierarchy)
    count = len(network.nodes) + 1
    trees = [_spread(network, root) for root in roots]
    node_of = np.array([nodes for nodes, _, _ in trees], dtype=np.int64)
    parent = np.array([parents for _, parents, _ in trees], dtype=np.int64)
    link = np.array([links for _, _, links in trees], dtype=np.int64)
    is_server = (node_of >= 0) & (node_of < network.servers)
    one = np.ones(count, dtype=np.int64)
    built = [build_tree(parent[row], one, is_server[row]) for row in range(len(trees))]
    ground = Ground(
        parent,
        np.array([tree.kid_start for tree in built]),
        np.array([tree.kids for tree in built]),
        is_server,
        np.array([tree.end for tree in built]),
        np.where(is_server, node_of, -1),
        np.where(link >= 0, network.servers + link // 2, -1),
        one,
        np.arange(count),
    )
    links = len(network.link_gbps) // 2
    return Sites(
        ground,
        False,
        network.servers + links,
        np.arange(network.servers),
        network.servers + np.arange(links),
        node_of,
    )


def _choose_roots(network: Network, hierarchy: Hierarchy) -> list[int]:
    """Switches farthest from the servers, or the servers where they are joined; evenly thinned out."""
    if hierarchy.depth.max(initial=0) > 1:
        hops = network.hops_to_servers
        reached = hops < len(network.nodes)
        roots = np.flatnonzero(reached & (hops == hops[reached].max())).tolist()
    else:
        roots = list(range(network.servers))
    most = max(4, MOST_NODES // (len(network.nodes) + 1))
    if len(roots) > most:
        roots = [roots[place] for place in np.linspace(0, len(roots) - 1, most).astype(int)]
    return roots or [0]


def _spread(network: Network, root: int) -> tuple[list[int], list[int], list[int]]:
    """A breadth-first tree in depth-first numbers under a root that is no node: nodes, parents, links.

    Neighbours are looked at from another one on for every root, so that trees do not all bend the same way.
    """
    above: dict[int, tuple[int, int]] = {root: (-1, -1)}
    kids: dict[int, list[int]] = {}
    tops = [root]
    for start in (root, *range(len(network.nodes))):
        if start in above and start != root:
            continue
        if start != root:
            above[start] = (-1, -1)
            tops.append(start)
        frontier = [start]
        for node in frontier:  # grows while it is read
            beside = network.around[node]
            turn = root % max(1, len(beside))
            for there, link in (*beside[turn:], *beside[:turn]):
                if there not in above:
                    above[there] = (node, link)
                    kids.setdefault(node, []).append(there)
                    frontier.append(there)
    nodes, parents, links = [-1], [-1], [-1]
    stack = [(top, 0) for top in reversed(tops)]
    while stack:
        node, parent = stack.pop()
        here = len(nodes)
        nodes.append(node)
        parents.append(parent)
        links.append(above[node][1])
        stack.extend((kid, here) for kid in reversed(kids.get(node, ())))
    return nodes, parents, links
