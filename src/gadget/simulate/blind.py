"""Rigid jobs on one pool of GPUs, wherever these are: from event to event, many thousand jobs a second.

A job takes exactly its GPUs or none, runs as long as the trace says, and what it has done is kept when it is
stopped. Nothing changes between events: a job comes, ends, or is demoted to a later queue. At one instant,
ends are handled before arrivals.
"""

import time
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from gadget.errors import InvalidValue
from gadget.model.quantity import TOLERANCE, check_positive, check_whole
from gadget.simulate.blind_rule import BlindRule
from gadget.solve.queueing import BUSY, EVENTS, PEAK, build_pool, run_pool

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]

MOST_TICKS = 2**61


@dataclass(frozen=True, slots=True)
class BlindSummary:
    """A run in numbers; None where there were no jobs."""

    jobs: int
    mean_completion_seconds: float | None
    median_completion_seconds: float | None
    p95_completion_seconds: float | None
    p99_completion_seconds: float | None
    mean_waiting_seconds: float | None
    makespan_seconds: float | None
    utilisation: float | None
    """Share of the pool that was taken, from the first submission to the last end."""
    preemptions: int
    events: int
    jobs_per_second: float | None
    """How fast the run was."""


@dataclass(frozen=True, eq=False, slots=True)
class BlindResult:
    """What became of each job, in the order in which they were given."""

    rule: BlindRule
    capacity: int
    submit_seconds: Floats
    duration_seconds: Floats
    gpus: Integers
    first_start_seconds: Floats
    end_seconds: Floats
    preemptions: Integers
    """How often it was stopped before its end."""
    attained_gpu_seconds: Floats
    peak_gpus: int
    busy_gpu_seconds: float
    """The GPUs taken, added up over time."""
    events: int
    """Instants at which something happened."""
    seconds: float
    """Time that the run took."""

    @property
    def completion_seconds(self) -> Floats:
        """From submission to end."""
        return self.end_seconds - self.submit_seconds

    @property
    def waiting_seconds(self) -> Floats:
        """The part of that in which it did not run."""
        return self.completion_seconds - self.duration_seconds

    def summarise(self) -> BlindSummary:
        """The run in numbers."""
        jobs = len(self.submit_seconds)
        if not jobs:
            return BlindSummary(0, None, None, None, None, None, None, None, 0, 0, None)
        completion = self.completion_seconds
        median, p95, p99 = (float(np.quantile(completion, share)) for share in (0.5, 0.95, 0.99))
        makespan = float(self.end_seconds.max() - self.submit_seconds.min())
        return BlindSummary(
            jobs=jobs,
            mean_completion_seconds=float(completion.mean()),
            median_completion_seconds=median,
            p95_completion_seconds=p95,
            p99_completion_seconds=p99,
            mean_waiting_seconds=float(self.waiting_seconds.mean()),
            makespan_seconds=makespan,
            utilisation=self.busy_gpu_seconds / (self.capacity * makespan),
            preemptions=int(self.preemptions.sum()),
            events=self.events,
            jobs_per_second=jobs / self.seconds,
        )


def run_blind(
    submit_seconds: ArrayLike,
    duration_seconds: ArrayLike,
    gpus: ArrayLike,
    *,
    capacity: int,
    rule: BlindRule | str,
    tick_seconds: float = 1.0,
) -> BlindResult:
    """Let rigid jobs run to their ends on a pool of so many GPUs.

    Ties go by submission, then by the order in which jobs are given. Everything happens at whole ticks after
    the first submission: submissions and durations are rounded to the nearest one, and a job is demoted at
    the first tick at which it has attained the limit of its queue.
    """
    chosen = BlindRule.parse(rule) if isinstance(rule, str) else rule
    check_whole("capacity", capacity, 1, MOST_TICKS)
    check_positive("tick_seconds", tick_seconds)
    submit, duration, needs = _check_jobs(submit_seconds, duration_seconds, gpus, capacity)
    began = time.perf_counter()
    origin = float(submit.min(initial=np.inf)) if len(submit) else 0.0
    # More ticks than that, times all GPUs, are more than a whole number of the machine holds.
    span = ((submit - origin).max(initial=0.0) + duration.sum()) / tick_seconds + 2 * len(submit)
    if span * capacity >= MOST_TICKS:
        raise InvalidValue("tick_seconds", f"is {tick_seconds:g}, too short for these jobs", "Raise it")
    order = np.argsort(submit, kind="stable")
    ticks = np.rint((submit[order] - origin) / tick_seconds).astype(np.int64)
    lasts = np.maximum(1, np.rint(duration[order] / tick_seconds)).astype(np.int64)
    service = np.minimum(np.array(chosen.queues) / tick_seconds, MOST_TICKS)
    limits = np.ceil(service * (1 - TOLERANCE)).astype(np.int64)
    pool = build_pool(ticks, lasts, needs[order], capacity=capacity, rule=chosen.code, limits=limits)
    run_pool(pool)
    back = np.empty(len(order), np.int64)
    back[order] = np.arange(len(order))

    def in_seconds(column: Integers) -> Floats:
        return column[back].astype(np.float64) * tick_seconds

    return BlindResult(
        rule=chosen,
        capacity=capacity,
        submit_seconds=origin + in_seconds(ticks),
        duration_seconds=in_seconds(lasts),
        gpus=needs,
        first_start_seconds=origin + in_seconds(pool.first_start),
        end_seconds=origin + in_seconds(pool.end),
        preemptions=pool.preemptions[back],
        attained_gpu_seconds=in_seconds(pool.attained),
        peak_gpus=int(pool.tally[PEAK]),
        busy_gpu_seconds=float(pool.tally[BUSY]) * tick_seconds,
        events=int(pool.tally[EVENTS]),
        seconds=time.perf_counter() - began,
    )


def _check_jobs(
    submit_seconds: ArrayLike, duration_seconds: ArrayLike, gpus: ArrayLike, capacity: int
) -> tuple[Floats, Floats, Integers]:
    submit = np.asarray(submit_seconds, np.float64)
    duration = np.asarray(duration_seconds, np.float64)
    amounts = np.asarray(gpus, np.float64)
    if not (submit.ndim == 1 and submit.shape == duration.shape == amounts.shape):
        shapes = f"{submit.shape}, {duration.shape} and {amounts.shape}"
        raise InvalidValue(
            "", f"submissions, durations and GPUs have the shapes {shapes}", "Give one number per job of each"
        )
    rules = (
        ("submit_seconds", submit, np.isfinite(submit), "Give a finite number"),
        ("duration_seconds", duration, np.isfinite(duration) & (duration > 0), "Give a number above 0"),
        ("gpus", amounts, (amounts >= 1) & (amounts == np.floor(amounts)), "Give a whole number from 1 on"),
        ("gpus", amounts, amounts <= capacity, f"The pool has {capacity:,}; leave the job out or enlarge it"),
    )
    for key, values, is_good, mend in rules:
        if not is_good.all():
            place = int(np.argmin(is_good))
            raise InvalidValue(f"{key}[{place}]", f"is {values[place]:g}", mend)
    return submit, duration, amounts.astype(np.int64)
