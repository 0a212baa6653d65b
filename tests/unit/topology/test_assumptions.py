"""Missing numbers: filled in by tier, marked, listed; known ones stay."""

import pytest

from gadget.errors import BadOption, InvalidValue
from gadget.model.resources import Resources
from gadget.topology.assumptions import Assumptions, build_cluster, fill_in, list_assumed
from gadget.topology.network import Cable, Host, Switch, Topology

FOUND = Topology(
    (Host("a", Resources({"gpu": 4})), Host("b")),
    (Switch("leaf", 1), Switch("top", 2)),
    (Cable(("a", "leaf"), 100), Cable(("b", "leaf")), Cable(("leaf", "top"))),
    {2: "Spine"},
)


def test_only_what_is_missing_is_filled_in_and_it_is_marked() -> None:
    filled = fill_in(FOUND, Assumptions({"1": 25, "spine": 400}, None, {"gpu": 8, "cpu": 64}))
    assert [(cable.gbps, cable.assumed) for cable in filled.cables] == [(100, False), (25, True), (400, True)]
    assert [dict(host.resources) for host in filled.hosts] == [{"gpu": 4, "cpu": 64}, {"gpu": 8, "cpu": 64}]
    assert [host.assumed for host in filled.hosts] == [("cpu",), ("gpu", "cpu")]
    assert list_assumed(filled) == [
        "25 Gbps on each link up to tier 1, 1 in all",
        "400 Gbps on each link up to tier 2 (Spine), 1 in all",
        "64 cpu on each of 2 servers",
        "8 gpu on each of 1 server",
    ]
    cluster = build_cluster(filled)
    assert cluster.is_tree
    assert [link.gbps for link in cluster.links] == [100, 25, 400]
    assert cluster.total("gpu") == 12


def test_a_bandwidth_for_all_fills_tiers_that_are_not_named() -> None:
    filled = fill_in(FOUND, Assumptions({"2": 400}, 10))
    assert [cable.gbps for cable in filled.cables] == [100, 10, 400]


def test_nothing_assumed_changes_nothing() -> None:
    assert fill_in(FOUND, Assumptions()) == FOUND
    assert list_assumed(FOUND) == []


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (Assumptions({"spin": 1}), "--gbps spin: no links are of that tier (nearest: 'Spine')"),
        (Assumptions({"3": 1}), "There are: tier 1, tier 2 (Spine)"),
    ],
)
def test_a_tier_that_is_not_there_is_refused(given: Assumptions, said: str) -> None:
    with pytest.raises(BadOption) as caught:
        fill_in(FOUND, given)
    assert said in str(caught.value)


def test_numbers_that_would_fill_nothing_are_refused() -> None:
    full = fill_in(FOUND, Assumptions({}, 10, {"gpu": 1}))
    with pytest.raises(BadOption, match="all links of tier 1 have their bandwidth"):
        fill_in(full, Assumptions({"1": 5}))
    with pytest.raises(BadOption, match="gpu: every server tells"):
        fill_in(full, Assumptions(resources={"gpu": 5}))
    assert fill_in(full, Assumptions({}, 99)) == full


@pytest.mark.parametrize(
    "given", [{"gbps": {"1": -1}}, {"other_gbps": float("nan")}, {"resources": {"gpu": -2}}]
)
def test_numbers_out_of_range_are_refused(given: dict[str, object]) -> None:
    with pytest.raises(InvalidValue):
        Assumptions(**given)  # type: ignore[arg-type]


def test_gaps_are_refused_with_the_option_that_fills_them() -> None:
    with pytest.raises(BadOption, match=r"1 link up to tier 1 \(first: b – leaf\). Give --gbps 1=VALUE"):
        build_cluster(FOUND)
    with pytest.raises(BadOption, match=r"what is in 1 server \(first: 'b'\). Give --gpus N"):
        build_cluster(fill_in(FOUND, Assumptions({}, 10)))
