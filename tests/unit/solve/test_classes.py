"""Classes of nodes that cannot be told apart."""

import numpy as np
import pytest
from hypothesis import given

from gadget.model.builders import build_fat_tree, build_leaf_spine, build_paper_cluster
from gadget.model.cluster import Cluster, Link, Server
from gadget.model.resources import Resources
from gadget.solve.classes import Classes, find_classes
from gadget.solve.hierarchy import Hierarchy, build_hierarchy
from gadget.solve.network import compile_network
from tests.strategies import clusters
from tests.unit.solve.small import islands


def classes_of(cluster: Cluster) -> tuple[Hierarchy, Classes]:
    hierarchy = build_hierarchy(compile_network(cluster))
    return hierarchy, find_classes(hierarchy)


def draw(node: int, hierarchy: Hierarchy) -> tuple:
    """All that is to see from a node down: its link, what it is, and what hangs from it, in no order."""
    tree = hierarchy.tree
    kids = tree.kids[tree.kid_start[node] : tree.kid_start[node + 1]]
    own = (
        float(hierarchy.gbps[node]),
        float(hierarchy.width[node]),
        int(hierarchy.lanes[node]),
        bool(tree.is_server[node]),
        *hierarchy.capacity[node].tolist(),
    )
    return (own, tuple(sorted(draw(int(kid), hierarchy) for kid in kids)))


def check(hierarchy: Hierarchy, classes: Classes) -> None:
    tree, of = hierarchy.tree, classes.class_of
    count = len(classes.members)
    assert np.bincount(of, minlength=count).tolist() == classes.members.tolist()
    assert classes.members[0] == classes.tree.copies[0] == 1
    assert (classes.capacity[of] == hierarchy.capacity).all()
    assert (classes.gbps[of] == hierarchy.gbps).all()
    assert (classes.width[of] == hierarchy.width).all()
    assert (classes.lanes[of] == hierarchy.lanes).all()
    assert (classes.tree.is_server[of] == tree.is_server).all()
    for node in range(1, len(of)):
        assert classes.tree.parent[of[node]] == of[tree.parent[node]]
    for one in range(1, count):
        above = classes.tree.parent[one]
        assert above < one < classes.tree.end[one] <= classes.tree.end[above]
        assert classes.members[one] == classes.tree.copies[one] * classes.members[above]
    # Every member of the class above has as many of them.
    for node in range(len(of)):
        kids = of[tree.kids[tree.kid_start[node] : tree.kid_start[node + 1]]]
        below = classes.tree.kids[classes.tree.kid_start[of[node]] : classes.tree.kid_start[of[node] + 1]]
        assert dict(zip(*np.unique(kids, return_counts=True), strict=True)) == {
            kid: classes.tree.copies[kid] for kid in below
        }
    # Two nodes are of one class if and only if they hang alike and look alike.
    looks = [draw(node, hierarchy) for node in range(len(of))]
    seen = [(int(of[tree.parent[node]]) if node else -1, looks[node]) for node in range(len(of))]
    assert len(set(seen)) == count == len(set(zip(seen, of.tolist(), strict=True)))


@given(clusters())
def test_members_of_a_class_are_alike_and_add_up(cluster: Cluster) -> None:
    check(*classes_of(cluster))


@pytest.mark.parametrize("seed", range(5))
def test_on_the_papers_cluster(seed: int) -> None:
    check(*classes_of(build_paper_cluster(np.random.default_rng(seed), gpus=(1, 2), server_gbps=(10, 11))))


def test_racks_that_are_alike_are_one_class_of_one_class_of_servers() -> None:
    hierarchy, classes = classes_of(build_leaf_spine(40, 1, 32))
    check(hierarchy, classes)
    assert classes.members.tolist() == [1, 40, 1280]
    assert classes.tree.copies.tolist() == [1, 40, 32]


def test_a_fat_tree_has_one_class_a_level() -> None:
    hierarchy, classes = classes_of(build_fat_tree(6))
    check(hierarchy, classes)
    assert classes.members.tolist() == [1, 6, 18, 54]
    assert classes.lanes.tolist()[1:] == [9, 3, 1]


def test_one_server_that_differs_makes_its_rack_another_class() -> None:
    two = Resources({"gpu": 2})
    servers = tuple(Server(f"s{n}", Resources({"gpu": 3}) if n == 5 else two) for n in range(6))
    links = (
        *(Link((f"s{n}", f"rack{n // 2}"), 10) for n in range(6)),
        *(Link((f"rack{n}", "core"), 10) for n in range(3)),
    )
    cluster = Cluster(servers, ("rack0", "rack1", "rack2", "core"), links)
    hierarchy, classes = classes_of(cluster)
    check(hierarchy, classes)
    assert sorted(classes.members.tolist()) == [1, 1, 1, 1, 2, 4]
    of = classes.class_of[hierarchy.node_of_server]
    assert of[0] == of[1] == of[2] == of[3] != of[4] != of[5]


def test_servers_that_no_link_joins_are_of_one_class_that_nothing_leaves() -> None:
    hierarchy, classes = classes_of(islands(4, 4, 4, 2))
    check(hierarchy, classes)
    assert sorted(classes.members.tolist()) == [1, 1, 3]
    assert (classes.width[1:] == -1).all()


def test_they_are_found_once() -> None:
    cluster = build_leaf_spine(2, 2, 2)
    assert classes_of(cluster)[1] is classes_of(cluster)[1]
