"""The paper's ring sizes: q_i of the relaxed slot problem, and the selection of Lemma 7."""

import numpy as np
import pytest

from gadget import Linear, Sigmoid, Sqrt, Table
from gadget.solve.sizing import find_size_limits, keep_sizes_up_to, select_sizes
from gadget.solve.slot import SlotProblem
from tests.unit.solve.small import alone, islands, job, line, problem_of


def pairs(problem: SlotProblem) -> list[tuple[int, int]]:
    return list(zip(problem.pair_job.tolist(), problem.pair_size.tolist(), strict=True))


def test_enough_room_gives_everyone_all() -> None:
    assert find_size_limits(problem_of(alone(gpu=9), job("a", 3), job("b", 2))) == pytest.approx([3, 2])


def test_the_better_job_takes_what_there_is() -> None:
    limits = find_size_limits(problem_of(alone(gpu=3), job("a", 3), job("b", 2, Linear(2))))
    assert limits == pytest.approx([1, 2])


def test_fractions_of_workers_share_a_server() -> None:
    # Equal √ on one GPU … each gets half of it (to a quarter of a worker, the pieces that are seen).
    limits = find_size_limits(problem_of(alone(gpu=1), job("a", 1, Sqrt()), job("b", 1, Sqrt())))
    assert limits == pytest.approx([0.5, 0.5])


def test_a_kink_inside_a_worker_counts() -> None:
    # problem.md §2: half of B at 1.1 a GPU, then A at 1, then the rest of B at 0.85.
    table = Table(((0, 0), (0.5, 1.1), (1, 1.95)))
    limits = find_size_limits(problem_of(alone(gpu=3), job("a", 3), job("b", 1, table, needs={"gpu": 2})))
    assert limits == pytest.approx([2, 0.5])


def test_every_resource_limits() -> None:
    both = job("a", 9, needs={"gpu": 1, "gib": 3})
    assert find_size_limits(problem_of(alone(gpu=8, gib=12), both)) == pytest.approx([4])


def test_links_do_not_limit_beyond_the_sizes_that_are_listed() -> None:
    # No ring of four closes over dead links, but two of each job on either server do.
    assert find_size_limits(problem_of(islands(2, 2), job("a", 4))) == pytest.approx([2])
    assert find_size_limits(problem_of(line(2, 2, gbps=1), job("a", 4))) == pytest.approx([4])


def test_a_majorant_is_relaxed_between_whole_sizes() -> None:
    limits = find_size_limits(problem_of(alone(gpu=2), job("a", 2, Sigmoid(10, 1, 5))))
    assert limits == pytest.approx([2])


def test_no_jobs_have_no_limits() -> None:
    assert find_size_limits(problem_of(alone(gpu=2))).shape == (0,)
    assert find_size_limits(problem_of(alone(gpu=2), job("a", needs={"tpu": 1}))).shape == (0,)


def test_sizes_are_kept_up_to_the_next_whole_one() -> None:
    problem = problem_of(alone(gpu=9), job("a", 4), job("b", 4), job("c", 4))
    kept = keep_sizes_up_to(problem, np.array([2.1, 2 + 1e-12, 0]))
    assert pairs(kept) == [(0, 1), (0, 2), (0, 3), (1, 1), (1, 2)]


def test_the_smallest_ring_stays_when_a_job_gets_anything_at_all() -> None:
    problem = problem_of(alone(gpu=9), job("a", (3, 5)), job("b", (3, 5)), job("c", (3, 5)))
    assert pairs(keep_sizes_up_to(problem, np.array([0.5, 4, 0]))) == [(0, 3), (1, 3), (1, 4)]


def test_the_worthiest_size_is_selected_and_none_for_a_job_left_out() -> None:
    problem = problem_of(alone(gpu=9), job("a", 3), job("b", 2), job("c", 2))
    # a: 1·0.4, 2·0.3, 3·0.1; b: 1·0.9, 2·0.1; c: nothing.
    chosen = np.array([0.4, 0.3, 0.1, 0.9, 0.1, 0, 0])
    assert pairs(select_sizes(problem, chosen)) == [(0, 2), (1, 1)]


def test_ties_go_to_the_smaller_size_and_dust_counts_for_nothing() -> None:
    problem = problem_of(alone(gpu=9), job("a", 2), job("b", 2, Linear(1e12)))
    assert pairs(select_sizes(problem, np.array([0.5, 0.25, 0, 1e-12]))) == [(0, 1)]
    # Equal up to rounding is equal.
    assert pairs(select_sizes(problem, np.array([0.5, 0.25 + 1e-13, 0, 0]))) == [(0, 1)]
