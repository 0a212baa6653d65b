"""What is written reads back as it was, for every tree that the format can hold."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gadget.errors import InvalidValue
from gadget.model.builders import build_leaf_spine, build_ring4
from gadget.model.resources import Resources
from gadget.topology import slurm_conf, volcano
from gadget.topology.network import Cable, Host, Switch, Topology
from gadget.topology.scenario import describe_cluster
from tests.unit.topology.reading import read_text
from tests.unit.topology.strategies import trees


@given(trees(speeds=True, levels=False))
def test_a_tree_written_as_topology_conf_reads_back_the_same(tree: Topology) -> None:
    written = slurm_conf.write(tree)
    assert written.lost == ()
    assert read_text(written.text) == tree


@given(trees(speeds=False, levels=True))
def test_a_tree_written_as_hypernodes_reads_back_the_same(tree: Topology) -> None:
    written = volcano.write(tree)
    assert written.lost == ()
    assert read_text(written.text, name="x.yaml") == tree


@given(trees(speeds=True, levels=True), st.randoms())
def test_in_any_order_the_same_nodes_and_cables_come_back(tree: Topology, random: object) -> None:
    hosts, switches = list(tree.hosts), list(tree.switches)
    random.shuffle(hosts)  # type: ignore[attr-defined]
    random.shuffle(switches)  # type: ignore[attr-defined]
    mixed = replace(tree, hosts=tuple(hosts), switches=tuple(switches))
    conf = read_text(slurm_conf.write(mixed).text)
    assert {*conf.hosts} == {*tree.hosts}
    assert {*conf.switches} == {*tree.switches}
    assert {*conf.cables} == {*tree.cables}
    nodes = read_text(volcano.write(mixed).text, name="x.yaml")
    assert {cable.ends for cable in nodes.cables} == {cable.ends for cable in tree.cables}
    assert nodes.levels == tree.levels


def test_runs_of_names_are_folded() -> None:
    cluster = build_leaf_spine(2, 1, 8, resources=Resources({"gpu": 8}), server_gbps=100, uplink_gbps=400)
    text = slurm_conf.write(describe_cluster(cluster)).text
    assert text.splitlines()[1:] == [
        "SwitchName=leaf0 Nodes=s0-[0-7] LinkSpeed=100",
        "SwitchName=leaf1 Nodes=s1-[0-7] LinkSpeed=100",
        "SwitchName=spine0 Switches=leaf[0-1] LinkSpeed=400",
    ]


def test_what_a_topology_conf_cannot_hold_is_told() -> None:
    tree = Topology(
        (Host("a", Resources({"gpu": 8})), Host("b")),
        (Switch("s", 1), Switch("t", 2)),
        (Cable(("a", "s"), 100), Cable(("b", "s"), 25), Cable(("s", "t"), 12.5)),
    )
    written = slurm_conf.write(tree)
    assert "LinkSpeed=" not in written.text
    assert written.lost[0].startswith("bandwidths below 's', 't'")
    assert written.lost[1].startswith("resources")


def hang(*cables: str) -> tuple[Cable, ...]:
    return tuple(Cable((a, b)) for a, b in (cable.split() for cable in cables))


NO_TREES = {
    "links to 's2', 's3', of its own tier": describe_cluster(build_ring4()),
    "no tree: 'leaf0' has links to 'spine0', 'spine1', above it": describe_cluster(build_leaf_spine(2, 2, 2)),
    "both switches and servers": Topology(
        (Host("a"), Host("b")), (Switch("s", 1), Switch("t", 2)), hang("a s", "s t", "b t")
    ),
    "no one switch at the top": Topology(
        (Host("a"), Host("b")), (Switch("s", 1), Switch("t", 1)), hang("a s", "b t")
    ),
    "of its own tier": Topology(
        (Host("a"), Host("b")), (Switch("s", 1), Switch("t", 1)), hang("a s", "b t", "s t")
    ),
}


@pytest.mark.parametrize("said", NO_TREES)
@pytest.mark.parametrize("write", [slurm_conf.write, volcano.write])
def test_what_is_no_tree_with_a_root_is_refused(said: str, write: object) -> None:
    with pytest.raises(InvalidValue) as caught:
        write(NO_TREES[said])  # type: ignore[operator]
    assert said in str(caught.value)


def test_names_that_slurm_does_not_take_are_refused() -> None:
    for name, said in (("s" * 65, "Slurm takes 64"), ("a b", "cannot stand in a hostlist")):
        with pytest.raises(InvalidValue, match=said):
            slurm_conf.write(Topology((Host("n"),), (Switch(name, 1),), (Cable(("n", name)),)))
