"""Volcano's HyperNodes: members by name, pattern and label."""

import json
from pathlib import Path

import pytest

from gadget.errors import InvalidValue
from gadget.topology import volcano
from gadget.topology.network import Cable, Host, Switch, Topology
from gadget.topology.options import DEFAULT_OPTIONS, ReadOptions
from tests.unit.topology.reading import names, read_text, refused, tiers


def hypernode(name: str, tier: object, *members: str, more: str = "") -> str:
    """Members are written Node=n1, Node~pattern or Node@key:value."""
    lines = [
        "apiVersion: topology.volcano.sh/v1alpha1",
        "kind: HyperNode",
        f"metadata: {{name: {name}}}",
        "spec:",
        f"  tier: {tier}",
        *([f"  {more}"] if more else []),
        "  members:",
    ]
    for member in members:
        kind = "Node" if member.startswith("Node") else "HyperNode"
        sign, rest = member.removeprefix(kind)[0], member.removeprefix(kind)[1:]
        rule = {
            "=": f"exactMatch: {{name: {rest}}}",
            "~": f"regexMatch: {{pattern: '{rest}'}}",
            "@": f"labelMatch: {{matchLabels: {{{rest.replace(':', ': ')}}}}}",
        }[sign]
        lines += [f"  - type: {kind}", f"    selector: {{{rule}}}"]
    return "\n".join(lines) + "\n"


def documents(*texts: str) -> str:
    return "---\n".join(texts)


NODES = {
    "kind": "NodeList",
    "items": [
        {
            "kind": "Node",
            "metadata": {"name": f"n{number}", "labels": {"rack": f"r{number // 2}"}},
            "status": {"allocatable": {"nvidia.com/gpu": "8"}},
        }
        for number in range(5)
    ],
}


@pytest.fixture
def with_nodes(tmp_path: Path) -> ReadOptions:
    path = tmp_path / "nodes.json"
    path.write_text(json.dumps(NODES))
    return ReadOptions(nodes=path)


def read(text: str, options: ReadOptions = DEFAULT_OPTIONS) -> Topology:
    return read_text(text, options, name="hypernodes.yaml")


def test_hypernodes_make_a_tree_by_their_tiers() -> None:
    found = read(
        documents(
            "# the leaves come first\n" + hypernode("s0", 1, "Node=n0", "Node=n1", more="tierName: rack"),
            hypernode("s1", 1, "Node=n2"),
            hypernode("s2", 3, "HyperNode=s0", "HyperNode=s1"),
        )
    )
    assert found.format == "volcano"
    assert names(found) == ["n0", "n1", "n2"]
    assert tiers(found) == {"s0": 1, "s1": 1, "s2": 3}
    assert found.levels == {1: "rack"}
    assert found.is_tree
    assert found.remarks == ()


def test_patterns_and_labels_choose_from_the_nodes_given(with_nodes: ReadOptions) -> None:
    found = read(
        documents(
            hypernode("s0", 1, "Node~^n[01]$", "Node=n1"),
            hypernode("s1", 1, "Node@rack:r1"),
            hypernode("top", 2, "HyperNode~s[0-9]"),
        ),
        with_nodes,
    )
    assert names(found) == ["n0", "n1", "n2", "n3"]
    assert {host.resources["gpu"] for host in found.hosts} == {8}
    assert tiers(found) == {"s0": 1, "s1": 1, "top": 2}
    assert found.remarks == ("nodes in no HyperNode are left out: 'n4'",)


def test_nodes_may_stand_in_the_same_file_and_lists_are_opened() -> None:
    text = json.dumps(
        {
            "kind": "List",
            "items": [
                NODES,
                {
                    "kind": "HyperNode",
                    "metadata": {"name": "all"},
                    "spec": {
                        "tier": 1,
                        "members": [
                            {
                                "type": "Node",
                                "selector": {
                                    "labelMatch": {
                                        "matchExpressions": [
                                            {"key": "rack", "operator": "In", "values": ["r0", "r1"]},
                                            {"key": "rack", "operator": "NotIn", "values": ["r1"]},
                                            {"key": "rack", "operator": "Exists"},
                                            {"key": "row", "operator": "DoesNotExist"},
                                        ]
                                    }
                                },
                            }
                        ],
                    },
                },
            ],
        }
    )
    assert names(read_text(text, name="x.json")) == ["n0", "n1"]


def test_several_roots_are_joined_as_volcano_does() -> None:
    found = read(documents(hypernode("s0", 1, "Node=n0"), hypernode("s1", 1, "Node=n1")))
    assert tiers(found) == {"s0": 1, "s1": 1, "fabric": 2}


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (documents(hypernode("s0", 1, "Node=n0"), hypernode("s0", 1)), "'s0' is a switch already (line 1)"),
        (hypernode("s0", 1, "Node=n0", "Node=s0"), "'s0' is a switch already"),
        (
            documents(hypernode("s0", 1, "Node=n0"), hypernode("s1", 1, "Node=n0")),
            "hypernodes.yaml:16: 'n0' hangs from 's1' and from 's0'",
        ),
        (
            documents(hypernode("s0", 2, "Node=n0"), hypernode("s1", 2, "HyperNode=s0")),
            "puts 's0' of tier 2 below 's1' of tier 2",
        ),
        (
            documents(hypernode("s0", 1, "Node=n0"), hypernode("s1", 2, "HyperNode=so")),
            "'so', which is no HyperNode",
        ),
        (hypernode("s0", 1, "Node~n.*"), "--nodes FILE"),
        (hypernode("s0", 1, "Node@rack:r0"), "--nodes FILE"),
        (hypernode("s0", 1, "HyperNode@rack:r0"), "chooses HyperNodes by label"),
        (hypernode("s0", "one", "Node=n0"), 'hypernodes.yaml:5: spec.tier is "one"'),
        (hypernode("s0", 0, "Node=n0"), "spec.tier is 0"),
        (hypernode("s0", 1), "names no machines"),
        (
            hypernode("s0", 1, "Node=n0").replace("type: Node", "type: Pod"),
            "spec.members[0] is of type 'Pod'",
        ),
        (hypernode("s0", 1, "Node=n0").replace("exactMatch", "exact"), "selector has nothing"),
        (
            hypernode("s0", 1, "Node=n0").replace("{exactMatch", "{regexMatch: {pattern: n}, exactMatch"),
            "selector has exactMatch and regexMatch",
        ),
        ("kind: HyperNodeList\nitems: []\n", "describes no HyperNodes"),
        (hypernode("s0", 1, "Node=n0") + "---\nkind: [\n", "hypernodes.yaml:11: is not YAML"),
        (hypernode("s0", 1, "Node=n0") + "---\nname: x\n", "hypernodes.yaml:9: has no kind"),
    ],
)
def test_malformed_hypernodes_are_refused(text: str, said: str) -> None:
    refused(read, text, said)


@pytest.mark.parametrize(
    ("member", "said"),
    [
        ("Node=n9", "names 'n9', which is no node"),
        ("Node~^x", "chooses nothing"),
        ("Node~n[", "is no pattern"),
        ("Node@rack:r9", "chooses nothing"),
    ],
)
def test_selectors_that_choose_nothing_are_refused(with_nodes: ReadOptions, member: str, said: str) -> None:
    refused(read, hypernode("s0", 1, member), said, with_nodes)


def test_a_writer_renames_switches_but_not_servers() -> None:
    tree = Topology((Host("n0"),), (Switch("Rack_1", 1),), (Cable(("n0", "Rack_1"), 100),))
    written = volcano.write(tree)
    assert tiers(read(written.text)) == {"rack-1": 1}
    assert any("'Rack_1'" in line for line in written.lost)
    assert any("bandwidths" in line for line in written.lost)
    with pytest.raises(InvalidValue, match="cannot be the name of a Kubernetes node"):
        volcano.write(Topology((Host("N0"),), (Switch("s", 1),), (Cable(("N0", "s")),)))
    twins = Topology(
        (Host("n0"),),
        (Switch("A", 1), Switch("a", 2)),
        (Cable(("n0", "A")), Cable(("A", "a"))),
    )
    with pytest.raises(InvalidValue, match="no other switch has"):
        volcano.write(twins)
