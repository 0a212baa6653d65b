"""The proven optimum of every slot: slow where it is hard, and the yardstick of all others."""

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from gadget.errors import BadOption
from gadget.model.decision import Decision, Status
from gadget.model.ring import Ring
from gadget.model.snapshot import Snapshot
from gadget.policies.gadget_paper import round_relaxation
from gadget.policies.policy import Steadiness
from gadget.policies.search import build_decision
from gadget.solve.exact import Solver, is_tree, solve_exactly
from gadget.solve.footprints import find_footprints
from gadget.solve.repair import fill_idle
from gadget.solve.rerouting import mend_routes
from gadget.solve.slot import build_slot_problem

# What counts as reaching a bound, relative to it: the accuracy of the solvers.
_REACHED = 1e-9


@dataclass(frozen=True)
class Optimal:
    """(12)–(19) as an integer program; on a tree by its smaller equal.

    Where rounding the relaxation already reaches the relaxation's value, that proves it optimal, and no
    integer program is solved. Within `time_limit` seconds it returns the best found, with the bound reached.
    What a restart costs (`resize_cost`) it knows on trees; on other graphs every ring is taken for one that
    goes on, so that the bound holds and the rings may restart where that does not pay.
    """

    time_limit: float | None = None
    gap: float = 0.0
    solver: Solver = Solver.AUTO
    majorant: bool = True
    """Decide on the least concave majorant of a utility that is not concave; else on its literal gain."""

    reserves: ClassVar[bool] = True
    """It looks at what links carry."""
    steadiness: ClassVar[Steadiness] = Steadiness.WHILE_GAINS_HOLD

    def __post_init__(self) -> None:
        if not (self.time_limit is None or 0 <= self.time_limit < math.inf) or not 0 <= self.gap < math.inf:
            raise BadOption("optimal: time_limit and gap are 0 or more, and finite. Give such numbers.")

    def decide(self, snapshot: Snapshot, _: np.random.Generator) -> Decision:
        """Solve the slot."""
        whole = build_slot_problem(snapshot, majorant=self.majorant)
        by_ring = not whole.knows_restarts and is_tree(whole)
        if by_ring:
            whole = build_slot_problem(snapshot, majorant=self.majorant, by_ring=True)
            whole = mend_routes(whole, find_footprints(whole.network))
        problem = whole.worthwhile()
        bound, rings, proved = math.inf, tuple[Ring, ...](), False
        if not by_ring:  # the relaxation knows no rings that go on
            # The answer is the optimum, so that chance has no part in it: a generator of its own.
            bound, rings = round_relaxation(problem, np.random.default_rng(0), rounds=3)
            proved = problem.worth(rings) >= bound * (1 - _REACHED)
        if not proved:
            answer = solve_exactly(problem, time_limit=self.time_limit, gap=self.gap, solver=self.solver)
            proved, bound = answer.is_proved and self.gap == 0, min(bound, answer.bound)
            rings = max(rings, answer.rings, key=problem.worth)
        return build_decision(
            "optimal", snapshot, whole, fill_idle(whole, rings), bound=bound, is_proved=proved
        )

    def is_content(self, _: Snapshot, decision: Decision) -> bool:
        """True when there is nothing left to find."""
        return decision.status is Status.OPTIMAL and decision.surrogate is None
