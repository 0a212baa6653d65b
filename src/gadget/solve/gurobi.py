"""Gurobi, where it is installed and its licence admits the size of the program."""

from importlib import import_module
from importlib.util import find_spec
from typing import Any

import numpy as np

from gadget.errors import SolverFailed
from gadget.solve.lp import FEASIBILITY, LinearProgram, Outcome, Solution, scale

# Errors that say "not with this licence": no licence, expired, too large for it.
_REFUSALS = frozenset((10009, 10010, 10026, 10030))


def is_installed() -> bool:
    """True when gurobipy can be imported."""
    return find_spec("gurobipy") is not None


def solve_with_gurobi(
    program: LinearProgram, *, time_limit: float | None = None, gap: float = 0.0
) -> Solution | None:
    """Solve with Gurobi; None when its licence does not admit the program."""
    gp: Any = import_module("gurobipy")
    scaled = scale(program)
    shown = scaled.program
    try:
        with gp.Env(params={"OutputFlag": 0}) as env, gp.Model(env=env) as model:
            kinds = [gp.GRB.CONTINUOUS] * len(program.objective)
            if program.integer is not None:
                kinds = np.where(program.integer, gp.GRB.INTEGER, gp.GRB.CONTINUOUS).tolist()
            x = model.addMVar(len(kinds), lb=program.lower, ub=program.upper, vtype=kinds)
            model.setObjective(shown.objective @ x, gp.GRB.MAXIMIZE)
            matrix = shown.matrix.tocsr()
            upper, lower = np.isfinite(shown.row_upper), np.isfinite(shown.row_lower)
            model.addConstr(matrix[upper] @ x <= shown.row_upper[upper])
            model.addConstr(matrix[lower] @ x >= shown.row_lower[lower])
            model.Params.MIPGap = gap
            model.Params.Threads = 1
            model.Params.FeasibilityTol = FEASIBILITY
            model.Params.IntFeasTol = FEASIBILITY
            if time_limit is not None:
                model.Params.TimeLimit = max(time_limit, 0.0)
            model.optimize()
            return _read(gp, model, x, scaled.objective, program)
    except gp.GurobiError as error:
        if error.errno in _REFUSALS:
            return None
        raise SolverFailed(f"Gurobi ended with {error}.") from None


def _read(gp: Any, model: Any, x: Any, factor: float, program: LinearProgram) -> Solution:
    outcomes = {
        gp.GRB.OPTIMAL: Outcome.OPTIMAL,
        gp.GRB.TIME_LIMIT: Outcome.TIME_LIMIT,
        gp.GRB.INFEASIBLE: Outcome.INFEASIBLE,
        gp.GRB.INF_OR_UNBD: Outcome.INFEASIBLE,
        gp.GRB.UNBOUNDED: Outcome.UNBOUNDED,
    }
    if model.Status not in outcomes:
        raise SolverFailed(f"Gurobi ended with status {model.Status}.")
    outcome = outcomes[model.Status]
    found = model.SolCount > 0
    values = np.array(x.X) if found else None
    objective = -np.inf if values is None else float(program.objective @ values)
    bound = np.inf
    if outcome in (Outcome.OPTIMAL, Outcome.TIME_LIMIT):
        bound = float(model.ObjBound) / factor if model.IsMIP else objective
    return Solution(outcome, objective, bound, values, None)
