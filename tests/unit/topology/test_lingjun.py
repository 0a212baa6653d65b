"""Alibaba's Lingjun topo.csv: switches known by their parents, any graph; the real one where it is there."""

import os
from pathlib import Path

import pytest

from gadget.topology.formats import read_topology
from gadget.topology.network import Topology
from gadget.topology.options import DEFAULT_OPTIONS, ReadOptions
from tests.unit.topology.reading import links, names, read_text, refused, tiers

HEADER = "ip,DSW,PSW,ASW\n"


def read(text: str, options: ReadOptions = DEFAULT_OPTIONS) -> Topology:
    return read_text(text, options, name="topo.csv")


def test_an_access_switch_is_known_by_its_pod_switch_too() -> None:
    found = read(HEADER + "h1,G1,P1,S1\nh2,G1,P1,S1\n\nh3,G1,P2,S1\n")
    assert found.format == "lingjun"
    assert names(found) == ["h1", "h2", "h3"]
    assert tiers(found) == {"P1-S1": 1, "P1": 2, "G1": 3, "P2-S1": 1, "P2": 2}
    assert found.levels == {1: "asw", 2: "psw", 3: "dsw"}
    assert found.is_tree
    assert set(links(found).values()) == {None}


def test_a_host_with_several_rows_has_several_uplinks() -> None:
    found = read(HEADER + "h1,G1,P1,S1\nh1,G2,P2,S1\nh2,G2,P1,S1\n")
    assert set(links(found)) == {
        "h1-P1-S1",
        "h1-P2-S1",
        "h2-P1-S1",
        "P1-S1-P1",
        "P2-S1-P2",
        "P1-G1",
        "P2-G2",
        "P1-G2",
    }
    assert not found.is_tree


def test_columns_may_stand_in_any_order() -> None:
    assert tiers(read('asw,"psw",DSW,ip,note\nS1,P1,G1,h1,x\n')) == {"P1-S1": 1, "P1": 2, "G1": 3}


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (HEADER + "h1,G1,P1,S1\nh1,G1,P1,S1\n", "topo.csv:3: is the row of line 2 again"),
        (HEADER + "h1,G1,P1\n", "topo.csv:2: has 3 cells, the header 4"),
        (HEADER + "h1,G1,,S1\n", "topo.csv:2: psw is empty"),
        (HEADER, "names no machines"),
        (HEADER + "h1,G1,P1,S1\nh2,G2,P2,S1\n", "topo.csv:3: 'h2' has no route to 'h1'"),
        (
            HEADER + "h1,G1,P1,S1\nP1,G1,P1,S1\n",
            "topo.csv:3: 'P1' is a switch already (line 2), and here a node too",
        ),
        (HEADER + "h1,P1,P1,S1\n", "topo.csv:2: 'P1' would name two switches"),
        (HEADER + "h1,G1,a-b,c\nh2,G1,a,b-c\n", "topo.csv:3: 'a-b-c' would name two switches"),
    ],
)
def test_malformed_rows_are_refused_with_their_line(text: str, said: str) -> None:
    refused(read, text, said)


def find_real() -> Path | None:
    for folder in filter(None, (os.environ.get("GADGET_TRACES"), "../shared/traces")):
        path = Path(folder) / "alibaba_lingjun_2023" / "topo.csv"
        if path.is_file():
            return path
    return None


@pytest.mark.skipif(
    find_real() is None, reason="the Lingjun network is not in ../shared/traces or GADGET_TRACES"
)
def test_the_real_network() -> None:
    path = find_real()
    assert path is not None
    found = read_topology(path)
    assert len(found.hosts) == 847
    # One row for each host: with switches known by both names, what was published is a tree.
    assert found.is_tree
    assert [sum(switch.tier == tier for switch in found.switches) for tier in (1, 2, 3)] == [119, 3, 1]
