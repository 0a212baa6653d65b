"""gadget compare: what it leaves, what it refuses, and what becomes of it when processes are killed."""

import csv
import json
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.unit.cli.conftest import Gadget
from tests.unit.experiments.compared import read_timeless_grid

COMMAND = [sys.executable, "-c", "from gadget.cli.main import main; main()"]


@pytest.fixture
def scenarios(gadget: Gadget) -> list[str]:
    names = ["a.yaml", "b.json"]
    for seed, name in enumerate(names):
        made = ("--jobs", 6, "--slots", 5, "--utility", "sqrt", "--seed", seed, "-o", name)
        assert gadget("generate", "ring4", *made).code == 0
    return names


def test_a_report_and_a_folder_for_each_scenario_are_left(gadget: Gadget, scenarios: list[str]) -> None:
    policies = ("--policy", "fifo", "--policy", "fifo:workers=2")
    ended = gadget("compare", *scenarios, *policies, "--seeds", "0:2", "--jobs", 0, "-o", "out")
    assert ended.code == 0
    assert "a: 5 slots on 4 servers" in ended.out
    assert ended.out.count("fifo:workers=2") == 2
    assert "written: out/report.html" in ended.err
    assert sorted(path.name for path in Path("out").iterdir()) == [
        "a",
        "b",
        "comparison.csv",
        "comparison.json",
        "grid.json",
        "report.html",
    ]
    rows = list(csv.DictReader(Path("out/comparison.csv").read_text().splitlines()))
    assert {(row["scenario"], row["policy"]) for row in rows} == {
        (scenario, policy) for scenario in ("a", "b", "*") for policy in ("fifo", "fifo:workers=2")
    }
    assert {row["n"] for row in rows if row["scenario"] == "a" and row["metric"] == "total_utility"} == {"2"}


def test_what_is_complete_is_only_drawn_anew(gadget: Gadget, scenarios: list[str]) -> None:
    run = ("compare", *scenarios, "--policy", "las", "--seeds", "0:2", "-j", 0, "-o", "out")
    assert gadget(*run).code == 0
    before = read_timeless_grid(Path("out"))
    refused = gadget(*run)
    assert (refused.code, "holds a comparison already" in refused.err) == (2, True)
    again = gadget(*run, "--resume")
    assert again.code == 0
    assert "all runs are complete; the report is drawn anew" in again.err
    assert read_timeless_grid(Path("out")) == before
    assert gadget(*run, "--resume", "--gantt-seed", 1, "--gantt-servers", 2).code == 0
    page = Path("out/report.html").read_text()
    assert "las (seed 1)" in page
    assert "The 2 busiest of 4 servers" in page
    assert gadget(*run, "--force", "--slots", 3).code == 0
    assert json.loads(Path("out/comparison.json").read_text())["scenarios"]["a"]["slots"] == 3


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (("a.yaml", "--policy", "fifi"), "'fifi' is no policy (nearest: 'fifo')"),
        (("a.yaml", "--policy", "fifo:worker=2"), "fifo has no option 'worker'"),
        (("a.yaml", "--policy", "fifo", "--policy", "fifo"), "policy 'fifo' is given twice"),
        (("a.yaml", "--policy", "fifo", "--policy", "fifo:backfill=off"), "are the same"),
        (("a.yaml", "a.yaml", "--policy", "fifo"), "is named 'a', as is a.yaml"),
        (("a.yaml", "c.yaml", "--policy", "fifo"), "c.yaml: there is no such file"),
        (("bad.yaml", "--policy", "fifo"), "bad.yaml:"),
        ((".", "--policy", "fifo"), "cannot be named ''"),
        (("a.yaml", "--policy", "fifo", "--seeds", "x"), "--seeds x: is not understood"),
        (("a.yaml", "--policy", "fifo", "--seeds", "1,1"), "seed 1 is given twice"),
        (("a.yaml", "--policy", "fifo", "--slots", 6), "a.yaml: slots is 6; the scenario has 5"),
        (("a.yaml", "--policy", "fifo", "--gantt-seed", 3), "--gantt-seed 3: is none of the seeds"),
        (("a.yaml", "--policy", "fifo", "--gantt-servers=-1"), "--gantt-servers"),
        (("a.yaml", "--policy", "fifo", "--resume", "--force"), "Give one of them"),
        (("a.yaml", "--policy", "fifo", "--jobs=-1"), "--processes"),
        (("a.yaml",), "--policy"),
        (("--policy", "fifo"), "Missing argument"),
    ],
)
def test_bad_input_is_one_message_and_leaves_no_folder(
    gadget: Gadget, scenarios: list[str], given: tuple[object, ...], said: str
) -> None:
    Path("bad.yaml").write_text("version: 1\nslots: none\n")
    ended = gadget("compare", *given, "-o", "out")
    assert ended.code == 2
    assert said in ended.err
    assert "Traceback" not in ended.err
    assert not Path("out").exists()


def test_a_folder_of_a_simulation_is_not_taken(gadget: Gadget, scenarios: list[str]) -> None:
    assert gadget("simulate", "a.yaml", "--policy", "fifo", "--processes", 0, "-o", "out").code == 0
    for how in ((), ("--resume",), ("--force",)):
        ended = gadget("compare", *scenarios, "--policy", "fifo", "-j", 0, "-o", "out", *how)
        assert ended.code == 2
        assert "out: holds something else (decisions.jsonl), and no comparison" in ended.err
    assert Path("out/summary.json").exists()
    Path("file").write_text("")
    ended = gadget("compare", *scenarios, "--policy", "fifo", "-j", 0, "-o", "file")
    assert (ended.code, "cannot be made a folder" in ended.err) == (2, True)


def test_help_has_an_example(gadget: Gadget) -> None:
    assert "Example:  gadget compare a.yaml b.yaml" in gadget("compare", "--help").out


LONG = ("long.yaml", "short.yaml", "--policy", "las", "--policy", "fifo")


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with scenarios that take a moment, and their comparison."""
    folder = tmp_path_factory.mktemp("long")
    made = ["--jobs", "60", "--servers", "12", "--seed", "2"]
    for arguments in (
        ["generate", "paper", *made, "--slots", "200", "-o", LONG[0]],
        ["generate", "paper", *made, "--slots", "20", "-o", LONG[1]],
        ["compare", *LONG, "--jobs", "0", "-o", "whole"],
    ):
        subprocess.run([*COMMAND, *arguments], cwd=folder, check=True, capture_output=True)
    return folder


def children(process: int) -> list[int]:
    """The processes at work for a command: those that run a task, not the one that tracks semaphores."""
    listed = Path(f"/proc/{process}/task/{process}/children").read_text().split()
    return [int(child) for child in listed if b"spawn_main" in Path(f"/proc/{child}/cmdline").read_bytes()]


@pytest.mark.parametrize("whom", ["child", "parent", "all"])
def test_a_comparison_that_is_struck_goes_on_to_the_same_end(
    gadget: Gadget, undisturbed: Path, whom: str
) -> None:
    for name in LONG[:2]:
        shutil.copy(undisturbed / name, name)
    with subprocess.Popen(
        [*COMMAND, "compare", *LONG, "--jobs", "2", "-o", "cut"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    ) as process:
        part = Path("cut/long/parts/0-0.jsonl")
        while process.poll() is None and not (part.exists() and part.read_bytes().count(b"\n") >= 3):
            time.sleep(0.01)
        match whom:
            case "child":
                os.kill(children(process.pid)[0], signal.SIGKILL)
            case "parent":
                os.kill(process.pid, signal.SIGKILL)
            case "all":  # as Ctrl-C on a terminal does
                os.killpg(process.pid, signal.SIGINT)
        _, err = process.communicate(timeout=60)
    assert "Traceback" not in err
    match whom:
        case "child":
            assert process.returncode == 1
            assert "ended with code -9" in err
            assert "--resume goes on from there" in err
        case "parent":
            assert process.returncode == -signal.SIGKILL
        case "all":
            assert process.returncode == 128 + signal.SIGINT
            assert "the results are partial. --resume goes on" in err
            assert json.loads(Path("cut/comparison.json").read_text())["complete"] is False
            assert "Partial result" in Path("cut/report.html").read_text()
    kept = part.read_bytes().count(b"\n")
    assert 3 <= kept < 200
    assert gadget("compare", *LONG, "--jobs", 0, "-o", "cut", "--resume").code == 0
    assert read_timeless_grid(Path("cut")) == read_timeless_grid(undisturbed / "whole")
