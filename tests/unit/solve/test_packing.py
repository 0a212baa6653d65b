"""The packing program by hand."""

import pytest

from gadget import Linear, Sqrt
from gadget.solve.lp import solve
from gadget.solve.packing import build_packing_program
from tests.unit.solve.small import alone, islands, job, line, problem_of


def value(*args: object) -> float:
    return solve(build_packing_program(problem_of(*args))).objective  # type: ignore[arg-type]


def test_variables_are_pairs_and_counts() -> None:
    problem = problem_of(line(1, 2, 3), job("a", 2), job("b", (2, 3)))
    program = build_packing_program(problem)
    assert len(program.objective) == 4 + 2 * 3
    # A row for (13) and one for the workers of each job, one for each server.
    assert program.matrix.shape[0] == 2 + 2 + 3
    assert program.integer is None


def test_fractions_fill_the_servers() -> None:
    # 3 GPUs, rings of two at 2 gains each: one and a half rings, 3.
    assert value(alone(gpu=3), *(job(name, (2, 2)) for name in "ab")) == pytest.approx(3)


def test_one_job_is_embedded_at_most_once() -> None:
    assert value(alone(gpu=30), job("a", 3)) == pytest.approx(3)


def test_a_mix_of_sizes_is_worth_the_chord_between_them() -> None:
    # 1.5 workers of √κ·10: half of one, half of two.
    both = job("a", 2, Sqrt(10)), job("b", (1, 1), Linear(100))
    assert value(alone(gpu=2.5), *both) == pytest.approx(100 + (10 + 10 * 2**0.5) / 2)


def test_workers_stand_only_where_a_whole_one_fits() -> None:
    # Half-servers hold no worker of one GPU, though together they have three.
    assert value(islands(0.5, 0.5, 1, 0.5, 0.5), job("a", 1), job("b", 1)) == pytest.approx(1)


def test_links_do_not_count() -> None:
    # The LP puts two on servers that nothing joins, as long as some ring of that size closes somewhere.
    crowded = line(2, 1, 1, gbps=0.1)
    assert value(crowded, *(job(name, (2, 2)) for name in "ab")) == pytest.approx(4)
