"""The present as a scenario: what is left of the jobs, from slot 0 on."""

from collections.abc import Mapping
from dataclasses import replace

from gadget.engine.state import State
from gadget.model.job import ActiveJob, Job
from gadget.model.quantity import SMALLEST
from gadget.model.resources import Resources
from gadget.model.snapshot import Scenario
from gadget.model.utility import Sigmoid, Utility


def build_left_over(state: State, slots: int) -> Scenario:
    """A scenario of so many slots in which every unfinished job arrives at once, with what it has left.

    Work and budget are less what was done; a deadline is as far away as it is now. A sigmoid's target
    comes nearer by the work done, as long as it lies ahead; other utilities are those of a new job.
    """
    jobs = tuple(_leave(record.active, state) for record in state.active.values())
    return Scenario(state.available, jobs, slots, state.slot_seconds)


def _leave(active: ActiveJob, state: State) -> Job:
    job, done = active.job, active.work(state.slot_seconds)
    return replace(
        job,
        arrival=0,
        work=None if job.work is None else _less(job.work, done),
        budget=None if job.budget is None else _pay(job.budget, job.resources, active.served),
        deadline=None if job.deadline is None else max(1, job.deadline - state.slot),
        utility=_come_nearer(job.utility, done),
    )


def _less(total: float, done: float) -> float:
    # A job must have something to do; what is done to the last bit is over at its next report.
    return max(total - done, total * 1e-6, SMALLEST)


def _pay(budget: Mapping[str, float], takes: Mapping[str, float], served: float) -> Resources:
    left = {name: paid - takes.get(name, 0) * served for name, paid in budget.items()}
    # What is left of sums of fractions is nothing.
    return Resources({name: amount if amount > budget[name] * 1e-9 else 0 for name, amount in left.items()})


def _come_nearer(utility: Utility, done: float) -> Utility:
    if isinstance(utility, Sigmoid) and utility.target > done:
        return replace(utility, target=_less(utility.target, done))
    return utility
