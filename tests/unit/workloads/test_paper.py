"""The paper's jobs keep to the ranges of Sec. VI, and reach their ends."""

import numpy as np
import pytest

from gadget.model.utility import Log, Sigmoid, Sqrt
from gadget.workloads.paper import BudgetUnit, UtilityFamily, build_paper_jobs

ARRIVALS = np.arange(4000) // 20


def test_every_parameter_stays_in_its_range_and_reaches_its_ends() -> None:
    jobs = build_paper_jobs(np.random.default_rng(0), ARRIVALS)
    assert [job.arrival for job in jobs] == ARRIVALS.tolist()
    assert {job.max_workers for job in jobs} == {1, 2, 3, 4, 5}
    for numbers, low, high in (
        ([job.worker_slots for job in jobs], 1000, 6000),
        ([job.rate for job in jobs], 50, 500),
        ([job.bandwidth_gbps for job in jobs], 0.1, 5),
        ([job.utility.priority for job in jobs if isinstance(job.utility, Sigmoid)], 1, 100),
        ([job.utility.target for job in jobs if isinstance(job.utility, Sigmoid)], 300, 3000),
    ):
        assert len(numbers) == len(jobs)
        span = high - low
        assert low <= min(numbers) < low + span / 50
        assert high - span / 50 < max(numbers) <= high
        assert np.mean(numbers) == pytest.approx((low + high) / 2, rel=0.05)
    assert all(0 < job.utility.sensitivity < 1 for job in jobs if isinstance(job.utility, Sigmoid))


def test_budgets_in_iterations_pay_for_as_many_worker_slots_as_iterations_take() -> None:
    usual = build_paper_jobs(np.random.default_rng(1), ARRIVALS[:50])
    other = build_paper_jobs(np.random.default_rng(1), ARRIVALS[:50], budget_unit=BudgetUnit.ITERATIONS)
    for a, b in zip(usual, other, strict=True):
        assert a.rate is not None
        assert b.worker_slots == a.worker_slots // a.rate


@pytest.mark.parametrize(("family", "kind"), [("sqrt", Sqrt), ("log", Log), ("sigmoid", Sigmoid)])
def test_families(family: str, kind: type) -> None:
    jobs = build_paper_jobs(np.random.default_rng(2), ARRIVALS[:9], utility=UtilityFamily(family))
    assert all(isinstance(job.utility, kind) for job in jobs)


def test_no_arrivals_are_no_jobs() -> None:
    assert build_paper_jobs(np.random.default_rng(0), ARRIVALS[:0]) == ()
