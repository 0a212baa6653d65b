"""Kubernetes nodes: labels as levels, presets of providers, quantities."""

import json
from pathlib import Path
from typing import Any

import pytest

from gadget.errors import BadFile
from gadget.topology.network import Topology
from gadget.topology.objects import parse_quantity
from gadget.topology.options import DEFAULT_OPTIONS, ReadOptions
from gadget.topology.source import Part, Source
from tests.unit.topology.reading import links, names, read_text, refused, tiers

BLOCK, RACK = "oci.oraclecloud.com/host.network_block_id", "oci.oraclecloud.com/host.rack_id"
CUSTOM = ReadOptions(levels=("example.com/row", "example.com/rack"))


def node(name: str, *, gpus: str | None = "8", **labels: str) -> dict[str, Any]:
    amounts = {"cpu": "127910m", "memory": "1056251904Ki", "pods": "110"}
    if gpus is not None:
        amounts["nvidia.com/gpu"] = gpus
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": name, "labels": {"kubernetes.io/hostname": name, **labels}},
        "status": {"allocatable": amounts, "capacity": {**amounts, "nvidia.com/gpu": "99"}},
    }


def listing(*nodes: dict[str, Any]) -> str:
    return json.dumps({"apiVersion": "v1", "kind": "List", "items": list(nodes)}, indent=4)


def rows(*places: str) -> str:
    """Nodes n0, n1, … at places written row/rack."""
    made = []
    for number, place in enumerate(places):
        row, rack = place.split("/")
        made.append(node(f"n{number}", **{"example.com/row": row, "example.com/rack": rack}))
    return listing(*made)


def read_nodes(text: str, options: ReadOptions = CUSTOM) -> Topology:
    return read_text(text, options, name="nodes.json")


def test_the_levels_make_a_tree_from_the_top_down() -> None:
    found = read_nodes(rows("a/1", "a/1", "a/2"))
    assert found.format == "kubernetes"
    assert names(found) == ["n0", "n1", "n2"]
    assert tiers(found) == {"1": 1, "a": 2, "2": 1}
    assert found.levels == {2: "row", 1: "rack"}
    assert set(links(found)) == {"n0-1", "n1-1", "n2-2", "1-a", "2-a"}
    assert found.hosts[0].resources == {"gpu": 8, "cpu": 127.91, "memory_gib": 1056251904 / 1024**2}


def test_a_value_is_unique_only_below_those_above_it() -> None:
    found = read_nodes(rows("a/1", "b/1"))
    assert tiers(found) == {"a/1": 1, "a": 2, "b/1": 1, "b": 2, "fabric": 3}
    assert "'fabric' is made up" in found.remarks[0]
    assert tiers(read_nodes(rows("a/1", "b/1"), ReadOptions(CUSTOM.levels, join="dc")))["dc"] == 3


def test_names_that_clash_with_nodes_or_other_levels_are_written_out() -> None:
    found = read_nodes(rows("x/n1", "x/n2"))
    assert tiers(found) == {"x/n1": 1, "x": 2, "x/n2": 1}


def oci(*places: str) -> str:
    return listing(
        *(
            node(f"n{number}", **dict(zip((BLOCK, RACK), place.split("/"), strict=True)))
            for number, place in enumerate(places)
        )
    )


def test_racks_of_oci_are_unique_only_inside_their_block() -> None:
    found = read_nodes(oci("b1/r1", "b1/r2", "b2/r1"), DEFAULT_OPTIONS)
    assert tiers(found) == {"b1/r1": 1, "b1": 2, "b1/r2": 1, "b2/r1": 1, "b2": 2, "fabric": 3}


def aws(*paths: str) -> str:
    prefix = "topology.k8s.aws/network-node-layer-"
    return listing(
        *(
            node(f"n{number}", **{f"{prefix}{layer}": f"nn-{one}" for layer, one in enumerate(path, 1)})
            for number, path in enumerate(paths)
        )
    )


def test_layer_1_of_aws_is_the_top() -> None:
    found = read_nodes(aws("abc", "abd"), ReadOptions(levels=("aws",)))
    assert tiers(found) == {"nn-c": 1, "nn-b": 2, "nn-a": 3, "nn-d": 1}
    assert found.levels[3] == "network-node-layer-1"


def test_a_switch_of_aws_below_two_others_is_refused() -> None:
    refused(
        read_nodes,
        aws("abc", "adc"),
        "'nn-c' below 'nn-d', another node has it below 'nn-b'",
        DEFAULT_OPTIONS,
    )


def gcp(*paths: str) -> str:
    prefix, keys = "cloud.google.com/gce-topology-", ("block", "subblock", "host")
    return listing(
        *(
            node(f"n{number}", **{f"{prefix}{key}": one for key, one in zip(keys, path, strict=True)})
            for number, path in enumerate(paths)
        )
    )


def test_a_host_of_gcp_is_a_switch_only_where_it_has_several_nodes() -> None:
    assert tiers(read_nodes(gcp("abx", "aby"), DEFAULT_OPTIONS)) == {"b": 1, "a": 2}
    assert tiers(read_nodes(gcp("abx", "abx"), DEFAULT_OPTIONS)) == {"x": 1, "b": 2, "a": 3}


def test_the_labels_of_topograph_are_known_and_the_core_may_be_absent() -> None:
    prefix = "network.topology.nvidia.com/"
    text = listing(*(node(n, **{f"{prefix}leaf": leaf, f"{prefix}spine": "s"}) for n, leaf in ("ax", "by")))
    assert tiers(read_nodes(text, DEFAULT_OPTIONS)) == {"x": 1, "s": 2, "y": 1}


def test_nodes_without_gpus_have_none_unless_no_node_tells_any() -> None:
    label = {"example.com/row": "a", "example.com/rack": "1"}
    mixed = read_nodes(listing(node("n0", **label), node("n1", gpus=None, **label)))
    assert [host.resources.get("gpu") for host in mixed.hosts] == [8, 0]
    none = read_nodes(listing(node("n0", gpus=None, **label)))
    assert "gpu" not in none.hosts[0].resources
    assert none.hosts[0].resources["cpu"] == 127.91


def test_cordoned_nodes_are_read_and_remarked_on() -> None:
    one = node("n0", **{"example.com/row": "a", "example.com/rack": "1"})
    one["spec"] = {"unschedulable": True}
    assert read_nodes(listing(one)).remarks == ("cordoned nodes, read all the same: 1 (first: 'n0')",)


def test_yaml_and_single_objects_are_read_as_well() -> None:
    text = """\
apiVersion: v1
kind: Node
metadata:
  name: n0
  labels: {example.com/row: a, example.com/rack: "1"}
---
# the second
apiVersion: v1
kind: Node
metadata:
  name: n1
  labels: {example.com/row: a, example.com/rack: "2"}
status:
  capacity: {cpu: "64"}
"""
    found = read_text(text, CUSTOM, name="nodes.yaml")
    assert names(found) == ["n0", "n1"]
    assert [dict(host.resources) for host in found.hosts] == [{}, {"cpu": 64}]


@pytest.mark.parametrize(
    ("text", "options", "said"),
    [
        (rows("a/1"), DEFAULT_OPTIONS, "carry none of the labels of gcp, aws, oci"),
        (rows("a/1"), ReadOptions(levels=("aws",)), "no node carries a label of aws"),
        (rows("a/1"), ReadOptions(levels=("example.com/rak",)), "(nearest: 'example.com/rack')"),
        (listing(), CUSTOM, "is in no format"),
        ('{"kind": "NodeList", "items": []}', CUSTOM, "lists no nodes"),
        (rows("a/1").replace('"n0"', '""'), CUSTOM, 'metadata.name is "", not a name'),
        (
            listing(node("n0", **{"example.com/row": "a", "example.com/rack": "1"}), node("cp")),
            CUSTOM,
            "(node 'cp') has no label 'example.com/row'",
        ),
        (
            listing(*[node("n0", **{"example.com/row": "a", "example.com/rack": "1"})] * 2),
            CUSTOM,
            "'n0' is a node already",
        ),
        (rows("a/1").replace('"127910m"', '"many"'), CUSTOM, "cpu is 'many', not a quantity"),
        (rows("a/1").replace('"8"', '"-8"'), CUSTOM, "nvidia.com/gpu is '-8'"),
        (rows("a/1")[:-3], CUSTOM, "is not JSON"),
        (rows("a/1").replace('"items": [', '"items": [7, '), CUSTOM, "items[0] is 7, not a mapping"),
    ],
)
def test_malformed_nodes_are_refused(text: str, options: ReadOptions, said: str) -> None:
    refused(read_nodes, text, said, options)


def test_the_line_of_a_node_is_told() -> None:
    text = rows("a/1", "a/2").replace('"example.com/rack": "2"', '"example.com/rock": "2"')
    with pytest.raises(BadFile, match=r"nodes.json:\d+: items\[1\] \(node 'n1'\) has no label"):
        read_nodes(text)


@pytest.mark.parametrize(
    ("text", "amount"),
    [
        ("8", 8),
        ("500m", 0.5),
        ("1Ki", 1024),
        ("1.5Gi", 1.5 * 2**30),
        ("2k", 2000),
        ("129e6", 129e6),
        ("3M", 3e6),
        (".5", 0.5),
        ("0", 0),
        ("7Ti", 7 * 2**40),
    ],
)
def test_quantities(text: str, amount: float) -> None:
    assert parse_quantity(Part(Source(Path("x"), b""), (0,), text)) == pytest.approx(amount)


@pytest.mark.parametrize("text", ["", "8 GB", "1Kb", "--1", "1e9999", True])
def test_what_is_no_quantity_is_refused(text: object) -> None:
    with pytest.raises(BadFile):
        parse_quantity(Part(Source(Path("x"), b"{}"), (0,), text))
