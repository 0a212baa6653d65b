"""Gavel: time shared out by max-min fairness, and the schedules that its priorities make of it, by hand."""

from collections import Counter

import numpy as np
import pytest

from gadget.model.resources import Resources
from gadget.model.timing import Timing
from gadget.policies.gavel import find_precedence
from gadget.solve.fair_shares import find_fair_shares
from gadget.solve.network import compile_network
from gadget.solve.sized_jobs import join_sizes
from tests.unit.policies.by_hand import a_job, one_server, rigid, run


def expected(gpus, *jobs, weight=None):
    """Workers in the mean over time, by the program alone."""
    network = compile_network(one_server(gpus))
    sizes = [np.arange(job.min_workers, min(job.max_workers, gpus) + 1) for job in jobs]
    sized = join_sizes(jobs, sizes, network, 60.0)
    shares = find_fair_shares(sized, network.capacity.sum(axis=0), weight)
    return shares.floor, shares.expected_workers(sized).tolist()


def test_the_program_shares_equally_between_equal_jobs():
    # An equal share is 2 of 4; both do exactly what they would with it.
    floor, workers = expected(4, a_job("a", 4), a_job("b", 4))
    assert floor == pytest.approx(1)
    assert workers == pytest.approx([2, 2], abs=1e-4)


def test_the_program_gives_what_a_small_job_cannot_use_to_the_other():
    # a has the one worker that it can use, as with an equal share of 2; b has the three that are left.
    floor, workers = expected(4, a_job("a", 1), a_job("b", 4))
    assert floor == pytest.approx(1)
    assert workers == pytest.approx([1, 3], abs=1e-4)


def test_the_program_counts_accelerator_time_not_jobs():
    # Three GPUs in equal parts are 1.5 each: the rigid job of 3 runs half of the time.
    floor, workers = expected(3, rigid("wide", 3), a_job("narrow", 3))
    assert floor == pytest.approx(1)
    assert workers == pytest.approx([1.5, 1.5], abs=1e-4)


def test_the_program_weighs_jobs():
    floor, workers = expected(4, a_job("a", 4), a_job("b", 4), weight=np.array([3.0, 1.0]))
    assert workers == pytest.approx([3, 1], abs=1e-4)
    assert floor == pytest.approx(
        0.5
    )  # b has half of an equal share, a three halves of one over its weight 3


def test_two_jobs_that_need_all_take_turns():
    # X is 2 workers for each. After a slot of 4 its priority is 2·1/4, below that of the other, who had none.
    jobs = rigid("a", 4), rigid("b", 4)
    assert run("gavel", one_server(4), *jobs, slots=4) == [{"a": 4}, {"b": 4}, {"a": 4}, {"b": 4}]


def test_a_wide_and_a_narrow_job_by_hand():
    # X = 3 and 1: the narrow one can use one GPU only. They do not fit beside each other.
    # Priorities X·age/served:
    # slot     1     2     3     4     5      6     7
    # wide    .75   1.5  2.25   1.5  1.875   1.5  1.75   (equal then, and the larger X goes first)
    # narrow   ∞     2    1.5    2   1.667    2   1.75
    jobs = rigid("narrow", 1), rigid("wide", 4)
    schedule = run("gavel", one_server(4), *jobs, slots=8)
    names = [next(iter(slot)) for slot in schedule]
    assert names == ["wide", "narrow", "narrow", "wide", "narrow", "wide", "narrow", "wide"]
    assert all(len(slot) == 1 for slot in schedule)


def test_elastic_jobs_have_equal_service_over_time():
    # X = 4/3 each, rounded up to rings of 2: two run, the third is first in the next slot.
    jobs = tuple(a_job(name, 4) for name in "abc")
    schedule = run("gavel", one_server(4), *jobs, slots=3)
    assert schedule == [{"a": 2, "b": 2}, {"c": 2, "a": 2}, {"b": 2, "c": 2}]
    assert sum(map(Counter, schedule), Counter()) == {"a": 4, "b": 4, "c": 4}


def test_priority_is_a_weight():
    # X = 3 and 1 workers in the mean: three slots of four for a.
    jobs = rigid("a", 4, priority=3), rigid("b", 4)
    schedule = [next(iter(slot)) for slot in run("gavel", one_server(4), *jobs, slots=6)]
    assert schedule == ["a", "b", "a", "a", "a", "b"]


def test_a_ring_that_finds_no_room_shrinks_and_a_rigid_one_waits():
    jobs = rigid("wide", 3), a_job("elastic", 4)
    # X = 2 each: the elastic one is given 2 beside the 3 of the other; one is what is left of it.
    assert run("gavel", one_server(4), *jobs, slots=1) == [{"wide": 3, "elastic": 1}]
    assert run("gavel", one_server(4), *(rigid("wide", 3), rigid("also", 2)), slots=1) == [{"wide": 3}]


def test_a_job_that_larger_rings_slow_down_stays_small():
    # By Eq. (1) with these constants two workers together do less than one alone.
    timing = Timing(gradient_mb=100, reduce_gbps=4, forward_ms_per_sample=0.5, batch=32, backward_ms=20)
    slow = a_job("slow", 4, rate=None, timing=timing, bandwidth_gbps=0.1)
    assert run("gavel", one_server(4), *(slow,), slots=2) == [{"slow": 1}, {"slow": 1}]


def test_what_a_worker_takes_counts_not_how_many_there_are():
    jobs = tuple(rigid(name, 1, resources=Resources({"gpu": 3})) for name in "ab")
    assert run("gavel", one_server(4), *jobs, slots=2) == [{"a": 1}, {"b": 1}]


def test_precedence():
    assert find_precedence(2, 0, 5) < find_precedence(9, 1, 5)  # nothing received yet goes first
    assert find_precedence(3, 0, 5) < find_precedence(2, 0, 5)  # of two such, the larger share
    assert find_precedence(2, 4, 4) < find_precedence(2, 5, 4)
    assert find_precedence(2 + 1e-7, 4, 4) == find_precedence(2, 4, 4)  # dust decides nothing
