"""The queue kernel against one that looks at every job in every event, and against schedules by hand."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gadget.solve.queueing import (
    BUSY,
    FIFO_BACKFILL,
    FIFO_BLOCKING,
    LEAST_ATTAINED,
    LEAST_REMAINING,
    PEAK,
    QUEUES_BY_SUBMISSION,
    QUEUES_RUNNING_FIRST,
    build_pool,
    run_pool,
)
from tests.slow_queueing import run_slowly

RULES = {
    FIFO_BLOCKING: ("fifo", False),
    FIFO_BACKFILL: ("fifo", True),
    LEAST_REMAINING: ("srtf", True),
    LEAST_ATTAINED: ("las", True),
    QUEUES_BY_SUBMISSION: ("las-submission", True),
    QUEUES_RUNNING_FIRST: ("las-running", True),
}
QUEUED = (QUEUES_BY_SUBMISSION, QUEUES_RUNNING_FIRST)


def run(rows, capacity, rule, limits=()):
    """The pool after all jobs, given as (submit, duration, gpus), have run."""
    submit, duration, gpus = np.array(rows, np.int64).reshape(-1, 3).T.copy()
    pool = build_pool(submit, duration, gpus, capacity=capacity, rule=rule, limits=np.array(limits, np.int64))
    run_pool(pool)
    return pool


def schedule_of(pool):
    return list(zip(pool.first_start.tolist(), pool.end.tolist(), strict=True))


@st.composite
def workloads(draw):
    """Jobs on few GPUs that come close together, so that they meet and tie."""
    capacity = draw(st.sampled_from([1, 3, 8, 16]))
    span = draw(st.sampled_from([4, 30, 120]))
    row = st.tuples(st.integers(0, span), st.integers(1, 25), st.integers(1, capacity))
    rows = sorted(draw(st.lists(row, min_size=1, max_size=25)), key=lambda row: row[0])
    limits = draw(st.lists(st.integers(1, 120), min_size=1, max_size=3, unique=True).map(sorted))
    return rows, capacity, tuple(limits)


@pytest.mark.parametrize("rule", RULES)
@given(workloads())
def test_it_does_what_looking_at_every_job_in_every_event_does(rule, workload):
    rows, capacity, limits = workload
    limits = limits if rule in QUEUED else ()
    pool = run(rows, capacity, rule, limits)
    name, backfill = RULES[rule]
    slow = run_slowly(rows, capacity, name, backfill=backfill, limits=limits)
    assert schedule_of(pool) == [(job.starts[0], job.end) for job in slow]
    assert pool.preemptions.tolist() == [job.preemptions for job in slow]


@pytest.mark.parametrize("rule", RULES)
@given(workloads())
def test_what_is_served_adds_up(rule, workload):
    rows, capacity, limits = workload
    pool = run(rows, capacity, rule, limits if rule in QUEUED else ())
    service = [duration * gpus for _, duration, gpus in rows]
    assert pool.attained.tolist() == service
    assert pool.tally[BUSY] == sum(service)
    assert 0 < pool.tally[PEAK] <= capacity
    assert not pool.remaining.any()
    for (submit, duration, _), (start, end) in zip(rows, schedule_of(pool), strict=True):
        assert submit <= start
        assert end - start >= duration


@pytest.mark.parametrize("rule", [FIFO_BLOCKING, FIFO_BACKFILL])
@given(workloads())
def test_first_come_first_served_never_stops_a_job(rule, workload):
    rows, capacity, _ = workload
    pool = run(rows, capacity, rule)
    assert not pool.preemptions.any()
    assert (pool.end - pool.first_start).tolist() == [duration for _, duration, _ in rows]
    if rule == FIFO_BLOCKING:
        assert (np.diff(pool.first_start) >= 0).all()


@given(workloads())
def test_alone_with_one_gpu_each_the_shortest_first_is_best(workload):
    """On one GPU, shortest remaining time first has the least mean completion time of all rules."""
    rows = [(submit, duration, 1) for submit, duration, _ in workload[0]]
    ends = {rule: int(run(rows, 1, rule).end.sum()) for rule in RULES if rule not in QUEUED}
    assert ends[LEAST_REMAINING] == min(ends.values())


# Three jobs on 4 GPUs: a long one, one that needs all, a short one; as (submit, duration, gpus).
TRIO = [(0, 10, 2), (1, 4, 4), (2, 3, 2)]


def test_a_blocked_head_blocks_those_behind_it():
    assert schedule_of(run(TRIO, 4, FIFO_BLOCKING)) == [(0, 10), (10, 14), (14, 17)]


def test_backfilling_lets_them_pass():
    assert schedule_of(run(TRIO, 4, FIFO_BACKFILL)) == [(0, 10), (10, 14), (2, 5)]


def test_less_remaining_stops_more_and_never_a_tie():
    # At 1 the second (4 left) stops the first (9 left); at 2 the third ties with it (3 left) and waits.
    pool = run(TRIO, 4, LEAST_REMAINING)
    assert schedule_of(pool) == [(0, 14), (1, 5), (5, 8)]
    assert pool.preemptions.tolist() == [1, 0, 0]


def test_less_attained_stops_more():
    # At 1 the second (0) stops the first (2). At 2 the third (0) and the first (2) stop the second (4). When
    # the third ends, the first has 8 by now, and the second has its turn.
    pool = run(TRIO, 4, LEAST_ATTAINED)
    assert schedule_of(pool) == [(0, 14), (1, 8), (2, 5)]
    assert pool.preemptions.tolist() == [2, 1, 0]


@pytest.mark.parametrize("rule", QUEUED)
def test_a_demoted_job_yields_to_those_in_the_queue_before(rule):
    # The first has 8 after 4 ticks; the second then takes all until it has 8 too, at 6, and stands behind.
    pool = run([(0, 10, 2), (1, 4, 4)], 4, rule, [8])
    assert schedule_of(pool) == [(0, 12), (4, 14)]
    assert pool.preemptions.tolist() == [1, 1]


def test_a_demotion_happens_at_the_first_whole_tick():
    # 3 GPUs attain 7 between ticks 2 and 3: the second runs from 3 on, for 2 ticks, until it has 6 < 7.
    pool = run([(0, 5, 3), (1, 2, 3)], 3, QUEUES_RUNNING_FIRST, [7])
    assert schedule_of(pool) == [(0, 7), (3, 5)]


def test_in_a_queue_running_jobs_go_first_or_those_submitted_first():
    # The second waits for 4 GPUs; the third fills the gap. When the first ends, the second fits only if the
    # third yields: it was submitted first, but it does not run.
    rows = [(0, 5, 2), (1, 3, 4), (2, 9, 2)]
    assert schedule_of(run(rows, 4, QUEUES_RUNNING_FIRST, [1000])) == [(0, 5), (11, 14), (2, 11)]
    assert schedule_of(run(rows, 4, QUEUES_BY_SUBMISSION, [1000])) == [(0, 5), (5, 8), (2, 14)]


def test_at_one_instant_ends_come_before_arrivals():
    for rule in RULES:
        assert schedule_of(run([(0, 5, 4), (5, 2, 4)], 4, rule)) == [(0, 5), (5, 7)]


def test_no_jobs_are_no_trouble():
    for rule in RULES:
        assert schedule_of(run([], 4, rule)) == []
