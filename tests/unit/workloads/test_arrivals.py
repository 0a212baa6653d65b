"""Arrivals: files in the trace's format, windows of them, and a profile that is as bursty as the trace."""

import gzip
from pathlib import Path

import numpy as np
import pytest

from gadget.errors import BadFile
from gadget.workloads.arrivals import (
    draw_google_arrivals,
    draw_profile_arrivals,
    find_google_trace,
    read_google_submissions,
)

TABLE = "job_id,submit_us,schedule_us,end_us\n1,0,0,\n2,700000000,1,2\n3,600000000,1,\n4,,1,\n"
EVENTS = "0,,1,0,u,3,n,l\n600000000,,2,0,u,2,n,l\n600000001,,2,1,u,2,n,l\n900000000,,3,0,u,0,n,l\n"


@pytest.mark.parametrize("zipped", [False, True])
@pytest.mark.parametrize(("text", "times"), [(TABLE, [600, 700]), (EVENTS, [600, 900])])
def test_both_formats_are_read_sorted_without_what_was_there_before(
    tmp_path: Path, text: str, times: list[float], zipped: bool
) -> None:
    path = tmp_path / "jobs"
    path.write_bytes(gzip.compress(text.encode(), mtime=0) if zipped else text.encode())
    assert read_google_submissions(path).tolist() == times


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"job_id,submit_us\n1,soon\n", ":2: holds no submission time"),
        (b"job_id,submit_us\n1\n", ":2: holds no submission time"),
        (b"", "holds no job submissions"),
        (b"a,b,c\n", "holds no job submissions"),
        (gzip.compress(b"x" * 100, mtime=0)[:-6], "cannot be read as a Google job table"),
        (bytes(range(128, 256)), "cannot be read as a Google job table"),
    ],
    ids=["no number", "no column", "empty", "no events", "cut short", "no text"],
)
def test_bad_files_are_told(tmp_path: Path, content: bytes, said: str) -> None:
    path = tmp_path / "jobs.csv"
    path.write_bytes(content)
    with pytest.raises(BadFile) as caught:
        read_google_submissions(path)
    assert said in str(caught.value)


def test_a_missing_file_is_told(tmp_path: Path) -> None:
    with pytest.raises(BadFile):
        read_google_submissions(tmp_path / "nothing")


def test_arrivals_are_a_window_of_the_trace() -> None:
    # One job a second for a day, and none in its second half.
    submissions = np.arange(600.0, 600 + 43_200)
    arrivals = draw_google_arrivals(np.random.default_rng(0), submissions, 500, 200, 60.0)
    assert len(arrivals) == 500
    assert arrivals.tolist() == sorted(arrivals.tolist())
    assert 0 <= arrivals[0] < 10
    assert 190 < arrivals[-1] < 200
    counts = np.bincount(arrivals, minlength=200)
    assert counts.reshape(4, 50).sum(axis=1) == pytest.approx([125] * 4, abs=45)


def test_a_trace_with_too_few_jobs_is_widened_and_then_drawn_from_again() -> None:
    few = draw_google_arrivals(np.random.default_rng(0), np.array([600.0, 90_000.0]), 30, 10, 60.0)
    assert len(few) == 30
    assert set(few.tolist()) <= set(range(10))


def test_the_profile_is_as_bursty_as_the_trace() -> None:
    counts = np.bincount(draw_profile_arrivals(np.random.default_rng(0), 640_000, 40_000, 60.0))
    assert counts.mean() == pytest.approx(16, rel=0.01)
    # The trace: variance 112, and a correlation of 0.3 to 0.4 between minutes of one hour.
    assert counts.var() == pytest.approx(112, rel=0.2)
    assert np.corrcoef(counts[:-5], counts[5:])[0, 1] == pytest.approx(0.35, abs=0.08)


def test_drawing_follows_from_the_seed() -> None:
    first, again, other = (draw_profile_arrivals(np.random.default_rng(s), 50, 20, 60.0) for s in (1, 1, 2))
    assert first.tolist() == again.tolist() != other.tolist()


def test_the_trace_is_looked_for_where_it_may_be(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    elsewhere = tmp_path / "project"
    elsewhere.mkdir()
    monkeypatch.chdir(elsewhere)
    monkeypatch.delenv("GADGET_TRACES", raising=False)
    assert find_google_trace() is None
    beside = tmp_path / "shared/traces/google2011/google2011_jobs.csv.gz"
    beside.parent.mkdir(parents=True)
    beside.write_bytes(gzip.compress(TABLE.encode(), mtime=0))
    found = find_google_trace()
    assert found is not None
    assert found.resolve() == beside
    named = tmp_path / "mine/google2011/google2011_jobs.csv.gz"
    named.parent.mkdir(parents=True)
    named.write_bytes(beside.read_bytes())
    monkeypatch.setenv("GADGET_TRACES", str(tmp_path / "mine"))
    assert find_google_trace() == named


@pytest.mark.skipif(find_google_trace() is None, reason="Google's trace is not there (GADGET_TRACES)")
def test_the_whole_trace_is_read() -> None:
    trace = find_google_trace()
    assert trace is not None
    submissions = read_google_submissions(trace)
    assert len(submissions) == 668_088
    assert submissions[0] > 600
