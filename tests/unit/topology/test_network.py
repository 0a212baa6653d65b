"""The value itself, tiers that follow from cables, numbers and the sketch."""

import math

import numpy as np
import pytest

from gadget.errors import InvalidValue
from gadget.model.builders import build_fat_tree, build_leaf_spine, build_paper_cluster, build_ring4
from gadget.model.resources import Resources
from gadget.topology.network import Cable, Host, Switch, Topology
from gadget.topology.scenario import describe_cluster
from gadget.topology.sketch import sketch
from gadget.topology.summary import Spread, describe_as_json, summarise_topology
from gadget.topology.tiers import find_heights, find_tiers


def test_cables_are_put_in_order_with_the_lower_end_first() -> None:
    one = Topology((Host("a"), Host("b")), (Switch("s", 1),), (Cable(("s", "b"), 5), Cable(("a", "s"), 3)))
    assert [cable.ends for cable in one.cables] == [("a", "s"), ("b", "s")]
    assert one.is_tree
    assert one.neighbours["s"]["b"].gbps == 5


@pytest.mark.parametrize(
    ("cables", "said"),
    [
        ([("a", "s"), ("s", "a")], "joined by two cables"),
        ([("a", "a")], "joined by two cables, or are one"),
        ([("a", "q")], "'q', which is no node"),
    ],
)
def test_cables_that_cannot_be_are_refused(cables: list[tuple[str, str]], said: str) -> None:
    with pytest.raises(InvalidValue, match=said):
        Topology((Host("a"),), (Switch("s", 1),), tuple(map(Cable, cables)))


def test_two_nodes_of_one_name_are_refused() -> None:
    with pytest.raises(InvalidValue, match="two nodes are named 'a'"):
        Topology((Host("a"),), (Switch("a", 1),), ())


def test_heights_of_an_uneven_tree() -> None:
    assert find_heights({"top": ["mid", "low"], "mid": ["leaf"], "leaf": ["n"], "low": []}) == {
        "top": 3,
        "mid": 2,
        "leaf": 1,
        "low": 1,
    }


def test_tiers_of_the_shapes_that_networks_have() -> None:
    assert {s.tier for s in describe_cluster(build_fat_tree(4)).switches} == {1, 2, 3}
    paper = describe_cluster(build_paper_cluster(np.random.default_rng(1)))
    assert {s.name: s.tier for s in paper.switches}["core"] == 2
    ring = describe_cluster(build_ring4())
    assert ring.tiers == ()
    assert {ring.tier_of_cable(cable) for cable in ring.cables} == {0}


def test_of_two_middles_the_one_with_more_links_is_the_root() -> None:
    around = {"a": ["r"], "b": ["r"], "c": ["q"], "r": ["a", "b", "q"], "q": ["c", "r"]}
    assert find_tiers(around, ["a", "b", "c"]) == {"r": 2, "q": 1}


def test_numbers_of_a_leaf_spine() -> None:
    cluster = build_leaf_spine(4, 2, 8, resources=Resources({"gpu": 8}), server_gbps=100, uplink_gbps=200)
    found = summarise_topology(describe_cluster(cluster))
    assert (found.servers, found.switches, found.links, found.is_tree) == (32, 6, 40, False)
    low, high = found.tiers
    assert (low.switches, low.links, low.gbps, low.missing) == (4, 32, Spread(100, 100, 100), 0)
    assert low.oversubscription == Spread(2, 2, 2)
    assert (high.switches, high.links, high.oversubscription) == (2, 8, None)
    assert found.resources["gpu"].total == 256


def test_oversubscription_is_infinite_above_dead_links_and_unknown_with_gaps() -> None:
    def ratio(up: float | None) -> tuple[Spread | None, object]:
        cables = (Cable(("a", "s"), 100), Cable(("s", "t"), up))
        tree = Topology((Host("a"),), (Switch("s", 1), Switch("t", 2)), cables)
        told = describe_as_json(tree)["tiers"][0]["oversubscription"]
        return summarise_topology(tree).tiers[0].oversubscription, told

    # JSON has no infinity.
    assert ratio(0) == (Spread(math.inf, math.inf, math.inf), [None, None, None])
    assert ratio(None) == (None, None)
    assert ratio(50) == (Spread(2, 2, 2), [2, 2, 2])


def test_a_tree_is_sketched_with_its_servers_folded() -> None:
    tree = Topology(
        tuple(Host(f"n{number}") for number in range(1, 5)),
        (Switch("leaf1", 1), Switch("leaf2", 1), Switch("top", 2)),
        (
            *(Cable((f"n{number}", "leaf1"), 100) for number in (1, 2, 3)),
            Cable(("n4", "leaf2")),
            Cable(("leaf1", "top"), 400, assumed=True),
            Cable(("leaf2", "top"), 200),
        ),
    )
    assert "\n".join(sketch(tree)) == (
        "top\n"
        "├── leaf1, 400 Gbps (assumed)\n"
        "│   └── n[1-3]: 3 servers, 100 Gbps each\n"
        "└── leaf2, 200 Gbps\n"
        "    └── n4: 1 server, ? Gbps"
    )


def test_another_graph_is_told_switch_by_switch() -> None:
    lines = list(sketch(describe_cluster(build_leaf_spine(2, 2, 2, server_gbps=100, uplink_gbps=200))))
    assert lines[:2] == ["spine0 (tier 2)", "spine1 (tier 2)"]
    assert lines[2] == "leaf0 (tier 1); up to spine[0-1], 200 Gbps each; s0-[0-1]: 2 servers, 100 Gbps each"
    assert len(list(sketch(describe_cluster(build_ring4())))) == 4
