"""(12)–(19) written out: its size, its numbering, and single rings as points of it."""

import numpy as np
import pytest

from gadget import build_ring4
from gadget.solve.flow import FlowProgram, build_flow_program
from gadget.solve.lp import Outcome, solve
from tests.unit.solve.small import alone, islands, job, line, problem_of


def point(built: FlowProgram, pair: int, stops: list[int], crossed: list[list[int]]) -> np.ndarray:
    """The solution in which one pair stands on `stops` and its edges cross the given links."""
    values = np.zeros(len(built.program.objective))
    built.chosen(values)[pair] = 1
    positions = np.flatnonzero(built.position_pair == pair)
    for position, stop in zip(positions, stops, strict=True):
        built.mapping(values)[position, stop] = 1
    edges = np.flatnonzero(np.isin(built.edge_position, positions))
    for edge, links in zip(edges, crossed, strict=True):
        built.flow(values)[edge, links] = 1
    return values


def is_feasible(built: FlowProgram, values: np.ndarray) -> bool:
    program = built.program
    rows = program.matrix @ values
    return bool(
        np.all(rows >= program.row_lower - 1e-9)
        and np.all(rows <= program.row_upper + 1e-9)
        and np.all((program.lower <= values) & (values <= program.upper))
    )


def test_its_size_follows_from_positions_edges_and_the_cluster() -> None:
    # Sizes 1, 2, 3: six positions, five edges (one worker has none); 4 servers, 8 directed links.
    built = build_flow_program(problem_of(build_ring4(), job("a", 3)))
    assert built.position_pair.tolist() == [0, 1, 1, 2, 2, 2]
    assert built.edge_position.tolist() == [1, 2, 3, 4, 5]
    assert built.edge_next.tolist() == [2, 1, 4, 5, 3]
    assert len(built.program.objective) == 3 + 6 * 4 + 5 * 8
    # (13) for one job, (14) by position, (15) by edge and node, (18) by server, (19) by directed link.
    assert built.program.matrix.shape[0] == 1 + 6 + 5 * 4 + 4 + 8
    assert built.program.integer is not None
    assert built.program.integer.all()


def test_parts_of_a_solution_are_found_again() -> None:
    built = build_flow_program(problem_of(line(1, 1, 1), job("a", 2), job("b", 1)))
    values = np.arange(float(len(built.program.objective)))
    assert built.chosen(values).tolist() == [0, 1, 2]
    assert built.mapping(values).shape == (4, 3)
    assert built.flow(values).shape == (2, 4)
    parts = (built.chosen(values), built.mapping(values).ravel(), built.flow(values).ravel())
    assert np.concatenate(parts).tolist() == values.tolist()


def test_a_ring_is_a_point_of_the_program_only_if_it_closes() -> None:
    # s0 – s1, one GPU each: links 0 leads from s0 to s1, link 1 back.
    built = build_flow_program(problem_of(line(1, 1, gbps=1), job("a", (2, 2))))
    tail, head = built.problem.network.ends
    assert (tail.tolist(), head.tolist()) == ([0, 1], [1, 0])
    assert is_feasible(built, point(built, 0, [0, 1], [[0], [1]]))
    assert is_feasible(built, point(built, 0, [1, 0], [[1], [0]]))
    assert not is_feasible(built, point(built, 0, [0, 1], [[0], []]))
    assert not is_feasible(built, point(built, 0, [0, 1], [[1], [0]]))
    # Both on one server overloads it.
    assert not is_feasible(built, point(built, 0, [0, 0], [[], []]))


def test_edges_within_a_server_cross_nothing() -> None:
    built = build_flow_program(problem_of(line(3, 0, gbps=0), job("a", (3, 3))))
    assert is_feasible(built, point(built, 0, [0, 0, 0], [[], [], []]))


def test_links_are_full_when_they_are_full() -> None:
    # A ring that visits s1 twice crosses s0–s1 … no more often than a simple one; here b fills the link once.
    thin = build_flow_program(problem_of(line(1, 1, 1, gbps=1), job("a", (3, 3))))
    there_and_back = point(thin, 0, [0, 1, 2], [[0], [2], [3, 1]])
    assert is_feasible(thin, there_and_back)
    # 0 → 2 → 1 → 0 crosses 0→1, 1→2, 2→1, 1→0: once each as well.
    assert is_feasible(thin, point(thin, 0, [0, 2, 1], [[0, 2], [3], [1]]))
    twice = there_and_back.copy()
    thin.flow(twice)[0, [0, 1]] = 1
    thin.flow(twice)[1, [0, 1]] = 1
    assert not is_feasible(thin, twice)


@pytest.mark.parametrize("cluster", [alone(gpu=3), islands(3, 1)])
def test_a_cluster_without_links_has_rings_on_single_servers(cluster: object) -> None:
    built = build_flow_program(problem_of(cluster, job("a", 3)))  # type: ignore[arg-type]
    found = solve(built.program)
    assert found.objective == pytest.approx(3)
    assert found.values is not None
    assert built.flow(found.values).shape == (5, 0)


@pytest.mark.parametrize("jobs", [(), (job("a", needs={"tpu": 1}),)])
def test_nothing_to_place_is_a_program_too(jobs: tuple[object, ...]) -> None:
    built = build_flow_program(problem_of(line(1, 1), *jobs))  # type: ignore[arg-type]
    for program in (built.program, built.program.relax()):
        found = solve(program)
        assert (found.outcome, found.objective) == (Outcome.OPTIMAL, 0)
