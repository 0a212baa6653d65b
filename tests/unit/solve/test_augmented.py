"""The augmented program, written out and by columns."""

from dataclasses import replace

import numpy as np
import pytest

from gadget import build_ring4
from gadget.solve.augmented import build_columns, build_copies
from gadget.solve.lp import Outcome, solve
from tests.unit.solve.small import alone, islands, job, line, problem_of


def test_its_size_is_servers_times_what_a_copy_takes() -> None:
    # Sizes 1, 2 and 3 on four servers and eight directed links: servers × (1 + (κ−1)·servers + κ·links).
    problem = problem_of(build_ring4(), job("a", 1), job("b", (2, 2)), job("c", (3, 3)))
    copies = build_copies(problem)
    assert np.diff([*copies.pair_start, len(copies.program.objective)]).tolist() == [
        4,
        4 * (1 + 1 * 4 + 2 * 8),
        4 * (1 + 2 * 4 + 3 * 8),
    ]


def test_parts_of_a_solution_are_found_again() -> None:
    problem = problem_of(line(1, 1, 1), job("a", (2, 2)), job("b", (3, 3)), job("c", 1))
    copies = build_copies(problem)
    values = np.arange(float(len(copies.program.objective)))
    parts = [copies.of_pair(values, pair) for pair in range(3)]
    assert [part.shape for part in parts[0]] == [(3,), (3, 1, 3), (3, 2, 4)]
    assert [part.shape for part in parts[1]] == [(3,), (3, 2, 3), (3, 3, 4)]
    assert [part.shape for part in parts[2]] == [(3,), (3, 0, 3), (3, 0, 4)]
    assert np.concatenate([part.ravel() for own in parts for part in own]).tolist() == values.tolist()


def test_columns_are_rings_on_single_servers_that_hold_a_worker() -> None:
    problem = problem_of(line(1, 0, 2), job("a", (2, 2)), job("b", 1))
    program, columns = build_columns(problem)
    assert [(m.job, m.stops, m.legs) for m in columns] == [
        (0, (0, 0), ((0,), (0,))),
        (0, (2, 2), ((2,), (2,))),
        (1, (0,), ()),
        (1, (2,), ()),
    ]
    assert all(mapping.is_closed and mapping.weight == 0 for mapping in columns)
    assert program.objective.tolist() == [2, 2, 1, 1]


def test_positions_stand_only_where_a_worker_fits_and_edges_cross_only_links_that_carry_them() -> None:
    # The third server has one GPU of the two that a worker takes; the link to it is too thin as well.
    row = line(2, 2, 1, gbps=1)
    row = replace(row, links=(row.links[0], replace(row.links[1], gbps=0.5)))
    copies = build_copies(problem_of(row, job("a", (2, 2), needs={"gpu": 2})))
    root, node, flow = copies.of_pair(copies.program.upper, 0)
    assert root.tolist() == [1, 1, 0]
    assert np.all(node == [1, 1, 0])
    assert np.all(flow == [1, 1, 0, 0])


def test_both_overload_servers_with_identical_workers() -> None:
    # A ring of two on servers of one GPU: half of it on each, two workers at a time (problem.md §3).
    problem = problem_of(line(1, 1), job("a", (2, 2)))
    small, columns = build_columns(problem)
    for program in (build_copies(problem).program, small):
        assert solve(program).objective == pytest.approx(2)
    values = solve(small).values
    assert values is not None
    assert values == pytest.approx([0.5, 0.5])
    assert [len(set(mapping.stops)) for mapping in columns] == [1, 1]


@pytest.mark.parametrize("cluster", [alone(gpu=3), islands(3, 1), islands(3, 3)])
def test_a_cluster_without_links_has_both(cluster: object) -> None:
    problem = problem_of(cluster, job("a", (3, 3)), job("b", 1))  # type: ignore[arg-type]
    copies = build_copies(problem)
    found = solve(copies.program)
    assert found.values is not None
    assert found.objective == pytest.approx(solve(build_columns(problem)[0]).objective)
    assert copies.of_pair(found.values, 0)[2].shape == (problem.network.servers, 3, 0)


@pytest.mark.parametrize("jobs", [(), (job("a", needs={"tpu": 1}),), (job("a", (5, 5)),)])
def test_nothing_to_place_is_a_program_too(jobs: tuple[object, ...]) -> None:
    problem = problem_of(line(1, 1), *jobs)  # type: ignore[arg-type]
    small, columns = build_columns(problem)
    assert columns == []
    for program in (small, build_copies(problem).program):
        found = solve(program)
        assert (found.outcome, found.objective) == (Outcome.OPTIMAL, 0)
