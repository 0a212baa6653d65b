"""The benchmark of traces on a small one: what it prints, not its times."""

import re
from dataclasses import replace
from pathlib import Path

import pytest
from benchmarks.traces import LEAST, Lap, Plan, build_scenario, find_philly, main, race, run_slotted

from gadget.policies.registry import POLICIES
from gadget.simulate.blind import run_blind
from gadget.workloads.traces.registry import read_trace

TINY = Plan(first=10, first_gpus=16, all_gpus=16, busy_gpus=8, rounds=2, slot_seconds=60, policies=())


def write_trace(folder: Path) -> Path:
    """Thirty jobs that come a minute apart, in the format of the Philly trace."""
    rows = [f"2017-10-09 07:{n:02}:00,{120 + 60 * (n % 4)}.0,{1 + n % 3},60.0,vc" for n in range(30)]
    path = folder / "philly.csv"
    path.write_text("\n".join(["timestamp,duration,num_gpus,gpu_time,cluster", *rows, ""]))
    return path


def read_table(printed: str) -> list[list[str]]:
    return [line.strip("| ").split(" | ") for line in re.findall(r"^\| .*", printed, re.MULTILINE)[2:]]


def test_every_rule_has_three_lines(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code = main(["--quick"], TINY, write_trace(tmp_path))
    printed = capsys.readouterr().out
    rows = read_table(printed)
    assert len(rows) == 3 * len(TINY.rules)
    for rule, (few, everything, busy) in zip(TINY.rules, zip(*[iter(rows)] * 3, strict=True), strict=True):
        assert few[0] == f"{rule}: first 10 jobs, 16 GPUs"
        assert everything[0] == f"{rule}: all 30 jobs, 16 GPUs"
        assert busy[0] == f"{rule}: all 30 jobs, 8 GPUs"
        assert few[1] == f"≥ {LEAST:,} jobs/s"
    assert printed.startswith("30 jobs read")
    # Times are the machine's; the verdict follows from what was printed.
    assert code == ("MISSED" in printed)


def test_policies_run_in_slots_too(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    plan = replace(TINY, rules=("fifo",))
    main(["--policies=fifo,las", "--jobs=5", "--elastic=1:2x"], plan, write_trace(tmp_path))
    rows = read_table(capsys.readouterr().out)
    assert [row[0] for row in rows[3:]] == [
        f"{name} in slots: first 5 jobs, 16 GPUs" for name in ("fifo", "las")
    ]
    assert all("5 of 5 jobs finished, all" in row[2] for row in rows[3:])


def test_every_policy_runs_in_slots_unless_some_are_named(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    plan = replace(TINY, rules=(), policies=Plan().policies, first=4)
    main([], plan, write_trace(tmp_path))
    cases = [row[0] for row in read_table(capsys.readouterr().out)]
    assert [re.split("[ :]", case)[0] for case in cases] == list(POLICIES)


def test_a_run_ends_with_its_budget_and_says_how_far_it_came(tmp_path: Path) -> None:
    trace = read_trace([write_trace(tmp_path)])
    scenario = build_scenario(trace, 16, TINY)
    whole, short = run_slotted(scenario, "fifo"), run_slotted(scenario, "fifo", 1e-9)
    assert whole.slots == whole.of_slots == scenario.slots
    assert whole.finished == whole.jobs == 30
    assert short.slots < short.of_slots
    assert f"{short.slots} of {short.of_slots} slots" in str(short)


def test_the_whole_trace_runs_elastic(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    main(["--whole"], replace(TINY, rules=("fifo",)), write_trace(tmp_path))
    last = read_table(capsys.readouterr().out)[-1]
    assert last[0] == "gadget in slots, elastic: all 30 jobs, 16 GPUs"
    assert "30 of 30 jobs finished" in last[2]
    assert last[1] == "< 3,600 s"


def test_named_policies_run_the_whole_trace_too(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    main(["--whole", "--policies=srtf"], replace(TINY, rules=()), write_trace(tmp_path))
    cases = [row[0] for row in read_table(capsys.readouterr().out)]
    assert cases == [
        "srtf in slots: first 10 jobs, 16 GPUs",
        "gadget in slots, elastic: all 30 jobs, 16 GPUs",
        "srtf in slots: all 30 jobs, 16 GPUs",
    ]


def test_without_the_trace_it_says_so(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GADGET_TRACES", str(tmp_path))
    assert find_philly() == tmp_path / "philly/philly.csv"
    assert main([], TINY) == 0
    assert "Nothing measured: no Philly trace at" in capsys.readouterr().out


def test_a_race_takes_the_median_of_its_rounds() -> None:
    seconds = iter([3.0, 1.0, 2.0])
    result = run_blind([0, 1], [5, 1], [1, 1], capacity=1, rule="srtf")
    (lap,) = race([lambda: replace(result, seconds=next(seconds))], 3)
    assert replace(lap, processor_seconds=0.0) == Lap(2, 1, 2.0, 0.0)
