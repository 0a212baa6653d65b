"""Points of the four figures: what each is, and how it is measured."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from enum import StrEnum
from itertools import islice, product

import numpy as np

from gadget.experiments.scenario import Floats, build_trial
from gadget.experiments.settings import READINGS, Settings
from gadget.model.snapshot import Scenario, Snapshot
from gadget.policies.gadget_paper import GadgetPaper
from gadget.policies.optimal import Optimal
from gadget.policies.policy import Policy, ask
from gadget.policies.registry import build_policy
from gadget.simulate.loop import run_slots
from gadget.simulate.measure import Meter
from gadget.workloads.paper import BudgetUnit


class Figure(StrEnum):
    """The four figures of Sec. VI."""

    UTILITY = "utility"
    NODES = "nodes"
    LINKS = "links"
    RATIO = "ratio"


GADGET = "gadget-paper"
BASELINES = ("fifo", "drf", "las")
OURS = "gadget"
"""Not in the paper: what the same figures show of the policy that stands in for its algorithms."""


@dataclass(frozen=True, order=True)
class Point:
    """One run of one figure."""

    figure: Figure
    x: float
    """Number of jobs, or units of capacity."""
    policy: str
    budget: BudgetUnit
    rigid: bool
    """True when rings have N_i workers or none; else any size from 1 to N_i."""
    trial: int


@dataclass(frozen=True)
class Measured:
    """A point with what was measured there, by name."""

    point: Point
    numbers: dict[str, float]


def list_points(settings: Settings) -> Iterator[Point]:
    """Every point of the experiment, the quickest figures first."""
    usual = BudgetUnit.WORKER_SLOTS
    for trial in range(settings.trials):
        for policy, rigid in product((GADGET, OURS), (False, True)):
            for units in settings.node_units:
                yield Point(Figure.NODES, units, policy, usual, rigid, trial)
            for units in settings.link_units:
                yield Point(Figure.LINKS, units, policy, usual, rigid, trial)
        for budget in READINGS:
            for jobs in settings.jobs:
                for policy in (GADGET, *BASELINES, OURS):
                    yield Point(Figure.UTILITY, jobs, policy, budget, False, trial)
        for jobs in settings.ratio_jobs:
            yield Point(Figure.RATIO, jobs, GADGET, usual, False, trial)


def measure(settings: Settings, point: Point, submissions: Floats | None) -> Measured:
    """Run the point; the same settings and point give the same numbers, times aside."""
    jobs = int(point.x) if point.figure in (Figure.UTILITY, Figure.RATIO) else settings.capacity_jobs
    scenario = build_trial(
        settings,
        point.trial,
        jobs,
        budget=point.budget,
        rigid=point.rigid,
        submissions=submissions,
        node_units=point.x if point.figure is Figure.NODES else None,
        link_units=point.x if point.figure is Figure.LINKS else None,
    )
    if point.figure is Figure.RATIO:
        return Measured(point, _measure_ratio(settings, scenario, point.trial))
    return Measured(point, _measure_run(scenario, _policy(settings, point), point))


def _policy(settings: Settings, point: Point) -> Policy:
    match point.policy:
        case "gadget-paper":
            return GadgetPaper(rounds=settings.rounds)
        case "drf" | "gadget":
            return build_policy(point.policy)
        case baseline:
            # "The number of workers is fixed to a number within [1, 10]" (Sec. VI).
            return build_policy(f"{baseline}:draw={point.trial}")


def _measure_run(scenario: Scenario, policy: Policy, point: Point) -> dict[str, float]:
    meter = Meter(scenario, point.policy, point.trial)
    for step in run_slots(scenario, policy, seed=point.trial):
        meter.add(step)
    run = meter.result()
    shares = [slot.embedded / slot.active for slot in run.slots if slot.active]
    return {
        "utility": run.total_utility,
        "gain": float(sum(job.gain for job in run.jobs)),
        "share_embedded": float(np.mean(shares)) if shares else 1.0,
        "utilisation": float(np.mean([slot.utilisation["gpu"] for slot in run.slots])),
        "seconds_per_slot": float(np.mean([slot.seconds for slot in run.slots])),
    }


def _measure_ratio(settings: Settings, scenario: Scenario, seed: int) -> dict[str, float]:
    """The gains of Algorithm 2 over those of the optimum, averaged over the first slots of a run of it.

    All jobs are there from the first slot on: spread over the horizon they leave the cluster nearly idle,
    and whoever has room for all is optimal.
    """
    crowded = replace(scenario, jobs=tuple(replace(job, arrival=0) for job in scenario.jobs))
    steps = run_slots(crowded, GadgetPaper(rounds=settings.rounds), seed=seed)
    kept = [
        ratios
        for step in islice(steps, settings.ratio_slots)
        if (ratios := _compare(settings, step.snapshot, seed))
    ]
    names = kept[0] if kept else {}
    means = {name: float(np.mean([ratios[name] for ratios in kept])) for name in names}
    worst = {"worst_repaired": min((ratios["repaired"] for ratios in kept), default=1.0)}
    gamma = max(job.max_workers for job in scenario.jobs)
    return {**means, **worst, "slots": float(len(kept)), "gamma": float(gamma)}


def _compare(settings: Settings, snapshot: Snapshot, seed: int) -> dict[str, float]:
    """Ratios to the slot optimum of three readings of Algorithm 2's last step; nothing when all gain 0."""
    optimum = ask(Optimal(time_limit=settings.optimum_seconds), snapshot, seed)
    shown = optimum.surrogate or optimum
    if not shown.upper_bound:
        return {}
    readings = {
        "literal": GadgetPaper(rounds=settings.rounds, literal=True),
        "dropped": GadgetPaper(rounds=settings.rounds, refill=False),
        "repaired": GadgetPaper(rounds=settings.rounds),
    }
    ratios = {}
    for name, policy in readings.items():
        decided = ask(policy, snapshot, seed)
        ratios[name] = float((decided.surrogate or decided).objective / shown.upper_bound)
    return {**ratios, "proved": float(shown.objective >= shown.upper_bound * (1 - 1e-9))}
