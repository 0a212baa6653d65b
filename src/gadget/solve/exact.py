"""The proven optimum of a slot, or the best found with the bound reached when time runs out."""

from dataclasses import dataclass
from enum import StrEnum

import numpy as np

from gadget.errors import BadOption
from gadget.model.ring import Ring
from gadget.solve.closing import close_ring
from gadget.solve.flow import FlowProgram, build_flow_program
from gadget.solve.gurobi import is_installed, solve_with_gurobi
from gadget.solve.lp import Floats, LinearProgram, Outcome, Solution, solve
from gadget.solve.slot import SlotProblem
from gadget.solve.tree_program import TreeProgram, build_tree_program
from gadget.solve.unfolding import unfold_ring


class Solver(StrEnum):
    """Who solves integer programs. AUTO: Gurobi where it is there and may, HiGHS otherwise."""

    AUTO = "auto"
    HIGHS = "highs"
    GUROBI = "gurobi"


@dataclass(frozen=True, eq=False)
class ExactAnswer:
    """Rings, and what is proved of them in terms of the gains that were decided on."""

    rings: tuple[Ring, ...]
    bound: float
    is_proved: bool
    """True when no allocation is better."""


def solve_exactly(
    problem: SlotProblem,
    *,
    time_limit: float | None = None,
    node_limit: int | None = None,
    gap: float = 0.0,
    solver: Solver = Solver.AUTO,
    tree: bool | None = None,
) -> ExactAnswer:
    """Solve (12)–(19) as an integer program: by counts on a tree, by flows on any other graph.

    `tree` overrides which of the two is built; counts are right on trees only. Rings that may go on for
    another gain than that of their pair are known on trees only. `node_limit` is for HiGHS.
    """
    if not len(problem.pair_job) and not (problem.stay_gain > 0).any():
        return ExactAnswer((), 0.0, True)
    program: TreeProgram | FlowProgram
    if is_tree(problem) if tree is None else tree:
        program = build_tree_program(problem)
    else:
        program = build_flow_program(problem)
    found = solve_integers(
        program.program, time_limit=time_limit, node_limit=node_limit, gap=gap, solver=solver
    )
    bound = min(found.bound, float(_best_alone(problem).sum()))
    if found.values is None:
        return ExactAnswer((), bound, False)
    if isinstance(program, TreeProgram):
        rings = _tree_rings(program, found.values)
    else:
        rings = _flow_rings(program, found.values)
    return ExactAnswer(rings, bound, found.outcome is Outcome.OPTIMAL)


def solve_integers(
    program: LinearProgram,
    *,
    time_limit: float | None,
    gap: float,
    solver: Solver,
    node_limit: int | None = None,
) -> Solution:
    """Solve an integer program with the solver asked for, or with HiGHS where Gurobi may not."""
    if solver is Solver.GUROBI and not is_installed():
        raise BadOption("--solver gurobi: gurobipy is not installed. Install gurobi extras, or choose highs.")
    if solver is not Solver.HIGHS and is_installed():
        answer = solve_with_gurobi(program, time_limit=time_limit, gap=gap)
        if answer is not None:
            return answer
        if solver is Solver.GUROBI:
            raise BadOption(
                f"--solver gurobi: no licence for {len(program.objective)} variables. Choose highs."
            )
    return solve(program, time_limit=time_limit, node_limit=node_limit, gap=gap)


def is_tree(problem: SlotProblem) -> bool:
    """True when counts by server are all there is to a ring, and the program by counts is built."""
    network = problem.network
    edges = len(network.link_gbps) // 2
    return edges == len(network.nodes) - 1 and len(_reachable(problem)) == len(network.nodes)


def _reachable(problem: SlotProblem) -> set[int]:
    found, frontier = {0}, [0]
    while frontier:
        for beside, _ in problem.network.around[frontier.pop()]:
            if beside not in found:
                found.add(beside)
                frontier.append(beside)
    return found


def _best_alone(problem: SlotProblem) -> Floats:
    """The most that each job could gain if it were alone: a bound known before any solver starts."""
    best = np.zeros(len(problem.jobs))
    np.maximum.at(best, problem.pair_job, problem.pair_gain)
    return np.maximum(best, problem.stay_gain)


def _tree_rings(program: TreeProgram, values: Floats) -> tuple[Ring, ...]:
    rings = [*program.stays(values)]
    for number, row in enumerate(program.counts(values)):
        chosen = {int(server): int(row[server]) for server in np.flatnonzero(row)}
        if chosen:
            job = program.problem.jobs[number].job
            rings.append(close_ring(program.problem.network, job, chosen, program.parents))
    return tuple(rings)


def _flow_rings(program: FlowProgram, values: Floats) -> tuple[Ring, ...]:
    problem = program.problem
    mapping, flow = program.mapping(values), program.flow(values)
    rings = []
    for pair in np.flatnonzero(program.chosen(values) > 0.5):
        positions = np.flatnonzero(program.position_pair == pair)
        stops = [int(mapping[position].argmax()) for position in positions]
        edges = np.isin(program.edge_position, positions)
        name = problem.jobs[problem.pair_job[pair]].job.name
        rings.append(unfold_ring(problem.network, name, stops, flow[edges]))
    return tuple(rings)
