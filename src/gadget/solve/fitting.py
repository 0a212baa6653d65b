"""Fits the constants of Eq. (1), or of its extension, to measured step times.

Step times alone tell six numbers at most: what an all-reduce takes inside a server and across servers, the
latency of a step of the ring, computing per sample and per iteration, and the overlap. How these divide into
d, b and G, and into t_b and γ, no step time can tell; `solve/profiles.py` settles that by convention.
"""

from dataclasses import dataclass
from enum import StrEnum

import numpy as np
from numpy.typing import NDArray

from gadget.errors import InvalidValue
from gadget.model.measured import Measured
from gadget.model.timing import ring_seconds

Floats = NDArray[np.float64]
Booleans = NDArray[np.bool_]

# Residuals are logarithms of predicted over measured; beyond so much (5%) they count like their size, not
# its square.
_ROBUST_FROM = 0.05
# Overlaps at which searches start, and how many of the starts are followed up.
_START_OVERLAPS = np.linspace(0.0, 0.95, 20)
_FOLLOWED = 4
# Rounds of settling which rings are hidden behind their computing.
_SETTLING = 8
_MOST_EVALUATIONS = 400
# A prediction is no less than this share of the median step: a logarithm needs something.
_LEAST_SHARE = 1e-6
# What the search leaves of a zero.
_DUST = 1e-7


class Law(StrEnum):
    """What is fitted."""

    PUBLISHED = "published"
    """Eq. (1)."""
    EXTENDED = "extended"
    """Eq. (1) with bandwidth inside a server, latency of steps, and overlap."""


@dataclass(frozen=True, slots=True)
class Constants:
    """What step times can tell, in seconds."""

    cross_seconds: float
    """d(2/b + 1/G) of rings that leave their server."""
    local_seconds: float
    """The same of rings inside one server."""
    hop_seconds: float
    sample_seconds: float
    """t_f."""
    fixed_seconds: float
    """t_b + γ."""
    overlap: float

    def predict(self, measured: Measured) -> Floats:
        """Step times of the measured rings."""
        return ring_seconds(
            measured.workers.astype(np.float64),
            np.where(measured.is_local, self.local_seconds, self.cross_seconds),
            self.hop_seconds,
            self.sample_seconds * measured.batch + self.fixed_seconds,
            self.overlap,
        )


def fit_constants(measured: Measured, law: Law) -> Constants:
    """The constants, none below 0, that come closest to the measured times in relative terms.

    Where only one kind of rings was measured, inside a server or across, both kinds get its bandwidth;
    where only one batch size was, all computing counts as per iteration.
    """
    if not np.any(measured.workers > 1):
        raise InvalidValue(
            measured.name,
            "has no measurement of two or more workers, so nothing tells how fast they communicate",
            "Add some",
        )
    design = _Design(measured, law)
    starts = sorted((_find_start(design, overlap) for overlap in design.start_overlaps), key=_cost_of)
    ends = [_improve(design, start) for _, start in starts[:_FOLLOWED]]
    return design.constants(min(ends, key=_cost_of)[1])


def _cost_of(found: tuple[float, Floats]) -> float:
    return found[0]


class _Design:
    """τ as it depends on what is sought: two linear parts, communication and computing, and the overlap.

    The vector that is sought holds the factors of communication, then those of computing, then the overlap.
    Times are in medians of the measured ones and batches in medians of theirs, so that all factors are of
    one size, however large the batches.
    """

    def __init__(self, measured: Measured, law: Law) -> None:
        self.law = law
        self.second = float(np.median(measured.step_seconds))
        self.sample = float(np.median(measured.batch))
        workers = measured.workers.astype(np.float64)
        share = (workers - 1) / workers
        local = measured.is_local
        self.two_kinds = law is Law.EXTENDED and bool(np.any(local & (share > 0)) and np.any(~local))
        self.batches_differ = bool(np.ptp(measured.batch) > 0)
        sent = [share * ~local, share * local] if self.two_kinds else [share]
        steps = [2 * (workers - 1)] if law is Law.EXTENDED else []
        computed = [measured.batch / self.sample] if self.batches_differ else []
        self.communication = np.column_stack([*sent, *steps])
        self.computing = np.column_stack([*computed, np.ones(len(measured))])
        self.times = measured.step_seconds / self.second
        self.linear = self.communication.shape[1] + self.computing.shape[1]
        self.upper = np.append(np.full(self.linear, np.inf), 1.0 if law is Law.EXTENDED else 1e-12)
        self.start_overlaps = _START_OVERLAPS if law is Law.EXTENDED else np.zeros(1)

    def evaluate(self, sought: Floats) -> tuple[Floats, Floats, Booleans]:
        """Times, the computing in them, and which rings have communication that shows."""
        cut = self.communication.shape[1]
        sent = self.communication @ sought[:cut]
        computed = self.computing @ sought[cut:-1]
        exposed = sent > sought[-1] * computed
        times = computed + np.where(exposed, sent - sought[-1] * computed, 0.0)
        return np.maximum(times, _LEAST_SHARE), computed, exposed

    def residuals(self, sought: Floats) -> Floats:
        return np.log(self.evaluate(sought)[0] / self.times)

    def jacobian(self, sought: Floats) -> Floats:
        times, computed, exposed = self.evaluate(sought)
        shown = exposed.astype(np.float64)[:, None]
        slopes = np.hstack(
            [
                self.communication * shown,
                self.computing * (1 - sought[-1] * shown),
                -computed[:, None] * shown,
            ]
        )
        return np.asarray(slopes / times[:, None])

    def constants(self, sought: Floats) -> Constants:
        """What was found, in seconds."""
        found = list(np.where(sought < _DUST, 0.0, sought).tolist())
        cross = found.pop(0)
        local = found.pop(0) if self.two_kinds else cross
        hop = found.pop(0) if self.law is Law.EXTENDED else 0.0
        sample = found.pop(0) if self.batches_differ else 0.0
        fixed = found.pop(0)
        overlap = found.pop(0) if self.law is Law.EXTENDED else 0.0
        scale = self.second
        return Constants(
            cross * scale, local * scale, hop * scale, sample * scale / self.sample, fixed * scale, overlap
        )


def _find_start(design: _Design, overlap: float) -> tuple[float, Floats]:
    """With the overlap held, and the hidden rings known, τ is linear: solve, see what hides, and again."""
    from scipy.optimize import nnls  # noqa: PLC0415 - slow to load, and every command would

    exposed: Booleans = np.asarray(design.communication.any(axis=1), dtype=np.bool_)
    weights = (1 / design.times)[:, None]
    best = (np.inf, np.zeros(0))
    seen = set()
    for _ in range(_SETTLING):
        shown = exposed.astype(np.float64)[:, None]
        matrix = np.hstack([design.communication * shown, design.computing * (1 - overlap * shown)])
        factors = nnls(matrix * weights, np.ones(len(weights)), maxiter=1000)[0]
        sought = np.append(factors, overlap)
        # soft_l1, as in `_improve`.
        squares = (design.residuals(sought) / _ROBUST_FROM) ** 2
        cost = float(np.sum(np.sqrt(1 + squares) - 1))
        if cost < best[0]:
            best = (cost, sought)
        seen.add(exposed.tobytes())
        exposed = design.evaluate(sought)[2]
        if exposed.tobytes() in seen:
            break
    return best


def _improve(design: _Design, start: Floats) -> tuple[float, Floats]:
    from scipy.optimize import least_squares  # noqa: PLC0415 - as above

    found = least_squares(
        design.residuals,
        np.clip(start, 0.0, design.upper),
        jac=design.jacobian,
        bounds=(np.zeros(len(start)), design.upper),
        loss="soft_l1",
        f_scale=_ROBUST_FROM,
        ftol=1e-12,
        xtol=1e-12,
        gtol=1e-12,
        max_nfev=_MOST_EVALUATIONS,
    )
    return float(found.cost), np.asarray(found.x)
