"""Constraint families to one sparse matrix: a program is built block by block, never term by term."""

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from gadget.solve.lp import LinearProgram

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]


class RowFamilies:
    """Constraint families, gathered and then stacked into one matrix."""

    def __init__(self, width: int) -> None:
        self._width = width
        self._height = 0
        self._parts: list[tuple[Integers, Integers, Floats]] = []
        self._lower: list[Floats] = []
        self._upper: list[Floats] = []

    def add(
        self,
        row: Integers,
        column: Integers,
        weight: Floats | float,
        *,
        height: int,
        lower: float = -np.inf,
        upper: Floats | float,
    ) -> None:
        """Add `height` rows: entries at (row, column), lower ≤ row ≤ upper; entries at one place add up."""
        weights = np.broadcast_to(np.asarray(weight, dtype=np.float64), row.shape)
        self._parts.append((row + self._height, column, weights))
        self._height += height
        self._lower.append(np.full(height, lower))
        self._upper.append(np.broadcast_to(np.asarray(upper, dtype=np.float64), (height,)))

    def program(
        self, objective: Floats, lower: Floats, upper: Floats, integer: NDArray[np.bool_] | None
    ) -> LinearProgram:
        """All families as one program."""
        nothing = (np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.int64), np.zeros(0))
        row, column, weight = (np.concatenate(parts) for parts in zip(nothing, *self._parts, strict=True))
        matrix = sparse.csc_matrix((weight, (row, column)), shape=(self._height, self._width))
        return LinearProgram(
            objective,
            matrix,
            np.concatenate([np.zeros(0), *self._lower]),
            np.concatenate([np.zeros(0), *self._upper]),
            lower,
            upper,
            integer,
        )
