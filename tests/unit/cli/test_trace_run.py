"""gadget trace run: a trace on one pool of GPUs."""

import csv
import json
from pathlib import Path

import pytest

from tests.unit.cli.conftest import Gadget

# In the format of Tiresias: on four GPUs b waits for a, which blocks c under fifo alone.
TRACE = """job_id,num_gpu,submit_time,iterations,model_name,duration,interval
a,3,0,100,vgg19,50,0
b,2,10,100,vgg19,20,10
c,1,20,100,vgg19,10,10
"""


@pytest.fixture
def trace(tmp_path: Path) -> Path:
    path = tmp_path / "jobs.csv"
    path.write_text(TRACE)
    return path


def test_start_and_end_of_every_job(gadget: Gadget, trace: Path, tmp_path: Path) -> None:
    out = tmp_path / "out.csv"
    ended = gadget(
        "trace",
        "run",
        trace,
        "--gpus",
        4,
        "--policy",
        "fifo",
        "--policy",
        "fifo:backfill=true",
        "--jobs",
        out,
    )
    assert ended.code == 0
    assert "3 jobs on a pool of 4 GPUs" in ended.out
    rows = list(csv.DictReader(out.read_text().splitlines()))
    found = {
        (row["policy"], row["job"]): (float(row["start_seconds"]), float(row["end_seconds"])) for row in rows
    }
    assert found["fifo", "a"] == (0, 50)
    assert found["fifo", "b"] == (50, 70)
    assert found["fifo", "c"] == (50, 60)
    assert found["fifo:backfill=true", "c"] == (20, 30)


def test_numbers_for_programs(gadget: Gadget, trace: Path) -> None:
    found = json.loads(gadget("trace", "run", trace, "--gpus", 4, "-o", "json").out)
    assert list(found) == ["fifo", "srtf", "las"]
    assert found["fifo"]["mean_completion_seconds"] == pytest.approx((50 + 60 + 40) / 3)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (("--policy", "gadget"), "gadget"),
        (("--policy", "fifo", "--policy", "fifo"), "is given twice"),
        (("--policy", "las:queues=9/3"), "rising"),
    ],
)
def test_bad_options_are_refused_in_words(
    gadget: Gadget, trace: Path, options: tuple[str, ...], said: str
) -> None:
    ended = gadget("trace", "run", trace, "--gpus", 4, *options)
    assert ended.code == 2
    assert said in ended.err
    assert "Traceback" not in ended.err


def test_jobs_that_the_pool_cannot_hold_are_left_out_and_told(gadget: Gadget, trace: Path) -> None:
    ended = gadget("trace", "run", trace, "--gpus", 2, "--policy", "fifo")
    assert "2 jobs on a pool of 2 GPUs" in ended.out
    assert "need more GPUs (1)" in ended.err


def test_one_job_is_told_as_one(gadget: Gadget, trace: Path) -> None:
    header, first, *_ = trace.read_text().splitlines()
    trace.write_text(f"{header}\n{first}\n")
    assert "tiresias: 1 job in 1 file" in gadget("trace", "show", trace).out
    assert "1 job on a pool of 16 GPUs" in gadget("trace", "run", trace, "--gpus", 16).out
