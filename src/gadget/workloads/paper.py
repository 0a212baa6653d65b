"""The jobs of the paper's experiment (Sec. VI)."""

from enum import StrEnum

import numpy as np
from numpy.typing import NDArray

from gadget.model.job import Job
from gadget.model.resources import Resources
from gadget.model.utility import Log, Sigmoid, Sqrt, Utility


class UtilityFamily(StrEnum):
    """Which of the objectives of Sec. IV the jobs have."""

    SIGMOID = "sigmoid"
    SQRT = "sqrt"
    LOG = "log"


class BudgetUnit(StrEnum):
    """How to read F in [1000, 6000]: in worker-slots, or in iterations (then F/ζ worker-slots)."""

    WORKER_SLOTS = "worker-slots"
    ITERATIONS = "iterations"


def build_paper_jobs(
    rng: np.random.Generator,
    arrivals: NDArray[np.int64],
    *,
    max_workers: int = 5,
    utility: UtilityFamily = UtilityFamily.SIGMOID,
    budget_unit: BudgetUnit = BudgetUnit.WORKER_SLOTS,
) -> tuple[Job, ...]:
    """Jobs with the ranges of Sec. VI, one for each arrival slot.

    One GPU a worker; N in [1, max_workers], F in [1000, 6000], ζ in [50, 500], b in [0.1, 5] Gbps.
    """
    count = len(arrivals)
    sizes = rng.integers(1, max_workers, count, endpoint=True)
    budgets = rng.integers(1000, 6000, count, endpoint=True)
    rates = rng.integers(50, 500, count, endpoint=True)
    megabits = rng.integers(100, 5000, count, endpoint=True)
    return tuple(
        Job(
            name=f"job-{n}",
            arrival=int(arrivals[n]),
            max_workers=int(sizes[n]),
            resources=Resources({"gpu": 1}),
            budget=Resources({"gpu": _budget(int(budgets[n]), int(rates[n]), budget_unit)}),
            bandwidth_gbps=int(megabits[n]) / 1000,
            rate=int(rates[n]),
            utility=_utility(rng, utility),
        )
        for n in range(count)
    )


def _budget(given: int, rate: int, unit: BudgetUnit) -> float:
    return given if unit is BudgetUnit.WORKER_SLOTS else given // rate


def _utility(rng: np.random.Generator, family: UtilityFamily) -> Utility:
    priority = int(rng.integers(1, 100, endpoint=True))
    match family:
        case UtilityFamily.SIGMOID:
            # λ2 in the open interval (0, 1): thousandths, so that files stay short.
            sensitivity = int(rng.integers(1, 999, endpoint=True)) / 1000
            return Sigmoid(priority, sensitivity, int(rng.integers(300, 3000, endpoint=True)))
        case UtilityFamily.SQRT:
            return Sqrt(priority)
        case UtilityFamily.LOG:
            return Log(priority)
