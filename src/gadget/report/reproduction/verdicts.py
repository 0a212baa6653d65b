"""What the paper claims, what we measured, and whether the two agree."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from gadget.experiments.points import BASELINES, GADGET, Figure, Measured
from gadget.report.reproduction.series import RATIO_READINGS, Series, find_series
from gadget.workloads.paper import BudgetUnit

# Differences below this are noise of the rounding, not of the trials.
_ALIKE = 1e-3


@dataclass(frozen=True)
class Verdict:
    """One claim of the paper beside our numbers."""

    claim: str
    measured: str
    holds: bool
    why: str = ""
    """Where it does not hold: why not."""


def find_verdicts(measured: Sequence[Measured]) -> list[Verdict]:
    """Every claim of Sec. VI, judged."""
    usual = BudgetUnit.WORKER_SLOTS
    found = [
        _judge_utility(find_series(measured, Figure.UTILITY, budget), budget)
        for budget in (BudgetUnit.WORKER_SLOTS, BudgetUnit.ITERATIONS)
    ]
    for figure, what in ((Figure.NODES, "node"), (Figure.LINKS, "link")):
        found += [_judge_rise(line, what) for line in find_series(measured, figure, usual)]
    return found + _judge_ratio(measured, find_series(measured, Figure.RATIO, usual))


def _judge_utility(series: Sequence[Series], budget: BudgetUnit) -> Verdict:
    lines = {line.name: line for line in series}
    ours = lines[GADGET]
    gaps = {x: ours.at(x) - max(lines[name].at(x) for name in BASELINES) for x in ours.x}
    shares = [gap / max(abs(ours.at(x)), 1e-9) for x, gap in gaps.items()]
    above = all(share >= -_ALIKE for share in shares)
    first, last = ours.x[0], ours.x[-1]
    grows = gaps[last] > gaps[first]
    numbers = "; ".join(
        f"{x:g} jobs: " + ", ".join(f"{name} {lines[name].at(x):,.0f}" for name in (GADGET, *BASELINES))
        for x in (first, last)
    )
    if budget is BudgetUnit.ITERATIONS:
        why = "read in iterations the budgets end jobs early and the cluster is nearly idle: nobody starves"
    elif above:
        why = "the cluster has room for all; a baseline that serves newcomers first reaches almost the same"
    else:
        why = "a baseline came out ahead at some number of jobs"
    return Verdict(
        f"GADGET is above FIFO, DRF and LAS, and the gap grows with the number of jobs (budget in {budget})",
        f"{numbers}. Gap to the best baseline: {gaps[first]:,.1f} → {gaps[last]:,.1f}",
        above and grows,
        "" if above and grows else why,
    )


def _judge_rise(line: Series, what: str) -> Verdict:
    holds = line.mean[-1] > line.mean[0] + _ALIKE and all(
        after >= before - 0.01 for before, after in zip(line.mean, line.mean[1:], strict=False)
    )
    shown = ", ".join(f"{x:g}: {100 * mean:.1f}%" for x, mean in zip(line.x, line.mean, strict=True))
    if min(line.mean) > 1 - 0.01:
        why = "all jobs are embedded at every capacity"
    elif what == "link":
        why = "most rings fit into one server and need no link; GPUs run out before links do"
    else:
        why = "the share does not rise throughout"
    return Verdict(
        f"The share of embedded jobs rises with {what} capacity: {line.name}",
        shown,
        holds,
        "" if holds else why,
    )


def _judge_ratio(measured: Iterable[Measured], series: Sequence[Series]) -> list[Verdict]:
    points = [one for one in measured if one.point.figure is Figure.RATIO and "repaired" in one.numbers]
    if not points:
        return []
    gamma = max(one.numbers["gamma"] for one in points)
    proved = sum(one.numbers["proved"] for one in points) / len(points)
    worst = min(one.numbers["worst_repaired"] for one in points)
    found = []
    for line in series:
        low, high = min(line.mean), max(line.mean)
        repaired = line.name == RATIO_READINGS["repaired"]
        holds = low >= 1 / 3 and (not repaired or worst >= 1 / (3 * gamma))
        shown = f"{100 * low:.1f}% to {100 * high:.1f}%" + (
            f", worst slot {100 * worst:.1f}%" if repaired else ""
        )
        found.append(
            Verdict(
                f"G-VNE reaches more than 1/3 of the slot optimum (the paper measured 60–80%): {line.name}",
                f"{shown}; {100 * proved:.0f}% of the optima proved; Γ = {gamma:g}, 1/Γ = {1 / gamma:.2f}",
                holds,
                "" if holds else "dropping what does not fit wastes what the LP cannot see",
            )
        )
    return found
