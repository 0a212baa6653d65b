"""The bound that knows distances: hand-solved slots, and that it is no worse than the tree of cuts."""

from dataclasses import replace

import numpy as np
import pytest

from gadget import Cluster, Job, Link, Resources, Ring, Server
from gadget.solve.classes import find_classes
from gadget.solve.exact import Solver, solve_exactly
from gadget.solve.graph_bound import spread_cuts, tighten
from gadget.solve.hierarchy import build_hierarchy
from gadget.solve.lagrangian import Stays
from gadget.solve.orders import build_orders
from gadget.solve.relaxed import ClassPrices, RelaxedSlot
from gadget.solve.slot import SlotProblem
from tests.unit.solve.small import job, problem_of

INF = np.inf


def torus(rows: int, columns: int, seats: list[set[int]], gbps: float) -> Cluster:
    """Servers in a torus, or a ring; job n has a seat on each of the servers seats[n]."""

    def name(row: int, column: int) -> str:
        return f"s{row % rows * columns + column % columns}"

    ends = {
        tuple(sorted((name(row, column), beside)))
        for row in range(rows)
        for column in range(columns)
        for beside in (name(row, column + 1), name(row + 1, column))
        if beside != name(row, column)
    }
    offers = [
        Resources({f"seat{n}": 1.0 for n, own in enumerate(seats) if server in own} or {"seat0": 0.0})
        for server in range(rows * columns)
    ]
    servers = tuple(Server(f"s{n}", offer) for n, offer in enumerate(offers))
    return Cluster(servers, (), tuple(Link(pair, gbps) for pair in sorted(ends)))


def sitter(number: int, workers: int | tuple[int, int], gbps: float = 1) -> Job:
    return job(f"j{number}", workers, gbps=gbps, needs={f"seat{number}": 1})


def crossed_pairs() -> SlotProblem:
    """Four jobs in a ring of four, each across it: two use all eight directed links."""
    seats = [{0, 2}, {0, 2}, {1, 3}, {1, 3}]
    return problem_of(torus(1, 4, seats, 1), *(sitter(n, (2, 2)) for n in range(4)))


def starved(seed: int, *, rows: int = 2, columns: int = 3, jobs: int = 6) -> SlotProblem:
    """Jobs with seats here and there in a torus of narrow links."""
    rng = np.random.default_rng(seed)
    seats = [set(rng.choice(rows * columns, 3, replace=False).tolist()) for _ in range(jobs)]
    some = [sitter(n, (2, 3), gbps=float(rng.choice((0.5, 1)))) for n in range(jobs)]
    return problem_of(torus(rows, columns, seats, 1), *some)


def ask(problem: SlotProblem, unit=0.0, link=0.0, **more):
    """Tighten from prices that are the same everywhere unless given."""
    network = problem.network
    how = {"bound": INF, "goal": -INF, "rounds": 200, "out_of_time": lambda: False, **more}
    return tighten(
        problem,
        build_orders(problem),
        how.pop("stays_gain", np.full(len(problem.jobs), -INF)),
        np.broadcast_to(unit, network.capacity.shape).astype(float),
        np.broadcast_to(link, len(network.link_gbps)).astype(float),
        **how,
    )


def ask_cuts(problem: SlotProblem, prices: ClassPrices) -> float:
    """The bound of the tree of cuts at these prices."""
    jobs, none = len(problem.jobs), np.zeros(0, np.int64)
    stays = Stays(np.full(jobs, -INF), np.zeros(jobs + 1, np.int64), none, none, none)
    classes = find_classes(build_hierarchy(problem.network))
    return RelaxedSlot(classes, build_orders(problem), stays).ask(prices).bound


def draw_cut_prices(problem: SlotProblem, seed: int, level: float) -> ClassPrices:
    rng = np.random.default_rng(seed)
    classes = find_classes(build_hierarchy(problem.network))
    unit = rng.random(classes.capacity.shape) * (classes.capacity > 0)
    return ClassPrices(level * unit, level * rng.random(len(classes.width)), np.zeros(0))


def test_links_that_cuts_do_not_see_are_short() -> None:
    problem = crossed_pairs()
    best = solve_exactly(problem, solver=Solver.HIGHS).bound
    assert best == pytest.approx(4)
    # Two Gbps lead out of every server, and two jobs sit there: cuts see nothing.
    free = draw_cut_prices(problem, 0, 0.0)
    assert ask_cuts(problem, free) == pytest.approx(8)
    assert min(ask_cuts(problem, draw_cut_prices(problem, n, 2.0)) for n in range(50)) > 8
    # Half a unit of gain on every Gbps: each job pays 4 · 0.5, all that it gains.
    assert ask(problem, link=0.5, rounds=1)[0] == pytest.approx(4)
    bound, unit, link = ask(problem)
    assert 4 <= bound <= 4.001
    # The prices that come back prove the bound.
    assert ask(problem, unit=unit, link=link, rounds=1)[0] == pytest.approx(bound, rel=1e-9)


def test_it_stops_at_the_goal_and_out_of_time() -> None:
    problem = crossed_pairs()
    assert 4 <= ask(problem, goal=7.0)[0] <= 7
    asked = []

    def is_over() -> bool:
        asked.append(True)
        return len(asked) > 3  # in the middle of the first round

    assert ask(problem, bound=9.0, out_of_time=is_over)[0] == 9
    assert ask(problem, bound=9.0, rounds=0)[0] == 9
    assert ask(problem, bound=3.0, goal=5.0)[0] == 3


def test_the_bound_given_comes_back_with_its_prices_if_none_is_better() -> None:
    problem = crossed_pairs()
    bound, unit, link = ask(problem, unit=2.0, link=3.0, bound=4.0, rounds=2)
    assert bound == 4
    assert (unit == 2).all()
    assert (link == 3).all()


def test_a_ring_that_goes_on_may_take_other_routes() -> None:
    cluster = torus(1, 4, [{0, 1}], 1)
    long_way = Ring("j0", ("s0", "s1"), (("s0", "s3", "s2", "s1"), ("s1", "s2", "s3", "s0")))
    problem = replace(problem_of(cluster, sitter(0, (2, 2))), running=(long_way,))
    # Sold 8 · 1, and what is left of 7 after two workers at 0.5 and the short way there and back.
    bound, _, _ = ask(problem, unit=0.5, link=1.0, rounds=1, stays_gain=np.array([7.0]))
    assert bound == pytest.approx(8 + 2 * 0.5 + 7 - 2 * 0.5 - 2)
    # Without it, a new ring gains 2 and would cost 3.
    assert ask(problem, unit=0.5, link=1.0, rounds=1)[0] == pytest.approx(8 + 2 * 0.5)
    # It loads what it takes, so that prices follow it.
    assert ask(problem, stays_gain=np.array([7.0]))[0] == pytest.approx(7)


def test_rings_on_servers_that_are_gone_do_not_go_on() -> None:
    problem = replace(
        problem_of(torus(1, 4, [{0, 1}], 1), sitter(0, (2, 2))),
        running=(Ring("j0", ("s0", "gone"), (("s0", "gone"), ("gone", "s0"))),),
    )
    assert ask(problem, stays_gain=np.array([7.0]))[0] == pytest.approx(2)


def test_an_empty_slot_gains_nothing() -> None:
    assert ask(problem_of(torus(1, 4, [], 1)), link=0.5, rounds=5)[0] <= 4.001


@pytest.mark.parametrize("seed", range(20))
def test_prices_of_cuts_prove_no_less_on_links(seed: int) -> None:
    problem = starved(seed)
    hierarchy = build_hierarchy(problem.network)
    prices = draw_cut_prices(problem, seed, (0.0, 0.1, 1.0)[seed % 3])
    unit, link = spread_cuts(hierarchy, find_classes(hierarchy), prices)
    at_start = ask(problem, unit=unit, link=link, rounds=1)[0]
    assert at_start <= ask_cuts(problem, prices) * (1 + 1e-9)


@pytest.mark.parametrize("seed", range(6))
def test_it_is_above_the_optimum(seed: int) -> None:
    problem = starved(seed, rows=1, columns=4, jobs=3)
    best = solve_exactly(problem, solver=Solver.HIGHS)
    assert best.is_proved
    bound = ask(problem)[0]
    assert bound >= problem.worth(best.rings) - 1e-9
    # At the end no longer way round helps: a second start from there stays.
    assert ask(problem, link=0.3)[0] == pytest.approx(bound, rel=0.02)
