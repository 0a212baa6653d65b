"""The cluster: what it refuses, what it knows about itself, and what is left when servers go."""

import math
import pickle
from dataclasses import FrozenInstanceError, replace
from itertools import pairwise

import pytest

from gadget import Cluster, InvalidValue, Link, Resources, Server, build_ring4

GPU = Resources({"gpu": 2})


def line(*names, switches=()):
    """Servers and switches in a row, 10 Gbps between neighbours."""
    servers = tuple(Server(name, GPU) for name in names if name not in switches)
    links = tuple(Link(pair, 10) for pair in pairwise(names))
    return Cluster(servers, tuple(switches), links)


LINE = line("a", "b", "c")


def test_what_it_knows():
    cluster = Cluster(
        (Server("a", Resources({"gpu": 2, "memory_gib": 64})), Server("b", Resources({"tpu": 4, "gpu": 1}))),
        ("x",),
        (Link(("a", "x"), 10), Link(("x", "b"), 2.5)),
    )
    assert cluster.nodes == ("a", "b", "x")
    assert dict(cluster.server_by_name) == {"a": cluster.servers[0], "b": cluster.servers[1]}
    assert {node: dict(around) for node, around in cluster.neighbours.items()} == {
        "a": {"x": 10},
        "b": {"x": 2.5},
        "x": {"a": 10, "b": 2.5},
    }
    assert cluster.resource_names == ("gpu", "memory_gib", "tpu")
    assert cluster.total("gpu") == 3
    assert cluster.total("tpu") == 4
    assert cluster.total("nothing") == 0


@pytest.mark.parametrize(
    ("cluster", "connected", "tree"),
    [
        (LINE, True, True),
        (line("a"), True, True),
        (line("a", "x", "b", switches=("x",)), True, True),
        (build_ring4(), True, False),
        (replace(LINE, links=LINE.links[:1]), False, False),
        # Five nodes and four links, yet no tree: one node is alone.
        (replace(build_ring4(), switches=("x",)), False, False),
        (Cluster((), (), ()), True, True),
    ],
    ids=["line", "one", "star", "cycle", "broken", "cycle and one alone", "empty"],
)
def test_connected_and_tree(cluster, connected, tree):
    assert cluster.is_connected is connected
    assert cluster.is_tree is tree


def test_reach():
    apart = replace(LINE, links=LINE.links[:1])
    assert apart.reach("a") == {"a", "b"}
    assert apart.reach("c") == {"c"}


def test_failed_servers_go_with_their_links():
    left = LINE.without(["b"])
    assert left.nodes == ("a", "c")
    assert left.links == ()
    assert not left.is_connected


def test_drained_servers_forward():
    left = LINE.without(["b"], forwarding=True)
    assert [server.name for server in left.servers] == ["a", "c"]
    assert left.switches == ("b",)
    assert left.links == LINE.links
    assert left.is_tree


def test_a_drained_server_at_the_end_of_one_link_forwards_nothing():
    left = LINE.without(["b", "c"], forwarding=True)
    assert left.nodes == ("a", "b")
    assert left.links == LINE.links[:1]


def test_without_keeps_switches_and_the_old_cluster():
    star = line("a", "x", "b", switches=("x",))
    left = star.without(["a"])
    assert left.nodes == ("b", "x")
    assert left.links == star.links[1:]
    assert star.nodes == ("a", "b", "x")


def test_without_nothing_and_without_everything():
    assert LINE.without([]) == LINE
    assert LINE.without(iter(["a", "b", "c"])) == Cluster((), (), ())


@pytest.mark.parametrize("forwarding", [False, True])
@pytest.mark.parametrize(
    ("names", "said"),
    [
        (["a", "zzz"], "no server is named 'zzz'. Name servers of this cluster."),
        (
            ["server-11"],
            "no server is named 'server-11' (nearest: 'server-1'). Name servers of this cluster.",
        ),
        (["switch"], "no server is named 'switch'. Name servers of this cluster."),
    ],
)
def test_without_names_that_no_server_has(names, said, forwarding):
    cluster = line("a", "server-1", "switch", switches=("switch",))
    with pytest.raises(InvalidValue) as caught:
        cluster.without(names, forwarding=forwarding)
    assert str(caught.value) == said


@pytest.mark.parametrize(
    ("servers", "switches", "key", "problem"),
    [
        ("aa", "", "servers[1].name", "is 'a', a name that servers[0].name has already"),
        ("ab", "b", "switches[0]", "is 'b', a name that servers[1].name has already"),
        ("a", "xx", "switches[1]", "is 'x', a name that switches[0] has already"),
    ],
)
def test_names_are_unique_over_servers_and_switches(servers, switches, key, problem):
    with pytest.raises(InvalidValue) as caught:
        Cluster(tuple(Server(name, GPU) for name in servers), tuple(switches), ())
    assert (caught.value.key, caught.value.problem) == (key, problem)


def test_a_link_to_nowhere():
    with pytest.raises(InvalidValue) as caught:
        Cluster((Server("node1", GPU),), ("rack1",), (Link(("node1", "rack2"), 1),))
    assert (
        str(caught.value) == "links[0].ends name 'rack2', which is no server or switch (nearest: 'rack1')."
        " Correct the name, or add the node."
    )


@pytest.mark.parametrize("ends", [("a", "b"), ("b", "a")])
def test_two_links_between_the_same_nodes(ends):
    with pytest.raises(InvalidValue) as caught:
        replace(LINE, links=(*LINE.links, Link(ends, 3)))
    assert caught.value.key == "links[2].ends"
    assert caught.value.problem == f"join {ends[0]!r} and {ends[1]!r}, as links[0] does"


def test_a_link_to_itself():
    with pytest.raises(InvalidValue, match=r"^ends join 'a' to itself\. Name two different nodes\.$"):
        Link(("a", "a"), 1)


@pytest.mark.parametrize("gbps", [-1, math.nan, math.inf, "10", None])
def test_a_capacity_that_is_none(gbps):
    with pytest.raises(InvalidValue) as caught:
        Link(("a", "b"), gbps)
    assert caught.value.key == "gbps"


@pytest.mark.parametrize("name", ["", "a\nb", "\x1b[0m", "\ud800", 3, None], ids=ascii)
def test_names_that_are_none(name):
    with pytest.raises(InvalidValue) as caught:
        Server(name, GPU)
    assert caught.value.key == "name"
    with pytest.raises(InvalidValue) as caught:
        Cluster((), (name,), ())
    assert caught.value.key == "switches[0]"


def test_it_is_a_value():
    assert line("a", "b", "c") == LINE
    assert hash(line("a", "b", "c")) == hash(LINE)
    assert line("a", "c", "b") != LINE
    with pytest.raises(FrozenInstanceError):
        LINE.servers = ()
    with pytest.raises(FrozenInstanceError):
        LINE.servers[0].name = "z"
    with pytest.raises(FrozenInstanceError):
        LINE.links[0].gbps = 1


def test_it_survives_pickle_with_and_without_what_it_has_worked_out():
    fresh = line("a", "b", "c")
    assert pickle.loads(pickle.dumps(fresh)) == fresh
    assert fresh.is_tree
    copy = pickle.loads(pickle.dumps(fresh))
    assert copy == fresh
    assert copy.neighbours == fresh.neighbours
