"""Gavel's program: its floor against another solver, and what it keeps of it."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import linprog

from gadget.solve.fair_shares import FLOOR_SLACK, find_fair_shares
from gadget.solve.sized_jobs import SizedJobs


@st.composite
def crowds(draw):
    """Jobs with sizes from 1 up and work that grows less and less, on one resource."""
    job, size, work = [], [], []
    count = draw(st.integers(1, 5))
    for number in range(count):
        least = draw(st.integers(1, 3))
        sizes = range(least, least + draw(st.integers(1, 4)))
        power, pace = draw(st.sampled_from((0.5, 0.8, 1.0))), draw(st.sampled_from((0.1, 1.0, 40.0)))
        job += [number] * len(sizes)
        size += sizes
        work += [pace * one**power for one in sizes]
    demand = np.array([[draw(st.sampled_from((1.0, 2.0)))] for _ in range(count)])
    sized = SizedJobs(np.array(job), np.array(size), np.array(work), demand)
    weight = np.array([draw(st.sampled_from((1.0, 2.0, 5.0))) for _ in range(count)])
    return sized, np.array([float(draw(st.integers(2, 12)))]), weight


@settings(max_examples=80, deadline=None)
@given(crowd=crowds())
def test_the_floor_is_the_largest_there_is_and_everybody_has_it(crowd):
    sized, total, weight = crowd
    found = find_fair_shares(sized, total, weight)
    normed = sized.work / (sized.work_of_equal_share(total) * weight)[sized.job]
    pairs, mine = len(sized.job), np.eye(sized.count)[:, sized.job]
    # Another solver, dense: maximise t with t ≤ throughput, one size at a time, within the total.
    rows = np.vstack(
        [
            np.hstack([-mine * normed, np.ones((sized.count, 1))]),
            np.hstack([mine, np.zeros((sized.count, 1))]),
            np.append(sized.load[:, 0], 0.0),
        ]
    )
    limits = np.concatenate([np.zeros(sized.count), np.ones(sized.count), total])
    other = linprog(-np.append(np.zeros(pairs), 1.0), A_ub=rows, b_ub=limits)
    assert found.floor == pytest.approx(-other.fun, rel=1e-6)
    throughput = mine @ (normed * found.share)
    assert throughput.min() >= found.floor * (1 - 2 * FLOOR_SLACK) - 1e-9
    assert (mine @ found.share).max() <= 1 + 1e-6
    assert (sized.load[:, 0] * found.share).sum() <= total[0] * (1 + 1e-6)


def test_the_work_of_an_equal_share_lies_between_sizes():
    # Of 6 GPUs each has 3. One job has sizes 2 and 4 with work 10 and 14; the other one worker of 2 GPUs.
    sized = SizedJobs(
        np.array([0, 0, 1]), np.array([2, 4, 1]), np.array([10.0, 14.0, 7.0]), np.array([[1.0], [2.0]])
    )
    assert sized.work_of_equal_share(np.array([6.0])).tolist() == [12, 7]
    # Less than the smallest ring is a part of its time.
    assert sized.work_of_equal_share(np.array([2.0])).tolist() == [5, 3.5]


def test_with_nobody_there_is_no_floor():
    nobody = SizedJobs(np.zeros(0, int), np.zeros(0, int), np.zeros(0), np.zeros((0, 1)))
    found = find_fair_shares(nobody, np.array([4.0]))
    assert found.floor == np.inf
    assert found.share.tolist() == found.expected_workers(nobody).tolist() == []
