"""What the paper claims, what we measured, and whether the two agree beyond the noise of the trials."""

import math
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from statistics import fmean, stdev

from gadget.experiments.points import BASELINES, GADGET, OURS, Figure, Measured
from gadget.report.reproduction.series import RATIO_READINGS, Series, find_series
from gadget.workloads.paper import BudgetUnit

# A difference counts when it is larger than this share of what it is taken from, and than two standard
# errors of its mean over trials.
_COUNTS = 1e-3
_ERRORS = 2.0


class Answer(StrEnum):
    """How a claim fares."""

    REPRODUCED = "reproduced"
    WITHIN_NOISE = "within noise"
    NOT_REPRODUCED = "not reproduced"


@dataclass(frozen=True)
class Verdict:
    """One claim of the paper beside our numbers."""

    claim: str
    measured: str
    answer: Answer
    why: str = ""
    """Where it does not hold: why not, as far as the numbers tell."""


def find_verdicts(measured: Sequence[Measured]) -> list[Verdict]:
    """Every claim of Sec. VI, judged."""
    usual = BudgetUnit.WORKER_SLOTS
    found: list[Verdict] = []
    for budget in (BudgetUnit.WORKER_SLOTS, BudgetUnit.ITERATIONS):
        found += _judge_utility(measured, budget)
    theirs = [one for one in measured if one.point.policy != OURS]
    for figure, what in ((Figure.NODES, "node"), (Figure.LINKS, "link")):
        found += [_judge_rise(line, what) for line in find_series(theirs, figure, usual)]
    return found + list(_judge_ratio(measured, find_series(measured, Figure.RATIO, usual)))


def _judge_utility(measured: Sequence[Measured], budget: BudgetUnit) -> Iterator[Verdict]:
    utility, used = (_by_trial(measured, budget, name) for name in ("utility", "utilisation"))
    if not utility:
        return
    numbers = sorted({x for x, _, _ in utility})
    gaps = {x: _gaps(utility, x) for x in numbers}
    shown = "; ".join(f"{x:g} jobs: {_means(utility, x)}" for x in (numbers[0], numbers[-1]))
    last = numbers[-1]
    most = max(_mean(used, last, name) for name in (GADGET, *BASELINES))
    room = f"nobody uses more than {100 * most:.0f}% of the GPUs at {last:g} jobs, so that few jobs starve"
    above = _answer(gaps[last], _mean(utility, last, GADGET))
    yield Verdict(
        f"GADGET is above FIFO, DRF and LAS (budget in {budget})",
        f"{shown}. Above the best of them at {last:g} jobs by {_show(gaps[last])}",
        above,
        "" if above is Answer.REPRODUCED else room,
    )
    if len(numbers) > 1:
        first = gaps[numbers[0]]
        growth = [late - early for early, late in zip(first, gaps[last], strict=False)]
        grows = _answer(growth, _mean(utility, last, GADGET))
        yield Verdict(
            f"The gap to the best baseline grows with the number of jobs (budget in {budget})",
            f"{_show(first)} at {numbers[0]:g} jobs, {_show(gaps[last])} at {last:g}",
            grows,
            "" if grows is Answer.REPRODUCED else room,
        )
    ours, theirs = _mean(used, last, GADGET), max(_mean(used, last, name) for name in BASELINES)
    yield Verdict(
        f"GADGET uses more of the GPUs than the baselines (budget in {budget})",
        f"at {last:g} jobs {100 * ours:.0f}%, the best baseline {100 * theirs:.0f}%",
        Answer.REPRODUCED if ours > theirs + 0.01 else Answer.NOT_REPRODUCED,
        ""
        if ours > theirs + 0.01
        else "a job whose utility has levelled off gets its smallest ring, and only idle GPUs",
    )


def _judge_rise(line: Series, what: str) -> Verdict:
    shown = ", ".join(f"{x:g}: {100 * mean:.1f}%" for x, mean in zip(line.x, line.mean, strict=True))
    error = math.hypot(line.spread[0], line.spread[-1]) / math.sqrt(max(line.trials, 1))
    rise = line.mean[-1] - line.mean[0]
    falls = any(after < before - 0.01 for before, after in zip(line.mean, line.mean[1:], strict=False))
    if rise > max(_COUNTS, _ERRORS * error) and not falls:
        answer, why = Answer.REPRODUCED, ""
    elif min(line.mean) > 0.99:
        answer, why = Answer.NOT_REPRODUCED, "all jobs are embedded at every capacity"
    elif abs(rise) <= max(_COUNTS, _ERRORS * error):
        answer = Answer.WITHIN_NOISE
        why = f"the rise is {100 * rise:.1f} points, with a standard error of {100 * error:.1f}"
        why += "; rings that fit one server need no link" if what == "link" else ""
    else:
        answer, why = Answer.NOT_REPRODUCED, "the share falls somewhere on the way"
    return Verdict(f"The share of embedded jobs rises with {what} capacity: {line.name}", shown, answer, why)


def _judge_ratio(measured: Sequence[Measured], series: Sequence[Series]) -> Iterator[Verdict]:
    points = [one for one in measured if one.point.figure is Figure.RATIO and "repaired" in one.numbers]
    if not points:
        return
    gamma = max(one.numbers["gamma"] for one in points)
    proved = fmean(one.numbers["proved"] for one in points)
    facts = f"{100 * proved:.0f}% of the optima proved; Γ = {gamma:g}, 1/Γ = {1 / gamma:.2f}"
    for line in series:
        if line.name == RATIO_READINGS["literal"]:
            continue  # it overloads servers: no allocation to compare with the best feasible one
        low, high = min(line.mean), max(line.mean)
        shown = f"{100 * low:.1f}% to {100 * high:.1f}%; {facts}"
        third = Answer.REPRODUCED if low > 1 / 3 else Answer.NOT_REPRODUCED
        yield Verdict(f"G-VNE reaches more than 1/3 of the slot optimum: {line.name}", shown, third)
        inside = low >= 0.6 and high <= 0.8
        beyond = (
            "placing again and refilling wins back what rounding loses" if low > 0.8 else "outside that range"
        )
        yield Verdict(
            f"G-VNE reaches 60–80% of the slot optimum: {line.name}",
            shown,
            Answer.REPRODUCED if inside else Answer.NOT_REPRODUCED,
            "" if inside else beyond,
        )


_ByTrial = dict[tuple[float, str, int], float]


def _by_trial(measured: Sequence[Measured], budget: BudgetUnit, name: str) -> _ByTrial:
    return {
        (one.point.x, one.point.policy, one.point.trial): one.numbers.get(name, 0.0)
        for one in measured
        if one.point.figure is Figure.UTILITY and one.point.budget is budget
    }


def _gaps(numbers: _ByTrial, x: float) -> list[float]:
    """GADGET less the best baseline, trial by trial: both see the same cluster and jobs."""
    trials = sorted({trial for place, _, trial in numbers if place == x})
    return [numbers[x, GADGET, t] - max(numbers[x, name, t] for name in BASELINES) for t in trials]


def _mean(numbers: _ByTrial, x: float, policy: str) -> float:
    return fmean(number for (place, name, _), number in numbers.items() if (place, name) == (x, policy))


def _means(numbers: _ByTrial, x: float) -> str:
    by_policy: defaultdict[str, float] = defaultdict(float)
    for name in (GADGET, *BASELINES):
        by_policy[name] = _mean(numbers, x, name)
    return ", ".join(f"{name} {number:,.0f}" for name, number in by_policy.items())


def _answer(differences: Sequence[float], size: float) -> Answer:
    """Whether differences over trials are above 0 for sure, below it for sure, or neither."""
    mean, noise = fmean(differences), _ERRORS * _error(differences)
    least = max(_COUNTS * abs(size), noise)
    if mean > least:
        return Answer.REPRODUCED
    return Answer.NOT_REPRODUCED if mean < -least else Answer.WITHIN_NOISE


def _error(differences: Sequence[float]) -> float:
    """The standard error of the mean; one trial has none to show."""
    return stdev(differences) / math.sqrt(len(differences)) if len(differences) > 1 else 0.0


def _show(differences: Sequence[float]) -> str:
    return f"{fmean(differences):,.1f} ± {_error(differences):,.1f}"
