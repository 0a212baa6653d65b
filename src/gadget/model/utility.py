"""What work is worth: the utilities μ of Sec. IV, and the least concave majorant of those not concave."""

import math
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from gadget.errors import InvalidValue
from gadget.model.quantity import check_at_least_zero, check_number, check_positive

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]


class Utility(ABC):
    """μ(work), for work ≥ 0. Immutable; knows its own shape."""

    __slots__ = ()

    kind: ClassVar[str]

    @abstractmethod
    def value(self, work: ArrayLike) -> Floats:
        """μ at each amount of work."""

    @abstractmethod
    def gain(self, start: float, end: ArrayLike) -> Floats:
        """μ(end) − μ(start), exact where subtracting the two values would cancel."""

    @classmethod
    def gains_of_each(cls, each: Sequence[Self], which: Integers, start: Floats, end: Floats) -> Floats:
        """Gains μ(end) − μ(start) of several utilities of this kind: of each in turn, `which` says whose.

        `start` is that of each utility; `which` rises.
        """
        cuts = np.searchsorted(which, np.arange(1, len(each)))
        parts = zip(each, start.tolist(), np.split(end, cuts), strict=True)
        return np.concatenate([one.gain(begin, ends) for one, begin, ends in parts])

    @property
    def greatest_curvature(self) -> float:
        """The supremum of μ″ over all work ≥ 0 (infinite at a kink upwards)."""
        return 0.0

    @property
    def least_slope(self) -> float:
        """The infimum of μ′ over all work ≥ 0."""
        return 0.0

    @property
    def landmarks(self) -> Floats:
        """Amounts of work near which a μ that is not concave bends most; where its majorant may touch it."""
        return np.zeros(0)

    @property
    def concave(self) -> bool:
        """True when μ is concave on all work ≥ 0."""
        return self.greatest_curvature <= 0

    @property
    def non_decreasing(self) -> bool:
        """True when more work is never worth less."""
        return self.least_slope >= 0

    @property
    def admits_guarantee(self) -> bool:
        """True when Thm 6 holds for it: concave and non-decreasing."""
        return self.concave and self.non_decreasing


@dataclass(frozen=True, slots=True)
class Sqrt(Utility):
    """scale·√work, the usual convergence of SGD (Sec. IV, excessive-training avoidance)."""

    scale: float = 1
    kind: ClassVar[str] = "sqrt"

    def __post_init__(self) -> None:
        check_at_least_zero("scale", self.scale)

    def value(self, work: ArrayLike) -> Floats:
        """μ at each amount of work."""
        return self.scale * np.sqrt(_array(work))

    def gain(self, start: float, end: ArrayLike) -> Floats:
        """μ(end) − μ(start) as (end − start)/(√end + √start)."""
        return self.scale * _root_step(start, _array(end))

    @classmethod
    def gains_of_each(cls, each: Sequence[Self], which: Integers, start: Floats, end: Floats) -> Floats:
        """The gain of each of several, all at once."""
        return _scales(each)[which] * _root_step(start[which], end)


@dataclass(frozen=True, slots=True)
class Log(Utility):
    """scale·log(1 + work), proportional fairness (Sec. IV); log(0) is settled as log1p."""

    scale: float = 1
    kind: ClassVar[str] = "log"

    def __post_init__(self) -> None:
        check_at_least_zero("scale", self.scale)

    def value(self, work: ArrayLike) -> Floats:
        """μ at each amount of work."""
        return self.scale * np.log1p(_array(work))

    def gain(self, start: float, end: ArrayLike) -> Floats:
        """μ(end) − μ(start) as log1p of the smaller step, seen from the end that is nearer to 0."""
        return self.scale * _log_step(start, _array(end))

    @classmethod
    def gains_of_each(cls, each: Sequence[Self], which: Integers, start: Floats, end: Floats) -> Floats:
        """The gain of each of several, all at once."""
        return _scales(each)[which] * _log_step(start[which], end)


@dataclass(frozen=True, slots=True)
class Linear(Utility):
    """scale·work."""

    scale: float = 1
    kind: ClassVar[str] = "linear"

    def __post_init__(self) -> None:
        check_at_least_zero("scale", self.scale)

    @property
    def least_slope(self) -> float:
        """The slope, which is the same everywhere."""
        return self.scale

    def value(self, work: ArrayLike) -> Floats:
        """μ at each amount of work."""
        return self.scale * _array(work)

    def gain(self, start: float, end: ArrayLike) -> Floats:
        """μ(end) − μ(start)."""
        return self.scale * (_array(end) - start)

    @classmethod
    def gains_of_each(cls, each: Sequence[Self], which: Integers, start: Floats, end: Floats) -> Floats:
        """The gain of each of several, all at once."""
        return _scales(each)[which] * (end - start[which])


@dataclass(frozen=True, slots=True)
class Sigmoid(Utility):
    """priority / (1 + exp(−sensitivity·(work − target))), the utility of Sec. VI."""

    priority: float
    sensitivity: float
    target: float
    kind: ClassVar[str] = "sigmoid"

    def __post_init__(self) -> None:
        check_at_least_zero("priority", self.priority)
        check_positive("sensitivity", self.sensitivity)
        check_at_least_zero("target", self.target)

    @property
    def greatest_curvature(self) -> float:
        """Convex below the target, most so where σ″ peaks, at −log(2 + √3), if work can be that small."""
        peak = max(-math.log(2 + math.sqrt(3)), float(self._exponent(0.0)))
        rising = float(_logistic(_array(peak)))
        return self.priority * self.sensitivity**2 * rising * (1 - rising) * (1 - 2 * rising)

    def value(self, work: ArrayLike) -> Floats:
        """μ at each amount of work; exact at both ends, without overflow."""
        return self.priority * _logistic(self._exponent(work))

    def gain(self, start: float, end: ArrayLike) -> Floats:
        """μ(end) − μ(start) as σ(b)·σ(−a)·(1 − e^(a−b)), which neither cancels nor overflows."""
        a = self._exponent(start)
        b = self._exponent(end)
        with np.errstate(over="ignore", under="ignore"):
            step = self.sensitivity * (_array(end) - start)
            forward = _logistic(b) * _logistic(-a) * -np.expm1(np.minimum(-step, 0))
            backward = _logistic(a) * _logistic(-b) * -np.expm1(np.minimum(step, 0))
        return self.priority * (forward - backward)

    @property
    def landmarks(self) -> Floats:
        """From just below the target to where the curve has levelled off."""
        return self.target + np.linspace(-4, 40, 177) / self.sensitivity

    def _exponent(self, work: ArrayLike) -> Floats:
        return self.sensitivity * (_array(work) - self.target)


@dataclass(frozen=True, slots=True)
class Energy(Utility):
    """Progress less what its energy costs: progress(work) − weight·c(energy_per_work·work).

    c(e) = quadratic·e² + linear·e. Weight 0 is pure progress; without progress it is the paper's
    literal μ = −c, for which doing nothing is best.
    """

    progress: Utility | None = None
    weight: float = 1
    energy_per_work: float = 1
    quadratic: float = 1
    linear: float = 0
    kind: ClassVar[str] = "energy"

    def __post_init__(self) -> None:
        for key in ("weight", "energy_per_work", "quadratic", "linear"):
            check_at_least_zero(key, getattr(self, key))
        if isinstance(self.progress, Energy):
            raise InvalidValue("progress", "is itself of kind energy", "Choose another kind for progress")

    @property
    def greatest_curvature(self) -> float:
        """A convex cost bends the whole down; it can even make a convex progress concave."""
        progress = self.progress.greatest_curvature if self.progress is not None else 0.0
        return progress - 2 * self.weight * self.quadratic * self.energy_per_work**2

    @property
    def least_slope(self) -> float:
        """Unbounded below as soon as the quadratic term counts."""
        if self.weight * self.energy_per_work * self.quadratic > 0:
            return -math.inf
        progress = self.progress.least_slope if self.progress is not None else 0.0
        return progress - self.weight * self.energy_per_work * self.linear

    @property
    def landmarks(self) -> Floats:
        """Those of the progress; the cost has none."""
        return self.progress.landmarks if self.progress is not None else np.zeros(0)

    def value(self, work: ArrayLike) -> Floats:
        """μ at each amount of work."""
        return self.gain(0.0, work) + (self.progress.value(0.0) if self.progress is not None else 0.0)

    def gain(self, start: float, end: ArrayLike) -> Floats:
        """μ(end) − μ(start); e²−f² as (e−f)(e+f)."""
        ends = _array(end)
        more = self.energy_per_work * (ends - start)
        cost = more * (self.quadratic * self.energy_per_work * (ends + start) + self.linear)
        progress = self.progress.gain(start, ends) if self.progress is not None else np.zeros_like(ends)
        return progress - self.weight * cost


@dataclass(frozen=True, slots=True)
class Table(Utility):
    """Straight lines between given points (work, value); flat before the first and after the last."""

    points: tuple[tuple[float, float], ...]
    kind: ClassVar[str] = "table"
    _work: Floats = field(init=False, repr=False, compare=False)
    _values: Floats = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        if not self.points:
            raise InvalidValue("points", "is empty", "Give at least one [work, value]")
        for place, (work, value) in enumerate(self.points):
            check_at_least_zero(f"points[{place}][0]", work)
            check_number(f"points[{place}][1]", value)
            if place and work <= self.points[place - 1][0]:
                raise InvalidValue(
                    f"points[{place}][0]",
                    f"is {work:g}, not above the work of the point before",
                    "List points by rising work",
                )
        object.__setattr__(self, "_work", np.array([work for work, _ in self.points], dtype=np.float64))
        object.__setattr__(self, "_values", np.array([value for _, value in self.points], dtype=np.float64))

    @property
    def greatest_curvature(self) -> float:
        """Infinite where a slope rises, the flat ends included."""
        slopes = self._slopes()
        # Points on one straight line differ in slope by rounding.
        return math.inf if np.any(np.diff(slopes) > 1e-9 * np.abs(slopes).max()) else 0.0

    @property
    def least_slope(self) -> float:
        """The lowest slope, the flat ends included."""
        return float(self._slopes().min())

    def value(self, work: ArrayLike) -> Floats:
        """μ at each amount of work."""
        return np.asarray(np.interp(_array(work), self._work, self._values))

    def gain(self, start: float, end: ArrayLike) -> Floats:
        """μ(end) − μ(start)."""
        return self.value(end) - self.value(start)

    @property
    def landmarks(self) -> Floats:
        """The points."""
        return self._work

    def _slopes(self) -> Floats:
        inner = np.diff(self._values) / np.diff(self._work)
        before = [0.0] if self._work[0] > 0 else []
        return np.concatenate([before, inner, [0.0]])


def find_majorant(values: ArrayLike, upto: int | None = None, *, at: ArrayLike | None = None) -> Floats:
    """The least concave sequence ≥ `values`, for the points 0 … upto.

    `at` says where the points are, rising; without it they are evenly spaced. Equal to `values` at both
    ends. Walks the upper hull from the left: the next corner is the point seen at the steepest angle, the
    farthest of them on a tie.
    """
    heights = _array(values)
    last = len(heights) - 1
    places = np.arange(last + 1, dtype=np.float64) if at is None else _array(at)
    stop = last if upto is None else min(upto, last)
    hull = heights.copy()
    corner = 0
    while corner < stop:
        slopes = (heights[corner + 1 :] - heights[corner]) / (places[corner + 1 :] - places[corner])
        ahead = last - corner - 1 - int(np.argmax(slopes[::-1]))
        span = places[corner : corner + ahead + 2] - places[corner]
        # Never below the values themselves, whatever rounding does to the straight line.
        line = np.maximum(heights[corner] + slopes[ahead] * span, heights[corner : corner + ahead + 2])
        line[-1] = heights[corner + ahead + 1]
        hull[corner : corner + ahead + 2] = line
        corner += ahead + 1
    return hull[: stop + 1]


def majorant_gains(utility: Utility, start: float, rate: float, reachable: int, upto: int) -> Floats:
    """Gains of 0 … upto worker-slots on the least concave majorant of μ from `start` on.

    The majorant is taken over the points that worker-slots can reach: start, start + rate, …,
    start + reachable·rate. For a concave μ these are its own gains.
    """
    upto = min(upto, reachable)
    if utility.concave:
        return utility.gain(start, start + rate * np.arange(upto + 1))
    return find_majorant(utility.gain(start, start + rate * np.arange(reachable + 1)), upto)


def _root_step(start: float | Floats, end: Floats) -> Floats:
    roots = np.sqrt(end) + np.sqrt(start)
    return np.asarray(np.divide(end - start, roots, out=np.zeros_like(end), where=roots > 0))


def _log_step(start: float | Floats, end: Floats) -> Floats:
    step = np.abs(end - start) / (1 + np.minimum(end, start))
    return np.asarray(np.sign(end - start) * np.log1p(step))


def _scales(each: Sequence["Sqrt"] | Sequence["Log"] | Sequence["Linear"]) -> Floats:
    return np.array([one.scale for one in each], dtype=np.float64)


def _array(numbers: ArrayLike) -> Floats:
    return np.asarray(numbers, dtype=np.float64)


def _logistic(exponent: Floats) -> Floats:
    # 1/(1+e^−x) from e^−|x|, which cannot overflow; underflow to 0 is the right answer.
    with np.errstate(under="ignore"):
        small = np.exp(-np.abs(exponent))
    return np.where(exponent >= 0, 1.0, small) / (1.0 + small)
