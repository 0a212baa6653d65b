"""The constants of many jobs' timings as arrays, so that thousands of rings are timed in one call."""

from collections.abc import Iterable
from dataclasses import dataclass, fields
from typing import Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from gadget.model.timing import Timing, all_reduce_seconds, ring_seconds

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True, eq=False)
class TimingTable:
    """One row a timing; `local_gbps` is NaN where there is none."""

    gradient_mb: Floats
    reduce_gbps: Floats
    local_gbps: Floats
    hop_seconds: Floats
    compute_seconds: Floats
    overlap: Floats

    @classmethod
    def from_timings(cls, timings: Iterable[Timing]) -> Self:
        """The table of the given timings, in their order."""
        rows = [
            (
                timing.gradient_mb,
                timing.reduce_gbps,
                np.nan if timing.local_gbps is None else timing.local_gbps,
                timing.hop_ms / 1000,
                timing.compute_seconds,
                timing.overlap,
            )
            for timing in timings
        ]
        return cls(*np.array(rows, dtype=np.float64).reshape(-1, len(fields(cls))).T.copy())

    def __len__(self) -> int:
        return len(self.gradient_mb)

    def take(self, rows: ArrayLike) -> Self:
        """The given rows, in that order, as often as named: one for each ring, say."""
        places = np.asarray(rows, dtype=np.intp)
        return type(self)(*(getattr(self, column.name)[places] for column in fields(self)))

    def iteration_seconds(self, workers: ArrayLike, cross_gbps: ArrayLike, is_local: ArrayLike) -> Floats:
        """τ of one ring for each row: its size, its slowest edge's bandwidth, whether one server holds it.

        The same numbers as `Timing.iteration_seconds_on`. A local ring whose timing has no `local_gbps` has
        `cross_gbps`: give the job's own b there.
        """
        own = np.asarray(is_local, dtype=bool) & ~np.isnan(self.local_gbps)
        gbps = np.where(own, self.local_gbps, np.asarray(cross_gbps, dtype=np.float64))
        return ring_seconds(
            np.asarray(workers, dtype=np.float64),
            all_reduce_seconds(self.gradient_mb, self.reduce_gbps, gbps),
            self.hop_seconds,
            self.compute_seconds,
            self.overlap,
        )
