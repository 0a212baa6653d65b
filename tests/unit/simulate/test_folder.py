"""The folder of results: refusals, resumption, and files that are whole."""

import csv
import json
from dataclasses import replace
from pathlib import Path

import pytest

from gadget.errors import BadFile, BadOption
from gadget.model.codec import parse_decision
from gadget.model.snapshot import Scenario
from gadget.report.simulation.page import build_page
from gadget.simulate.folder import Setting, find_part, open_folder
from gadget.simulate.simulation import build_tasks, conclude
from gadget.simulate.sweep import run_task
from tests.unit.engine.worlds import PAIR, job
from tests.unit.simulate.outputs import read_timeless

SCENARIO = Scenario(PAIR, (job("x"), job('<&"> ,\n'.strip(), arrival=1)), 6)
POLICIES, SEEDS = ("fifo", "las", "gadget"), (0, 7)
SETTING = Setting.of(SCENARIO, POLICIES, SEEDS)


def fill(path: Path, *, resume: bool = False, upto: int | None = None) -> None:
    """Simulate into the folder, each run up to some slot."""
    with open_folder(path, SETTING, resume=resume) as folder:
        tasks = build_tasks(
            SCENARIO, POLICIES, SEEDS, find_part=lambda place, seed: find_part(path, place, seed)
        )
        runs = []
        for number, task in enumerate(tasks):
            done: list[object] = []
            stop = None if upto is None else upto + number
            runs.append(
                run_task(
                    task,
                    number,
                    stop=lambda done=done, stop=stop: stop is not None and len(done) >= stop,  # type: ignore[misc]
                    on_progress=done.append,
                )
            )
        result = conclude(SCENARIO, runs)
        folder.write(result, build_page(result, "title"))


def test_a_complete_folder_holds_all_results_and_nothing_else(tmp_path: Path) -> None:
    fill(tmp_path)
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        "decisions.jsonl",
        "jobs.csv",
        "report.html",
        "run.json",
        "slots.csv",
        "summary.json",
    ]
    decisions = [parse_decision(line) for line in (tmp_path / "decisions.jsonl").read_bytes().splitlines()]
    assert [(d.policy, d.seed, d.slot) for d in decisions] == [
        (policy, seed, slot) for policy in POLICIES for seed in SEEDS for slot in range(6)
    ]
    jobs = list(csv.DictReader((tmp_path / "jobs.csv").read_text().splitlines()))
    assert {row["job"] for row in jobs} == {one.name for one in SCENARIO.jobs}
    assert len(jobs) == 12
    assert len(list(csv.DictReader((tmp_path / "slots.csv").read_text().splitlines()))) == 36
    summary = json.loads((tmp_path / "summary.json").read_text())
    assert summary["complete"] is True
    assert set(summary["policies"]) == set(POLICIES)
    keys = (
        "total_utility upper_bound certified_ratio measured_ratio jobs_finished mean_completion_slots "
        "tail_completion_slots utilisation share_embedded resizes restarts work_lost seconds_per_slot"
    )
    assert set(keys.split()) <= set(summary["policies"]["fifo"])


@pytest.mark.parametrize("upto", [0, 1, 4])
def test_a_partial_folder_says_so_and_resumes_to_the_same_bytes(tmp_path: Path, upto: int) -> None:
    whole, part = tmp_path / "whole", tmp_path / "part"
    fill(whole)
    fill(part, upto=upto)
    summary = json.loads((part / "summary.json").read_text())
    assert summary["complete"] is False
    assert [run["slots"] for p in POLICIES for run in summary["policies"][p]["runs"]] == [
        min(6, upto + number) for number in range(6)
    ]
    assert summary["policies"]["fifo"]["measured_ratio"] is None
    assert "Partial result" in (part / "report.html").read_text()
    assert (part / "jobs.csv").read_text().startswith("policy,seed,job,status")
    fill(part, resume=True)
    assert read_timeless(part) == read_timeless(whole)
    assert not (part / "parts").exists()


def test_results_are_not_overwritten_unless_asked(tmp_path: Path) -> None:
    fill(tmp_path)
    with pytest.raises(BadOption, match=r"holds results already \(run.json\).*--resume.*--force"):
        fill(tmp_path)
    with open_folder(tmp_path, SETTING, force=True) as folder:
        assert not folder.is_complete
        assert not (tmp_path / "summary.json").exists()


def test_files_of_others_are_left_alone(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("mine")
    (tmp_path / "parts").mkdir()
    (tmp_path / "parts" / "mine.txt").write_text("mine")
    fill(tmp_path)
    with open_folder(tmp_path, SETTING, force=True):
        pass
    assert (tmp_path / "notes.txt").read_text() == "mine"
    assert (tmp_path / "parts" / "mine.txt").read_text() == "mine"


def test_a_complete_folder_has_nothing_to_resume(tmp_path: Path) -> None:
    fill(tmp_path)
    with open_folder(tmp_path, SETTING, resume=True) as folder:
        assert folder.is_complete


@pytest.mark.parametrize(
    ("other", "said"),
    [
        (Setting.of(replace(SCENARIO, slots=5), POLICIES, SEEDS), "other scenario"),
        (Setting.of(replace(SCENARIO, jobs=SCENARIO.jobs[:1]), POLICIES, SEEDS), "other scenario"),
        (Setting.of(SCENARIO, ("fifo",), SEEDS), "other policies: fifo, las, gadget"),
        (Setting.of(SCENARIO, POLICIES, (7, 0)), "other seeds: 0, 7"),
    ],
)
def test_another_setting_cannot_resume(tmp_path: Path, other: Setting, said: str) -> None:
    fill(tmp_path, upto=2)
    with pytest.raises(BadOption, match=said), open_folder(tmp_path, other, resume=True):
        pass


@pytest.mark.parametrize("content", ["", "[]", '{"version": 9}', "{}", "nonsense", "null"])
def test_a_spoilt_run_file_is_named(tmp_path: Path, content: str) -> None:
    (tmp_path / "run.json").write_text(content)
    with (
        pytest.raises(BadFile, match=r"run.json: does not tell of a run"),
        open_folder(tmp_path, SETTING, resume=True),
    ):
        pass


def test_nothing_to_resume_is_a_start(tmp_path: Path) -> None:
    fill(tmp_path / "new", resume=True)
    assert (tmp_path / "new" / "summary.json").exists()


def test_one_process_at_a_time(tmp_path: Path) -> None:
    with (
        open_folder(tmp_path, SETTING),
        pytest.raises(BadOption, match="another process"),
        open_folder(tmp_path, SETTING, resume=True),
    ):
        pass


def test_a_place_that_is_no_folder_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    for place in (tmp_path / "file", tmp_path / "file" / "under"):
        with pytest.raises(BadFile, match="cannot be made a folder"), open_folder(place, SETTING):
            pass
