"""How a cluster becomes namespaces: names, rates and routes."""

import re
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gadget.backends.netns_plan import Plan, Port, build_plan, namespace_prefix
from gadget.errors import InvalidValue
from gadget.model.builders import build_fat_tree, build_leaf_spine, build_ring4, build_torus
from gadget.model.cluster import Cluster, Link, Server
from gadget.model.resources import Resources

GPU = Resources({"gpu": 1})


def follow(plan: Plan, start: str, target: str) -> list[str]:
    """The nodes that a packet passes."""
    seen = [start]
    while seen[-1] != target:
        seen.append(plan.nodes[seen[-1]].next_hops[target])
        assert len(seen) <= len(plan.nodes), "it goes in circles"
    return seen


@pytest.mark.parametrize(
    "cluster", [build_fat_tree(4), build_leaf_spine(2, 2, 3), build_ring4(), build_torus((3, 3))]
)
def test_every_node_reaches_every_other_over_links_of_the_cluster(cluster: Cluster) -> None:
    plan = build_plan(cluster, "x")
    for start in cluster.nodes:
        for target in cluster.nodes:
            path = follow(plan, start, target)
            assert all(b in cluster.neighbours[a] for a, b in pairwise(path))


def test_routes_are_shortest() -> None:
    plan = build_plan(build_torus((5,)), "x")
    assert follow(plan, "s0", "s2") == ["s0", "s1", "s2"]
    assert follow(plan, "s0", "s3") == ["s0", "s4", "s3"]


def test_a_node_with_one_cable_has_one_route() -> None:
    cluster = build_leaf_spine(1, 1, 3)
    lines = build_plan(cluster, "x").setup("s0-1")
    assert [line for line in lines if line.startswith("route")] == [
        "route replace default via 10.0.0.4 dev eth0 onlink src 10.0.0.2"
    ]
    assert "address replace 10.0.0.2/32 dev eth0" in lines


def test_every_link_is_one_cable_and_a_link_that_carries_nothing_is_none() -> None:
    cluster = build_torus((3, 3))
    assert len(build_plan(cluster, "x").cables()) == len(cluster.links)
    dead = Cluster((Server("a", GPU), Server("b", GPU)), (), (Link(("a", "b"), 0),))
    plan = build_plan(dead, "x")
    assert plan.cables() == []
    # Ranks of one server still meet at its address.
    assert plan.setup("a") == ["link set lo up", "address replace 10.0.0.1/32 dev lo"]


def test_rates_are_those_of_the_links_times_the_scale() -> None:
    cluster = Cluster((Server("a", GPU), Server("b", GPU)), (), (Link(("a", "b"), 100),))
    for node in build_plan(cluster, "x", 0.001).nodes.values():
        (port,) = node.ports
        assert port.qdisc == "qdisc replace dev eth0 root tbf rate 100000000bit burst 32768 latency 50ms"


def test_a_bucket_holds_two_milliseconds_and_no_limit_is_set_that_says_nothing() -> None:
    assert "burst 2500000 " in Port("eth0", "b", 10e9).qdisc
    assert Port("eth0", "b", 400e9).qdisc == ""


@given(st.text(), st.text())
def test_names_tell_instances_apart_and_fit(one: str, other: str) -> None:
    assert re.fullmatch(r"gadget-[0-9a-f]{8}-", namespace_prefix(one))
    assert (namespace_prefix(one) == namespace_prefix(other)) == (one == other)


def test_a_network_is_known_by_all_that_is_made_of_it() -> None:
    def mark(cluster: Cluster, instance: str = "x", scale: float = 1.0) -> str:
        return build_plan(cluster, instance, scale).fingerprint

    base = mark(build_ring4())
    assert base == mark(build_ring4())
    others = [mark(build_ring4(gbps=50)), mark(build_ring4(), "y"), mark(build_torus((4,)))]
    assert len({base, *others}) == 4
    assert mark(build_ring4(), scale=0.5) == mark(build_ring4(gbps=50))


def test_too_many_nodes_are_refused() -> None:
    with pytest.raises(InvalidValue, match="loopback"):
        build_plan(build_leaf_spine(40, 1, 30), "x")
