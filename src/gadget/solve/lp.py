"""Linear and integer programs as arrays, and HiGHS to solve them. The only importer of HiGHS."""

from dataclasses import dataclass
from enum import StrEnum

import highspy
import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from gadget.errors import SolverFailed

Floats = NDArray[np.float64]


# The largest objective coefficient that solvers are shown.
SOLVER_SCALE = 1000.0
# By how much solvers may miss a limit, relative to it: less than the referee lets pass.
FEASIBILITY = 1e-9


class Outcome(StrEnum):
    """How a solve ended. Out of time is a normal outcome."""

    OPTIMAL = "optimal"
    TIME_LIMIT = "time limit"
    INFEASIBLE = "infeasible"
    UNBOUNDED = "unbounded"


@dataclass(frozen=True, eq=False)
class LinearProgram:
    """Maximise objective·x with row_lower ≤ matrix·x ≤ row_upper and lower ≤ x ≤ upper."""

    objective: Floats
    matrix: sparse.csc_matrix
    row_lower: Floats
    row_upper: Floats
    lower: Floats
    upper: Floats
    integer: NDArray[np.bool_] | None = None
    """Which variables are whole numbers; None: none."""

    def relax(self) -> "LinearProgram":
        """The same program without the whole numbers."""
        return LinearProgram(
            self.objective, self.matrix, self.row_lower, self.row_upper, self.lower, self.upper
        )


@dataclass(frozen=True, eq=False)
class Scaled:
    """A program as solvers see it: their tolerances are absolute, but gains and limits come in any unit."""

    program: LinearProgram
    objective: float
    """What the objective was multiplied by."""
    rows: Floats
    """What each row was multiplied by."""


def scale(program: LinearProgram) -> Scaled:
    """The program with a largest gain of SOLVER_SCALE, and rows whose limit, or largest entry, is 1."""
    largest = float(np.abs(program.objective).max(initial=0.0))
    # Gains can be as small as floats get; what is below 10^−200 may stay invisible.
    factor = SOLVER_SCALE / max(largest, 1e-200) if largest > 0 else 1.0
    entries = (
        abs(program.matrix).max(axis=1).toarray().ravel()
        if program.matrix.nnz
        else np.zeros(len(program.row_upper))
    )
    limit = np.abs(np.where(np.isfinite(program.row_upper), program.row_upper, program.row_lower))
    sizes = np.where(np.isfinite(limit) & (limit > 0), limit, entries)
    rows = 1 / np.where(sizes > 0, sizes, 1.0)
    scaled = LinearProgram(
        program.objective * factor,
        sparse.csc_matrix(sparse.diags_array(rows) @ program.matrix),
        program.row_lower * rows,
        program.row_upper * rows,
        program.lower,
        program.upper,
        program.integer,
    )
    return Scaled(scaled, factor, rows)


@dataclass(frozen=True, eq=False)
class Solution:
    """What a solver found. Without a feasible point `values` is None."""

    outcome: Outcome
    objective: float
    """Of the point found; −∞ without one."""
    bound: float
    """No point is better than this; ∞ when nothing is known."""
    values: Floats | None
    row_prices: Floats | None
    """Duals of the rows, ≥ 0 for rows with an upper limit; only for linear programs."""


_OUTCOMES = {
    highspy.HighsModelStatus.kOptimal: Outcome.OPTIMAL,
    highspy.HighsModelStatus.kModelEmpty: Outcome.OPTIMAL,
    highspy.HighsModelStatus.kTimeLimit: Outcome.TIME_LIMIT,
    highspy.HighsModelStatus.kSolutionLimit: Outcome.TIME_LIMIT,  # of nodes
    highspy.HighsModelStatus.kInfeasible: Outcome.INFEASIBLE,
    highspy.HighsModelStatus.kUnbounded: Outcome.UNBOUNDED,
    highspy.HighsModelStatus.kUnboundedOrInfeasible: Outcome.INFEASIBLE,
}


def solve(
    program: LinearProgram,
    *,
    time_limit: float | None = None,
    node_limit: int | None = None,
    gap: float = 0.0,
    method: str = "choose",
) -> Solution:
    """Solve with HiGHS, on one thread, so that the same program gives the same answer everywhere.

    `node_limit` bounds the search tree of an integer program: unlike a time limit it stops at the same place
    everywhere. `method` is HiGHS' `solver` option for linear programs: choose, simplex or ipm.
    """
    highs = highspy.Highs()  # type: ignore[no-untyped-call]  # highspy ships no types for it
    highs.setOptionValue("output_flag", False)
    highs.setOptionValue("threads", 1)
    highs.setOptionValue("solver", method)
    if program.integer is not None:
        highs.setOptionValue("mip_rel_gap", gap)
        highs.setOptionValue("mip_abs_gap", 1e-9)
        if node_limit is not None:
            highs.setOptionValue("mip_max_nodes", node_limit)
    if time_limit is not None:
        highs.setOptionValue("time_limit", max(time_limit, 0.0))
    for kind in ("primal", "mip"):
        highs.setOptionValue(f"{kind}_feasibility_tolerance", FEASIBILITY)
    # Demands of one resource may lie far apart; HiGHS drops what is below 1e-9 unless told otherwise.
    highs.setOptionValue("small_matrix_value", 1e-12)
    scaled = scale(program)
    highs.passModel(_to_highs(scaled.program))
    highs.run()
    status = highs.getModelStatus()
    if status not in _OUTCOMES:
        raise SolverFailed(f"HiGHS ended with {highs.modelStatusToString(status)!r}.")
    return _read(highs, program, scaled, _OUTCOMES[status])


def _to_highs(program: LinearProgram) -> highspy.HighsLp:
    matrix = program.matrix.tocsc()
    model = highspy.HighsLp()
    model.num_row_, model.num_col_ = matrix.shape
    model.sense_ = highspy.ObjSense.kMaximize
    model.col_cost_ = program.objective
    model.col_lower_, model.col_upper_ = program.lower, program.upper
    model.row_lower_, model.row_upper_ = program.row_lower, program.row_upper
    model.a_matrix_.format_ = highspy.MatrixFormat.kColwise
    model.a_matrix_.start_ = matrix.indptr
    model.a_matrix_.index_ = matrix.indices
    model.a_matrix_.value_ = matrix.data
    if program.integer is not None:
        kinds = (highspy.HighsVarType.kContinuous, highspy.HighsVarType.kInteger)
        model.integrality_ = [kinds[whole] for whole in program.integer.astype(int).tolist()]
    return model


def _read(highs: highspy.Highs, program: LinearProgram, scaled: Scaled, outcome: Outcome) -> Solution:
    info = highs.getInfo()
    is_integer = program.integer is not None
    found = highs.getSolution()
    feasible = info.primal_solution_status == highspy.SolutionStatus.kSolutionStatusFeasible
    values = np.array(found.col_value) if feasible and len(found.col_value) else None
    if values is None and not len(program.objective):
        values = np.zeros(0)
    objective = -np.inf if values is None else float(program.objective @ values)
    bound = np.inf
    if outcome is Outcome.OPTIMAL:
        bound = max(objective, info.mip_dual_bound / scaled.objective) if is_integer else objective
    elif outcome is Outcome.TIME_LIMIT and is_integer:
        bound = float(info.mip_dual_bound) / scaled.objective
    is_linear = outcome is Outcome.OPTIMAL and not is_integer
    prices = np.array(found.row_dual) * scaled.rows / scaled.objective if is_linear else None
    return Solution(outcome, objective, bound, values, prices)


class Master:
    """A linear program that grows by columns: maximise, every row ≤ its limit, every variable ≥ 0.

    The simplex method goes on from where it stopped, so that a few columns more cost a few steps more.
    """

    def __init__(self, limits: Floats, largest_gain: float) -> None:
        self._highs = highspy.Highs()  # type: ignore[no-untyped-call]  # highspy ships no types for it
        self._highs.setOptionValue("output_flag", False)
        self._highs.setOptionValue("threads", 1)
        self._highs.setOptionValue("small_matrix_value", 1e-12)
        self._highs.changeObjectiveSense(highspy.ObjSense.kMaximize)
        self._gain_scale = SOLVER_SCALE / max(largest_gain, 1e-200)
        self._row_scale = np.zeros(0)
        self.add_rows(limits)

    def add_rows(self, limits: Floats) -> None:
        """Rows that no column uses yet."""
        scale = 1 / np.where(limits > 0, limits, 1.0)
        self._row_scale = np.concatenate([self._row_scale, scale])
        count = len(limits)
        self._highs.addRows(
            count,
            np.full(count, -highspy.kHighsInf),
            limits * scale,
            0,
            np.zeros(count, np.int32),
            np.zeros(0, np.int32),
            np.zeros(0),
        )

    def add_columns(self, gains: Floats, columns: sparse.csc_matrix) -> None:
        """Columns with their gains; `columns` has as many rows as there are."""
        count = len(gains)
        scaled = columns.data * self._row_scale[columns.indices]
        self._highs.addCols(
            count,
            gains * self._gain_scale,
            np.zeros(count),
            np.full(count, highspy.kHighsInf),
            columns.nnz,
            columns.indptr[:-1].astype(np.int32),
            columns.indices.astype(np.int32),
            scaled,
        )

    def solve(self, time_limit: float | None = None) -> tuple[float, Floats, Floats] | None:
        """The best objective, the values of the columns, and the prices of the rows.

        None when HiGHS stops without an answer, for want of time or numerically: who asks has a bound.
        """
        if not self._highs.getNumCol():
            return 0.0, np.zeros(0), np.zeros(len(self._row_scale))
        if time_limit is not None:
            # HiGHS counts from the first run on.
            self._highs.setOptionValue("time_limit", self._highs.getRunTime() + time_limit)
        self._highs.run()
        if self._highs.getModelStatus() != highspy.HighsModelStatus.kOptimal:
            return None
        found = self._highs.getSolution()
        objective = self._highs.getInfo().objective_function_value / self._gain_scale
        prices = np.array(found.row_dual) * self._row_scale / self._gain_scale
        return objective, np.array(found.col_value), np.maximum(prices, 0.0)
