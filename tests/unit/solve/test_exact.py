"""The proven optimum: who solves it, what is proved when time runs out, and numbers of any size."""

from dataclasses import replace
from itertools import product

import numpy as np
import pytest

from gadget import (
    Allocation,
    BadOption,
    Cluster,
    Energy,
    Linear,
    Link,
    Resources,
    Server,
    Snapshot,
    Sqrt,
    Status,
    build_leaf_spine,
    build_paper_cluster,
    build_torus,
    find_false_claims,
    find_violations,
)
from gadget.policies.optimal import Optimal
from gadget.policies.policy import ask
from gadget.solve import exact
from gadget.solve.exact import Solver, solve_exactly, solve_integers
from gadget.solve.lp import LinearProgram, Outcome, Solution, solve
from gadget.solve.packing import build_packing_program
from gadget.solve.slot import build_slot_problem
from gadget.workloads.paper import UtilityFamily, build_paper_jobs
from tests.unit.solve.small import alone, hard_program, islands, job, line, problem_of, program_of, slot

LARGE = program_of(np.ones(3000), np.ones((1, 3000)), [7], most=1, whole=True)


def paper_slot(servers: int, jobs: int, seed: int = 0) -> Snapshot:
    rng = np.random.default_rng(seed)
    cluster = build_paper_cluster(rng, servers=servers)
    arrivals = np.zeros(jobs, dtype=np.int64)
    return slot(cluster, *build_paper_jobs(rng, arrivals, utility=UtilityFamily.SQRT))


def test_a_program_too_large_for_gurobi_goes_to_highs_unless_gurobi_is_asked_for() -> None:
    how = {"time_limit": None, "gap": 0.0}
    for solver in (Solver.AUTO, Solver.HIGHS):
        assert solve_integers(LARGE, solver=solver, **how).objective == pytest.approx(7)  # type: ignore[arg-type]
    with pytest.raises(BadOption, match=r"gurobi: no licence for 3000 variables\. Choose highs\."):
        solve_integers(LARGE, solver=Solver.GUROBI, **how)  # type: ignore[arg-type]


def test_a_slot_too_large_for_gurobi_is_solved_by_auto_and_refused_by_gurobi() -> None:
    snapshot = paper_slot(30, 20)
    problem = build_slot_problem(snapshot)
    answer = solve_exactly(problem, solver=Solver.AUTO)
    assert answer.is_proved
    assert find_violations(snapshot, Allocation(answer.rings)) == []
    with pytest.raises(BadOption, match=r"no licence for [0-9]+ variables\. Choose highs"):
        solve_exactly(problem, solver=Solver.GUROBI)


def test_without_gurobi_auto_is_highs_and_gurobi_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(exact, "is_installed", lambda: False)
    problem = problem_of(line(1, 1), job("a", 2))
    assert len(solve_exactly(problem, solver=Solver.AUTO).rings) == 1
    with pytest.raises(BadOption, match="gurobipy is not installed"):
        solve_exactly(problem, solver=Solver.GUROBI)


@pytest.mark.parametrize("solver", [Solver.AUTO, Solver.HIGHS])
def test_integers_of_any_solver_are_the_same(solver: Solver) -> None:
    found = solve_integers(hard_program(), time_limit=None, gap=0.0, solver=solver)
    assert found.objective == pytest.approx(solve(hard_program()).objective)


# No time.


@pytest.mark.parametrize("limit", [0, 0.001])
@pytest.mark.parametrize(
    "snapshot",
    [
        paper_slot(50, 40),
        slot(build_torus((3, 3)), *(job(f"j{n}", 3, Sqrt(n + 1)) for n in range(20))),
        slot(build_leaf_spine(2, 2, 2), *(job(f"j{n}", 4, Sqrt(n + 1)) for n in range(12))),
    ],
)
def test_without_time_something_feasible_is_decided_and_its_bound_holds(
    snapshot: Snapshot, limit: float
) -> None:
    problem = build_slot_problem(snapshot)
    decision = ask(Optimal(time_limit=limit, solver=Solver.HIGHS), snapshot, seed=0)
    assert find_violations(snapshot, decision.allocation) == []
    assert find_false_claims(snapshot, decision) == []
    assert decision.status in {Status.CERTIFIED, Status.OPTIMAL}
    assert decision.upper_bound is not None
    alone_each = sum(problem.pair_gain[problem.pair_job == k].max() for k in range(len(problem.jobs)))
    assert decision.upper_bound <= alone_each * (1 + 1e-9)
    # There is room for somebody, so somebody runs.
    assert 0 < decision.objective <= solve(build_packing_program(problem)).objective * (1 + 1e-9)


@pytest.mark.parametrize("solver", [Solver.HIGHS, Solver.GUROBI])
def test_without_time_nothing_is_called_proved_and_no_job_hopes_for_more_than_all(solver: Solver) -> None:
    problem = problem_of(build_torus((2, 2)), *(job(f"j{n}", 3, Sqrt(n + 1)) for n in range(4)))
    answer = solve_exactly(problem, time_limit=0, solver=solver)
    assert not answer.is_proved
    assert problem.worth(answer.rings) <= answer.bound
    # All four at their largest size.
    assert answer.bound <= (1 + 2 + 3 + 4) * 3**0.5 + 1e-9


def test_what_is_found_when_time_runs_out_is_given_but_not_called_proved(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def run_out(program: LinearProgram, **_: object) -> Solution:
        return replace(solve(program), outcome=Outcome.TIME_LIMIT, bound=2.5)

    monkeypatch.setattr(exact, "solve_integers", run_out)
    for tree in (True, False):
        answer = solve_exactly(problem_of(line(1, 1), job("a", 2), job("b", 2)), tree=tree)
        assert sum(ring.size for ring in answer.rings) == 2
        assert (answer.is_proved, answer.bound) == (False, 2.5)


def test_without_time_the_best_size_is_taken_and_not_the_largest() -> None:
    # 6κ − κ²: three workers gain 9, five gain 5.
    snapshot = slot(line(5, 5), *(job(name, 5, Energy(Linear(6))) for name in "ab"))
    decision = ask(Optimal(time_limit=0), snapshot, seed=0)
    assert decision.objective == pytest.approx(18)


def test_a_gap_is_certified_and_not_called_optimal() -> None:
    # Two rings that cross the same link, which carries one: the relaxation says 4, the optimum is 2.
    seats = tuple(Server(name, Resources({"a": 1, "b": 1})) for name in "xy")
    cluster = Cluster(seats, (), (Link(("x", "y"), 1),))
    snapshot = slot(cluster, *(job(name, (2, 2), needs={name: 1}) for name in "ab"))
    decision = ask(Optimal(gap=0.9), snapshot, seed=0)
    assert decision.status is Status.CERTIFIED
    assert decision.objective == 2
    assert decision.upper_bound is not None
    assert 2 <= decision.upper_bound <= 4 + 1e-6
    assert ask(Optimal(), snapshot, seed=0).status is Status.OPTIMAL


@pytest.mark.parametrize("options", [{"time_limit": -1.0}, {"gap": -0.1}])
def test_options_below_zero_are_refused(options: dict[str, float]) -> None:
    with pytest.raises(BadOption, match="0 or more"):
        Optimal(**options)  # type: ignore[arg-type]


# Nothing to decide.


@pytest.mark.parametrize("solver", list(Solver))
@pytest.mark.parametrize(
    "snapshot",
    [
        slot(Cluster((), (), ()), job("a", 2)),
        slot(Cluster((), ("w",), ()), job("a", 2)),
        slot(line(1, 1)),
        slot(alone(gpu=0), job("a", 2)),
        slot(alone(), job("a", 2)),
        slot(line(1, 1), job("a", needs={"tpu": 1})),
    ],
)
def test_an_empty_slot_is_optimal(snapshot: Snapshot, solver: Solver) -> None:
    decision = ask(Optimal(solver=solver), snapshot, seed=0)
    assert decision.allocation == Allocation(())
    assert (decision.objective, decision.upper_bound, decision.status) == (0, 0, Status.OPTIMAL)
    assert len(decision.waiting) == len(snapshot.jobs)


@pytest.mark.parametrize("solver", list(Solver))
def test_servers_that_nothing_joins_are_solved_each_for_itself(solver: Solver) -> None:
    snapshot = slot(islands(2, 3, 0), job("a", 9), job("b", 9, Linear(2)))
    decision = ask(Optimal(solver=solver), snapshot, seed=0)
    assert find_violations(snapshot, decision.allocation) == []
    # B on the three, A on the two.
    assert decision.objective == 8


# Numbers of any size: what a solver calls zero must not decide.


def solve_feasibly(snapshot: Snapshot, solver: Solver, *, tree: bool) -> float:
    """The optimum, which the referee has nothing against."""
    problem = build_slot_problem(snapshot)
    answer = solve_exactly(problem, solver=solver, tree=tree)
    assert find_violations(snapshot, Allocation(answer.rings)) == []
    decision = ask(Optimal(solver=solver), snapshot, seed=0)
    assert find_violations(snapshot, decision.allocation) == []
    assert decision.objective == pytest.approx(problem.worth(answer.rings))
    return problem.worth(answer.rings)


every_way = pytest.mark.parametrize(("solver", "tree"), list(product(Solver, (True, False))))


@every_way
@pytest.mark.parametrize("unit", [1.0, 1e-8, 1e-4, 1e6, 1e12])
def test_capacities_hold_in_any_unit(solver: Solver, tree: bool, unit: float) -> None:
    # Two jobs of a whole server each: one of them runs.
    full = slot(alone(gpu=unit), *(job(name, needs={"gpu": unit}) for name in "ab"))
    assert solve_feasibly(full, solver, tree=tree) == 1
    # Two rings of two over one link, which carries one of them.
    seats = tuple(Server(name, Resources({"a": 1, "b": 1})) for name in "xy")
    joined = Cluster(seats, (), (Link(("x", "y"), 1.5 * unit),))
    both = [job(name, (2, 2), gbps=unit, needs={name: 1}) for name in "ab"]
    assert solve_feasibly(slot(joined, *both), solver, tree=tree) == 2


@every_way
def test_a_hair_too_much_is_too_much(solver: Solver, tree: bool) -> None:
    # 0.5000004 twice is 8e-7 over one: within what solvers let pass, not within what is allowed.
    full = slot(alone(gpu=1), *(job(name, needs={"gpu": 0.5000004}) for name in "ab"))
    assert solve_feasibly(full, solver, tree=tree) == 1
    seats = tuple(Server(name, Resources({"a": 1, "b": 1})) for name in "xy")
    joined = Cluster(seats, (), (Link(("x", "y"), 1),))
    both = [job(name, (2, 2), gbps=0.5000004, needs={name: 1}) for name in "ab"]
    assert solve_feasibly(slot(joined, *both), solver, tree=tree) == 2


@every_way
def test_small_demands_count_beside_large_ones(solver: Solver, tree: bool) -> None:
    # A fills the server; fifty workers of B are 5e-9 of it too much. HiGHS drops entries below 1e-9, and
    # with them all that B takes.
    small = job("b", (50, 50), needs={"gpu": 1})
    snapshot = slot(alone(gpu=1e10), job("a", 1, Linear(1000), needs={"gpu": 1e10}), small)
    assert solve_feasibly(snapshot, solver, tree=tree) == 1000


@every_way
def test_decimals_that_fill_a_server_exactly_fit(solver: Solver, tree: bool) -> None:
    problem = problem_of(alone(gpu=0.3), job("a", needs={"gpu": 0.1}), job("b", needs={"gpu": 0.2}))
    assert len(solve_exactly(problem, solver=solver, tree=tree).rings) == 2


@every_way
@pytest.mark.parametrize("scale", [1e-12, 1e-9, 1e-6, 1e6, 1e12])
def test_the_size_of_gains_does_not_matter(solver: Solver, tree: bool, scale: float) -> None:
    gains = (("a", 1, scale), ("b", 1, 2 * scale), ("c", 2, scale))
    problem = problem_of(line(1, 1), *(job(name, most, Linear(gain)) for name, most, gain in gains))
    answer = solve_exactly(problem, solver=solver, tree=tree)
    assert problem.worth(answer.rings) == pytest.approx(3 * scale, rel=1e-9)
    assert answer.bound == pytest.approx(3 * scale, rel=1e-6)
    single = problem_of(alone(gpu=1), job("a", 1, Linear(scale)))
    assert len(solve_exactly(single, solver=solver, tree=tree).rings) == 1
