"""Clusters to start from, counted."""

from collections import Counter

import numpy as np
import pytest

from gadget import (
    InvalidValue,
    Resources,
    build_fat_tree,
    build_leaf_spine,
    build_paper_cluster,
    build_ring4,
    build_torus,
)


def degrees(cluster):
    """How many links each node has, counted from the links alone."""
    return Counter(end for link in cluster.links for end in link.ends)


@pytest.mark.parametrize("k", [2, 4, 6, 8])
def test_fat_tree(k):
    cluster = build_fat_tree(k, resources=Resources({"gpu": 3}), server_gbps=25, fabric_gbps=50)
    assert len(cluster.servers) == k**3 // 4
    # k pods of k/2 edge and k/2 aggregation switches, and (k/2)² cores.
    assert len(cluster.switches) == k * k + (k // 2) ** 2
    # One link per server, and k pods with (k/2)² links inside and (k/2)² to the cores.
    assert len(cluster.links) == k**3 // 4 + 2 * k * (k // 2) ** 2
    count = degrees(cluster)
    assert {count[server.name] for server in cluster.servers} == {1}
    assert {count[switch] for switch in cluster.switches} == {k}
    assert cluster.is_connected
    assert cluster.is_tree is (k == 2)
    assert cluster.total("gpu") == 3 * k**3 // 4
    servers = set(cluster.server_by_name)
    assert {(servers.isdisjoint(link.ends), link.gbps) for link in cluster.links} == {(True, 50), (False, 25)}


@pytest.mark.parametrize("k", [0, 1, 3, -2, 130, 4.0, True])
def test_fat_tree_of_no_such_size(k):
    with pytest.raises(InvalidValue) as caught:
        build_fat_tree(k)
    assert caught.value.key == "k"


@pytest.mark.parametrize(
    ("leaves", "spines", "per_leaf", "tree"), [(3, 2, 4, False), (5, 1, 2, True), (1, 1, 1, True)]
)
def test_leaf_spine(leaves, spines, per_leaf, tree):
    cluster = build_leaf_spine(leaves, spines, per_leaf, server_gbps=25, uplink_gbps=200)
    assert len(cluster.servers) == leaves * per_leaf
    assert len(cluster.switches) == leaves + spines
    assert len(cluster.links) == leaves * (per_leaf + spines)
    assert sorted(degrees(cluster)[switch] for switch in cluster.switches) == sorted(
        [per_leaf + spines] * leaves + [leaves] * spines
    )
    assert cluster.is_connected
    assert cluster.is_tree is tree
    assert Counter(link.gbps for link in cluster.links) == {25: leaves * per_leaf, 200: leaves * spines}


@pytest.mark.parametrize(
    ("counts", "key"),
    [
        ((0, 1, 1), "leaves"),
        ((1, 0, 1), "spines"),
        ((1, 1, 0), "servers per leaf"),
        ((1000, 1000, 1000), "leaves × (spines + servers per leaf)"),
    ],
)
def test_leaf_spine_of_no_such_size(counts, key):
    with pytest.raises(InvalidValue) as caught:
        build_leaf_spine(*counts)
    assert caught.value.key == key


@pytest.mark.parametrize(
    ("dims", "degree", "links"),
    [
        ((5,), 2, 5),
        ((3, 4), 4, 24),
        ((3, 3, 3), 6, 81),
        # A row of two has one link between its two servers, a row of one has none.
        ((2,), 1, 1),
        ((1,), 0, 0),
        ((2, 2), 2, 4),
        ((1, 4), 2, 4),
        ((2, 3), 3, 9),
        ((2, 1, 5), 3, 15),
    ],
)
def test_torus(dims, degree, links):
    cluster = build_torus(dims, gbps=7)
    assert len(cluster.servers) == np.prod(dims)
    assert cluster.switches == ()
    assert len(cluster.links) == links
    assert {degrees(cluster)[server.name] for server in cluster.servers} == {degree}
    assert {link.gbps for link in cluster.links} <= {7}
    assert cluster.is_connected


@pytest.mark.parametrize(
    ("dims", "key"),
    [((), "dims"), ((3, 0), "dims[1]"), ((2.0,), "dims[0]"), ((2000, 2000), "the product of dims")],
)
def test_torus_of_no_such_size(dims, key):
    with pytest.raises(InvalidValue) as caught:
        build_torus(dims)
    assert caught.value.key == key


def test_ring4_is_cabled_as_in_the_figure():
    cluster = build_ring4(gbps=10)
    assert cluster.nodes == ("s1", "s2", "s3", "s4")
    assert {frozenset(link.ends) for link in cluster.links} == {
        frozenset(pair) for pair in (("s1", "s2"), ("s2", "s4"), ("s4", "s3"), ("s3", "s1"))
    }
    assert {link.gbps for link in cluster.links} == {10}
    assert cluster.is_connected
    assert not cluster.is_tree


def test_paper_cluster_keeps_to_the_ranges_and_reaches_their_ends():
    sizes, racks, server_gbps, rack_gbps = set(), set(), set(), set()
    for seed in range(200):
        cluster = build_paper_cluster(np.random.default_rng(seed))
        assert len(cluster.servers) == 50
        assert cluster.is_tree
        assert cluster.switches[-1] == "core"
        assert degrees(cluster)["core"] == len(cluster.switches) - 1
        # Each server on one rack, no rack empty: its link to the core and at least one server.
        assert all(degrees(cluster)[rack] >= 2 for rack in cluster.switches[:-1])
        assert {degrees(cluster)[server.name] for server in cluster.servers} == {1}
        sizes |= {server.resources["gpu"] for server in cluster.servers}
        racks.add(len(cluster.switches) - 1)
        server_gbps |= {link.gbps for link in cluster.links if "core" not in link.ends}
        rack_gbps |= {link.gbps for link in cluster.links if "core" in link.ends}
    assert sizes == {1, 2, 4, 8}
    assert racks == {2, 3, 4, 5}
    assert server_gbps == set(range(10, 101))
    assert min(rack_gbps) >= 200
    assert max(rack_gbps) <= 3200
    assert max(rack_gbps) - min(rack_gbps) > 2800


def test_paper_cluster_options():
    cluster = build_paper_cluster(
        np.random.default_rng(0), servers=9, racks=(3, 3), gpus=(16,), server_gbps=(5, 5), rack_gbps=(7, 7)
    )
    assert [server.resources for server in cluster.servers] == [{"gpu": 16}] * 9
    assert cluster.switches == ("rack0", "rack1", "rack2", "core")
    assert Counter(link.gbps for link in cluster.links) == {5: 9, 7: 3}


@pytest.mark.parametrize("servers", [1, 2, 3, 5])
def test_paper_cluster_of_few_servers_has_no_empty_rack(servers):
    for seed in range(30):
        cluster = build_paper_cluster(np.random.default_rng(seed), servers=servers)
        assert len(cluster.servers) == servers
        assert 1 <= len(cluster.switches) - 1 <= servers
        assert all(degrees(cluster)[rack] >= 2 for rack in cluster.switches[:-1])


def test_paper_cluster_of_no_servers():
    with pytest.raises(InvalidValue, match=r"^servers is 0, outside 1 …"):
        build_paper_cluster(np.random.default_rng(0), servers=0)


def test_same_seed_same_cluster():
    first, again, other = (build_paper_cluster(np.random.default_rng(seed)) for seed in (7, 7, 8))
    assert first == again
    assert first != other
