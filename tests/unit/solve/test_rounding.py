"""Rounds of drawing: what a draw is judged by, and when the rounds end."""

import numpy as np
import pytest

from gadget.solve.mapping import Mapping
from gadget.solve.rounding import Draw, Targets, draw_one, draw_rounds
from tests.unit.solve.small import job, line, problem_of

PROBLEM = problem_of(line(2, 1, gbps=4), job("a", 2, gbps=3), job("b", 3))
ON_FIRST = Mapping(0, 1.0, (0, 0), ((0,), (0,)))
ACROSS = Mapping(1, 1.0, (0, 1, 1), ((0, 1), (1,), (1, 0)))
NEVER = Targets(np.inf, np.ones(1), 1.0)


def rng() -> np.random.Generator:
    return np.random.default_rng(0)


def test_a_draw_adds_up_gains_and_finds_the_worst_overload() -> None:
    [draw] = draw_rounds(PROBLEM, [ON_FIRST, ACROSS], NEVER, rng(), rounds=1)
    assert draw.mappings == (ON_FIRST, ACROSS)
    assert draw.objective == 2 + 3
    # Three on two GPUs, two on one; 1 Gbps each way on 4.
    assert draw.node_overload == pytest.approx([2])
    assert draw.link_overload == pytest.approx(0.25)


def test_links_add_up_over_jobs_and_directions_do_not() -> None:
    both = Mapping(0, 1.0, (0, 1), ((0, 1), (1, 0)))
    [draw] = draw_rounds(PROBLEM, [both, ACROSS], NEVER, rng(), rounds=1)
    assert draw.link_overload == pytest.approx((3 + 1) / 4)


def test_nothing_drawn_overloads_nothing() -> None:
    [draw] = draw_rounds(PROBLEM, [], NEVER, rng(), rounds=1)
    assert (draw.mappings, draw.objective, draw.link_overload) == ((), 0, 0)
    assert draw.node_overload.tolist() == [0]


def test_a_worker_where_nothing_is_overloads_without_end() -> None:
    problem = problem_of(line(1, 0, gbps=0), job("a", 1), job("b", 1, gbps=0))
    stray = Mapping(0, 1.0, (1,), ())
    [draw] = draw_rounds(problem, [stray], NEVER, rng(), rounds=1)
    assert draw.node_overload.tolist() == [np.inf]


@pytest.mark.parametrize(
    ("targets", "reached"),
    [
        (Targets(5, np.array([2.0]), 0.25), True),
        (Targets(5.1, np.array([2.0]), 0.25), False),
        (Targets(5, np.array([1.9]), 0.25), False),
        (Targets(5, np.array([2.0]), 0.24), False),
    ],
)
def test_a_draw_is_good_enough_when_it_reaches_all_targets(targets: Targets, reached: bool) -> None:
    draw = Draw((), 5.0, np.array([2.0]), 0.25)
    assert draw.reaches(targets) is reached


def test_every_resource_has_its_own_target() -> None:
    draw = Draw((), 5.0, np.array([1.0, 3.0]), 0.0)
    assert draw.reaches(Targets(0, np.array([1.0, 3.0]), 1.0))
    assert not draw.reaches(Targets(0, np.array([3.0, 1.0]), 1.0))


def test_rounds_end_with_the_first_draw_that_is_good_enough() -> None:
    half = Mapping(0, 0.5, (0, 0), ((0,), (0,)))
    targets = Targets(2, np.ones(1), 1.0)
    for seed in range(20):
        draws = list(draw_rounds(PROBLEM, [half], targets, np.random.default_rng(seed), rounds=50))
        assert draws[-1].mappings == (half,)
        assert all(draw.mappings == () for draw in draws[:-1])
    assert len(list(draw_rounds(PROBLEM, [half], NEVER, rng(), rounds=7))) == 7


def test_the_same_seed_draws_the_same() -> None:
    some = [Mapping(0, 0.3, (0, 0), ((0,), (0,))), Mapping(0, 0.3, (1,), ()), ACROSS]
    once, again = (
        [draw.mappings for draw in draw_rounds(PROBLEM, some, NEVER, rng(), rounds=30)] for _ in range(2)
    )
    assert once == again
    assert len(set(once)) > 1


def test_weights_that_sum_to_one_up_to_dust_always_draw() -> None:
    thirds = [Mapping(0, weight, (0,), ()) for weight in (1 / 3, 1 / 3, 1 / 3 + 1e-9)]
    drawn = [draw_one(thirds, np.random.default_rng(seed)) for seed in range(500)]
    assert None not in drawn
    assert draw_one([], rng()) is None
