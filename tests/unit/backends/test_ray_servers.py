"""What Ray says of its nodes becomes servers: their names, their shares, their going and coming."""

from collections.abc import Mapping
from typing import Any

import pytest

from gadget.backends.backend import ClusterFound, ServerCameBack, ServerWentAway
from gadget.backends.ray_cluster import (
    CORE,
    demand,
    find_cluster,
    find_taken,
    limit_cluster,
    read_nodes,
    sum_amounts,
)
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
    roll = read_nodes([node("a", 4), bare, node("b", 4, alive=False)])
    assert set(roll.alive) == {"a", "10.1.0.1"}
    assert roll.dead == {"b": "power cut"}
    assert roll.alive["a"].amounts == {"gpu": 4, "cpu": 8}


def test_only_nodes_with_our_label_are_ours() -> None:
    told = [node("a", 4, pool="ours"), node("b", 4, pool="theirs"), node("c", 4)]
    assert set(read_nodes(told, only={"pool": "ours"}).alive) == {"a"}


def test_without_a_file_every_node_with_gpus_is_ours_in_its_rack() -> None:
    told = [node("a", 4, rack="r1"), node("b", 4, rack="r2"), node("c", 0), node("d", 1)]
    found = find_cluster(read_nodes(told).alive, None, None)
    assert gpus(found) == {"a": 4, "b": 4, "d": 1}
    assert found.is_tree
    assert {link.ends for link in found.links} == {
        ("a", "rack/r1"),
        ("b", "rack/r2"),
        ("d", CORE),
        ("rack/r1", CORE),
        ("rack/r2", CORE),
    }


def test_a_server_that_was_known_stays_when_its_node_is_not_there() -> None:
    first = find_cluster(read_nodes([node("a", 4), node("b", 2)]).alive, None, None)
    assert find_cluster(read_nodes([node("a", 4)]).alive, None, first) == first


def test_a_server_keeps_its_rack_when_another_comes_while_it_is_away() -> None:
    first = find_cluster(read_nodes([node("a", 4, rack="r1")]).alive, None, None)
    second = find_cluster(read_nodes([node("b", 4, rack="r2")]).alive, None, first)
    assert {("a", "rack/r1"), ("b", "rack/r2")} <= {link.ends for link in second.links}


def test_no_label_clashes_with_a_switch() -> None:
    told = [node("r1", 4, rack="r1"), node("ray-core", 4, rack="ray-core"), node("core", 1)]
    assert gpus(find_cluster(read_nodes(told).alive, None, None)) == {"r1": 4, "ray-core": 4, "core": 1}


def test_of_two_nodes_with_one_name_the_one_that_counted_counts_and_it_is_said_once(
    caplog: pytest.LogCaptureFixture,
) -> None:
    servers = RayServers(FILE)
    servers.begin([node("a", 4), node("b", 2)], {})
    twins = [node("a", 8, identity="other"), node("a", 4), node("b", 2)]
    assert servers.look(twins, {}, (), 0.0) == []
    assert servers.look(twins, {}, (), 1.0) == []
    assert servers.nodes["a"].id == "id-a"
    (said,) = caplog.messages
    assert "several Ray nodes go by the name a" in said
    assert "label host" in said


def test_a_file_says_our_share_and_the_node_is_right_where_it_has_less() -> None:
    nodes = read_nodes([node("a", 8), node("b", 1)]).alive
    assert gpus(limit_cluster(FILE, nodes, {})) == {"a": 4, "b": 1}


def test_what_others_take_is_lost_but_not_what_we_hold() -> None:
    nodes = read_nodes([node("a", 4, free=1), node("b", 2, free=0)]).alive

    def limited(held: Mapping[str, Mapping[str, float]]) -> dict[str, float]:
        taken = {name: find_taken(one, held.get(name, {})) for name, one in nodes.items()}
        return gpus(limit_cluster(FILE, nodes, taken))

    assert limited({}) == {"a": 1, "b": 0}
    held = sum_amounts([("a", {"gpu": 2}), ("a", {"gpu": 1}), ("b", {"gpu": 1})])
    assert limited(held) == {"a": 4, "b": 1}
    # Ray counts in ten-thousandths: thirds of a GPU are no others.
    assert find_taken(read_nodes([node("a", 1, free=0.0001)]).alive["a"], {"gpu": 0.99}) == pytest.approx(
        {"gpu": 0.0099}
    )
    assert find_taken(read_nodes([node("a", 1, free=0.0001)]).alive["a"], {"gpu": 1 - 1e-6}) == {}


def test_ray_is_asked_for_what_its_node_keeps_an_account_of() -> None:
    there = {"gpu": 4.0, "cpu": 8.0, "licence": 2.0}
    assert demand({"gpu": 0.5, "cpu": 2, "licence": 1, "memory_gib": 4, "fpga": 0}, there) == {
        "GPU": 0.5,
        "CPU": 2,
        "licence": 1,
    }


def test_nodes_that_go_and_come_are_told_once_each() -> None:
    servers = RayServers(FILE)
    servers.begin([node("a", 4)], {})
    assert servers.away == {"b"}
    told = [node("a", 4), node("b", 2)]
    assert servers.look(told, {}, (), 0.0) == [ServerCameBack("b")]
    assert servers.look(told, {}, (), 1.0) == []
    gone = [node("a", 4, alive=False), node("b", 2)]
    assert servers.look(gone, {}, (), 2.0) == [ServerWentAway("a", "power cut")]
    assert servers.look(gone, {}, (), 3.0) == []
    # Restarted between two looks: what ran there is gone all the same.
    anew = [node("a", 4), node("b", 2, identity="other")]
    assert servers.look(anew, {}, (), 4.0) == [
        ServerCameBack("a"),
        ServerWentAway("b", "its node is gone"),
        ServerCameBack("b"),
    ]


def test_what_others_have_at_first_is_not_ours_but_what_we_hold_is() -> None:
    servers = RayServers(FILE)
    servers.begin([node("a", 4, free=0), node("b", 2)], {"a": {"gpu": 3.0}})
    assert gpus(servers.shown) == {"a": 3, "b": 2}
    assert servers.is_short


def test_what_others_take_is_told_when_it_has_stayed_and_nothing_of_ours_moves_there() -> None:
    servers = RayServers(FILE)
    servers.begin([node("a", 4), node("b", 2)], {})
    less = [node("a", 4, free=1), node("b", 2)]
    assert servers.look(less, {}, (), 0.0) == []
    assert servers.look(less, {}, (), SETTLED_SECONDS / 2) == []
    assert servers.look(less, {}, {"a"}, SETTLED_SECONDS) == []
    # What moves elsewhere does not matter.
    assert servers.look(less, {}, {"b"}, SETTLED_SECONDS) == []
    (report,) = servers.look(less, {}, {"b"}, 2 * SETTLED_SECONDS)
    assert isinstance(report, ClusterFound)
    assert gpus(report.cluster) == {"a": 1, "b": 2}
    back = [node("a", 4), node("b", 2)]
    servers.look(back, {}, (), 20.0)
    (report,) = servers.look(back, {}, (), 20.0 + SETTLED_SECONDS)
    assert isinstance(report, ClusterFound)
    assert report.cluster == FILE


def test_one_server_s_doubt_does_not_delay_another_s() -> None:
    servers = RayServers(FILE)
    servers.begin([node("a", 4), node("b", 2)], {})
    servers.look([node("a", 4, free=1), node("b", 2)], {}, (), 0.0)
    for time, free in ((1.0, 1.0), (2.0, 0.0)):
        servers.look([node("a", 4, free=1), node("b", 2, free=free)], {}, (), time)
    (report,) = servers.look([node("a", 4, free=1), node("b", 2, free=1)], {}, (), SETTLED_SECONDS)
    assert isinstance(report, ClusterFound)
    assert gpus(report.cluster) == {"a": 1, "b": 2}


def test_room_is_lacking_only_where_what_is_in_use_cannot_be_what_was_set_aside_for_us() -> None:
    servers = RayServers(FILE)
    servers.begin([node("a", 4), node("b", 2)], {})
    one, all_four = {"gpu": 1.0}, {"gpu": 4.0}

    def lacks(free: float, waiting: Mapping[str, float], held: float = 0.0) -> bool:
        servers.look([node("a", 4, free=free), node("b", 2)], {}, {"a"}, 0.0)
        return servers.lacks_room("a", one, waiting, {"a": {"gpu": held}})

    assert not lacks(4, one), "there is room, and Ray is slow"
    assert not lacks(0, all_four), "all of it may be set aside for ours"
    assert lacks(0, all_four, held=2), "half of it is with ranks that are up"
    assert not servers.lacks_room("nobody", one, one, {})
    (report,) = servers.give_up("a", {"a": {"gpu": 1.0}})
    assert isinstance(report, ClusterFound)
    assert gpus(report.cluster) == {"a": 1, "b": 2}
    assert lacks(0, one, held=1), "others had it before ours was asked for"


def test_what_others_took_just_before_ours_was_asked_for_is_theirs() -> None:
    servers = RayServers(FILE)
    servers.begin([node("a", 4), node("b", 2)], {})
    full, one = [node("a", 4, free=0), node("b", 2)], {"gpu": 1.0}
    servers.look(full, {}, (), 0.0)
    assert not servers.lacks_room("a", one, one, {}), "perhaps ours have just given it back"
    servers.look(full, {}, (), 1.0)
    servers.look(full, {}, {"a"}, 2.0)
    assert servers.lacks_room("a", one, one, {})


@pytest.mark.parametrize(
    ("wanted", "only", "words"),
    [
        (None, {"pool": "mine"}, ["label pool=mine", "a (host=a, pool=ours)", "--node-label"]),
        (FILE, {}, ["no node for b of", "does not name: c", "--labels=host=b"]),
    ],
)
def test_what_was_said_and_does_not_fit_is_complained_of(
    wanted: Cluster | None, only: dict[str, str], words: list[str]
) -> None:
    told = [node("a", 4, pool="ours"), node("c", 1), node("d", 1, alive=False)]
    servers = RayServers(wanted, only=only)
    servers.begin(told, {})
    (said,) = servers.find_complaints(told)
    for word in words:
        assert word in said
    fine = RayServers(None)
    fine.begin(told, {})
    assert fine.find_complaints(told) == []
