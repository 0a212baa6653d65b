"""How long a training iteration takes on a ring, Eq. (1) and its extension, and how much data it moves."""

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
    """The constants d, G, t_f, M, t_b, γ of Eq. (1); the bandwidth b is the job's own.

    The last three extend it (docs/explanation/timing.md); left out, they leave it as published.
    """

    gradient_mb: float
    reduce_gbps: float
    forward_ms_per_sample: float
    batch: float
    backward_ms: float
    overhead_ms: float = 0
    local_gbps: float | None = None
    """Bandwidth of a ring inside one server; without it, b."""
    hop_ms: float = 0
    """Latency of each of the ring's 2(w−1) steps."""
    overlap: float = 0
    """Share of the computing, 0 … 1, behind which communication hides."""

    def __post_init__(self) -> None:
        check_positive("reduce_gbps", self.reduce_gbps)
        for key in (
            *("gradient_mb", "forward_ms_per_sample", "batch", "backward_ms", "overhead_ms"),
            *("hop_ms", "overlap"),
        ):
            check_at_least_zero(key, getattr(self, key))
        if self.local_gbps is not None:
            check_positive("local_gbps", self.local_gbps)
        if self.overlap > 1:
            raise InvalidValue("overlap", f"is {self.overlap:g}, above 1", "Give a share from 0 to 1")
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

    def iteration_seconds(self, workers: ArrayLike, bandwidth_gbps: ArrayLike) -> Floats:
        """τ for rings of the given sizes whose slowest edges have the given bandwidth."""
        return ring_seconds(
            np.asarray(workers, dtype=np.float64),
            self._all_reduce_seconds(bandwidth_gbps),
            self.hop_ms / 1000,
            self.compute_seconds,
            self.overlap,
        )

    def iteration_seconds_on(self, workers: ArrayLike, cross_gbps: ArrayLike, is_local: ArrayLike) -> Floats:
        """τ where rings really lie: one inside a server has `local_gbps`, any other `cross_gbps`.

        Without `local_gbps` every ring has `cross_gbps`.
        """
        if self.local_gbps is None:
            return self.iteration_seconds(workers, cross_gbps)
        return self.iteration_seconds(workers, np.where(is_local, self.local_gbps, cross_gbps))

    def limit_seconds(self, bandwidth_gbps: float) -> float:
        """τ as the ring grows without end: d(2/b + 1/G) + t_f·M + t_b + γ; infinite where steps take time."""
        if self.hop_ms:
            return math.inf
        sent = float(self._all_reduce_seconds(bandwidth_gbps))
        return max(sent - self.overlap * self.compute_seconds, 0.0) + self.compute_seconds

    def iterations(self, workers: ArrayLike, bandwidth_gbps: ArrayLike, slot_seconds: float) -> Floats:
        """ζ(κ): iterations that each worker of a ring of that size does in a slot, τ inverted."""
        return slot_seconds / self.iteration_seconds(workers, bandwidth_gbps)

    def _all_reduce_seconds(self, bandwidth_gbps: ArrayLike) -> float | Floats:
        gbps = np.asarray(bandwidth_gbps, dtype=np.float64)
        if gbps.ndim:
            return all_reduce_seconds(self.gradient_mb, self.reduce_gbps, gbps)
        # The same for one number: thousands of jobs ask for it in every slot.
        if not self.gradient_mb:
            return 0.0
        number = float(gbps)
        if not number:
            return math.inf
        return self.gradient_mb * GIGABITS_PER_MB * (2 / number + 1 / self.reduce_gbps)


def all_reduce_seconds(
    gradient_mb: float | Floats, reduce_gbps: float | Floats, bandwidth_gbps: Floats
) -> Floats:
    """d(2/b + 1/G): the all-reduce of an endless ring; one that moves nothing needs no bandwidth."""
    with np.errstate(divide="ignore", invalid="ignore"):
        seconds = gradient_mb * GIGABITS_PER_MB * (2 / bandwidth_gbps + 1 / reduce_gbps)
    return np.where(np.asarray(gradient_mb) > 0, seconds, 0.0)


def ring_seconds(
    workers: Floats,
    all_reduce: float | Floats,
    hop: float | Floats,
    compute: float | Floats,
    overlap: float | Floats,
) -> Floats:
    """τ in seconds: Eq. (1), with 2(w−1) steps of latency, less what hides behind the computing.

    `all_reduce` is d(2/b + 1/G); all arguments broadcast. τ rises with every one of them but `overlap`.
    """
    share = (workers - 1) / workers
    # One worker sends nothing, and needs no bandwidth for it.
    sent = np.zeros(np.broadcast(share, all_reduce).shape)
    np.multiply(share, all_reduce, out=sent, where=share > 0)
    exposed = np.maximum(sent + 2 * (workers - 1) * hop - overlap * compute, 0.0)
    return np.asarray(exposed + compute)


def ring_mb_per_worker(gradient_mb: float, workers: int) -> float:
    """Data that each worker sends in one ring-all-reduce: 2d(w−1)/w (Sec. III)."""
    return 2 * gradient_mb * (workers - 1) / workers


def parameter_server_mb(gradient_mb: float, workers: int) -> float:
    """Data that all workers together exchange with parameter servers in one iteration: 2wd (Sec. III)."""
    return 2 * workers * gradient_mb
