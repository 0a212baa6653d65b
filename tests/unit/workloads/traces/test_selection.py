"""Windows, samples, assumed durations; and the load of a trace over time."""

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gadget.errors import BadOption
from gadget.workloads.traces.columns import to_labels, to_names
from gadget.workloads.traces.load import find_load
from gadget.workloads.traces.registry import read_trace
from gadget.workloads.traces.selection import EVERY, assume_durations, take_sample, take_window
from gadget.workloads.traces.trace import Trace
from tests.unit.workloads.traces import samples


def make_trace(
    submit: list[float], duration: list[float], gpus: list[int] | None = None, **more: object
) -> Trace:
    return Trace(
        source="made",
        files=("made",),
        names=to_names([f"j{n}" for n in range(len(submit))]),
        submit_seconds=np.array(submit, dtype=np.float64),
        duration_seconds=np.array(duration, dtype=np.float64),
        gpus=np.array(gpus or [1] * len(submit), dtype=np.int64),
        **more,  # type: ignore[arg-type]
    )


def test_a_window_counts_from_the_first_job_and_time_begins_with_it() -> None:
    trace = make_trace([1000, 1060, 1100, 1200], [1, 2, 3, 4], application=to_labels(["a", "b", "a", "b"]))
    window = take_window(trace, 50, 200)
    assert window.names.tolist() == ["j1", "j2"]
    assert window.since_start.tolist() == [10, 50]
    assert window.duration_seconds.tolist() == [2, 3]
    assert window.application is not None
    assert window.application.counts() == {"b": 1, "a": 1}
    assert take_window(window, 0, 20).since_start.tolist() == [10]


@pytest.mark.parametrize(("start", "end"), [(5, 5), (9, 3), (201, 300), (1, 60)])
def test_windows_without_jobs_are_refused(start: float, end: float) -> None:
    with pytest.raises(BadOption):
        take_window(make_trace([1000, 1060, 1200], [1, 1, 1]), start, end)


@given(st.integers(1, 60), st.integers(0, 5))
def test_a_sample_has_as_many_jobs_as_asked_for_in_order_and_follows_from_the_seed(
    wanted: int, seed: int
) -> None:
    trace = make_trace([float(n) for n in range(50)], [1.0] * 50, extra={"steps": np.arange(50.0)})
    sample = take_sample(trace, wanted, np.random.default_rng(seed))
    assert len(sample) == min(wanted, 50)
    assert (np.diff(sample.submit_seconds) > 0).all()
    assert sample.extra["steps"].tolist() == sample.submit_seconds.tolist() == sample.since_start.tolist()
    again = take_sample(trace, wanted, np.random.default_rng(seed))
    assert again.names.tolist() == sample.names.tolist()


def test_a_share_is_rounded_and_none_is_refused() -> None:
    trace = make_trace([float(n) for n in range(50)], [1.0] * 50)
    assert len(take_sample(trace, 0.1, np.random.default_rng(0))) == 5
    assert len(take_sample(trace, np.inf, np.random.default_rng(0))) == 50
    with pytest.raises(BadOption, match="is none"):
        take_sample(trace, 0.001, np.random.default_rng(0))


def test_assumed_durations_are_for_jobs_that_have_none(tmp_path: Path) -> None:
    trace = read_trace(samples.save(tmp_path, [samples.POLLUX]))
    assert assume_durations(trace, {EVERY: 60, "bert": 600}).duration_seconds.tolist() == [600, 60]
    only = assume_durations(trace, {"bert": 600})
    assert only.duration_seconds[0] == 600
    assert np.isnan(only.duration_seconds[1])
    assert "durations of 1 job are assumed" in only.notes
    with pytest.raises(BadOption, match="nearest: 'bert'"):
        assume_durations(trace, {"brt": 60})
    known = read_trace(samples.save(tmp_path, [samples.TIRESIAS]))
    assert assume_durations(known, {EVERY: 60}).duration_seconds.tolist() == [164, 147]


def test_the_load_by_hand() -> None:
    trace = make_trace([100, 110, 110], [10, 20, np.nan], [2, 1, 8])
    load = find_load(trace, np.array([0.0, 5, 10, 20, 30, 40]))
    assert load.tolist() == pytest.approx([2, 2, 1, 1, 0])


@given(st.lists(st.tuples(st.floats(0, 1000), st.floats(0, 500), st.integers(1, 8)), min_size=1, max_size=30))
def test_the_load_adds_up_to_all_gpu_seconds(found: list[tuple[float, float, int]]) -> None:
    found.sort()
    submit, duration, gpus = (list(column) for column in zip(*found, strict=True))
    trace = make_trace(submit, duration, gpus)
    edges = np.linspace(0, 2000, 37)
    held = float((find_load(trace, edges) * np.diff(edges)).sum())
    assert held == pytest.approx(sum(d * g for d, g in zip(duration, gpus, strict=True)), abs=1e-6)
