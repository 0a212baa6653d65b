"""gadget reproduce on a tiny experiment: every file, the same numbers, interruption, refusals."""

import csv
import json
import os
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import pytest

from gadget.errors import BadFile, BadOption
from gadget.experiments.points import Figure, Measured, Point, list_points, measure
from gadget.experiments.run import POINTS_FILE, read_points, run_experiment
from gadget.experiments.settings import Settings, quick
from gadget.report.reproduction.page import write_report
from gadget.report.reproduction.series import find_series
from gadget.report.reproduction.verdicts import find_verdicts
from gadget.workloads.paper import BudgetUnit

TINY = Settings(
    slots=6,
    servers=6,
    trials=2,
    jobs=(4, 12),
    capacity_jobs=12,
    node_units=(0.06, 0.5),
    link_units=(0.02, 1),
    ratio_jobs=(6,),
    ratio_slots=2,
    optimum_seconds=10.0,
    rounds=2,
)
GADGET = Path(sys.executable).with_name("gadget")
USUAL = BudgetUnit.WORKER_SLOTS


def run(
    folder: Path, settings: Settings = TINY, *, resume: bool = False, force: bool = False
) -> list[Measured]:
    return run_experiment(settings, folder, resume=resume, force=force, processes=2, progress=lambda *_: None)


def without_times(measured: list[Measured]) -> list[tuple[Point, dict[str, float]]]:
    return [
        (one.point, {name: number for name, number in one.numbers.items() if "seconds" not in name})
        for one in measured
    ]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path: Path = tmp_path_factory.mktemp("reproduce")
    measured = run(path)
    write_report(path, TINY, measured, "profile")
    return path


def read_table(path: Path) -> list[dict[str, str]]:
    return list(csv.DictReader(path.read_text().splitlines()))


def test_every_point_is_measured_once(folder: Path) -> None:
    points = [one.point for one in read_points(folder)]
    assert sorted(points) == sorted(list_points(TINY))
    assert len(set(points)) == len(points)
    # Two trials of: 2 node and 2 link units, elastic and rigid, 2 policies; 2 numbers of jobs, 5 policies,
    # 2 readings; and one number of jobs for the ratio.
    assert len(points) == 2 * (2 * 2 * (2 + 2) + 2 * 5 * 2 + 1)


def test_every_figure_is_left_as_data_and_as_pictures(folder: Path) -> None:
    for name in ("utility", "utility-iterations", "nodes", "links", "ratio"):
        assert (folder / f"{name}.png").read_bytes().startswith(b"\x89PNG")
        assert "<svg" in (folder / f"{name}.svg").read_text()
        rows = read_table(folder / f"{name}.csv")
        assert rows
        assert all(row["trials"] == "2" for row in rows)
    page = (folder / "report.html").read_text()
    assert page.count("<svg") == 5
    assert "http://" not in page.replace("http://www.w3.org", "")
    assert "profile of our own" in page
    assert json.loads((folder / "settings.json").read_text())["slots"] == 6


def test_means_of_the_data_are_those_of_the_points(folder: Path) -> None:
    rows = read_table(folder / "utility.csv")
    wanted = [row for row in rows if row["series"] == "fifo" and row["x"] == "12"]
    numbers = [
        one.numbers["utility"]
        for one in read_points(folder)
        if (one.point.figure, one.point.x, one.point.policy, one.point.budget)
        == (Figure.UTILITY, 12, "fifo", USUAL)
    ]
    assert len(numbers) == 2
    assert float(wanted[0]["mean"]) == pytest.approx(sum(numbers) / 2)


def test_a_run_broken_off_goes_on_to_the_same_numbers(folder: Path, tmp_path: Path) -> None:
    whole = without_times(sorted(read_points(folder), key=lambda one: one.point))
    for name in ("settings.json", POINTS_FILE):
        (tmp_path / name).write_bytes((folder / name).read_bytes())
    text = (folder / POINTS_FILE).read_text()
    (tmp_path / POINTS_FILE).write_text(text[: len(text) // 3])
    again = run(tmp_path, resume=True)
    assert without_times(sorted(again, key=lambda one: one.point)) == whole


def test_a_folder_is_not_overwritten_unasked(folder: Path, tmp_path: Path) -> None:
    with pytest.raises(BadOption, match="--resume"):
        run(folder)
    with pytest.raises(BadOption, match="other settings"):
        run(folder, replace(TINY, trials=3), resume=True)
    (tmp_path / "file").write_text("")
    with pytest.raises(BadFile):
        run(tmp_path / "file" / "inside")


def test_a_line_that_is_no_point_is_told(tmp_path: Path) -> None:
    (tmp_path / POINTS_FILE).write_text('{"figure": "utility"}\n{"cut')
    with pytest.raises(BadFile, match=":1: is no point"):
        read_points(tmp_path)


TRIALS = (0, 1, 2)


def utilities(numbers: dict[str, tuple[float, float]], noise: float = 0.0) -> list[Measured]:
    """Points of the first figure at 10 and 20 jobs, the same noise on every policy of a trial."""
    return [
        Measured(
            Point(Figure.UTILITY, x, policy, budget, False, trial),
            {"utility": number + noise * trial, "utilisation": 0.5},
        )
        for budget in BudgetUnit
        for policy, pair in numbers.items()
        for x, number in zip((10, 20), pair, strict=True)
        for trial in TRIALS
    ]


def answers(points: list[Measured]) -> dict[str, str]:
    return {one.claim.split(" (")[0]: str(one.answer) for one in find_verdicts(points)}


ABOVE, GROWS = (
    "GADGET is above FIFO, DRF and LAS",
    "The gap to the best baseline grows with the number of jobs",
)
GOOD = {"gadget-paper": (100.0, 300.0), "fifo": (90.0, 120.0), "drf": (90.0, 200.0), "las": (80.0, 250.0)}


def test_a_real_gap_is_told_from_none_whatever_the_trials_have_in_common() -> None:
    for noise in (0.0, 500.0):
        found = answers(utilities(GOOD, noise))
        assert (found[ABOVE], found[GROWS]) == ("reproduced", "reproduced")
        behind = answers(utilities({**GOOD, "las": (80.0, 310.0)}, noise))
        assert (behind[ABOVE], behind[GROWS]) == ("not reproduced", "not reproduced")
        even = answers(utilities({**GOOD, "las": (100.0, 300.0)}, noise))
        assert (even[ABOVE], even[GROWS]) == ("within noise", "within noise")


def test_a_gap_that_comes_and_goes_between_trials_is_noise() -> None:
    points = [
        replace(one, numbers={**one.numbers, "utility": one.numbers["utility"] + 200 * (one.point.trial - 1)})
        if one.point.policy == "las"
        else one
        for one in utilities({**GOOD, "las": (80.0, 290.0)})
    ]
    assert answers(points)[ABOVE] == "within noise"


def shares(*numbers: tuple[float, float, float], policy: str = "gadget-paper") -> list[Measured]:
    return [
        Measured(Point(Figure.NODES, x, policy, USUAL, False, t), {"share_embedded": share})
        for x, three in zip((1, 2), numbers, strict=True)
        for t, share in enumerate(three)
    ]


@pytest.mark.parametrize(
    ("low", "high", "answer"),
    [
        ((0.5, 0.5, 0.5), (0.9, 0.9, 0.9), "reproduced"),
        ((0.5, 0.7, 0.9), (0.6, 0.7, 0.9), "within noise"),
        ((0.9, 0.9, 0.9), (0.5, 0.5, 0.5), "not reproduced"),
        ((1.0, 1.0, 1.0), (1.0, 1.0, 1.0), "not reproduced"),
    ],
)
def test_a_rise_counts_beyond_its_error(
    low: tuple[float, float, float], high: tuple[float, float, float], answer: str
) -> None:
    assert set(answers(shares(low, high)).values()) == {answer}


def test_what_the_paper_does_not_have_is_shown_and_not_judged() -> None:
    fall = shares((0.9, 0.9, 0.9), (0.5, 0.5, 0.5), policy="gadget")
    rise = shares((0.5, 0.5, 0.5), (0.9, 0.9, 0.9))
    assert set(answers([*fall, *rise]).values()) == {"reproduced"}
    names = [line.name for line in find_series([*fall, *rise], Figure.NODES, USUAL)]
    assert [name.split(",")[0] for name in names] == ["gadget", "gadget-paper"]
    assert answers(utilities({**GOOD, "gadget": (0.0, 0.0)})) == answers(utilities(GOOD))


def test_one_number_of_jobs_tells_nothing_of_growth() -> None:
    assert GROWS not in answers([one for one in utilities(GOOD) if one.point.x == 10])


def test_infeasible_draws_are_not_judged() -> None:
    numbers = {"repaired": 1.0, "dropped": 0.7, "literal": 1.0, "gamma": 5.0, "proved": 1.0}
    found = find_verdicts([Measured(Point(Figure.RATIO, 9, "gadget-paper", USUAL, False, 0), numbers)])
    assert [(one.claim.split(": ")[1], str(one.answer)) for one in found] == [
        ("kept, placed again, refilled", "reproduced"),
        ("kept, placed again, refilled", "not reproduced"),
        ("what does not fit is dropped", "reproduced"),
        ("what does not fit is dropped", "reproduced"),
    ]


def test_a_crowded_slot_shows_what_dropping_costs() -> None:
    settings = replace(TINY, servers=20, ratio_slots=1)
    numbers = measure(settings, Point(Figure.RATIO, 30, "gadget-paper", USUAL, False, 0), None).numbers
    assert numbers["dropped"] <= numbers["repaired"] + 1e-9
    assert 0.9 < numbers["repaired"] <= 1 + 1e-6
    assert numbers["proved"] == 1
    assert numbers["gamma"] <= 5


def test_quick_is_smaller_in_every_respect() -> None:
    full, small = Settings(), quick(Settings())
    assert len(list(list_points(small))) < len(list(list_points(full))) / 3
    assert small.slots < full.slots


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--jobs", "many"], "--jobs many"),
        (["--jobs", "0"], "are 1 or more"),
        (["--trials", "0"], "--trials"),
        (["-o", "file/inside"], "cannot be made"),
    ],
)
def test_bad_options_are_refused(tmp_path: Path, arguments: list[str], said: str) -> None:
    (tmp_path / "file").write_text("")
    ended = subprocess.run(
        [GADGET, "reproduce", *arguments],
        cwd=tmp_path,
        text=True,
        capture_output=True,
        timeout=60,
        check=False,
    )
    assert ended.returncode == 2
    assert said in ended.stderr
    assert "Traceback" not in ended.stderr


def test_ctrl_c_keeps_what_was_measured(tmp_path: Path) -> None:
    command = [GADGET, "reproduce", "--quick", "--slots", "12", "-o", tmp_path / "out"]
    environment = {**os.environ, "GADGET_TRACES": str(tmp_path)}
    process = subprocess.Popen(command, cwd=tmp_path, env=environment, stderr=subprocess.PIPE, text=True)
    points = tmp_path / "out" / POINTS_FILE
    deadline = time.monotonic() + 120
    while time.monotonic() < deadline and not (points.is_file() and points.read_text().count("\n") >= 2):
        time.sleep(0.1)
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate(timeout=60)
    assert process.returncode == 130, errors
    assert "Traceback" not in errors
    assert len(read_points(tmp_path / "out")) >= 2
