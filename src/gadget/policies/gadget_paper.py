"""GADGET as published: Algorithm 2, LP-based ring selection and multi-dimensional embedding (LP-RS-MDE)."""

from dataclasses import dataclass

import numpy as np

from gadget.errors import BadOption
from gadget.model.decision import Decision
from gadget.model.ring import Ring
from gadget.model.snapshot import Snapshot
from gadget.policies.search import build_decision, worth
from gadget.solve.augmented import build_columns, build_copies
from gadget.solve.decompose import DUST, decompose
from gadget.solve.flow import build_flow_program
from gadget.solve.guarantees import find_targets
from gadget.solve.lp import Floats, solve
from gadget.solve.mapping import Mapping
from gadget.solve.packing import build_packing_program
from gadget.solve.repair import fill_idle, repair
from gadget.solve.rounding import Draw, draw_rounds
from gadget.solve.sizing import find_size_limits, keep_sizes_up_to, select_sizes
from gadget.solve.slot import SlotProblem, build_slot_problem


@dataclass(frozen=True)
class GadgetPaper:
    """Algorithm 2. What leaves it is feasible, unless `literal` asks for the paper's own last draw.

    Deviations from the paper are those of problem.md §2: sizes without any feasible ring are dropped, κ is
    the argmax, ε is the largest demand over capacity, and the best draw is kept, repaired and refilled.
    """

    literal: bool = False
    """Return the last draw as it is; it may overload servers and links."""
    refill: bool = True
    """Place again what was drawn and does not fit, and use the room that is left; else drop it."""
    majorant: bool = True
    """Decide on the least concave majorant of a utility that is not concave; else on its literal gain."""
    written_out: bool = False
    """Solve both LPs as the paper writes them, instead of their small equals of the same value."""
    rounds: int = 10
    """u_b: roundings at most."""

    def __post_init__(self) -> None:
        if self.rounds < 1:
            raise BadOption(f"gadget-paper: rounds is {self.rounds}. Give 1 or more.")

    @property
    def may_violate(self) -> bool:
        """True when what leaves here may break constraints; a simulation then counts what it breaks."""
        return self.literal

    def decide(self, snapshot: Snapshot, rng: np.random.Generator) -> Decision:
        """Algorithm 2, line by line."""
        whole = build_slot_problem(snapshot, majorant=self.majorant)
        problem = whole.worthwhile()
        bound = _packing_bound(problem)
        # Line 3: ring sizes from the LP relaxation, among those up to ⌈q_i⌉.
        sized = keep_sizes_up_to(problem, find_size_limits(problem))
        chosen = select_sizes(sized, self._relax(sized))
        # Line 4: the augmented LP with the sizes fixed. Lines 5–7: its mappings.
        value, mappings = self._embed(chosen)
        # Lines 8–11: round until good enough.
        targets = find_targets(chosen, value)
        draws = list(draw_rounds(chosen, mappings, targets, rng, rounds=self.rounds))
        if self.literal:
            return build_decision(
                "gadget-paper", snapshot, whole, _as_drawn(chosen, draws), bound=None, explain=False
            )
        rings = max(
            (repair(problem, draw.mappings, refill=self.refill) for draw in draws),
            key=lambda r: worth(problem, r),
        )
        if self.refill:
            rings = fill_idle(whole, rings)
        return build_decision("gadget-paper", snapshot, whole, rings, bound=bound)

    def _relax(self, problem: SlotProblem) -> Floats:
        """χ̄ of the relaxation of (12)–(19); the packing LP has the same value, and its χ̄ solves both."""
        program = build_flow_program(problem).program.relax() if self.written_out else None
        values = solve(program or build_packing_program(problem)).values
        assert values is not None  # giving nobody anything is feasible
        return values[: len(problem.pair_job)]

    def _embed(self, problem: SlotProblem) -> tuple[float, list[Mapping]]:
        """Value and weighted mappings of the augmented LP."""
        if self.written_out:
            copies = build_copies(problem)
            found = solve(copies.program)
            assert found.values is not None
            return found.objective, decompose(copies, found.values)
        program, columns = build_columns(problem)
        found = solve(program)
        assert found.values is not None
        weighted = zip(columns, found.values, strict=True)
        return found.objective, [
            Mapping(c.job, float(weight), c.stops, c.legs) for c, weight in weighted if weight > DUST
        ]


def _packing_bound(problem: SlotProblem) -> float:
    """The LP relaxation of (12)–(19) over all sizes: no allocation gains more."""
    return max(0.0, solve(build_packing_program(problem)).objective)


def _as_drawn(problem: SlotProblem, draws: list[Draw]) -> tuple[Ring, ...]:
    return tuple(mapping.ring(problem) for mapping in draws[-1].mappings) if draws else ()
