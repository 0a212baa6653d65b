"""A trace as a scenario: as much work as in the trace, and the same time with as many workers."""

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gadget.errors import BadOption
from gadget.model.builders import build_leaf_spine
from gadget.model.codec import read_scenario, write
from gadget.model.resources import Resources
from gadget.model.snapshot import Scenario
from gadget.policies.registry import build_policy
from gadget.simulate.loop import run_slots
from gadget.workloads.traces.conversion import (
    ConversionParams,
    Elasticity,
    Family,
    Worth,
    build_utility,
    convert,
    find_unique_names,
)
from gadget.workloads.traces.trace import Trace
from tests.unit.workloads.traces.test_selection import make_trace

CLUSTER = build_leaf_spine(2, 1, 2, resources=Resources({"gpu": 4}))


def build(trace: Trace, **params: object) -> Scenario:
    given_params = ConversionParams(**{"slot_seconds": 60.0, **params})  # type: ignore[arg-type]
    return convert(trace, CLUSTER, given_params, np.random.default_rng(0)).scenario


def test_a_job_by_hand() -> None:
    scenario = build(make_trace([1000, 1130], [300, 90], [2, 4]))
    first, second = scenario.jobs
    assert (first.name, first.arrival, first.min_workers, first.max_workers) == ("j0", 0, 2, 2)
    assert (second.arrival, second.max_workers) == (2, 4)
    assert (first.work, second.work) == (10, 6)
    assert (first.rate, first.bandwidth_gbps, dict(first.resources)) == (1, 1, {"gpu": 1})
    assert float(first.utility.value(10)) == pytest.approx(1)
    # The first runs for slots 0 … 4, the second for 2 and 3.
    assert (scenario.slots, scenario.slot_seconds) == (5, 60)


def test_a_job_with_its_traced_workers_lasts_as_long_as_in_the_trace() -> None:
    scenario = build(make_trace([0, 0, 150], [300, 90, 61], [2, 4, 1]), slots=20)
    left = {}
    for step in run_slots(scenario, build_policy("fifo"), seed=0):
        for ring in step.decision.allocation.rings:
            left[ring.job] = left.get(ring.job, 0) + 1
    assert left == {"j0": 5, "j1": 2, "j2": 2}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("1:2x", [(1, 2), (1, 16)]),
        ("0.5x:2x", [(1, 2), (4, 16)]),
        ("1:4", [(1, 4), (1, 4)]),
        ("1x:1x", [(1, 1), (8, 8)]),
        ("2:0.5x", [(2, 2), (2, 4)]),
    ],
)
def test_elasticity(text: str, expected: list[tuple[int, int]]) -> None:
    scenario = build(make_trace([0, 0], [60, 60], [1, 8]), elastic=Elasticity.parse(text))
    assert [(job.min_workers, job.max_workers) for job in scenario.jobs] == expected
    assert [job.work for job in scenario.jobs] == [1, 8]


@pytest.mark.parametrize("text", ["", "1", "1:2:3", "a:b", "1.5:3", "-1:2", "1:2y", ":", "1e9:2x"])
def test_what_is_no_elasticity_is_refused(text: str) -> None:
    with pytest.raises(BadOption, match="--elastic"):
        Elasticity.parse(text)


@pytest.mark.parametrize("family", Family)
@pytest.mark.parametrize("work", [1e-3, 1.0, 400.0, 1e6])
def test_a_finished_job_is_worth_what_was_asked_for(family: Family, work: float) -> None:
    value = build_utility(family, work, 3.0).value(np.array([0.0, work / 2, work]))
    assert value[2] == pytest.approx(3.0, rel=0.01)
    assert abs(value[0]) < 0.05
    assert value[0] < value[1] < value[2]


def test_worth_counts_priorities_and_gpu_time() -> None:
    trace = make_trace([0, 0, 0], [60, 120, 60], [1, 2, 1], extra={"priority": np.array([1.0, 4, -1])})
    for worth, expected in ((Worth.JOB, [1, 4, 1]), (Worth.GPU_TIME, [1, 16, 1])):
        jobs = build(trace, worth=worth).jobs
        assert [float(job.utility.value(job.work or 0)) for job in jobs] == pytest.approx(expected)


def test_rate_bandwidth_and_shares_reach_the_jobs() -> None:
    trace = make_trace([0] * 50, [60.0] * 50, gpu_share=np.full(50, 0.46))
    scenario = build(trace, rate=120.0, bandwidth_gbps=(0.1, 5.0))
    assert {job.work for job in scenario.jobs} == {120}
    assert {job.resources["gpu"] for job in scenario.jobs} == {0.46}
    gbps = [job.bandwidth_gbps for job in scenario.jobs]
    assert len(set(gbps)) == 50
    assert all(0.1 <= number <= 5 for number in gbps)


def test_what_cannot_be_a_job_is_left_out_and_counted() -> None:
    trace = make_trace([0, 0, 0, 600], [60, 0, np.nan, 60])
    made = convert(trace, CLUSTER, ConversionParams(slots=5), np.random.default_rng(0))
    assert [job.name for job in made.scenario.jobs] == ["j0"]
    assert made.left_out == {"have no duration": 1, "last no time": 1, "arrive after slot 4": 1}


def test_a_trace_without_durations_and_one_that_never_ends_are_refused() -> None:
    with pytest.raises(BadOption, match="--assume-duration"):
        build(make_trace([0], [np.nan]))
    with pytest.raises(BadOption, match="--slot-seconds"):
        build(make_trace([0, 1e11], [1, 1]))


@given(st.lists(st.sampled_from(["a", "b", "a-2", "a-3", "a-2-2"]), max_size=12))
def test_names_become_unique_and_first_ones_stay(names: list[str]) -> None:
    made = find_unique_names(names)
    assert len(made) == len(names)
    assert len(set(made)) == len(made)
    for place, name in enumerate(names):
        assert made[place].startswith(name)
        if name not in names[:place]:
            assert made[place] == name


def test_a_converted_trace_is_a_scenario_file(tmp_path: Path) -> None:
    scenario = build(make_trace([0, 7, 1e3], [13, 1e5, 77], [1, 3, 2]), elastic=Elasticity.parse("1:2x"))
    for name in ("x.json", "x.yaml"):
        write(tmp_path / name, scenario)
        assert read_scenario(tmp_path / name) == scenario
