"""How long a training iteration takes on a ring, Eq. (1), and how much data it moves."""

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from gadget.errors import InvalidValue
from gadget.model.quantity import check_at_least_zero, check_positive

# A gradient of 1 MB (10⁶ bytes) is this many gigabits.
GIGABITS_PER_MB = 8e-3

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Timing:
    """The constants d, G, t_f, M, t_b, γ of Eq. (1); the bandwidth b is the job's own."""

    gradient_mb: float
    reduce_gbps: float
    forward_ms_per_sample: float
    batch: float
    backward_ms: float
    overhead_ms: float = 0

    def __post_init__(self) -> None:
        check_positive("reduce_gbps", self.reduce_gbps)
        for key in ("gradient_mb", "forward_ms_per_sample", "batch", "backward_ms", "overhead_ms"):
            check_at_least_zero(key, getattr(self, key))
        if self.compute_seconds <= 0:
            raise InvalidValue(
                "",
                "an iteration of one worker would take no time",
                "Give forward_ms_per_sample and batch, backward_ms or overhead_ms above 0",
            )

    @property
    def compute_seconds(self) -> float:
        """t_f·M + t_b + γ: the part of Eq. (1) that does not depend on the ring."""
        return (self.forward_ms_per_sample * self.batch + self.backward_ms + self.overhead_ms) / 1000

    def iteration_seconds(self, workers: ArrayLike, bandwidth_gbps: float) -> Floats:
        """τ of Eq. (1) for rings of the given sizes."""
        sizes = np.asarray(workers, dtype=np.float64)
        # One worker sends nothing, and needs no bandwidth for it.
        share = (sizes - 1) / sizes
        sent = np.multiply(
            share, self._all_reduce_seconds(bandwidth_gbps), out=np.zeros_like(share), where=share > 0
        )
        return np.asarray(sent + self.compute_seconds)

    def limit_seconds(self, bandwidth_gbps: float) -> float:
        """τ as the ring grows without end: d(2/b + 1/G) + t_f·M + t_b + γ."""
        return self._all_reduce_seconds(bandwidth_gbps) + self.compute_seconds

    def iterations(self, workers: ArrayLike, bandwidth_gbps: float, slot_seconds: float) -> Floats:
        """ζ(κ): iterations that each worker of a ring of that size does in a slot, Eq. (1) inverted."""
        return slot_seconds / self.iteration_seconds(workers, bandwidth_gbps)

    def _all_reduce_seconds(self, bandwidth_gbps: float) -> float:
        # d(2/b + 1/G); a job that moves nothing needs no bandwidth.
        if not self.gradient_mb:
            return 0.0
        if not bandwidth_gbps:
            return math.inf
        return self.gradient_mb * GIGABITS_PER_MB * (2 / bandwidth_gbps + 1 / self.reduce_gbps)


def ring_mb_per_worker(gradient_mb: float, workers: int) -> float:
    """Data that each worker sends in one ring-all-reduce: 2d(w−1)/w (Sec. III)."""
    return 2 * gradient_mb * (workers - 1) / workers


def parameter_server_mb(gradient_mb: float, workers: int) -> float:
    """Data that all workers together exchange with parameter servers in one iteration: 2wd (Sec. III)."""
    return 2 * workers * gradient_mb
