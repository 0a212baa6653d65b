"""A running Slurm's switches with the resources of its nodes."""

import pytest

from gadget.errors import BadOption
from gadget.model.cluster import Link
from gadget.model.resources import Resources
from gadget.topology.assumptions import Assumptions
from gadget.topology.slurm_live import build_slurm_cluster

GPUS = {name: Resources({"gpu": 4}) for name in ("n1", "n2", "n3", "n4")}
TOLD = """\
SwitchName=leaf1 Level=0 LinkSpeed=1 Nodes=n[1-2]
SwitchName=leaf2 Level=0 LinkSpeed=200 Nodes=n[3-4]
SwitchName=spine Level=1 LinkSpeed=1 Nodes=n[1-4] Switches=leaf[1-2]
"""


def links(told: str, assumptions: Assumptions, gpus: dict[str, Resources] = GPUS) -> set[Link]:
    return set(build_slurm_cluster(gpus, told, assumptions).links)


def test_switches_are_slurms_and_a_speed_of_one_is_none() -> None:
    assumptions = Assumptions({"2": 400.0}, 100.0)
    assert links(TOLD, assumptions) == {
        Link(("n1", "leaf1"), 100.0),
        Link(("n2", "leaf1"), 100.0),
        Link(("n3", "leaf2"), 200.0),
        Link(("n4", "leaf2"), 200.0),
        Link(("leaf1", "spine"), 400.0),
        Link(("leaf2", "spine"), 400.0),
    }


def test_without_switches_all_nodes_hang_from_one() -> None:
    assert links("", Assumptions({}, 10.0)) == {Link((name, "slurm"), 10.0) for name in GPUS}


def test_nodes_that_are_not_ours_are_left_out_and_those_below_no_switch_are_joined() -> None:
    ours = {name: GPUS[name] for name in ("n1", "n3")} | {"n9": GPUS["n1"]}
    cluster = build_slurm_cluster(ours, TOLD, Assumptions({}, 10.0))
    assert [server.name for server in cluster.servers] == ["n1", "n3", "n9"]
    assert cluster.is_connected


def test_bandwidths_that_nobody_knows_are_asked_for() -> None:
    with pytest.raises(BadOption, match="--gbps"):
        links(TOLD, Assumptions())
