"""The proven optimum of every slot, by integer programming: slow, and the yardstick of all others."""

from dataclasses import dataclass

import numpy as np

from gadget.errors import BadOption
from gadget.model.decision import Decision
from gadget.model.snapshot import Snapshot
from gadget.policies.search import build_decision, worth
from gadget.solve.exact import Solver, solve_exactly
from gadget.solve.repair import fill_idle, repair
from gadget.solve.slot import build_slot_problem


@dataclass(frozen=True)
class Optimal:
    """(12)–(19) as an integer program; on a tree by its smaller equal.

    Within `time_limit` seconds it returns the best found, with the bound it reached.
    """

    time_limit: float | None = None
    gap: float = 0.0
    solver: Solver = Solver.AUTO
    majorant: bool = True
    """Decide on the least concave majorant of a utility that is not concave; else on its literal gain."""

    def __post_init__(self) -> None:
        if (self.time_limit is not None and self.time_limit < 0) or self.gap < 0:
            raise BadOption("optimal: time_limit and gap are 0 or more.")

    def decide(self, snapshot: Snapshot, _: np.random.Generator) -> Decision:
        """Solve the slot."""
        whole = build_slot_problem(snapshot, majorant=self.majorant)
        problem = whole.worthwhile()
        answer = solve_exactly(problem, time_limit=self.time_limit, gap=self.gap, solver=self.solver)
        proved = answer.is_proved and self.gap == 0
        rings = answer.rings
        if not proved:
            # Time may run out before the solver has found anything.
            rings = max(rings, repair(problem, ()), key=lambda found: worth(problem, found))
        rings = fill_idle(whole, rings)
        return build_decision("optimal", snapshot, whole, rings, bound=answer.bound, is_proved=proved)
