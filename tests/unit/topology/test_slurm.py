"""Slurm's topology.conf and topology.yaml."""

import pytest

from gadget.topology.network import Topology
from gadget.topology.options import DEFAULT_OPTIONS, ReadOptions
from tests.unit.topology.reading import links, names, read_text, refused, tiers

TREE = """\
##### the network of a small cluster
switchname=leaf1 NODES=n[1-2] linkspeed=400
SwitchName = leaf2 Nodes=n[08-09,\\
11]    # the third came later
SwitchName=spine Switches="leaf[1-2]" LinkSpeed=1600
"""


def read_conf(text: str, options: ReadOptions = DEFAULT_OPTIONS) -> Topology:
    return read_text(text, options, name="topology.conf")


def test_a_tree_with_comments_continued_lines_and_keys_in_any_case() -> None:
    found = read_conf(TREE)
    assert names(found) == ["n1", "n2", "n08", "n09", "n11"]
    assert tiers(found) == {"leaf1": 1, "leaf2": 1, "spine": 2}
    assert links(found) == {
        **{"n1-leaf1": 400, "n2-leaf1": 400, "n08-leaf2": None, "n09-leaf2": None, "n11-leaf2": None},
        **{"leaf1-spine": 1600, "leaf2-spine": 1600},
    }
    assert found.is_tree
    assert found.format == "slurm"
    assert "LinkSpeed" in found.remarks[0]


def test_lines_may_stand_in_any_order_and_trees_may_be_uneven() -> None:
    found = read_conf(
        "SwitchName=top Switches=mid,leaf3\nSwitchName=mid Switches=leaf[1-2]\n"
        "SwitchName=leaf1 Nodes=a\nSwitchName=leaf2 Nodes=b\nSwitchName=leaf3 Nodes=c\n"
    )
    assert tiers(found) == {"top": 3, "mid": 2, "leaf1": 1, "leaf2": 1, "leaf3": 1}


def test_a_node_below_two_leaves_is_read_as_slurm_does_and_remarked_on() -> None:
    found = read_conf("SwitchName=a Nodes=n[1-2]\nSwitchName=b Nodes=n[2-3]\nSwitchName=top Switches=a,b\n")
    assert not found.is_tree
    assert set(links(found)) == {"n1-a", "n2-a", "n2-b", "n3-b", "a-top", "b-top"}
    assert any("no tree: 1 (first: 'n2')" in remark for remark in found.remarks)


def test_blocks_hang_from_a_switch_that_is_made_up() -> None:
    found = read_conf("BlockName=b1 Nodes=n[1-2]\nBlockName=b2 Nodes=n[3-4]\nBlockSizes=2,4\n")
    assert tiers(found) == {"b1": 1, "b2": 1, "fabric": 2}
    assert found.is_tree
    assert found.levels == {1: "block"}
    assert "made up" in found.remarks[0]


def test_trees_that_nothing_joins_need_a_name_for_what_does() -> None:
    text = "SwitchName=a Nodes=n1\nSwitchName=b Nodes=n2\n"
    refused(read_conf, text, "topology.conf:2: 'n2' has no route to 'n1'")
    refused(read_conf, text, "--join NAME")
    found = read_conf(text, ReadOptions(join="core"))
    assert tiers(found) == {"a": 1, "b": 1, "core": 2}
    assert "'core' is made up" in found.remarks[0]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("SwitchName=a Nodes=n1\nSwitchName=a Nodes=n2\n", "conf:2: 'a' is a switch already (line 1)"),
        ("SwitchName=a Nodes=n1\nSwitchName=b Switches=c\n", "conf:2: 'c' is no switch"),
        ("SwitchName=leaf1 Nodes=n1\nSwitchName=b Switches=laef1\n", "nearest: 'leaf1'"),
        ("SwitchName=a Nodes=b\nSwitchName=b Switches=a\n", "conf:1: 'b' is a switch already (line 2)"),
        ("SwitchName=a Nodes=n1 Switches=b\nSwitchName=b Nodes=n2\n", "both switches and nodes"),
        (
            "SwitchName=l Nodes=n1\nSwitchName=a Switches=b,l\nSwitchName=b Switches=a\n",
            "in a circle: 'b' → 'a' → 'b'",
        ),
        ("SwitchName=a Switches=a\nSwitchName=l Nodes=n1\n", "in a circle: 'a' → 'a'"),
        (
            "SwitchName=l Nodes=n1\nSwitchName=a Switches=l\nSwitchName=b Switches=l\n",
            "conf:3: 'l' hangs from 'b' and from 'a' (line 2)",
        ),
        ("SwitchName=a Nodes=n1,n1\n", "conf:1: node 'n1' stands twice below switch 'a'"),
        ("SwitchName=a Nodes=n[1-\n", "conf:1: the hostlist 'n[1-' leaves a bracket open"),
        ("SwitchName=a Nodes=n1 LinkSpeed=fast\n", "conf:1: LinkSpeed is 'fast'"),
        ("SwitchName=a Nodes=n1 LinkSpeed=-1\n", "LinkSpeed is '-1'"),
        ("SwitchName=a Nodes=n1 LinkSpeed=9999999999999999999\n", "LinkSpeed is 1e+19, larger than"),
        ("SwitchName=a Node=n1\n", "conf:1: 'node' is not a known key (nearest: 'nodes')"),
        ("SwitchName=a Nodes=n1 Nodes=n2\n", "conf:1: Nodes is given twice"),
        ("SwitchName=a Nodes n1\n", "conf:1: 'Nodes n1' is no Key=value"),
        ('SwitchName=a Nodes=""\n', "conf:1: Nodes is empty"),
        ("SwitchName=a Nodes=ALL\n", "conf:1: ALL stands for nodes"),
        ("SwitchName=a Nodes=n1\nInclude other.conf\n", "conf:2: includes another file"),
        ("SwitchName=a Nodes=n1\nNodes=n2\n", "conf:2: a line starts with 'nodes'"),
        ("SwitchName=a Nodes=n1\nBlockName=b Nodes=n2\n", "conf:2: describes switches and blocks"),
        ("RingName=r Nodes=n[1-4]\n", "conf:1: describes a ring"),
        ("BlockName=a Nodes=n1\nBlockName=b Nodes=n1\n", "conf:2: 'n1' hangs from 'b' and from 'a' (line 1)"),
        ("SwitchName=a\n", "names no machines"),
        ("# only\nBlockSizes=4\n", "names no machines"),
    ],
)
def test_what_is_wrong_is_told_with_its_line(text: str, said: str) -> None:
    refused(read_conf, text, said)


YAML = """\
- topology: small
  tree:
    switches:
    - switch: root
      children: s[1-2]
    - {switch: s1, nodes: "n[01-02]"}
    - switch: s2
      nodes: [n03, "n[04-05]"]
- topology: blocks
  cluster_default: True
  block:
    block_sizes: [2, 4]
    blocks:
    - {block: b1, nodes: "n[01-02]"}
    - {block: b2, nodes: "n[03-04]"}
- topology: nothing
  flat: true
"""


def read_yaml(text: str, options: ReadOptions = DEFAULT_OPTIONS) -> Topology:
    return read_text(text, options, name="topology.yaml")


def test_the_default_topology_is_read_unless_another_is_named() -> None:
    found = read_yaml(YAML)
    assert found.format == "slurm-yaml"
    assert tiers(found) == {"b1": 1, "b2": 1, "fabric": 2}
    assert found.remarks[0].startswith("topology 'blocks' is read")
    other = read_yaml(YAML, ReadOptions(topology="small"))
    assert tiers(other) == {"root": 2, "s1": 1, "s2": 1}
    assert names(other) == ["n01", "n02", "n03", "n04", "n05"]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (YAML.replace("cluster_default: True", "cluster_defualt: True"), "(nearest: 'cluster_default')"),
        (YAML.replace("- topology: blocks", "- topology: small"), "yaml:9: [1] is a second topology"),
        ("- topology: t\n  flat: true\n", "yaml:1: [0] describes flat"),
        ("- topology: t\n  tree:\n    switches:\n    - nodes: n1\n", "has no switch"),
        ("- topology: t\n  tree: {}\n", "[0].tree has no switches"),
        (
            "- topology: t\n  tree:\n    switches:\n    - switch: a\n      nodes: 12\n",
            "yaml:5: [0].tree.switches[0].nodes is 12, not a name; quote it",
        ),
        (
            "- topology: t\n  tree:\n    switches:\n    - switch: a\n      nodes: n1\n    - switch: a\n",
            "yaml:6: 'a' is a switch already (line 4)",
        ),
        ("- topology: t\n  block:\n    blocks: 5\n", "[0].block.blocks is 5, not a list"),
        ("topology: t\ntree: {}\n", "not a list"),
        ("- topology: t\n  tree: [\n", "yaml:3: is not YAML"),
        ("- topology: t\n  tree: {}\n---\n- topology: u\n  tree: {}\n", "several documents"),
    ],
)
def test_a_malformed_yaml_is_refused_with_its_line(text: str, said: str) -> None:
    refused(read_yaml, text, said)


def test_an_unknown_topology_is_refused_with_the_nearest() -> None:
    refused(read_yaml, YAML, "has no topology 'smal' (nearest: 'small')", ReadOptions(topology="smal"))
