"""Programs with known answers: values, prices, and every way a solve can end."""

from dataclasses import replace

import numpy as np
import pytest

from gadget.solve.lp import Outcome, solve
from tests.unit.solve.small import hard_program, program_of

# max 3x + 2y, x + y ≤ 4, x + 3y ≤ 9, x ≤ 3: at (3, 1) the first row binds and x stands at its limit.
PLAIN = program_of([3, 2], [[1, 1], [1, 3]], [4, 9], most=[3, np.inf])


@pytest.mark.parametrize("method", ["choose", "simplex", "ipm"])
def test_a_linear_program_has_its_value_and_prices(method: str) -> None:
    found = solve(PLAIN, method=method)
    assert found.outcome is Outcome.OPTIMAL
    assert found.objective == pytest.approx(11)
    assert found.bound == pytest.approx(11)
    assert found.values == pytest.approx([3, 1])
    # One more in the first row lets y grow by one, worth 2; the second row has 3 to spare.
    assert found.row_prices == pytest.approx([2, 0])


def test_rows_may_have_lower_limits_and_be_equations() -> None:
    # max −x − y with x + y ≥ 2 and x = 0.5: −2 at (0.5, 1.5).
    found = solve(program_of([-1, -1], [[1, 1], [1, 0]], [np.inf, 0.5], lower=[2, 0.5]))
    assert found.objective == pytest.approx(-2)
    assert found.values == pytest.approx([0.5, 1.5])


def test_whole_numbers_cost() -> None:
    # 5 items of weight 2 in 7: three and a half, or three.
    knapsack = program_of([1] * 5, [[2] * 5], [7], most=1, whole=True)
    assert solve(knapsack).objective == pytest.approx(3)
    assert solve(knapsack).bound == pytest.approx(3)
    assert solve(knapsack.relax()).objective == pytest.approx(3.5)
    assert knapsack.relax().integer is None


def test_only_some_variables_may_be_whole() -> None:
    both = program_of([1, 1], [[2, 0], [0, 2]], [3, 3], whole=True)
    assert solve(both).objective == pytest.approx(2)
    assert solve(replace(both, integer=np.array([True, False]))).objective == pytest.approx(2.5)


def test_what_cannot_be_is_an_outcome() -> None:
    found = solve(program_of([1], [[1]], [3], lower=2, most=1))
    assert found.outcome is Outcome.INFEASIBLE
    assert found.values is None
    assert found.objective == -np.inf
    assert found.row_prices is None
    whole = solve(program_of([1], [[2]], [1], lower=1, most=1, whole=True))
    assert whole.outcome is Outcome.INFEASIBLE


def test_what_has_no_end_is_an_outcome() -> None:
    found = solve(program_of([1, 1], [[1, -1]], [1]))
    assert found.outcome is Outcome.UNBOUNDED
    assert found.bound == np.inf


@pytest.mark.parametrize("whole", [False, True])
@pytest.mark.parametrize("rows", [0, 2])
def test_nothing_to_decide_is_decided(whole: bool, rows: int) -> None:
    found = solve(program_of([], np.zeros((rows, 0)), np.ones(rows), whole=whole))
    assert found.outcome is Outcome.OPTIMAL
    assert (found.objective, found.bound) == (0, 0)
    assert found.values is not None
    assert len(found.values) == 0


def test_a_program_without_rows_takes_all_it_may() -> None:
    assert solve(program_of([1, 2], [], [], most=[3, 4])).objective == pytest.approx(11)


@pytest.mark.parametrize("limit", [0, 0.0001, -1])
def test_out_of_time_is_an_outcome_and_its_bound_holds(limit: float) -> None:
    program = hard_program()
    best = solve(program).objective
    found = solve(program, time_limit=limit)
    assert found.outcome is Outcome.TIME_LIMIT
    assert found.objective <= best
    assert found.bound >= best - 1e-6


def test_a_gap_ends_early_with_what_is_proved() -> None:
    program = hard_program()
    best = solve(program).objective
    found = solve(program, gap=0.2)
    assert found.outcome is Outcome.OPTIMAL
    assert found.objective - 1e-6 <= best <= found.bound + 1e-6
    assert found.bound <= found.objective * 1.25


def test_the_same_program_has_the_same_answer() -> None:
    once, again = (solve(hard_program()).values for _ in range(2))
    assert once is not None
    assert again is not None
    assert once.tobytes() == again.tobytes()


@pytest.mark.parametrize("scale", [1e-9, 1e9])
def test_the_size_of_gains_does_not_matter(scale: float) -> None:
    # HiGHS takes a gain below its tolerance of 1e-7 for none.
    program = program_of([scale, 2 * scale], [[1, 1]], [1], most=1, whole=True)
    assert solve(program).objective == pytest.approx(2 * scale, rel=1e-9)
    single = program_of([scale], [[1]], [1], most=1, whole=True)
    assert solve(single).objective == pytest.approx(scale, rel=1e-9)
    assert solve(single.relax()).objective == pytest.approx(scale, rel=1e-9)
