"""What Ray says of its nodes becomes servers: their names, their shares, their going and coming."""

from collections.abc import Mapping
from typing import Any

from gadget.backends.backend import ClusterFound, ServerCameBack, ServerWentAway
from gadget.backends.ray_cluster import CORE, demand, find_cluster, limit_cluster, read_nodes, sum_held
from gadget.backends.ray_servers import SETTLED_SECONDS, RayServers
from gadget.model.cluster import Cluster, Link, Server
from gadget.model.resources import Resources


def node(
    name: str, gpu: float, *, identity: str = "", alive: bool = True, free: float | None = None, **labels: str
) -> Mapping[str, Any]:
    """A node as the driver tells it."""
    return {
        "id": identity or f"id-{name}",
        "address": f"10.1.0.{len(name)}",
        "alive": alive,
        "labels": {"host": name, **labels},
        "amounts": {"GPU": gpu, "CPU": 8.0, "memory": 1e9, "node:10.1.0.1": 1.0},
        "free": {"GPU": gpu if free is None else free, "CPU": 8.0},
        "why": "" if alive else "power cut",
    }


FILE = Cluster(
    (Server("a", Resources({"gpu": 4})), Server("b", Resources({"gpu": 2}))),
    ("sw",),
    (Link(("a", "sw"), 10), Link(("b", "sw"), 10)),
)


def gpus(cluster: Cluster) -> dict[str, float]:
    return {server.name: server.resources["gpu"] for server in cluster.servers}


def test_servers_go_by_their_label_or_their_address() -> None:
    bare = {**node("x", 1), "labels": {}}
    alive, dead = read_nodes([node("a", 4), bare, node("b", 4, alive=False)])
    assert set(alive) == {"a", "10.1.0.1"}
    assert dead == {"b": "power cut"}
    assert alive["a"].amounts == {"gpu": 4, "cpu": 8}


def test_only_nodes_with_our_label_are_ours() -> None:
    told = [node("a", 4, pool="ours"), node("b", 4, pool="theirs"), node("c", 4)]
    assert set(read_nodes(told, only={"pool": "ours"})[0]) == {"a"}


def test_without_a_file_every_node_with_gpus_is_ours_in_its_rack() -> None:
    told = [node("a", 4, rack="r1"), node("b", 4, rack="r2"), node("c", 0), node("d", 1)]
    found = find_cluster(read_nodes(told)[0], None, None)
    assert gpus(found) == {"a": 4, "b": 4, "d": 1}
    assert found.is_tree
    assert {link.ends for link in found.links} == {
        ("a", "r1"),
        ("b", "r2"),
        ("d", CORE),
        ("r1", CORE),
        ("r2", CORE),
    }


def test_a_server_that_was_known_stays_when_its_node_is_not_there() -> None:
    first = find_cluster(read_nodes([node("a", 4), node("b", 2)])[0], None, None)
    assert find_cluster(read_nodes([node("a", 4)])[0], None, first) == first


def test_a_file_says_our_share_and_the_node_is_right_where_it_has_less() -> None:
    nodes, _ = read_nodes([node("a", 8), node("b", 1)])
    assert gpus(limit_cluster(FILE, nodes, {})) == {"a": 4, "b": 1}


def test_what_others_take_is_lost_but_not_what_we_hold() -> None:
    nodes, _ = read_nodes([node("a", 4, free=1), node("b", 2, free=0)])
    assert gpus(limit_cluster(FILE, nodes, {})) == {"a": 1, "b": 0}
    held = sum_held([("a", {"gpu": 2}), ("a", {"gpu": 1}), ("b", {"gpu": 1})])
    assert gpus(limit_cluster(FILE, nodes, held)) == {"a": 4, "b": 1}


def test_ray_is_asked_for_what_its_node_keeps_an_account_of() -> None:
    there = {"gpu": 4.0, "cpu": 8.0, "licence": 2.0}
    assert demand({"gpu": 0.5, "cpu": 2, "licence": 1, "memory_gib": 4, "fpga": 0}, there) == {
        "GPU": 0.5,
        "CPU": 2,
        "licence": 1,
    }


def test_nodes_that_go_and_come_are_told_once_each() -> None:
    servers = RayServers(FILE)
    servers.begin([node("a", 4)])
    assert servers.away == {"b"}
    told = [node("a", 4), node("b", 2)]
    assert servers.look(told, {}, 0.0) == [ServerCameBack("b")]
    assert servers.look(told, {}, 1.0) == []
    gone = [node("a", 4, alive=False), node("b", 2)]
    assert servers.look(gone, {}, 2.0) == [ServerWentAway("a", "power cut")]
    assert servers.look(gone, {}, 3.0) == []
    # Restarted between two looks: what ran there is gone all the same.
    anew = [node("a", 4), node("b", 2, identity="other")]
    assert servers.look(anew, {}, 4.0) == [
        ServerCameBack("a"),
        ServerWentAway("b", "its node is gone"),
        ServerCameBack("b"),
    ]


def test_what_others_take_is_told_when_it_has_stayed_and_nothing_of_ours_moves() -> None:
    servers = RayServers(FILE)
    servers.begin([node("a", 4), node("b", 2)])
    less = [node("a", 4, free=1), node("b", 2)]
    assert servers.look(less, {}, 0.0) == []
    assert servers.look(less, {}, SETTLED_SECONDS / 2) == []
    assert servers.look(less, {}, None) == []
    assert servers.look(less, {}, SETTLED_SECONDS) == []
    (report,) = servers.look(less, {}, 2 * SETTLED_SECONDS)
    assert isinstance(report, ClusterFound)
    assert gpus(report.cluster) == {"a": 1, "b": 2}
    back = [node("a", 4), node("b", 2)]
    servers.look(back, {}, 20.0)
    (report,) = servers.look(back, {}, 20.0 + SETTLED_SECONDS)
    assert isinstance(report, ClusterFound)
    assert report.cluster == FILE
