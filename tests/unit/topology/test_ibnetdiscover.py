"""The output of ibnetdiscover: rates, adapters of one machine, parallel cables."""

import pytest

from gadget.topology.network import Topology
from gadget.topology.options import DEFAULT_OPTIONS, ReadOptions
from tests.unit.topology.reading import links, names, read_text, refused, tiers

FABRIC = """\
#
# Topology file: generated on Wed Aug  6 16:11:23 2025
#
# Initiated from node 0000000000000a01 port 0000000000000a01

vendid=0x2c9
devid=0xd2f2
sysimgguid=0xa0
switchguid=0xa0(a0)
Switch	41 "S-00000000000000a0"		# "MF0;leaf-1:MQM8700/U1" enhanced port 0 lid 2 lmc 0
[1]	"H-0000000000000b01"[1](b01) 		# "n1 mlx5_0" lid 10 4xHDR
[2]	"H-0000000000000b02"[1](b02) 		# "n1 mlx5_1" lid 11 4xHDR
[3]	"H-0000000000000b03"[1](b03) 		# "n2 HCA-1" lid 12 2xHDR
[39]	"S-00000000000000a1"[1]		# "MF0;spine-1:MQM8700/U1" lid 3 4xHDR
[40]	"S-00000000000000a1"[2]		# "MF0;spine-1:MQM8700/U1" lid 3 4xHDR
[41]	"H-0000000000000c00"[1](c00) 		# "Mellanox Technologies Aggregation Node" lid 4 4xHDR

vendid=0x2c9
devid=0xd2f2
sysimgguid=0xa1
switchguid=0xa1(a1)
Switch	41 "S-00000000000000a1"		# "MF0;spine-1:MQM8700/U1" enhanced port 0 lid 3 lmc 0
[1]	"S-00000000000000a0"[39]		# "MF0;leaf-1:MQM8700/U1" lid 2 4xHDR
[2]	"S-00000000000000a0"[40]		# "MF0;leaf-1:MQM8700/U1" lid 2 4xHDR
[3]	"S-00000000000000a2"[40]		# "MF0;leaf-2:MQM8700/U1" lid 5 4xHDR

vendid=0x2c9
devid=0xd2f2
sysimgguid=0xa2
switchguid=0xa2(a2)
Switch	41 "S-00000000000000a2"		# "MF0;leaf-2:MQM8700/U1" enhanced port 0 lid 5 lmc 0
[1]	"H-0000000000000b04"[1](b04) 		# "n2 HCA-2" lid 13 4xEDR
[2]	"H-0000000000000b05"[1](b05) 		# "MT4129 ConnectX7   Mellanox Technologies" lid 14 4xNDR
[40]	"S-00000000000000a1"[3]		# "MF0;spine-1:MQM8700/U1" lid 3 4xHDR

vendid=0x2c9
devid=0x101b
sysimgguid=0xb01
caguid=0xb01
Ca	1 "H-0000000000000b01"		# "n1 mlx5_0"
[1](b01) 	"S-00000000000000a0"[1]		# lid 10 lmc 0 "MF0;leaf-1:MQM8700/U1" lid 2 4xHDR

caguid=0xb02
Ca	1 "H-0000000000000b02"		# "n1 mlx5_1"
[1](b02) 	"S-00000000000000a0"[2]		# lid 11 lmc 0 "MF0;leaf-1:MQM8700/U1" lid 2 4xHDR

caguid=0xb03
Ca	1 "H-0000000000000b03"		# "n2 HCA-1"
[1](b03) 	"S-00000000000000a0"[3]		# lid 12 lmc 0 "MF0;leaf-1:MQM8700/U1" lid 2 2xHDR

caguid=0xb04
Ca	1 "H-0000000000000b04"		# "n2 HCA-2"
[1](b04) 	"S-00000000000000a2"[1]		# lid 13 lmc 0 "MF0;leaf-2:MQM8700/U1" lid 5 4xEDR

caguid=0xb05
Ca	1 "H-0000000000000b05"		# "MT4129 ConnectX7   Mellanox Technologies"
[1](b05) 	"S-00000000000000a2"[2]		# lid 14 lmc 0 "MF0;leaf-2:MQM8700/U1" lid 5 4xNDR

caguid=0xc00
Ca	1 "H-0000000000000c00"		# "Mellanox Technologies Aggregation Node"
[1](c00) 	"S-00000000000000a0"[41]		# lid 4 lmc 0 "MF0;leaf-1:MQM8700/U1" lid 2 4xHDR
"""


def read(text: str, options: ReadOptions = DEFAULT_OPTIONS) -> Topology:
    return read_text(text, options, name="fabric.txt")


def test_adapters_become_machines_and_parallel_cables_one_link() -> None:
    found = read(FABRIC)
    assert found.format == "ibnetdiscover"
    assert names(found) == ["n1", "n2", "H-0000000000000b05"]
    assert tiers(found) == {"leaf-1": 1, "spine-1": 2, "leaf-2": 1}
    assert links(found) == {
        "n1-leaf-1": 400,  # 4xHDR twice
        "n2-leaf-1": 100,  # 2xHDR
        "n2-leaf-2": 100,  # 4xEDR
        "H-0000000000000b05-leaf-2": 400,  # 4xNDR
        "leaf-1-spine-1": 400,
        "leaf-2-spine-1": 200,
    }
    assert not found.is_tree
    assert found.remarks == (
        "adapters that name no machine, each taken for one: 1 (first: H-0000000000000b05)",
        "aggregation nodes left out, which sit inside switches: 1",
    )


@pytest.mark.parametrize(
    ("rate", "gbps"),
    [
        ("4xSDR", 10),
        ("4xQDR", 40),
        ("4xFDR10", 40),
        ("4xFDR", 56),
        ("1xEDR", 25),
        ("4xXDR", 800),
        ("12xHDR", 600),
        ("4x???", None),
        ("4xZDR", None),
        ("4xHDR s=4 w=2 v=4", 200),
    ],
)
def test_rates(rate: str, gbps: float | None) -> None:
    assert links(read(FABRIC.replace("4xNDR", rate)))["H-0000000000000b05-leaf-2"] == gbps


def test_the_smaller_rate_counts_where_the_ends_differ() -> None:
    assert links(read(FABRIC.replace("lid 14 4xNDR", "lid 14 4xHDR")))["H-0000000000000b05-leaf-2"] == 200


def test_grouped_output_is_read_too() -> None:
    grouped = FABRIC.replace("\n[39]\t", "\n[39][ext 3]\t").replace('a0"[39]', 'a0"[39][ext 3]')
    grouped = grouped.replace("vendid", "Chassis 1 (guid 0x1)\n\n# Spine Nodes\nvendid", 1)
    assert links(read(grouped)) == links(read(FABRIC))


def test_switches_that_share_a_name_go_by_their_ids() -> None:
    found = read(FABRIC.replace("leaf-2", "leaf-1"))
    assert tiers(found) == {"S-00000000000000a0": 1, "spine-1": 2, "S-00000000000000a2": 1}


def test_a_tree_has_heights_as_tiers_even_with_a_machine_at_its_spine() -> None:
    text = """\
Switch 4 "S-a"  # "leaf"
[1] "H-1"[1](1)  # "n1 mlx5_0" lid 1 4xHDR
[2] "S-b"[1]  # "spine" lid 1 4xHDR
Switch 4 "S-b"  # "spine"
[1] "S-a"[2]  # "leaf" lid 1 4xHDR
[2] "H-2"[1](2)  # "n2 mlx5_0" lid 1 4xHDR
[3] "S-c"[1]  # "other" lid 1 4xHDR
Switch 4 "S-c"  # "other"
[1] "S-b"[3]  # "spine" lid 1 4xHDR
[2] "H-3"[1](3)  # "n3" lid 1 4xHDR
Ca 1 "H-1"  # "n1 mlx5_0"
Ca 1 "H-2"  # "n2 mlx5_0"
Ca 1 "H-3"  # "n3"
"""
    found = read(text)
    assert found.is_tree
    assert tiers(found) == {"leaf": 1, "spine": 2, "other": 1}


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (
            FABRIC.replace('Ca\t1 "H-0000000000000b01"', 'Ca\t1 "H-0000000000000b99"'),
            "fabric.txt:11: H-0000000000000b01 is described nowhere",
        ),
        (FABRIC.replace('"H-0000000000000b02"\t\t# "n1', '"H-0000000000000b01"\t\t# "n1'), "stands in line"),
        (
            FABRIC.replace('[2]\t"H', '[1]\t"H', 1),
            "fabric.txt:12: port 1 of S-00000000000000a0 is given twice",
        ),
        (
            FABRIC.replace('b02"[1](b02)', 'b01"[1](b01)', 1),
            "is at the end of two cables, this one and that of line 11",
        ),
        (FABRIC.replace('[3]\t"S', '(3)\t"S', 1), "is nothing that ibnetdiscover prints"),
        ('[1] "S-a"[1]\nSwitch 4 "S-a"\n', "fabric.txt:1: a port before any switch"),
        ('Switch 4 "S-a"  # "x"\n', "names no machines"),
    ],
)
def test_malformed_output_is_refused_with_its_line(text: str, said: str) -> None:
    refused(read, text, said)


def test_a_switch_named_as_a_machine_goes_by_its_id() -> None:
    assert "S-00000000000000a1" in tiers(read(FABRIC.replace("MF0;spine-1:", "MF0;n1:")))


def test_parts_that_no_cable_joins_are_refused_unless_joined() -> None:
    lone = FABRIC + 'Switch 4 "S-ff"  # "lonely"\n[1] "H-ff"[1]  # "n9" lid 1 4xHDR\nCa 1 "H-ff"  # "n9"\n'
    refused(read, lone, "'n9' has no route to 'n1'; the network falls into 2 parts")
    assert "core" in tiers(read(lone, ReadOptions(join="core")))
