"""A scenario of rigid jobs as a pool without a network: how it fits, and what became of each job."""

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from gadget.errors import BadOption
from gadget.model.job import Job
from gadget.model.quantity import TOLERANCE
from gadget.model.snapshot import Scenario
from gadget.simulate.blind import BlindResult, run_blind
from gadget.simulate.blind_rule import BlindRule

# Whole GPUs, or thousandths where jobs share them.
_SCALES = (1, 1000)

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False, slots=True)
class BlindRun:
    """The jobs of a scenario by name, and when each started and ended, in seconds from slot 0 on.

    Jobs run to their ends, whether or not these lie within the horizon.
    """

    names: tuple[str, ...]
    first_start_seconds: Floats
    end_seconds: Floats
    result: BlindResult
    """All of it; `result.gpus` and `result.capacity` count thousandths where jobs share GPUs."""
    gpu_scale: int
    """How many of these make one GPU."""


def run_blind_scenario(scenario: Scenario, policy: str, *, tick_seconds: float | None = None) -> BlindRun:
    """Let a scenario's jobs run on all that its servers have together, wherever that is.

    A job must be rigid and have `work` and one resource, the same for all; it then lasts as many slots, and
    parts of a slot, as its ring needs for its work. Limits of queues are resource × slots, as in slots.
    Events fall on whole ticks: thousandths of a second (of a slot that is shorter), if nothing else is given.
    """
    in_slots = BlindRule.parse(policy)
    seconds = scenario.slot_seconds
    resource = _find_resource(scenario)
    for place, job in enumerate(scenario.jobs):
        if problem := _find_problem(job, in_slots, seconds):
            raise _misfit(place, job, problem)
    slots = np.array([_find_slots(job, seconds) for job in scenario.jobs], np.float64)
    needs = np.array([job.resources[resource] * job.max_workers for job in scenario.jobs], np.float64)
    scale = _find_scale(scenario, needs)
    capacity = math.floor(scenario.cluster.total(resource) * scale * (1 + TOLERANCE))
    whole = np.rint(needs * scale)
    for place in np.flatnonzero(whole > capacity)[:1]:
        raise _misfit(
            int(place),
            scenario.jobs[place],
            f"needs {needs[place]:g} {resource}; the cluster has {scenario.cluster.total(resource):g}. "
            "Leave it out, or add servers",
        )
    rule = BlindRule(
        in_slots.order,
        in_slots.backfill,
        tuple(limit * seconds * scale for limit in in_slots.queues),
        in_slots.running_first,
    )
    arrival = np.array([job.arrival for job in scenario.jobs], np.float64)
    result = run_blind(
        arrival * seconds,
        slots * seconds,
        whole,
        capacity=max(1, capacity),
        rule=rule,
        tick_seconds=min(1.0, seconds) / 1000 if tick_seconds is None else tick_seconds,
    )
    names = tuple(job.name for job in scenario.jobs)
    return BlindRun(names, result.first_start_seconds, result.end_seconds, result, scale)


def _find_resource(scenario: Scenario) -> str:
    """The one resource that jobs take."""
    first: str | None = None
    for place, job in enumerate(scenario.jobs):
        taken = [name for name, amount in job.resources.items() if amount]
        if len(taken) > 1:
            raise _misfit(place, job, f"takes {' and '.join(taken)}. A pool has one resource; keep one")
        if first is not None and taken[0] != first:
            raise _misfit(place, job, f"takes {taken[0]}, jobs before it {first}. Let all take the same")
        first = taken[0]
    return first or "gpu"


def _find_problem(job: Job, rule: BlindRule, slot_seconds: float) -> str | None:
    """Why the job cannot run in a pool, with a mend."""
    if job.min_workers != job.max_workers:
        return (
            f"is elastic, with {job.min_workers} … {job.max_workers} workers. Set workers.min = workers.max, "
            "or simulate in slots"
        )
    if job.work is None:
        return "has no work, so it never ends. Give it work, or simulate in slots"
    if not float(job.work_in_slot(job.max_workers, slot_seconds)):
        return "does no work in a slot. Raise its rate"
    if rule.may_stop and job.work_in_slot(job.max_workers, slot_seconds, restart=True) < job.work_in_slot(
        job.max_workers, slot_seconds
    ):
        return f"pays for restarts, which a pool under {rule.order} does not know. Simulate in slots"
    if _find_slots(job, slot_seconds) * job.max_workers > job.worker_slots * (1 + TOLERANCE):
        return "has a budget that ends before its work is done. Raise it, or simulate in slots"
    return None


def _find_slots(job: Job, slot_seconds: float) -> float:
    """How long the job runs."""
    assert job.work is not None  # or it would not be here
    return job.work / float(job.work_in_slot(job.max_workers, slot_seconds))


def _find_scale(scenario: Scenario, needs: Floats) -> int:
    for scale in _SCALES:
        if (
            np.allclose(needs * scale, np.rint(needs * scale), rtol=TOLERANCE, atol=TOLERANCE)
            and (np.rint(needs * scale) >= 1).all()
        ):
            return scale
    place = int(np.argmax(np.abs(needs * _SCALES[-1] - np.rint(needs * _SCALES[-1]))))
    problem = f"takes {needs[place]:.9g}. A pool counts in thousandths; round it"
    raise _misfit(place, scenario.jobs[place], problem)


def _misfit(place: int, job: Job, problem: str) -> BadOption:
    return BadOption(f"a pool without a network cannot run jobs[{place}] {job.name!r}: it {problem}.")
