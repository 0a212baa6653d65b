"""How well a law tells times of placements that it was not fitted to."""

from collections.abc import Collection
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from gadget.errors import BadOption, InvalidValue
from gadget.model.measured import Measured
from gadget.model.names import nearest_hint
from gadget.solve.fitting import Constants, Law, fit_constants

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]

TAIL = 0.9


@dataclass(frozen=True, slots=True, eq=False)
class Fit:
    """A law fitted to all measurements, and what fits without some placements say of just these."""

    law: Law
    constants: Constants
    """Fitted to all of them."""
    parts: tuple[Constants, ...]
    """Fitted to all but one part of the placements, each in turn."""
    measured: Measured
    """The measurements of the placements that were left out, each in its turn."""
    predicted: Floats
    """Their times, by constants that were fitted without their placement."""

    @property
    def errors(self) -> Floats:
        """|predicted − measured| / measured."""
        return np.abs(self.predicted / self.measured.step_seconds - 1)

    @property
    def median_error(self) -> float:
        """The median of the errors."""
        return float(np.median(self.errors))

    @property
    def tail_error(self) -> float:
        """The 90th percentile of the errors."""
        return float(np.quantile(self.errors, TAIL))


def deal_placements(measured: Measured, parts: int, seed: int) -> Integers:
    """The part of each measurement: placements are dealt out at random, evenly, each as a whole.

    The seed deals the same placements alike whatever the order of the measurements.
    """
    names = measured.distinct_placements
    if len(names) < 2:
        raise InvalidValue(
            measured.name, f"has measurements of one placement only ({names[0]})", "Add those of another"
        )
    parts = min(parts, len(names))
    dealt = np.empty(len(names), dtype=np.int64)
    dealt[np.random.default_rng(seed).permutation(len(names))] = np.arange(len(names)) % parts
    return np.asarray(dealt[np.searchsorted(np.array(names), measured.placements)])


def name_part(measured: Measured, held_out: Collection[str]) -> Integers:
    """0 for measurements of the named placements, −1 for the rest, which are never left out."""
    known = measured.distinct_placements
    for name in held_out:
        if name not in known:
            raise BadOption(
                f"--held-out {name}: {measured.name} has no such placement{nearest_hint(name, known)}. "
                f"It has {', '.join(known[:5])} …; digits are sorted, and 16x64 is 64 workers on 16 servers."
            )
    if len(set(held_out)) == len(known):
        raise BadOption(f"--held-out: names every placement of {measured.name}. Leave some to fit to.")
    return np.where(np.isin(measured.placements, list(held_out)), 0, -1)


def fit_held_out(measured: Measured, law: Law, part_of: Integers) -> Fit:
    """Fit to all, and to all but each part; part −1 is never left out."""
    parts: list[Constants] = []
    predicted = np.full(len(measured), np.nan)
    for part in range(int(part_of.max()) + 1):
        out = part_of == part
        found = fit_constants(measured.where(~out), law)
        parts.append(found)
        predicted[out] = found.predict(measured.where(out))
    judged = part_of >= 0
    return Fit(law, fit_constants(measured, law), tuple(parts), measured.where(judged), predicted[judged])
