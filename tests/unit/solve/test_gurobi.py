"""Gurobi beside HiGHS: the same answers, the same outcomes, and None where its licence ends."""

import sys

import numpy as np
import pytest

from gadget.errors import SolverFailed
from gadget.solve.gurobi import is_installed, solve_with_gurobi
from gadget.solve.lp import LinearProgram, Outcome, Solution, solve
from tests.unit.solve.small import hard_program, program_of


def ask(program: LinearProgram, **how: float) -> Solution:
    found = solve_with_gurobi(program, **how)
    assert found is not None
    return found


def test_it_is_installed_for_these_tests() -> None:
    assert is_installed()


def test_it_is_not_installed_where_it_cannot_be_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "path", [])
    monkeypatch.delitem(sys.modules, "gurobipy", raising=False)
    sys.path_importer_cache.clear()
    assert not is_installed()


@pytest.mark.parametrize("seed", range(12))
@pytest.mark.parametrize("whole", [True, False])
def test_both_solvers_agree(seed: int, whole: bool) -> None:
    rng = np.random.default_rng(seed)
    variables, rows = int(rng.integers(1, 12)), int(rng.integers(0, 8))
    matrix = rng.integers(-2, 6, (rows, variables)) * (rng.random((rows, variables)) < 0.7)
    upper = rng.integers(0, 12, rows).astype(float)
    lower = np.where(rng.random(rows) < 0.4, upper - rng.integers(0, 6, rows), -np.inf)
    most = rng.integers(0, 5, variables)
    program = program_of(rng.integers(-3, 9, variables), matrix, upper, lower=lower, most=most, whole=whole)
    ours, theirs = solve(program), ask(program)
    assert theirs.outcome is ours.outcome
    assert theirs.objective == pytest.approx(ours.objective)
    assert theirs.bound == pytest.approx(ours.bound)


def test_what_cannot_be_is_an_outcome() -> None:
    found = ask(program_of([1], [[1]], [3], lower=2, most=1, whole=True))
    assert found.outcome is Outcome.INFEASIBLE
    assert found.values is None
    assert found.objective == -np.inf


def test_out_of_time_is_an_outcome_and_its_bound_holds() -> None:
    program = hard_program()
    best = solve(program).objective
    found = ask(program, time_limit=0.0)
    assert found.outcome is Outcome.TIME_LIMIT
    assert found.objective <= best <= found.bound


def test_without_a_gap_the_optimum_is_proved_to_the_last_digit() -> None:
    # Gains that are no whole numbers leave many solutions within Gurobi's own gap of 1e-4.
    rng = np.random.default_rng(3)
    weights = rng.uniform(1, 2, (3, 40))
    program = program_of(weights[0] + rng.uniform(0, 0.02, 40), weights, [9, 9.5, 10], most=1, whole=True)
    found = ask(program)
    assert found.bound == pytest.approx(found.objective, rel=1e-9)
    assert found.objective == pytest.approx(solve(program).objective, rel=1e-9)


def test_a_gap_ends_early_with_what_is_proved() -> None:
    best = solve(hard_program()).objective
    found = ask(hard_program(), gap=0.2)
    assert found.objective - 1e-6 <= best <= found.bound + 1e-6
    assert found.bound <= found.objective * 1.25


@pytest.mark.parametrize("whole", [True, False])
def test_a_program_too_large_for_the_licence_is_left_to_others(whole: bool) -> None:
    count = 2_001
    program = program_of(np.ones(count), np.ones((1, count)), [7], most=1, whole=whole)
    assert solve_with_gurobi(program) is None
    small = program_of(np.ones(100), np.ones((1, 100)), [7], most=1, whole=whole)
    assert ask(small).objective == pytest.approx(7)


def test_other_errors_of_gurobi_say_so() -> None:
    # NaN is no coefficient.
    with pytest.raises(SolverFailed, match="Gurobi ended with"):
        solve_with_gurobi(program_of([1], [[np.nan]], [1], most=1))
