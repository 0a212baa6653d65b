"""GADGET as published: Algorithm 2, LP-based ring selection and multi-dimensional embedding (LP-RS-MDE)."""

from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from gadget.errors import BadOption
from gadget.model.decision import Decision
from gadget.model.ring import Ring
from gadget.model.snapshot import Snapshot
from gadget.policies.search import build_decision
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

    reserves: ClassVar[bool] = True
    """It looks at what links carry."""

    def __post_init__(self) -> None:
        if self.rounds < 1:
            raise BadOption(f"gadget-paper: rounds is {self.rounds}. Give 1 or more.")

    @property
    def may_violate(self) -> bool:
        """True when what leaves here may break constraints; a simulation then counts what it breaks."""
        return self.literal

    def decide(self, snapshot: Snapshot, rng: np.random.Generator) -> Decision:
        """Algorithm 2, then what makes it feasible."""
        whole = build_slot_problem(snapshot, majorant=self.majorant)
        problem = whole.worthwhile()
        chosen, draws = embed(problem, rng, rounds=self.rounds, written_out=self.written_out)
        if self.literal:
            last = tuple(mapping.ring(chosen) for mapping in draws[-1].mappings)
            return build_decision("gadget-paper", snapshot, whole, last, bound=None)
        rings = _best_repaired(problem, draws, refill=self.refill)
        if self.refill and self.majorant:
            # By literal gains a job far from its target gains nothing and is rightly passed over.
            rings = fill_idle(whole, rings)
        return build_decision("gadget-paper", snapshot, whole, rings, bound=find_packing_bound(problem))


def embed(
    problem: SlotProblem, rng: np.random.Generator, *, rounds: int, written_out: bool = False
) -> tuple[SlotProblem, list[Draw]]:
    """Algorithm 2, line by line: the problem with one size a job, and the draws made."""
    # Line 3: ring sizes from the LP relaxation, among those up to ⌈q_i⌉.
    sized = keep_sizes_up_to(problem, find_size_limits(problem))
    chosen = select_sizes(sized, _relax(sized, written_out))
    # Line 4: the augmented LP with the sizes fixed. Lines 5 and 6: its mappings.
    value, mappings = _find_mappings(chosen, written_out)
    # Lines 7 to 9: round until good enough.
    targets = find_targets(chosen, value)
    return chosen, list(draw_rounds(chosen, mappings, targets, rng, rounds=rounds))


def round_relaxation(
    problem: SlotProblem, rng: np.random.Generator, *, rounds: int
) -> tuple[float, tuple[Ring, ...]]:
    """A bound on the slot optimum, and the best feasible rings that Algorithm 2 leads to."""
    _, draws = embed(problem, rng, rounds=rounds)
    return find_packing_bound(problem), _best_repaired(problem, draws, refill=True)


def find_packing_bound(problem: SlotProblem) -> float:
    """The LP relaxation of (12)–(19) over all sizes: no allocation gains more."""
    return max(0.0, solve(build_packing_program(problem)).objective)


def _relax(problem: SlotProblem, written_out: bool) -> Floats:
    """χ̄ of the relaxation of (12)–(19); the packing LP has the same value, and its χ̄ solves both."""
    if written_out:
        values = solve(build_flow_program(problem).program.relax()).values
    else:
        values = solve(build_packing_program(problem)).values
    assert values is not None  # giving nobody anything is feasible
    return values[: len(problem.pair_job)]


def _find_mappings(problem: SlotProblem, written_out: bool) -> tuple[float, list[Mapping]]:
    """Value and weighted mappings of the augmented LP."""
    if written_out:
        copies = build_copies(problem)
        found = solve(copies.program)
        assert found.values is not None
        return found.objective, decompose(copies, found.values)
    program, columns = build_columns(problem)
    found = solve(program)
    assert found.values is not None
    weighted = zip(columns, found.values, strict=True)
    return found.objective, [replace(column, weight=float(w)) for column, w in weighted if w > DUST]


def _best_repaired(problem: SlotProblem, draws: list[Draw], *, refill: bool) -> tuple[Ring, ...]:
    repaired = (repair(problem, draw.mappings, refill=refill) for draw in draws)
    return max(repaired, key=problem.worth)
