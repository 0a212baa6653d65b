"""Where rings can lie: trees that span the network, and rings closed along them."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gadget.model.builders import build_fat_tree, build_leaf_spine, build_ring4, build_torus
from gadget.model.cluster import Cluster
from gadget.solve.ground import Sites, find_sites
from gadget.solve.held_rings import close_along
from gadget.solve.network import Network, compile_network
from gadget.solve.room import is_closed
from tests.strategies import clusters, trees
from tests.unit.solve.small import islands, line

NETWORKS = {
    "leaf-spine": build_leaf_spine(3, 4, 2),
    "fat-tree": build_fat_tree(4),
    "torus": build_torus((3, 4)),
    "ring": build_ring4(),
    "one spine": build_leaf_spine(3, 1, 2),
    "line": line(1, 2, 3),
    "islands": islands(1, 2),
}


def check(network: Network, sites: Sites) -> None:
    """Every row is a tree over all nodes along links of the network, in depth-first numbers."""
    ground = sites.ground
    tail, head = network.ends
    link_of_place = {place: link for link, place in enumerate(sites.place_of_link.tolist())}
    assert len(link_of_place) == len(network.link_gbps) // 2
    assert all(0 <= place < sites.places for place in link_of_place)
    assert len(set(sites.place_of_server.tolist())) == network.servers
    for row in range(len(ground.parent)):
        tree = sites.tree(row)
        nodes = sites.node_of[row]
        assert sorted(nodes[nodes >= 0].tolist()) == list(range(len(network.nodes)))
        assert tree.parent[0] == -1
        for node in range(len(tree.parent)):
            here, kids = int(nodes[node]), tree.kids[tree.kid_start[node] : tree.kid_start[node + 1]]
            assert (tree.parent[kids] == node).all()
            is_server = 0 <= here < network.servers
            assert tree.is_server[node] == is_server
            if is_server:
                assert ground.server_at[row, node] == sites.place_of_server[here]
                assert sites.tree_node(row, here) == node
            else:
                assert ground.server_at[row, node] == -1
            if node:
                assert tree.parent[node] < node < tree.end[node] <= tree.end[tree.parent[node]]
                link = link_of_place.get(int(ground.link_at[row, node]))
                there = int(nodes[tree.parent[node]])
                if link is None:
                    # Nothing above: the root stands for no node, and no link of the network is given away.
                    assert there == -1 or (sites.is_one and here == -1)
                else:
                    assert {int(tail[2 * link]), int(head[2 * link])} == {here, there}
        assert len(tree.kids) == len(tree.parent) - 1


@given(clusters())
def test_every_row_is_a_tree_over_the_network(cluster: Cluster) -> None:
    network = compile_network(cluster)
    sites = find_sites(network)
    assert sites.is_one == network.is_forest
    check(network, sites)


@pytest.mark.parametrize("name", NETWORKS)
def test_known_networks(name: str) -> None:
    network = compile_network(NETWORKS[name])
    check(network, find_sites(network))


def test_a_tree_is_its_own_ground() -> None:
    sites = find_sites(compile_network(NETWORKS["one spine"]))
    assert sites.is_one
    assert len(sites.ground.parent) == 1
    # Alike nodes have one look.
    assert sorted(np.bincount(sites.ground.look).tolist()) == [1, 3, 6]


@pytest.mark.parametrize(("name", "roots"), [("leaf-spine", 4), ("fat-tree", 4), ("torus", 12), ("ring", 4)])
def test_a_graph_has_a_tree_through_each_spine_core_or_server(name: str, roots: int) -> None:
    network = compile_network(NETWORKS[name])
    sites = find_sites(network)
    assert not sites.is_one
    tops = [int(sites.node_of[row, 1]) for row in range(len(sites.ground.parent))]
    assert len(tops) == len(set(tops)) == roots


@pytest.mark.parametrize("name", ["leaf-spine", "fat-tree", "torus", "ring"])
def test_trees_of_a_graph_are_of_shortest_paths(name: str) -> None:
    network = compile_network(NETWORKS[name])
    sites = find_sites(network)
    for row in range(len(sites.ground.parent)):
        depth = {0: 0}
        for node in range(1, len(sites.ground.parent[row])):
            depth[node] = depth[int(sites.ground.parent[row, node])] + 1
        hops = {int(sites.node_of[row, 1]): 1}
        frontier = list(hops)
        for node in frontier:
            for beside, _ in network.around[node]:
                if beside not in hops:
                    hops[beside] = hops[node] + 1
                    frontier.append(beside)
        assert {int(sites.node_of[row, node]): far for node, far in depth.items() if node} == hops


def check_closed(network: Network, sites: Sites, row: int, counts: dict[int, int]) -> None:
    """A ring over these servers is a ring, and crosses what parts its servers once each way, nothing else."""
    ring = close_along(network, sites, row, "j", list(counts.items()))
    assert is_closed(ring)
    assert ring.workers_by_server() == {network.nodes[server]: count for server, count in counts.items()}
    number = network.node_number
    crossed = sorted(network.link_between[number[a], number[b]] for a, b in ring.hops())
    below = np.zeros(len(sites.ground.parent[row]), np.int64)
    for server, count in counts.items():
        node = sites.tree_node(row, server)
        while node >= 0:
            below[node] += count
            node = int(sites.ground.parent[row, node])
    parted = np.flatnonzero((below > 0) & (below < ring.size))
    links = [sites.place_of_link.tolist().index(int(sites.ground.link_at[row, node])) for node in parted]
    assert crossed == sorted(way for link in links for way in (2 * link, 2 * link + 1))


@pytest.mark.parametrize("name", ["leaf-spine", "fat-tree", "torus", "ring", "one spine", "line"])
def test_rings_close_along_every_tree(name: str) -> None:
    network = compile_network(NETWORKS[name])
    sites = find_sites(network)
    rng = np.random.default_rng(7)
    for row in range(len(sites.ground.parent)):
        for _ in range(20):
            chosen = rng.permutation(network.servers)[: rng.integers(1, network.servers + 1)]
            check_closed(network, sites, row, {int(server): int(rng.integers(1, 4)) for server in chosen})


@given(trees(), st.data())
def test_rings_close_on_any_tree(cluster: Cluster, data: st.DataObject) -> None:
    network = compile_network(cluster)
    servers = st.integers(0, network.servers - 1)
    counts = data.draw(st.dictionaries(servers, st.integers(1, 3), min_size=1))
    check_closed(network, find_sites(network), 0, counts)


def test_it_is_found_once() -> None:
    network = compile_network(NETWORKS["torus"])
    assert find_sites(network) is find_sites(network)
