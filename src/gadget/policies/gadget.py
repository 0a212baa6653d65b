"""The default policy: rings certified near-optimal, by prices (problem.md §4)."""

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from gadget.errors import BadOption
from gadget.model.decision import Decision
from gadget.model.snapshot import Snapshot
from gadget.policies.objectives import Objective, restate, tell_truly
from gadget.policies.policy import Steadiness
from gadget.policies.search import build_decision
from gadget.solve.slot import build_slot_problem
from gadget.solve.solver import find_usual_gap, is_closed, solve_slot


@dataclass(frozen=True)
class Gadget:
    """Column generation over feasible rings for the bound, price-directed search for the rings.

    Rings that run are kept where no other is worth more; where a restart costs work, a ring moves only when
    that pays.
    """

    gap: float | None = None
    """Relative gap at which the search ends; by default 0.0005, or 0.01 for large slots."""
    time_limit: float | None = None
    """Seconds after which the search ends; without, its effort is counted and the same everywhere."""
    majorant: bool = True
    """Decide on the least concave majorant of a utility that is not concave; else on its literal gain."""
    objective: Objective = Objective.UTILITY
    """What is maximised: the jobs' own utilities, or others built from the jobs; see `objectives`."""
    energy_weight: float = 1.0
    """With the objective `energy`: the utility that a GPU-slot must earn."""

    reserves: ClassVar[bool] = True
    """It looks at what links carry."""
    steadiness: ClassVar[Steadiness] = Steadiness.WHILE_GAINS_HOLD

    def __post_init__(self) -> None:
        for name in ("gap", "time_limit", "energy_weight"):
            value = getattr(self, name)
            if value is not None and not 0 <= value < math.inf:
                raise BadOption(f"gadget: {name} is {value}. Give a finite number, 0 or more.")

    def decide(self, snapshot: Snapshot, rng: np.random.Generator) -> Decision:
        """Solve the slot."""
        shown = restate(snapshot, self.objective, self.energy_weight)
        problem = build_slot_problem(shown, majorant=self.majorant, by_ring=True)
        seed = int(rng.integers(2**31))
        found = solve_slot(problem, shown, seed=seed, gap=self.gap, time_limit=self.time_limit)
        decision = build_decision(
            "gadget",
            shown,
            problem,
            found.rings,
            bound=found.bound,
            worth=found.gain,
            is_proved=found.is_proved,
            prices=found.prices,
            quotes=found.quotes,
        )
        return decision if shown is snapshot else tell_truly(snapshot, decision)

    def is_content(self, snapshot: Snapshot, decision: Decision) -> bool:
        """True when the search would end at once if it began with these rings and this bound.

        Never so where gains depend on more than work: surrogates on the slots left, other objectives on time.
        """
        if self.objective is not Objective.UTILITY or decision.surrogate or decision.upper_bound is None:
            return False
        usual = find_usual_gap(len(snapshot.jobs), len(snapshot.cluster.servers))
        return is_closed(decision.objective, decision.upper_bound, usual if self.gap is None else self.gap)
