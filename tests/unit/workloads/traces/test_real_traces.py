"""The real traces, where they are at hand: counts that are known from elsewhere."""

from pathlib import Path

import numpy as np
import pytest

from gadget.workloads.traces import google2011
from gadget.workloads.traces.gavel import read_throughputs, with_durations
from gadget.workloads.traces.registry import read_trace
from gadget.workloads.traces.source import Part
from gadget.workloads.traces.table import Reading
from tests.unit.workloads.traces.samples import TRACES, needs_traces

pytestmark = needs_traces
FOLDER = TRACES or Path()


def test_google_job_table() -> None:
    trace = read_trace([FOLDER / "google2011/google2011_jobs.csv.gz"], strict=True)
    assert len(trace) == 672_074 - 3986
    assert trace.left_out == {"were there before the trace began": 3986}
    assert trace.submit_seconds[0] > 600
    assert trace.status is not None
    finished = trace.status.codes == trace.status.words.index("FINISH")
    quantiles = np.quantile(trace.duration_seconds[finished], [0.5, 0.9, 0.99])
    assert quantiles == pytest.approx([109, 1058, 10_337], abs=0.5)


def test_google_events_tell_the_same_as_the_table_made_of_them() -> None:
    events = read_trace([FOLDER / "google2011/job_events"], strict=True)
    table = read_trace([FOLDER / "google2011/google2011_jobs.csv.gz"])
    row = {name: number for number, name in enumerate(table.names.tolist())}
    same = np.array([row[name] for name in events.names.tolist()])
    assert len(events) > 10_000
    assert np.array_equal(events.submit_seconds, table.submit_seconds[same])
    # Jobs that end in a later part are not known to end.
    ended = ~np.isnan(events.duration_seconds)
    assert ended.mean() > 0.9
    assert events.duration_seconds[ended] == pytest.approx(table.duration_seconds[same][ended])
    assert events.status is not None
    assert table.status is not None
    told = [events.status.words[code] for code in events.status.codes[ended]]
    assert told == [table.status.words[code] for code in table.status.codes[same][ended]]


def test_google_submissions_alone_are_those_of_the_jobs() -> None:
    part = Part(FOLDER / "google2011/job_events/part-00003-of-00500.csv.gz")
    reading = Reading(strict=True)
    alone = google2011.read_submissions(part, reading)
    whole = google2011.read([part], reading).submit_seconds
    assert np.array_equal(alone, whole)


def test_philly() -> None:
    trace = read_trace([FOLDER / "philly/philly.csv"], strict=True)
    assert len(trace) == 82_247
    assert trace.bad.count == 0
    assert trace.gpus.max() == 128
    assert (trace.gpus == 1).mean() == pytest.approx(0.93, abs=0.005)
    assert not np.isnan(trace.duration_seconds).any()


@pytest.mark.parametrize(("folder", "jobs"), [("", 160), ("-0.5", 80), ("-1.5", 240), ("-2.0", 320)])
def test_pollux(folder: str, jobs: int) -> None:
    files = sorted((FOLDER / f"pollux/workloads{folder}").glob("*.csv"))
    assert len(files) == 8
    for path in files:
        trace = read_trace([path], strict=True)
        assert len(trace) == jobs
        assert "batch_size" in trace.extra


def test_gavel() -> None:
    files = sorted((FOLDER / "gavel/physical_cluster").glob("*.trace"))
    throughputs = read_throughputs(FOLDER / "gavel/simulation_throughputs.json")
    counts = {}
    for path in files:
        trace = with_durations(read_trace([path], strict=True), throughputs)
        assert not np.isnan(trace.duration_seconds).any()
        counts[path.stem] = len(trace)
    assert (counts["max_min_fairness"], counts["minimize_makespan"]) == (96, 100)
    assert len(read_trace([FOLDER / "gavel/physical_cluster"])) == sum(counts.values())


def test_tiresias() -> None:
    trace = read_trace([FOLDER / "tiresias/60_job.csv"], strict=True)
    assert len(trace) == 60
    assert trace.submit_seconds[-1] == 1779
