"""The grid: complete, resumable, refused where it must be; its numbers as worked out by hand."""

import csv
import json
from dataclasses import replace
from math import exp, log, sqrt
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gadget.errors import BadFile, BadInput, BadOption
from gadget.experiments.compare import Grid, Named, read_grid
from gadget.experiments.compare_numbers import (
    Comparison,
    Interval,
    ScenarioNumbers,
    estimate,
    read_comparison,
    read_completions,
)
from gadget.model.codec import format_json, parse_decision
from gadget.report.simulation.page import build_page
from gadget.simulate.network import NetworkMode
from gadget.simulate.sweep import Progress, run_sweep, run_task
from tests.unit.experiments.compared import GRID, RACKS, SMALL, opened, read_timeless_grid, report, run


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("grid") / "whole"
    run(folder)
    return folder


def test_every_cell_of_the_grid_is_run_and_written_down(whole: Path) -> None:
    assert sorted(path.name for path in whole.iterdir()) == [
        "comparison.csv",
        "comparison.json",
        "grid.json",
        "report.html",
        "small",
        "two racks",
    ]
    for named in GRID.scenarios:
        lines = (whole / named.name / "decisions.jsonl").read_bytes().splitlines()
        assert [(d.policy, d.seed, d.slot) for d in map(parse_decision, lines)] == [
            (policy, seed, slot)
            for policy in GRID.policies
            for seed in GRID.seeds
            for slot in range(named.scenario.slots)
        ]
        assert not (whole / named.name / "parts").exists()


def test_every_number_is_that_of_its_file(whole: Path) -> None:
    rows = list(csv.DictReader((whole / "comparison.csv").read_text().splitlines()))
    document = json.loads((whole / "comparison.json").read_text())
    assert document["complete"] is True
    assert (document["confidence"], "Student" in document["method"]) == (0.95, True)
    seen = set()
    for row in rows:
        if row["scenario"] == "*":
            assert row["file"] == "comparison.json"
            kept = document["overall"][row["policy"]][row["metric"]]
            mean = kept["mean"]
        else:
            assert row["file"] == f"{row['scenario']}/summary.json"
            kept = document["scenarios"][row["scenario"]]["policies"][row["policy"]][row["metric"]]
            policy = json.loads((whole / row["file"]).read_text())["policies"][row["policy"]]
            name, _, resource = row["metric"].partition("_gpu")
            mean = policy[name]["gpu"] if row["metric"].endswith("_gpu") and not resource else policy[name]
        seen.add((row["scenario"], row["policy"], row["metric"]))
        assert row["mean"] == ("" if mean is None else str(mean))
        for column, key in (("mean", "mean"), ("ci_low", "ci_low"), ("ci_high", "ci_high"), ("n", "n")):
            assert row[column] == ("" if kept[key] is None else str(kept[key]))
    names = {name for _, _, name in seen}
    assert len(seen) == len(rows) == 3 * len(GRID.policies) * len(names)
    assert {
        "total_utility",
        "measured_ratio",
        "upper_bound",
        "mean_completion_slots",
        "mean_waiting_slots",
        "jain_index",
        "utilisation_gpu",
        "fragmentation",
        "cross_rack_share",
        "resizes",
        "restarts",
        "seconds_per_slot",
    } <= names


def test_the_number_of_processes_changes_nothing(whole: Path, tmp_path: Path) -> None:
    run(tmp_path / "other", processes=3)
    assert read_timeless_grid(tmp_path / "other") == read_timeless_grid(whole)


@pytest.mark.parametrize("upto", [0, 3, 8])
def test_a_grid_broken_off_anywhere_goes_on_to_the_same_bytes(whole: Path, tmp_path: Path, upto: int) -> None:
    part = tmp_path / "part"
    with opened(part) as folder:
        runs = []
        for number, task in enumerate(folder.tasks):
            done: list[Progress] = []
            stop = upto + number
            runs.append(
                run_task(
                    task,
                    number,
                    stop=lambda done=done, stop=stop: len(done) >= stop,  # type: ignore[misc]
                    on_progress=done.append,
                )
            )
        folder.write(runs, build_page)
        assert not folder.is_complete
    page = report(part)
    assert "Partial result" in page
    assert json.loads((part / "comparison.json").read_text())["complete"] is False
    run(part, resume=True)
    assert read_timeless_grid(part) == read_timeless_grid(whole)


def test_scenarios_that_are_complete_are_not_run_again(whole: Path, tmp_path: Path) -> None:
    # Killed between the folders of two scenarios: one is whole, of the other nothing but its parts is known.
    part = tmp_path / "part"
    with opened(part) as folder:
        sweep = run_sweep(folder.tasks)

        def die(result: object, title: str) -> str:
            if title != "small":
                raise KeyboardInterrupt
            return build_page(result, title)  # type: ignore[arg-type]

        with pytest.raises(KeyboardInterrupt):
            folder.write(sweep.runs, die)
    with opened(part, resume=True) as folder:
        assert {task.scenario.slots for task in folder.tasks} == {RACKS.slots}
        assert all(task.part is not None and task.part.exists() for task in folder.tasks)
    run(part, resume=True)
    assert read_timeless_grid(part) == read_timeless_grid(whole)


def test_progress_names_the_scenario(tmp_path: Path) -> None:
    heard: list[Progress] = []
    with opened(tmp_path / "out") as folder:
        run_sweep(folder.tasks, on_progress=folder.naming(heard.append))
    assert {one.policy for one in heard} == {
        f"{named.name}: {policy}" for named in GRID.scenarios for policy in GRID.policies
    }


def test_force_replaces_what_a_comparison_left_and_nothing_else(tmp_path: Path) -> None:
    run(tmp_path)
    (tmp_path / "notes.txt").write_text("mine")
    (tmp_path / "two racks" / "mine.txt").write_text("mine")
    with pytest.raises(BadOption, match=r"holds a comparison already.*--resume.*--force"), opened(tmp_path):
        pass
    other = Grid((Named("other", SMALL),), ("fifo",), (1,))
    run(tmp_path, other, force=True)
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        "comparison.csv",
        "comparison.json",
        "grid.json",
        "notes.txt",
        "other",
        "report.html",
        "two racks",
    ]
    assert [path.name for path in (tmp_path / "two racks").iterdir()] == ["mine.txt"]
    assert "overall" not in json.loads((tmp_path / "comparison.json").read_text())


def test_a_folder_of_something_else_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "run.json").write_text("{}")
    for how in ({}, {"resume": True}, {"force": True}):
        with pytest.raises(BadOption, match=r"holds something else \(run.json\)"), opened(tmp_path, **how):
            pass
    assert [path.name for path in tmp_path.iterdir()] == ["run.json"]


@pytest.mark.parametrize(
    ("other", "said"),
    [
        (replace(GRID, policies=("las",)), "other policies: fifo:backfill=true, las, drf"),
        (replace(GRID, seeds=(0,)), "other seeds: 0, 3"),
        (replace(GRID, network=NetworkMode.SHARED), "other network: reserved"),
        (replace(GRID, scenarios=GRID.scenarios[:1]), "other scenarios.*: small, two racks"),
        (
            replace(GRID, scenarios=(Named("small", replace(SMALL, slots=8)), GRID.scenarios[1])),
            "other scenarios",
        ),
    ],
)
def test_another_grid_cannot_resume(whole: Path, other: Grid, said: str) -> None:
    with pytest.raises(BadOption, match=said), opened(whole, other, resume=True):
        pass


GOOD = {"version": 1, "scenarios": {"x": "0"}, "policies": ["las"], "seeds": [0], "network": "reserved"}


@pytest.mark.parametrize(
    "content",
    [
        "",
        "[]",
        '{"version": 9}',
        *(
            json.dumps(GOOD | more)
            for more in (
                {"version": 2},
                {"scenarios": ["../x"]},
                {"scenarios": 3},
                {"network": "?"},
                {"policies": None},
            )
        ),
    ],
)
def test_a_spoilt_grid_file_is_named(tmp_path: Path, content: str) -> None:
    (tmp_path / "grid.json").write_text(content)
    with pytest.raises(BadFile, match=r"grid.json: does not tell"), opened(tmp_path, resume=True):
        pass
    with opened(tmp_path, force=True) as folder:
        assert len(folder.tasks) == 12


@pytest.mark.parametrize("name", ["summary.json", "jobs.csv", "decisions.jsonl"])
def test_a_spoilt_result_is_named(tmp_path: Path, name: str) -> None:
    run(tmp_path)
    for content in (b"[]\n", b"nonsense\n", b"\xff\xfe\n"):
        (tmp_path / "small" / name).write_bytes(content)
        with pytest.raises(BadFile, match=rf"small/{name}: .*--force"):
            report(tmp_path)


def test_one_process_at_a_time(tmp_path: Path) -> None:
    with opened(tmp_path), pytest.raises(BadOption, match="another process"), opened(tmp_path, resume=True):
        pass


def test_scenarios_are_named_after_their_files(tmp_path: Path) -> None:
    for name in ("a.yaml", "b.json", "a.json", "grid.json.yaml"):
        (tmp_path / name).write_text(format_json(SMALL))
    paths = [tmp_path / "a.yaml", tmp_path / "b.json"]
    grid = read_grid(paths, ["fifo", "las"], [0, 1], slots=5)
    assert [(named.name, named.scenario.slots) for named in grid.scenarios] == [("a", 5), ("b", 5)]

    def refused(said: str, *names: str, policies: tuple[str, ...] = ("fifo",), **more: object) -> None:
        with pytest.raises(BadInput, match=said):
            read_grid([tmp_path / name for name in names], policies, [0], **more)  # type: ignore[arg-type]

    refused("a.json: is named 'a', as is .*a.yaml", "a.yaml", "a.json")
    refused("a.yaml: is named 'a', as is", "a.yaml", "a.yaml")
    refused("cannot be named 'grid.json'", "grid.json.yaml")
    refused("no such file", "a.yaml", "nowhere.yaml")
    refused("a.yaml: slots is 10; the scenario has 9", "a.yaml", slots=10)
    refused(
        "policies 'fifo' and 'fifo:backfill=no' are the same", "a.yaml", policies=("fifo", "fifo:backfill=no")
    )
    refused("policy 'las' is given twice", "a.yaml", policies=("las", "fifo", "las"))
    # Of a policy that is not there nobody waits to hear until the scenarios are read.
    refused("'fifi' is no policy", "nowhere.yaml", policies=("fifo", "fifi"))
    refused("no policy is given", "a.yaml", policies=())
    with pytest.raises(BadOption, match="reads scenarios from files"):
        read_grid([Path("-")], ["fifo"], [0])
    with pytest.raises(BadOption, match="seed 1 is given twice"):
        read_grid(paths, ["fifo"], [1, 1])


def test_networks_and_restarts_hold_for_every_run(tmp_path: Path) -> None:
    # Two rings over both servers share 10 Gbps links; a restart takes half a slot.
    (tmp_path / "s.json").write_text(format_json(SMALL))
    grid = read_grid(
        [tmp_path / "s.json"], ["las", "fifo"], [0], network=NetworkMode.SHARED, restart_seconds=30
    )
    assert {one.restart_seconds for one in grid.scenarios[0].scenario.jobs} == {30}
    with opened(tmp_path / "out", grid) as folder:
        assert {task.network for task in folder.tasks} == {NetworkMode.SHARED}
    run(tmp_path / "out", grid, resume=True)
    document = json.loads((tmp_path / "out" / "comparison.json").read_text())
    assert document["network"] == "shared"
    lost = document["scenarios"]["s"]["policies"]["las"]
    assert (lost["restarts"]["mean"] > 0) == (lost["work_lost"]["mean"] > 0)
    assert "rings share links" in (tmp_path / "out" / "report.html").read_text()


def test_intervals_by_hand() -> None:
    # Mean 5, standard deviation √(14/3), n = 4; Student's t with 3 degrees of freedom at 97.5% is 3.182446.
    half = 3.182446305 * sqrt(14 / 3) / 2
    assert estimate([3, 4, 5, 8]) == Interval(5, pytest.approx(5 - half), pytest.approx(5 + half), 4)
    # Two numbers: t is 12.7062.
    found = estimate([1.0, 2.0])
    assert found.high == pytest.approx(1.5 + 12.70620474 * sqrt(0.5) / sqrt(2))
    assert estimate([7.25]) == Interval(7.25, None, None, 1)
    assert estimate([2, 2, 2]) == Interval(2, 2, 2, 3)
    assert estimate([1, None, 3]) == Interval(None, None, None, 2)
    assert estimate([]) == Interval(None, None, None, 0)


@given(st.lists(st.floats(-1e9, 1e9), min_size=2, max_size=12), st.floats(-1e6, 1e6))
def test_intervals_hold_the_mean_and_move_with_the_numbers(numbers: list[float], by: float) -> None:
    found, moved = estimate(numbers), estimate([number + by for number in numbers])
    assert found.low is not None and found.mean is not None and found.high is not None  # noqa: PT018 - for mypy
    assert found.low <= found.mean <= found.high
    assert moved.mean == pytest.approx(found.mean + by, abs=1e-3)
    assert moved.high == pytest.approx(found.high + by, abs=1e-2)


def of(name: str, **policies: float | None) -> ScenarioNumbers:
    table = {policy: {"n": Interval(mean, None, None, 1)} for policy, mean in policies.items()}
    return ScenarioNumbers(name, 1, 1, True, table)


def test_over_all_scenarios_means_and_ratios_by_hand() -> None:
    scenarios = (of("s", a=10.0, b=20.0, c=None), of("t", a=1000.0, b=500.0, c=3.0))
    both = Comparison(("a", "b", "c"), (0,), scenarios)
    overall, relative = both.overall(), both.relative()
    assert overall["b"]["n"] == estimate([20, 500])
    assert overall["c"]["n"].mean is None
    # Twice as much here and half as much there are alike, whatever the sizes.
    assert relative["b"]["n"].mean == pytest.approx(1)
    spread = estimate([log(2), log(0.5)])
    assert spread.high is not None
    assert relative["b"]["n"].high == pytest.approx(exp(spread.high))
    assert relative["a"]["n"] == Interval(1, 1, 1, 2)
    assert relative["c"]["n"].mean is None
    zero = Comparison(("a", "b"), (0,), (of("s", a=0.0, b=1.0), of("t", a=1.0, b=1.0)))
    assert zero.relative()["b"]["n"].mean is None


def test_completion_times_are_those_of_the_jobs(whole: Path) -> None:
    found = read_completions(whole, "small")
    assert list(found) == list(GRID.policies)
    rows = list(csv.DictReader((whole / "small" / "jobs.csv").read_text().splitlines()))
    for policy, runs in found.items():
        assert [one.jobs for one in runs] == [3, 3]
        for seed, one in zip(("0", "3"), runs, strict=True):
            mine = [row for row in rows if (row["policy"], row["seed"]) == (policy, seed)]
            took = sorted(
                int(row["finish"]) - int(row["arrival"]) + 1 for row in mine if row["status"] == "finished"
            )
            assert one.slots.tolist() == took != []


def test_a_comparison_is_read_from_the_files_alone(whole: Path) -> None:
    comparison = read_comparison(whole)
    assert (comparison.policies, comparison.seeds) == (GRID.policies, GRID.seeds)
    assert [(one.name, one.slots, one.servers) for one in comparison.scenarios] == [
        ("small", 9, 2),
        ("two racks", 14, 4),
    ]
    crossing = comparison.scenarios[1].policies["drf"]["cross_rack_share"].mean
    assert crossing is not None
    assert 0 < crossing < 1
