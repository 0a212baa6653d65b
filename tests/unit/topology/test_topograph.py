"""NVIDIA Topograph's JSON."""

import json

import pytest

from gadget.topology.network import Topology
from gadget.topology.options import DEFAULT_OPTIONS, ReadOptions
from tests.unit.topology.reading import links, names, read_text, refused, tiers


def instances(*paths: str) -> str:
    """Instances written as host/leaf/spine/…"""
    found = []
    for path in paths:
        host, *layers = path.split("/")
        found.append(
            {"id": host, "type": "H100", "network_layers": layers, "attributes": {"nvlink": "nvl-1"}}
        )
    return json.dumps({"instances": found}, indent=2)


def read(text: str, options: ReadOptions = DEFAULT_OPTIONS) -> Topology:
    return read_text(text, options, name="graph.json")


def test_the_closest_layer_stands_first() -> None:
    found = read(instances("i1/leaf-a/spine", "i2/leaf-a/spine", "i3/leaf-b/spine"))
    assert found.format == "topograph"
    assert names(found) == ["i1", "i2", "i3"]
    assert tiers(found) == {"leaf-a": 1, "spine": 2, "leaf-b": 1}
    assert set(links(found)) == {"i1-leaf-a", "i2-leaf-a", "i3-leaf-b", "leaf-a-spine", "leaf-b-spine"}
    assert found.is_tree


def test_several_tops_are_joined_by_a_switch_that_is_made_up() -> None:
    found = read(instances("i1/a", "i2/b"))
    assert tiers(found) == {"a": 1, "b": 1, "fabric": 2}
    assert "made up" in found.remarks[0]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (instances("i1/a/s", "i1/b/s"), "'i1' is a node already (line 3)"),
        (instances("i1/a/s", "i2/a/t"), "has 't' above switch 'a', an instance before has 's'"),
        (instances("i1/a/s", "i2/a"), "has nothing above switch 'a', an instance before has 's'"),
        (instances("i1/a/s", "i2/s/a"), "has switch 's' in layer 1, an instance before in layer 2"),
        (instances("i1/a", "a/b"), "'a' is a switch already (line 3), and here a node too"),
        (instances("i1/a/a"), "has switch 'a' in layer 2, an instance before in layer 1"),
        (instances("i1"), "(instance 'i1') has no network_layers"),
        ('{"instances": []}  network_layers', "is not JSON"),
        ('{"instances": [], "network_layers": 0}', "names no machines"),
        ('{"instances": [{"network_layers": ["a"]}]}', "instances[0] has no id"),
        ('{"instances": [{"id": "i", "network_layers": ["a", 5]}]}', "network_layers[1] is 5, not a name"),
        ('{"instances": {"id": "i", "network_layers": []}}', "instances is a mapping, not a list"),
    ],
)
def test_malformed_graphs_are_refused(text: str, said: str) -> None:
    refused(read, text, said)
