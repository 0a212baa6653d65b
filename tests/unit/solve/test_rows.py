"""Families of rows become one matrix, in the order they were added."""

import numpy as np

from gadget.solve.lp import solve
from gadget.solve.rows import RowFamilies

NONE = np.zeros(0, dtype=np.int64)


def test_families_are_stacked_with_their_limits() -> None:
    rows = RowFamilies(3)
    rows.add(np.array([0, 0, 1]), np.array([0, 2, 1]), np.array([1.0, 2.0, 3.0]), height=2, upper=[4.0, 5.0])
    rows.add(np.array([0, 0]), np.array([1, 2]), 7.0, height=1, lower=6.0, upper=8.0)
    program = rows.program(np.arange(3.0), np.zeros(3), np.ones(3), None)
    assert program.matrix.toarray().tolist() == [[1, 0, 2], [0, 3, 0], [0, 7, 7]]
    assert program.row_lower.tolist() == [-np.inf, -np.inf, 6]
    assert program.row_upper.tolist() == [4, 5, 8]
    assert program.objective.tolist() == [0, 1, 2]
    assert program.integer is None


def test_entries_at_one_place_add_up() -> None:
    rows = RowFamilies(1)
    rows.add(np.array([0, 0]), np.array([0, 0]), np.array([1.0, 2.5]), height=1, upper=1.0)
    assert rows.program(np.ones(1), np.zeros(1), np.ones(1), None).matrix.toarray().tolist() == [[3.5]]


def test_rows_without_entries_still_count() -> None:
    rows = RowFamilies(2)
    rows.add(NONE, NONE, 1.0, height=3, upper=9.0)
    rows.add(np.array([0]), np.array([1]), 1.0, height=1, upper=2.0)
    program = rows.program(np.ones(2), np.zeros(2), np.full(2, 5.0), np.ones(2, dtype=bool))
    assert program.matrix.shape == (4, 2)
    assert program.row_upper.tolist() == [9, 9, 9, 2]
    assert solve(program).objective == 7


def test_no_family_at_all_is_a_program_without_rows() -> None:
    program = RowFamilies(2).program(np.ones(2), np.zeros(2), np.full(2, 5.0), None)
    assert program.matrix.shape == (0, 2)
    assert solve(program).objective == 10
