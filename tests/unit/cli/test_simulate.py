"""gadget simulate: what it leaves, what it refuses, and what an interruption does to it."""

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
from tests.unit.simulate.outputs import read_timeless

COMMAND = [sys.executable, "-c", "from gadget.cli.main import main; main()"]


@pytest.fixture
def scenario(gadget: Gadget) -> Path:
    made = ("--jobs", 8, "--slots", 6, "--utility", "sqrt", "--seed", 1, "-o", "s.yaml")
    assert gadget("generate", "ring4", *made).code == 0
    return Path("s.yaml")


def test_policies_are_shown_side_by_side_and_all_files_are_left(gadget: Gadget, scenario: Path) -> None:
    ended = gadget(
        "simulate",
        scenario,
        "--policy",
        "fifo",
        "--policy",
        "las",
        "--seeds",
        "0:2",
        "--processes",
        0,
        "-o",
        "out",
    )
    assert ended.code == 0
    assert "6 slots on 4 servers" in ended.out
    head = ended.out.splitlines()[1]
    assert head.index("fifo") < head.index("las")
    assert "total utility" in ended.out
    assert "ratio to the clairvoyant bound" in ended.out
    assert "written: out/report.html" in ended.err
    assert sorted(path.name for path in Path("out").iterdir()) == [
        "decisions.jsonl",
        "jobs.csv",
        "report.html",
        "run.json",
        "slots.csv",
        "summary.json",
    ]
    summary = json.loads(Path("out/summary.json").read_text())
    assert [run["seed"] for run in summary["policies"]["las"]["runs"]] == [0, 1]


def test_the_placement_is_told_in_the_names_of_the_results(gadget: Gadget, scenario: Path) -> None:
    policies = ("--policy", "fifo", "--policy", "gadget", "--placement", "gadget")
    assert gadget("simulate", scenario, *policies, "--slots", 2, "--processes", 0, "-o", "out").code == 0
    summary = json.loads(Path("out/summary.json").read_text())
    assert list(summary["policies"]) == ["fifo:placement=gadget", "gadget"]
    # Another placement is another simulation.
    again = (
        "--policy",
        "fifo",
        "--policy",
        "gadget",
        "--slots",
        2,
        "--processes",
        0,
        "-o",
        "out",
        "--resume",
    )
    assert gadget("simulate", scenario, *again).code == 2


def test_processes_change_nothing_and_slots_cut_the_horizon(gadget: Gadget, scenario: Path) -> None:
    for name, processes in (("a", 0), ("b", 2)):
        options = ("--policy", "fifo", "--seed", 3, "--seed", 5, "--slots", 4, "--processes", processes)
        assert gadget("simulate", scenario, *options, "-o", name).code == 0
    assert read_timeless(Path("a")) == read_timeless(Path("b"))
    assert json.loads(Path("a/summary.json").read_text())["slots"] == 4


def test_every_decision_passes_the_referee_on_its_own(gadget: Gadget, scenario: Path) -> None:
    gadget("simulate", scenario, "--policy", "las", "--processes", 0, "-o", "out")
    line = Path("out/decisions.jsonl").read_text().splitlines()[0]
    Path("d.json").write_text(line)
    assert gadget("solve", scenario, "--slot", 0, "--policy", "las", "--json").code == 0
    decision = json.loads(line)
    assert (decision["policy"], decision["seed"], decision["slot"]) == ("las", 0, 0)


def test_existing_results_are_kept_unless_forced(gadget: Gadget, scenario: Path) -> None:
    run = ("simulate", scenario, "--policy", "fifo", "--processes", 0, "-o", "out")
    assert gadget(*run).code == 0
    refused = gadget(*run)
    assert refused.code == 2
    assert "holds results already" in refused.err
    again = gadget(*run, "--resume")
    assert (again.code, again.out) == (0, "")
    assert "is complete, nothing is left to do" in again.err
    assert gadget(*run, "--force").code == 0


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (("--policy", "fifi"), "'fifi' is no policy (nearest: 'fifo')"),
        (("--policy", "fifo", "--policy", "fifo"), "policy 'fifo' is given twice"),
        (("--seeds", "0:2", "--seed", 1), "--seeds and --seed are both given"),
        (("--seeds", "a:b"), "--seeds a:b: is not understood"),
        (("--seeds", "1:2:3"), "is not understood"),
        (("--seeds", "3:3"), "stands for no seeds"),
        (("--seeds=-2:1",), "is below 0"),
        (("--seeds", "0:99999999999"), "Name 1 to 10,000"),
        (("--seeds", "1,1"), "seed 1 is given twice"),
        (("--slots", 7), "slots is 7; the scenario has 6"),
        (("--slots", 0), "--slots"),
        (("--processes", -1), "--processes"),
        (("--resume", "--force"), "Give one of them"),
    ],
)
def test_bad_options_are_refused_and_leave_no_folder(
    gadget: Gadget, scenario: Path, options: tuple[object, ...], said: str
) -> None:
    ended = gadget("simulate", scenario, "-o", "out", *options)
    assert ended.code == 2
    assert said in ended.err
    assert "Traceback" not in ended.err
    assert not Path("out").exists()


def test_a_folder_is_asked_for(gadget: Gadget, scenario: Path) -> None:
    ended = gadget("simulate", scenario)
    assert ended.code == 2
    assert "--output" in ended.err


def test_help_has_an_example(gadget: Gadget) -> None:
    ended = gadget("simulate", "--help")
    assert "Example:  gadget simulate scenario.yaml" in ended.out


def test_a_literal_policy_is_counted_not_stopped(gadget: Gadget, scenario: Path) -> None:
    ended = gadget(
        "simulate", scenario, "--policy", "gadget-paper:literal=true", "--processes", 0, "-o", "out"
    )
    assert ended.code == 0


LONG = ("long.yaml", "--policy", "las", "--policy", "fifo")


@pytest.fixture(scope="module")
def uninterrupted(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a scenario that takes a moment, and its results."""
    folder = tmp_path_factory.mktemp("long")
    made = ["--jobs", "60", "--servers", "12", "--slots", "200", "--seed", "2", "-o", LONG[0]]
    for arguments in (["generate", "paper", *made], ["simulate", *LONG, "--processes", "0", "-o", "whole"]):
        subprocess.run([*COMMAND, *arguments], cwd=folder, check=True, capture_output=True)
    return folder


@pytest.mark.parametrize(
    ("number", "processes"),
    [(signal.SIGINT, 0), (signal.SIGINT, 2), (signal.SIGTERM, 2), (signal.SIGKILL, 2)],
)
def test_an_interrupted_simulation_goes_on_to_the_same_end(
    gadget: Gadget, uninterrupted: Path, number: signal.Signals, processes: int
) -> None:
    shutil.copy(uninterrupted / LONG[0], LONG[0])
    with subprocess.Popen(
        [*COMMAND, "simulate", *LONG, "--processes", str(processes), "-o", "cut"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    ) as process:
        part = Path("cut/parts/0-0.jsonl")
        while process.poll() is None and not (part.exists() and part.read_bytes().count(b"\n") >= 3):
            time.sleep(0.01)
        # As a terminal and a service manager do it: every process of the group hears of it.
        (os.kill if number == signal.SIGKILL else os.killpg)(process.pid, number)
        out, err = process.communicate(timeout=60)
    assert "Traceback" not in err
    if number == signal.SIGKILL:
        assert process.returncode == -signal.SIGKILL
    else:
        assert process.returncode == 128 + number
        assert "partial" in out
        assert "--resume goes on" in err
        summary = json.loads(Path("cut/summary.json").read_text())
        assert summary["complete"] is False
        done = sum(run["slots"] for one in summary["policies"].values() for run in one["runs"])
        assert 3 <= done < 400
        assert Path("cut/decisions.jsonl").read_bytes().count(b"\n") == done
    assert gadget("simulate", *LONG, "--processes", 0, "-o", "cut", "--resume").code == 0
    assert read_timeless(Path("cut")) == read_timeless(uninterrupted / "whole")
