"""Rigid jobs on a pool without a network start and end as in Tiresias' own simulator."""

import csv

import numpy as np
import pytest

from gadget.simulate.blind import run_blind
from gadget.workloads.traces.registry import read_trace
from tests.traces import find_traces

GPUS = 16
RULES = {
    "fifo": "fifo",
    "shortest": "srtf",
    "dlas-gpu": "las:queues=3250/7200,running_first=true",
}
MEAN_COMPLETION_SECONDS = {"fifo": 200.82, "shortest": 192.12, "dlas-gpu": 190.68}


def read_reference(schedule):
    """Start and end of each job, by its number."""
    path = find_traces("tiresias").parent.parent / "reference/tiresias_60_jobs_16_gpus.csv"
    if not path.exists():
        pytest.skip("needs tiresias_60_jobs_16_gpus.csv in ../shared/reference, beside the traces")
    with path.open() as file:
        rows = [row for row in csv.DictReader(file) if row["schedule"] == schedule]
    return {row["job_id"]: (int(row["start_time"]), int(row["end_time"])) for row in rows}


@pytest.mark.parametrize("schedule", RULES)
def test_each_of_60_jobs_starts_and_ends_as_in_tiresias(schedule):
    expected = read_reference(schedule)
    trace = read_trace([find_traces("tiresias/60_job.csv")])
    result = run_blind(
        trace.submit_seconds, trace.duration_seconds, trace.gpus, capacity=GPUS, rule=RULES[schedule]
    )
    columns = (trace.names.tolist(), result.first_start_seconds.tolist(), result.end_seconds.tolist())
    found = {name: (start, end) for name, start, end in zip(*columns, strict=True)}
    assert len(expected) == 60
    assert found == expected
    mean = result.summarise().mean_completion_seconds
    assert mean == pytest.approx(MEAN_COMPLETION_SECONDS[schedule], abs=0.005)


# Four jobs on 4 GPUs, worked out by hand along Tiresias' rules: submission, duration, GPUs.
SMALL = np.array([(0, 6, 2), (1, 4, 4), (2, 2, 2), (3, 1, 1)])
BY_HAND = {
    # The second needs all GPUs: it waits for the first, and the others wait for it.
    "fifo": ([(0, 6), (6, 10), (10, 12), (10, 11)], [0, 0, 0, 0]),
    # 1: the second (4 left) stops the first (5). 2: the third (2) and the first (5) stop the second (3).
    # 3: the fourth (1) stops the first (4). 4: both end; the second has all GPUs, then the first.
    "srtf": ([(0, 11), (1, 7), (2, 4), (3, 4)], [2, 1, 0, 0]),
    # 2: the first has 4 and yields to the second; that has 4 at 3 and yields to the third and the fourth.
    # 4: the first goes on where the fourth ran, as it stands before the second, which waits until it ends.
    "las:queues=4,running_first=true": ([(0, 8), (2, 11), (3, 5), (3, 4)], [1, 1, 0, 0]),
}


@pytest.mark.parametrize("rule", BY_HAND)
def test_a_small_case_by_hand(rule):
    result = run_blind(*SMALL.T, capacity=4, rule=rule)
    schedule = list(zip(result.first_start_seconds.tolist(), result.end_seconds.tolist(), strict=True))
    assert (schedule, result.preemptions.tolist()) == BY_HAND[rule]
