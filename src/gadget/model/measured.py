"""Measured step times of an application on rings of many shapes, as arrays."""

from collections.abc import Sequence
from dataclasses import dataclass, fields, replace

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
Booleans = NDArray[np.bool_]


@dataclass(frozen=True, slots=True, eq=False)
class Measured:
    """One entry a measurement; entries of one placement share its name."""

    name: str
    placements: NDArray[np.str_]
    """'1123' is 1, 1, 2 and 3 workers on four servers; '16x64' is 64 workers on 16 servers."""
    servers: Integers
    workers: Integers
    batch: Floats
    """M: samples that each worker takes in a step."""
    step_seconds: Floats

    def __len__(self) -> int:
        return len(self.step_seconds)

    @property
    def is_local(self) -> Booleans:
        """True where one server holds the whole ring."""
        return np.asarray(self.servers == 1)

    @property
    def distinct_placements(self) -> tuple[str, ...]:
        """Every placement once, sorted."""
        return tuple(np.unique(self.placements).tolist())

    def where(self, chosen: Booleans) -> "Measured":
        """The chosen entries."""
        columns = [column.name for column in fields(self) if column.name != "name"]
        return replace(self, **{column: getattr(self, column)[chosen] for column in columns})


def name_placement(counts: Sequence[int]) -> str:
    """The name of a placement told by workers per server, smallest first: rings that only turn share it."""
    return "".join(map(str, sorted(counts)))


def name_totals(servers: int, workers: int) -> str:
    """The name of a placement told by its totals alone; where only one placement has them, that one's."""
    if workers == servers:
        return name_placement([1] * servers)
    if servers == 1 and workers < 10:
        return name_placement([workers])
    return f"{servers}x{workers}"
