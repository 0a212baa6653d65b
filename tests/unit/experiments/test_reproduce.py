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
    # Two trials of: 2 node and 2 link units, elastic and rigid; 2 numbers of jobs, 4 policies, 2 readings;
    # and one number of jobs for the ratio.
    assert len(points) == 2 * (2 * (2 + 2) + 2 * 4 * 2 + 1)


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


def made(figure: Figure, x: float, policy: str, number: float, *, rigid: bool = False) -> Measured:
    names = {"utility": number, "share_embedded": number}
    return Measured(Point(figure, x, policy, USUAL, rigid, 0), names)


def judged(numbers: dict[str, tuple[float, float]], shares: tuple[float, float]) -> dict[str, bool]:
    points = [
        made(Figure.UTILITY, x, policy, number)
        for policy, pair in numbers.items()
        for x, number in zip((10, 20), pair, strict=True)
    ]
    points += [replace(one, point=replace(one.point, budget=BudgetUnit.ITERATIONS)) for one in points]
    points += [made(Figure.NODES, x, "gadget-paper", share) for x, share in zip((1, 2), shares, strict=True)]
    return {one.claim.split(" (")[0].split(":")[0]: one.holds for one in find_verdicts(points)}


def test_claims_are_judged_by_the_numbers() -> None:
    utility = "GADGET is above FIFO, DRF and LAS, and the gap grows with the number of jobs"
    good = {"gadget-paper": (10, 30), "fifo": (9, 12), "drf": (9, 20), "las": (8, 25)}
    rise = "The share of embedded jobs rises with node capacity"
    assert judged(good, (0.5, 0.9)) == {utility: True, rise: True}
    assert judged({**good, "las": (8, 31)}, (0.9, 0.5)) == {utility: False, rise: False}
    assert judged({**good, "las": (8, 29.5)}, (1.0, 1.0)) == {utility: False, rise: False}


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
