"""Measured points as lines of a figure: means over trials, with their spread."""

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from gadget.experiments.points import Figure, Measured
from gadget.workloads.paper import BudgetUnit

RATIO_READINGS = {
    "repaired": "kept, placed again, refilled",
    "dropped": "what does not fit is dropped",
    "literal": "as drawn, overloads and all",
}


@dataclass(frozen=True)
class Series:
    """One line: for each x the mean over trials, the standard deviation and the number of trials."""

    figure: Figure
    budget: BudgetUnit
    name: str
    x: tuple[float, ...]
    mean: tuple[float, ...]
    spread: tuple[float, ...]
    trials: int

    def at(self, x: float) -> float:
        """The mean at one x."""
        return self.mean[self.x.index(x)]


def find_series(measured: Iterable[Measured], figure: Figure, budget: BudgetUnit) -> list[Series]:
    """The lines of one figure in one reading of the budget, in order of first mention."""
    found: defaultdict[str, defaultdict[float, list[float]]] = defaultdict(lambda: defaultdict(list))
    for one in measured:
        if one.point.figure is figure and one.point.budget is budget:
            for name, number in _numbers(one).items():
                found[name][one.point.x].append(number)
    return [
        Series(
            figure,
            budget,
            name,
            tuple(sorted(values)),
            tuple(float(np.mean(values[x])) for x in sorted(values)),
            tuple(float(np.std(values[x], ddof=1)) if len(values[x]) > 1 else 0.0 for x in sorted(values)),
            max(len(numbers) for numbers in values.values()),
        )
        for name, values in found.items()
    ]


def _numbers(one: Measured) -> dict[str, float]:
    match one.point.figure:
        case Figure.UTILITY:
            return {one.point.policy: one.numbers["utility"]}
        case Figure.NODES | Figure.LINKS:
            kind = "rigid rings (N workers or none)" if one.point.rigid else "elastic rings (1 … N workers)"
            return {f"{one.point.policy}, {kind}": one.numbers["share_embedded"]}
        case Figure.RATIO:
            return {text: one.numbers[key] for key, text in RATIO_READINGS.items() if key in one.numbers}
