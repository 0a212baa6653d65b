"""gadget topology: shown, converted, and all the way through solve and check."""

import json
from pathlib import Path

import pytest

from gadget.model.codec import read_scenario
from gadget.topology.formats import read_topology
from tests.unit.cli.conftest import Gadget
from tests.unit.topology.test_ibnetdiscover import FABRIC
from tests.unit.topology.test_lingjun import HEADER, find_real
from tests.unit.topology.test_volcano import documents, hypernode

CONF = """\
SwitchName=leaf1 Nodes=n[1-8]
SwitchName=leaf2 Nodes=n[9-16]
SwitchName=spine Switches=leaf[1-2] LinkSpeed=1600
"""
# Found before the tests move into folders of their own.
LINGJUN = (find_real() or Path("missing")).resolve()


def solve_and_check(gadget: Gadget, path: str) -> dict[str, object]:
    """Decide the last slot of a scenario; the referee agrees."""
    slot = read_scenario(path).slots - 1
    assert gadget("solve", path, "--slot", slot, "-o", "decision.json").code == 0
    judged = gadget("check", path, "decision.json", "--slot", slot)
    assert judged.code == 0, judged.out
    found: dict[str, object] = json.loads(Path("decision.json").read_text())
    return found


def test_a_slurm_tree_goes_through_solve_and_check(gadget: Gadget) -> None:
    Path("topology.conf").write_text(CONF)
    filled = ("--gbps", "400", "--gpus", 8, "--jobs", 30, "--seed", 3)
    ended = gadget("topology", "convert", "topology.conf", *filled, "-o", "cluster.yaml")
    assert ended.code == 0
    assert "assumed: 400 Gbps on each link up to tier 1, 16 in all" in ended.err
    assert "assumed: 8 gpu on each of 16 servers" in ended.err
    comment = [line for line in Path("cluster.yaml").read_text().splitlines() if line.startswith("#")]
    assert comment[0] == "# cluster from topology.conf (Slurm topology.conf)"
    assert "# assumed: 8 gpu on each of 16 servers" in comment
    scenario = read_scenario("cluster.yaml")
    assert scenario.cluster.is_tree
    assert len(scenario.jobs) == 30
    assert solve_and_check(gadget, "cluster.yaml")["rings"]


def test_a_fabric_that_is_no_tree_goes_through_solve_and_check(gadget: Gadget) -> None:
    Path("fabric.txt").write_text(FABRIC)
    ended = gadget("topology", "convert", "fabric.txt", "--gpus", 4, "--jobs", 8, "-o", "cluster.json")
    assert ended.code == 0
    assert "note: aggregation nodes left out" in ended.err
    assert not read_scenario("cluster.json").cluster.is_tree
    assert solve_and_check(gadget, "cluster.json")["rings"]


@pytest.mark.skipif(
    find_real() is None, reason="the Lingjun network is not in ../shared/traces or GADGET_TRACES"
)
def test_the_lingjun_network_goes_through_solve_and_check(gadget: Gadget) -> None:
    gbps = ("--gbps", "asw=200", "--gbps", "psw=800", "--gbps", "dsw=6400")
    ended = gadget("topology", "convert", LINGJUN, *gbps, "--gpus", 8, "--jobs", 200, "-o", "lingjun.json")
    assert ended.code == 0, ended.err
    scenario = read_scenario("lingjun.json")
    assert len(scenario.cluster.servers) == 847
    assert scenario.cluster.total("gpu") == 8 * 847
    decision = solve_and_check(gadget, "lingjun.json")
    assert len(decision["rings"]) == 200  # type: ignore[arg-type]


def test_the_same_seed_gives_the_same_bytes_and_without_jobs_there_are_none(gadget: Gadget) -> None:
    Path("topology.conf").write_text(CONF)
    common = ("topology", "convert", "topology.conf", "--gbps", "400", "--gpus", 8)
    a = gadget(*common, "--jobs", 9, "--seed", 1).out
    assert a == gadget(*common, "--jobs", 9, "--seed", 1).out != gadget(*common, "--jobs", 9, "--seed", 2).out
    gadget(*common, "-o", "empty.yaml")
    assert read_scenario("empty.yaml").jobs == ()
    assert gadget("show", "empty.yaml").code == 0


def test_a_scenario_becomes_slurm_and_volcano_and_comes_back(gadget: Gadget) -> None:
    gadget("generate", "leaf-spine", "--leaves", 2, "--spines", 1, "--servers-per-leaf", 3, "-o", "s.yaml")
    before = read_topology("s.yaml")
    for target, file in (("slurm", "topology.conf"), ("volcano", "hypernodes.yaml")):
        ended = gadget("topology", "convert", "s.yaml", "--to", target, "-o", file)
        assert ended.code == 0
        assert "left out: resources" in ended.err
        after = read_topology(file)
        assert [host.name for host in after.hosts] == [host.name for host in before.hosts]
        assert [cable.ends for cable in after.cables] == [cable.ends for cable in before.cables]
    gadget("topology", "convert", "topology.conf", "--gpus", 8, "-o", "back.yaml")
    assert read_scenario("back.yaml").cluster == read_scenario("s.yaml").cluster


def test_show_tells_what_is_known_assumed_and_missing(gadget: Gadget) -> None:
    Path("topology.conf").write_text(CONF)
    shown = gadget("topology", "show", "topology.conf").out
    assert "Slurm topology.conf: 16 servers, 3 switches, a tree" in shown
    assert "GPUs: not known" in shown
    assert "└── leaf2, 1600 Gbps" in shown
    filled = gadget("topology", "show", "topology.conf", "--gbps", "1=400", "--gpus", 8).out
    assert "GPUs: 128" in filled
    assert "assumed: 400 Gbps on each link up to tier 1, 16 in all" in filled
    tier = next(line for line in filled.splitlines() if line.startswith("1 "))
    assert tier.split() == ["1", "2", "16", "400", "0", "16", "0", "2"]


def test_show_speaks_json_and_draws(gadget: Gadget) -> None:
    Path("fabric.txt").write_text(FABRIC)
    ended = gadget("topology", "show", "fabric.txt", "-o", "json", "--gpus", 8, "--picture", "fabric.svg")
    found = json.loads(ended.out)
    assert found["format"] == "ibnetdiscover"
    assert found["is_tree"] is False
    assert found["resources"]["gpu"] == {"total": 24, "assumed": 3, "missing": 0}
    assert {"ends": ["n1", "leaf-1"], "gbps": 400, "assumed": False} in found["links"]
    assert "<svg" in Path("fabric.svg").read_text()


def test_a_long_sketch_is_cut_short(gadget: Gadget) -> None:
    Path("topo.csv").write_text(HEADER + "".join(f"h{n},G1,P1,S{n}\n" for n in range(50)))
    shown = gadget("topology", "show", "topo.csv").out
    assert "… and more; -o json shows all" in shown
    assert len(shown.splitlines()) < 65


def test_standard_streams_are_read_and_written(gadget: Gadget, monkeypatch: pytest.MonkeyPatch) -> None:
    Path("s.yaml").write_text(gadget("generate", "ring4").out)
    with Path("s.yaml").open() as file:
        monkeypatch.setattr("sys.stdin", file)
        assert json.loads(gadget("topology", "show", "-", "-o", "json").out)["format"] == "gadget"


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("show", "missing.conf"), "there is no such file"),
        (("show", "topology.conf", "--format", "slrum"), "nearest: 'slurm'"),
        (("show", "topology.conf", "--format", "lingjun"), "topology.conf:1: has no column 'ip'"),
        (("show", "topology.conf", "--level", "rack"), "--level: means nothing to a file of this kind"),
        (("show", "topology.conf", "--topology", "rack"), "--topology: means nothing"),
        (("show", "topology.conf", "--nodes", "x.json"), "--nodes: means nothing"),
        (("show", "topology.conf", "--gbps", "fast"), "'fast' is no number"),
        (("show", "topology.conf", "--gbps", "1="), "'' is no number"),
        (("show", "topology.conf", "--gbps", "7=100"), "--gbps 7: no links are of that tier"),
        (("show", "topology.conf", "--gbps", "1=1", "--gbps", "1=2"), "names no tier, or one again"),
        (("show", "topology.conf", "--gbps", "1", "--gbps", "2"), "given twice"),
        (("show", "topology.conf", "--gbps", "1=-5"), "below 0"),
        (("show", "topology.conf", "--gbps", "nan"), "not a finite number"),
        (("show", "topology.conf", "--gbps", "2=100"), "all links of tier 2 have their bandwidth"),
        (("show", "topology.conf", "--resource", "cpu"), "names no resource"),
        (("show", "topology.conf", "--resource", "gpu=1", "--gpus", 1), "or one again"),
        (("show", "topology.conf", "--picture", "x.svg"), "no bandwidth is known"),
        (("convert", "topology.conf", "--gpus", 8), "Give --gbps 1=VALUE"),
        (("convert", "topology.conf", "--gbps", "1=400"), "Give --gpus N"),
        (("convert", "topology.conf", "--to", "slurm", "--jobs", 3), "slurm files hold no jobs"),
        (("convert", "ring.yaml", "--to", "slurm"), "ring.yaml: the network is no tree"),
        (("convert", "ring.yaml", "--to", "volcano", "-o", "x.yaml"), "holds only trees"),
        (("convert", "topology.conf", "--to", "kubernetes"), "--to"),
    ],
)
def test_what_cannot_be_done_is_refused_in_words(
    gadget: Gadget, arguments: tuple[object, ...], said: str
) -> None:
    Path("topology.conf").write_text(CONF)
    gadget("generate", "ring4", "-o", "ring.yaml")
    ended = gadget("topology", *arguments)
    assert ended.code == 2
    assert said in ended.err
    assert "Traceback" not in ended.err
    assert not Path("x.yaml").exists()
    assert not Path("x.svg").exists()


def test_nodes_for_patterns_come_from_a_file_of_their_own(gadget: Gadget) -> None:
    Path("hypernodes.yaml").write_text(documents(hypernode("s0", 1, "Node~^n")))
    nodes = {"kind": "List", "items": [{"kind": "Node", "metadata": {"name": f"n{k}"}} for k in range(3)]}
    Path("nodes.json").write_text(json.dumps(nodes))
    shown = gadget("topology", "show", "hypernodes.yaml", "--nodes", "nodes.json")
    assert "n[0-2]: 3 servers" in shown.out
