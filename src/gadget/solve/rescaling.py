"""A timing that was said, corrected by what was measured: Eq. (1) with two factors."""

from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from gadget.model.timing import Timing

# Factors beyond these are no correction any more, but another program.
_LEAST, _MOST = 1e-3, 1e3


def rescale_timing(timing: Timing, bandwidth_gbps: float, seconds_by_size: Mapping[int, float]) -> Timing:
    """τ(w) = a·(t_f·M + t_b + γ) + c·(what is sent), a and c closest to the measured seconds.

    With one size, or where nothing is sent, both factors are the same: one number tells no more.
    """
    from scipy.optimize import nnls  # noqa: PLC0415 - slow to load, and every command would

    sizes = np.array(sorted(seconds_by_size), dtype=np.float64)
    measured = np.array([seconds_by_size[int(size)] for size in sizes])
    predicted = timing.iteration_seconds(sizes, bandwidth_gbps)
    compute = timing.compute_seconds
    sent = predicted - compute
    # Relative errors count: every row is divided by what was measured.
    rows = np.column_stack([np.full(len(sizes), compute), sent]) / measured[:, None]
    if len(sizes) > 1 and np.linalg.matrix_rank(rows, tol=1e-6) > 1 and not timing.overlap:
        (a, c), _ = nnls(rows, np.ones(len(sizes)))
    else:
        a = c = float(np.mean(measured / predicted))
    a, c = (float(np.clip(factor, _LEAST, _MOST)) for factor in (a, c))
    return replace(
        timing,
        forward_ms_per_sample=timing.forward_ms_per_sample * a,
        backward_ms=timing.backward_ms * a,
        overhead_ms=timing.overhead_ms * a,
        gradient_mb=timing.gradient_mb * c,
        hop_ms=timing.hop_ms * c,
    )
