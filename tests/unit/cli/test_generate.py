"""gadget generate: every kind, the same bytes for the same seed, and clear refusals."""

from pathlib import Path

import pytest

from gadget.model.codec import read_scenario
from tests.unit.cli.conftest import Gadget

KINDS = {
    "paper": (50, True),
    "fat-tree": (16, False),
    "leaf-spine": (32, False),
    "torus": (16, False),
    "ring4": (4, False),
}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("suffix", ["json", "yaml"])
def test_the_same_seed_gives_the_same_bytes_and_another_one_others(
    gadget: Gadget, kind: str, suffix: str
) -> None:
    for name, seed in (("a", 1), ("b", 1), ("c", 2)):
        assert gadget("generate", kind, "--seed", seed, "--jobs", 9, "-o", f"{name}.{suffix}").code == 0
    a, b, c = (Path(f"{name}.{suffix}").read_bytes() for name in "abc")
    assert a == b != c
    scenario = read_scenario(f"a.{suffix}")
    servers, tree = KINDS[kind]
    assert (len(scenario.cluster.servers), scenario.cluster.is_tree, len(scenario.jobs)) == (servers, tree, 9)


def test_without_an_output_file_the_scenario_is_printed(gadget: Gadget) -> None:
    printed = gadget("generate", "ring4", "--seed", 3)
    gadget("generate", "ring4", "--seed", 3, "-o", "x.yaml")
    assert printed.out == Path("x.yaml").read_text()
    assert printed.err == ""


def test_the_options_reach_the_scenario(gadget: Gadget) -> None:
    gadget("generate", "torus", "--dims", "2x3", "--gpus", 3, "--gbps", 7, "--slots", 11, "--utility", "log",
           "--budget", "iterations", "--max-workers", 2, "--jobs", 30, "-o", "x.json")  # fmt: skip
    scenario = read_scenario("x.json")
    assert [s.name for s in scenario.cluster.servers] == ["s0-0", "s0-1", "s0-2", "s1-0", "s1-1", "s1-2"]
    assert {s.resources["gpu"] for s in scenario.cluster.servers} == {3}
    assert {link.gbps for link in scenario.cluster.links} == {7}
    assert scenario.slots == 11
    assert {job.utility.kind for job in scenario.jobs} == {"log"}
    assert {job.max_workers for job in scenario.jobs} == {1, 2}
    # F/ζ is at most 6000/50 worker-slots; in worker-slots it would be at least 1000.
    assert all(2 <= job.worker_slots <= 120 for job in scenario.jobs)
    assert all(0 <= job.arrival < 11 for job in scenario.jobs)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("fat-tree", "-k", 3), "k is 3, an odd number"),
        (("torus", "--dims", "4by4"), "--dims 4by4"),
        (("torus", "--dims", "0x4"), "dims[0] is 0"),
        (("torus", "--dims", "1000000x1000000"), "the product of dims"),
        (("leaf-spine", "--leaves", 100000, "--spines", 100000), "leaves × (spines + servers per leaf)"),
        (("paper", "--jobs", -1), "--jobs"),
        (("paper", "--utility", "cubic"), "--utility"),
        (("cube",), "cube"),
        (("ring4", "--gbps", "nan"), "gbps"),
        (("ring4", "-o", "missing/folder/x.yaml"), "cannot be written"),
    ],
)
def test_what_cannot_be_made_is_refused_with_its_reason(
    gadget: Gadget, arguments: tuple[object, ...], said: str
) -> None:
    ended = gadget("generate", *arguments)
    assert ended.code == 2
    assert said in ended.err
    assert "Traceback" not in ended.err
    assert ended.out == ""
