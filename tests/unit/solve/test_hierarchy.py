"""The tree of cuts: exact on trees, and on any graph every cut holds for whatever fits."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gadget.model.builders import (
    build_fat_tree,
    build_leaf_spine,
    build_paper_cluster,
    build_ring4,
    build_torus,
)
from gadget.model.cluster import Cluster, Link, Server
from gadget.model.quantity import TOLERANCE
from gadget.model.resources import Resources
from gadget.solve.greedy import place_greedily
from gadget.solve.hierarchy import Hierarchy, build_hierarchy
from gadget.solve.network import Network, compile_network
from gadget.solve.room import Room
from tests.strategies import graphs, trees
from tests.unit.solve.small import islands, job, line

TWO = Resources({"gpu": 2})
NETWORKS = {
    "leaf-spine": build_leaf_spine(3, 2, 3, resources=TWO, server_gbps=4, uplink_gbps=3),
    "fat-tree": build_fat_tree(4, resources=TWO, server_gbps=5, fabric_gbps=3),
    "torus": build_torus((3, 4), resources=TWO, gbps=3),
    "ring": build_ring4(resources=TWO, gbps=3),
    "line": line(2, 1, 3, 2, gbps=4),
    "paper": build_paper_cluster(np.random.default_rng(5), servers=12),
}


def servers_below(hierarchy: Hierarchy, node: int) -> set[int]:
    inside = range(node, int(hierarchy.tree.end[node]))
    return {server for server, at in enumerate(hierarchy.node_of_server.tolist()) if at in inside}


def links_of(hierarchy: Hierarchy, node: int) -> list[int]:
    """The directed links out of the set below a node."""
    found = hierarchy.cut_links[hierarchy.cut_start[node] : hierarchy.cut_start[node + 1]]
    return [int(link) for link in found]


def reach(network: Network, start: set[int], closed: set[int]) -> set[int]:
    """Nodes that can be reached without the closed links."""
    seen, frontier = set(start), list(start)
    while frontier:
        for beside, link in network.around[frontier.pop()]:
            if beside not in seen and link not in closed:
                seen.add(beside)
                frontier.append(beside)
    return seen


def check(network: Network, hierarchy: Hierarchy) -> None:
    """Numbers are depth first, every server is there once, and every cut parts what it says it parts."""
    tree = hierarchy.tree
    assert sorted(hierarchy.node_of_server.tolist()) == np.flatnonzero(tree.is_server).tolist()
    assert (hierarchy.network_node[hierarchy.node_of_server] == np.arange(network.servers)).all()
    assert (hierarchy.capacity[hierarchy.node_of_server] == network.capacity).all()
    assert not hierarchy.capacity[~tree.is_server].any()
    everybody = set(range(network.servers))
    for node in range(1, len(tree.parent)):
        assert tree.parent[node] < node < tree.end[node] <= tree.end[tree.parent[node]]
        assert hierarchy.depth[node] == hierarchy.depth[tree.parent[node]] + 1
        inside, out = servers_below(hierarchy, node), links_of(hierarchy, node)
        assert reach(network, inside, set(out)).isdisjoint(everybody - inside)
        if out:
            assert hierarchy.gbps[node] == pytest.approx(network.link_gbps[out].sum())
            assert hierarchy.width[node] == network.link_gbps[out].max()
            assert hierarchy.lanes[node] in (0, len(out))
        else:
            assert hierarchy.gbps[node] == hierarchy.width[node] == -1


@given(trees())
def test_on_a_tree_nodes_are_nodes_and_cuts_are_links(cluster: Cluster) -> None:
    network = compile_network(cluster)
    hierarchy = build_hierarchy(network)
    check(network, hierarchy)
    assert hierarchy.is_exact
    assert sorted(hierarchy.network_node.tolist()) == list(range(len(network.nodes)))
    assert sorted(link // 2 for link in hierarchy.cut_links.tolist()) == list(range(len(cluster.links)))
    tail, head = network.ends
    for node in range(1, len(hierarchy.tree.parent)):
        (link,) = links_of(hierarchy, node)
        assert tail[link] == hierarchy.network_node[node]
        assert head[link] == hierarchy.network_node[hierarchy.tree.parent[node]]


@given(graphs())
def test_on_a_graph_cuts_part_their_servers_from_the_others(cluster: Cluster) -> None:
    network = compile_network(cluster)
    check(network, build_hierarchy(network))


@pytest.mark.parametrize("name", NETWORKS)
def test_known_networks(name: str) -> None:
    network = compile_network(NETWORKS[name])
    hierarchy = build_hierarchy(network)
    check(network, hierarchy)
    assert hierarchy.is_exact == network.is_forest


def test_the_cuts_of_a_leaf_spine_network_are_its_servers_and_racks() -> None:
    hierarchy = build_hierarchy(compile_network(NETWORKS["leaf-spine"]))
    assert sorted(len(servers_below(hierarchy, n)) for n in range(len(hierarchy.gbps))) == [1] * 9 + [
        3
    ] * 3 + [9]
    racks = [n for n in range(1, len(hierarchy.gbps)) if len(servers_below(hierarchy, n)) == 3]
    assert {(hierarchy.gbps[n], hierarchy.width[n], hierarchy.lanes[n]) for n in racks} == {(6.0, 3.0, 2)}


def test_the_cuts_of_a_fat_tree_are_its_servers_racks_and_pods() -> None:
    hierarchy = build_hierarchy(compile_network(NETWORKS["fat-tree"]))
    sizes = sorted(len(servers_below(hierarchy, n)) for n in range(len(hierarchy.gbps)))
    assert sizes == [1] * 16 + [2] * 8 + [4] * 4 + [16]


def put_rings(room: Room, pick) -> list:
    """Rings of random jobs that find a place."""
    placed = []
    for turn in range(15):
        one = job(f"j{turn}", 6, gbps=pick((0, 0.5, 1, 1, 2)), needs={"gpu": pick((1, 1, 2, 0.5))})
        ring = place_greedily(room, one, pick((1, 2, 2, 3, 4, 6)))
        if ring is not None:
            room.take(one, ring)
            placed.append((one, ring))
    return placed


def check_loads(network: Network, hierarchy: Hierarchy, placed: list) -> None:
    number, between = network.node_number, network.link_between
    hops = [[between[number[a], number[b]] for a, b in ring.hops()] for _, ring in placed]
    for node in range(1, len(hierarchy.gbps)):
        inside, out = servers_below(hierarchy, node), set(links_of(hierarchy, node))
        load = 0.0
        for (one, ring), crossed in zip(placed, hops, strict=True):
            servers = {number[name] for name in ring.workers}
            leaves, enters = (sum(link ^ way in out for link in crossed) for way in (0, 1))
            if servers & inside and servers - inside:
                assert leaves >= 1
                assert enters >= 1
                assert one.bandwidth_gbps <= hierarchy.width[node] * (1 + TOLERANCE)
                if hierarchy.is_exact:
                    assert leaves == enters == 1
                load += one.bandwidth_gbps
        assert load <= max(0.0, hierarchy.gbps[node]) * (1 + TOLERANCE)


@pytest.mark.parametrize("name", NETWORKS)
@pytest.mark.parametrize("seed", range(20))
def test_whatever_fits_keeps_within_every_cut(name: str, seed: int) -> None:
    network = compile_network(NETWORKS[name])
    rng = np.random.default_rng(seed)
    placed = put_rings(Room(network), lambda options: options[rng.integers(len(options))])
    assert placed
    check_loads(network, build_hierarchy(network), placed)


@settings(max_examples=60)
@given(st.one_of(trees(), graphs()), st.data())
def test_whatever_fits_any_cluster_keeps_within_every_cut(cluster: Cluster, data: st.DataObject) -> None:
    network = compile_network(cluster)
    placed = put_rings(Room(network), lambda options: data.draw(st.sampled_from(options)))
    check_loads(network, build_hierarchy(network), placed)


def test_between_parts_that_no_link_joins_nothing_crosses() -> None:
    hierarchy = build_hierarchy(compile_network(islands(1, 2, 3)))
    assert hierarchy.is_exact
    assert hierarchy.gbps.tolist() == hierarchy.width.tolist() == [-1.0] * 4


def test_two_rings_that_no_link_joins_stay_apart() -> None:
    one, other = NETWORKS["ring"], build_torus((3, 1), resources=TWO, gbps=7)
    apart = Cluster((*one.servers, *other.servers), (), (*one.links, *other.links))
    network = compile_network(apart)
    hierarchy = build_hierarchy(network)
    check(network, hierarchy)
    tops = [n for n in range(1, len(hierarchy.gbps)) if hierarchy.tree.parent[n] == 0]
    assert sorted(len(servers_below(hierarchy, n)) for n in tops) == [3, 4]
    assert {hierarchy.width[n] for n in tops} == {-1.0}


def test_a_link_of_width_nothing_is_not_no_link() -> None:
    hierarchy = build_hierarchy(compile_network(line(1, 1, gbps=0)))
    assert hierarchy.width[1:].tolist() == [0.0]


def test_a_set_with_the_same_servers_keeps_the_tighter_cut() -> None:
    # One server a switch; for a the link beyond the switch is the tighter one.
    links = (
        Link(("a", "x"), 4),
        Link(("x", "core"), 3),
        Link(("b", "y"), 2),
        Link(("y", "core"), 9),
        Link(("y", "core2"), 1),
        Link(("c", "z"), 5),
        Link(("z", "core"), 5),
        Link(("z", "core2"), 1),
    )
    switches = ("x", "y", "z", "core", "core2")
    cluster = Cluster(tuple(Server(name, TWO) for name in "abc"), switches, links)
    network = compile_network(cluster)
    hierarchy = build_hierarchy(network)
    check(network, hierarchy)
    width = dict(zip(cluster.nodes, hierarchy.gbps[hierarchy.node_of_server].tolist(), strict=False))
    assert width == {"a": 3.0, "b": 2.0, "c": 5.0}


def test_it_is_built_once() -> None:
    network = compile_network(NETWORKS["torus"])
    assert build_hierarchy(network) is build_hierarchy(network)
