"""What work is worth up to a total of it: a utility that a job with an end makes of its own."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike

from gadget.model.utility import Floats, Integers, Utility


@dataclass(frozen=True, slots=True)
class Capped(Utility):
    """What the first `most` work is worth by another utility; more adds nothing.

    Not a kind of its own in files: it is what a job with a total of work makes of its utility.
    """

    inner: Utility
    most: float
    kind: ClassVar[str] = "capped"

    @property
    def greatest_curvature(self) -> float:
        """That of the inner one, unless it can fall: then it bends upwards where the cap stops it."""
        return self.inner.greatest_curvature if self.inner.non_decreasing else math.inf

    @property
    def least_slope(self) -> float:
        """Never above 0, which it is past the cap."""
        return min(0.0, self.inner.least_slope)

    @property
    def landmarks(self) -> Floats:
        """Those of the inner one, and the cap."""
        return np.append(self.inner.landmarks, self.most)

    def value(self, work: ArrayLike) -> Floats:
        """μ at each amount of work."""
        return self.inner.value(np.minimum(work, self.most))

    def gain(self, start: float, end: ArrayLike) -> Floats:
        """μ(end) − μ(start)."""
        return self.inner.gain(min(start, self.most), np.minimum(end, self.most))

    @classmethod
    def gains_of_each(cls, each: Sequence[Self], which: Integers, start: Floats, end: Floats) -> Floats:
        """The gain of each of several, all of one inner kind at once."""
        most = np.array([one.most for one in each])
        start, end = np.minimum(start, most), np.minimum(end, most[which])
        kinds = [type(one.inner) for one in each]
        gains = np.empty_like(end)
        for kind in set(kinds):
            own = np.array([other is kind for other in kinds])
            asked = own[which]
            number = np.cumsum(own) - 1
            inner = [one.inner for one in each if type(one.inner) is kind]
            gains[asked] = kind.gains_of_each(inner, number[which[asked]], start[own], end[asked])
        return gains
