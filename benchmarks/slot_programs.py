"""The programs of one slot: what each takes to build and to solve, beside the plain packing LP.

Paper clusters (Sec. VI) and jobs with square-root utility. Every time is also given as a multiple of the
packing LP's in the same run, so that the machine does not matter. The literal programs must work for 50
servers and 100 active jobs; only the augmented LP written out is left to a small slot.
"""

import time
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from gadget.model.builders import build_paper_cluster
from gadget.model.job import ActiveJob
from gadget.model.snapshot import Scenario, Snapshot
from gadget.solve.augmented import build_columns, build_copies
from gadget.solve.flow import build_flow_program
from gadget.solve.horizon import clairvoyant_bound
from gadget.solve.lp import LinearProgram, Outcome, solve
from gadget.solve.packing import build_packing_program
from gadget.solve.sizing import build_relaxed_program, find_size_limits, keep_sizes_up_to, select_sizes
from gadget.solve.slot import SlotProblem, build_slot_problem
from gadget.solve.tree_program import build_tree_program
from gadget.workloads.arrivals import draw_profile_arrivals
from gadget.workloads.paper import UtilityFamily, build_paper_jobs

SIZES = ((8, 5), (50, 20), (50, 40), (50, 100))
# Up to so many variables the augmented LP is written out.
WRITTEN_OUT = 200_000
# Enough for the tree ILP to be solved or to show how far it is.
ILP_SECONDS = 60.0
# Values that theory says are equal.
SAME = 1e-6


@dataclass(frozen=True)
class Row:
    name: str
    variables: int
    rows: int
    build_seconds: float
    solve_seconds: float
    value: float
    outcome: Outcome


def build_slot(servers: int, jobs: int) -> SlotProblem:
    rng = np.random.default_rng([servers, jobs])
    cluster = build_paper_cluster(rng, servers=servers)
    some = build_paper_jobs(rng, np.zeros(jobs, dtype=np.int64), utility=UtilityFamily.SQRT)
    return build_slot_problem(Snapshot(cluster, tuple(map(ActiveJob, some)), 0, 200))


def measure(name: str, build: Callable[[], LinearProgram], time_limit: float | None = None) -> Row:
    start = time.perf_counter()
    program = build()
    built = time.perf_counter()
    found = solve(program, time_limit=time_limit)
    solved = time.perf_counter()
    height, width = program.matrix.shape
    return Row(name, width, height, built - start, solved - built, found.objective, found.outcome)


def build_relaxation(problem: SlotProblem) -> LinearProgram:
    return build_flow_program(problem).program.relax()


def fix_sizes(problem: SlotProblem) -> SlotProblem:
    """One size a job, as Algorithm 2 selects it."""
    sized = keep_sizes_up_to(problem, find_size_limits(problem))
    values = solve(build_packing_program(sized)).values
    assert values is not None
    return select_sizes(sized, values[: len(sized.pair_job)])


def count_copies(problem: SlotProblem) -> int:
    """Variables of the augmented LP when written out."""
    servers, links, sizes = problem.network.servers, len(problem.network.link_gbps), problem.pair_size
    return int((servers * (1 + (sizes - 1) * servers + np.where(sizes > 1, sizes, 0) * links)).sum())


def run(servers: int, jobs: int) -> bool:
    """Print one table; True when all is solved and what should be equal is."""
    problem = build_slot(servers, jobs)
    fixed = fix_sizes(problem)
    found = [
        measure("packing LP", lambda: build_packing_program(problem)),
        measure("(12)–(19) relaxed", lambda: build_relaxation(problem)),
        measure("relaxed sizes q", lambda: build_relaxed_program(problem)[0]),
        measure("augmented, columns", lambda: build_columns(fixed)[0]),
        measure("tree ILP", lambda: build_tree_program(problem).program, ILP_SECONDS),
    ]
    copies = count_copies(fixed)
    if copies <= WRITTEN_OUT:
        found.insert(3, measure("augmented, written", lambda: build_copies(fixed).program))
    packing = found[0]
    print(f"\n{servers} servers, {len(problem.jobs)} jobs, {len(problem.pair_job)} pairs of job and size")
    heads = f"{'build':>8} {'×':>6} {'solve':>8} {'×':>6} {'value':>12}"
    print(f"{'program':20} {'variables':>9} {'rows':>7} {heads}")
    for row in found:
        print(
            f"{row.name:20} {row.variables:9,} {row.rows:7,} {row.build_seconds:7.3f}s "
            f"{row.build_seconds / packing.build_seconds:6.1f} {row.solve_seconds:7.3f}s "
            f"{row.solve_seconds / packing.solve_seconds:6.1f} {row.value:12.4f}"
            f"{'' if row.outcome is Outcome.OPTIMAL else f' {row.outcome}'}"
        )
    if copies > WRITTEN_OUT:
        print(f"{'augmented, written':20} {copies:9,} variables: not built, its columns have the same value")
    return are_sound(found)


def are_sound(found: list[Row]) -> bool:
    by_name = {row.name: row for row in found}
    packing, tree = by_name["packing LP"], by_name["tree ILP"]
    equal = [(packing, by_name["(12)–(19) relaxed"])]
    if "augmented, written" in by_name:
        equal.append((by_name["augmented, written"], by_name["augmented, columns"]))
    return (
        all(row.outcome is Outcome.OPTIMAL for row in found if row is not tree)
        and all(abs(a.value - b.value) <= SAME * max(1.0, abs(a.value)) for a, b in equal)
        and tree.value <= packing.value * (1 + SAME)
    )


def time_horizon(servers: int, jobs: int, slots: int) -> None:
    """The clairvoyant LP over a whole horizon, built and solved."""
    rng = np.random.default_rng([servers, jobs, slots])
    cluster = build_paper_cluster(rng, servers=servers)
    some = build_paper_jobs(rng, draw_profile_arrivals(rng, jobs, slots, 60.0), utility=UtilityFamily.SQRT)
    start = time.perf_counter()
    bound = clairvoyant_bound(Scenario(cluster, some, slots))
    seconds = time.perf_counter() - start
    print(f"clairvoyant bound, {servers} servers, {jobs} jobs, {slots} slots: {seconds:.3f}s, {bound:.4f}")


def main() -> int:
    sound = [run(servers, jobs) for servers, jobs in SIZES]
    print()
    for jobs in (20, 100, 300):
        time_horizon(50, jobs, 200)
    print(f"\nAll solved, equal LPs of equal value, no ILP above its LP: {'met' if all(sound) else 'MISSED'}")
    return 0 if all(sound) else 1


if __name__ == "__main__":
    raise SystemExit(main())
