"""A run, and all runs of a policy, in a dozen numbers."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, fields
from math import isclose
from statistics import fmean, stdev
from typing import TYPE_CHECKING

import numpy as np

from gadget.simulate.fairness import jain_index
from gadget.simulate.guarantee import Guarantees
from gadget.solve.guarantees import certified_ratio

if TYPE_CHECKING:
    from gadget.simulate.result import RunResult, SlotResult

TAIL_PERCENT = 95
"""Tail completion time: this share of the finished jobs took no longer."""

_ALIKE = frozenset(("slots", "upper_bound", "jobs"))
"""What does not depend on the seed."""


@dataclass(frozen=True, slots=True)
class RunSummary:
    """One run in numbers; what nothing can be said about is None."""

    seed: int
    slots: int
    """Slots that were decided."""
    total_utility: float
    """Σ_i μ_i(ζ_i z_iT) over all jobs that arrived."""
    utility_gain: float
    """The same less what the jobs are worth when nothing is done for them."""
    upper_bound: float | None
    """No schedule, even one that knows the future, has a larger total utility."""
    certified_ratio: float | None
    """α/(α+1) with the least α_t of the run, where the certificate holds."""
    measured_ratio: float | None
    """Total utility over the upper bound, of a complete run that broke no constraint."""
    jobs: int
    jobs_finished: int
    mean_completion_slots: float | None
    """From arrival to the last slot of service, both included, over finished jobs."""
    tail_completion_slots: float | None
    weighted_completion_slots: float | None
    """The mean weighted by the jobs' priorities."""
    deadlines_met: float | None
    """Of the jobs whose deadline has passed or that are done, the share that was done in time."""
    mean_waiting_slots: float | None
    """Slots without a ring while active, over all jobs that arrived."""
    tail_waiting_slots: float | None
    jain_index: float | None
    """Jain's index of the jobs' service over that of an equal share: 1 is even."""
    utilisation: Mapping[str, float]
    """Mean over the slots, by resource."""
    share_embedded: float | None
    """Mean over the slots with active jobs of the share of them that had a ring."""
    resizes: float
    restarts: float
    work_lost: float
    """Work that restarts lost, over all jobs."""
    fragmentation: float | None
    """Mean over the slots with free GPUs of the share of these on servers that host a worker already."""
    cross_rack_share: float | None
    """Ring edges whose route leaves the rack over all ring edges, of all slots together."""
    violations: float
    seconds_per_slot: float | None


@dataclass(frozen=True, slots=True)
class PolicySummary:
    """A policy over its seeds: means, spreads, and each run."""

    mean: RunSummary
    """Each number's mean over the runs; the certified ratio is that of the worst run. `seed` is the first."""
    spread: Mapping[str, float]
    """Standard deviation over the runs of each number that all of them have; empty for one run."""
    runs: tuple[RunSummary, ...]


def summarise_run(run: "RunResult", guarantees: Guarantees) -> RunSummary:
    """The numbers of one run."""
    bound = guarantees.upper_bound
    broken = any(slot.violations for slot in run.slots)
    whole = run.complete and not broken and bound is not None and bound > 0
    times = [job.completion_slots for job in run.jobs if job.completion_slots is not None]
    waits = [job.waiting_slots for job in run.jobs]
    pieces = [slot.fragmentation for slot in run.slots if slot.fragmentation is not None]
    edges = sum(slot.ring_edges for slot in run.slots)
    shares = [slot.embedded / slot.active for slot in run.slots if slot.active]
    resources = run.slots[0].utilisation if run.slots else {}
    return RunSummary(
        seed=run.seed,
        slots=len(run.slots),
        total_utility=run.total_utility,
        utility_gain=float(sum(job.gain for job in run.jobs)),
        upper_bound=bound,
        certified_ratio=None if guarantees.obstacle else _certified_ratio(run),
        measured_ratio=_settle(run.total_utility / bound) if whole and bound is not None else None,
        jobs=len(run.jobs),
        jobs_finished=len(times),
        mean_completion_slots=fmean(times) if times else None,
        tail_completion_slots=_tail(times),
        weighted_completion_slots=_weighted_completion(run),
        deadlines_met=_deadlines_met(run),
        mean_waiting_slots=fmean(waits) if waits else None,
        tail_waiting_slots=_tail(waits),
        jain_index=jain_index(job.service_share for job in run.jobs if job.service_share is not None),
        utilisation={name: fmean(slot.utilisation[name] for slot in run.slots) for name in resources},
        share_embedded=fmean(shares) if shares else None,
        resizes=sum(slot.resizes for slot in run.slots),
        restarts=sum(slot.restarts for slot in run.slots),
        work_lost=float(sum(job.work_lost for job in run.jobs)),
        fragmentation=fmean(pieces) if pieces else None,
        cross_rack_share=sum(slot.cross_rack_edges for slot in run.slots) / edges if edges else None,
        violations=sum(slot.violations for slot in run.slots),
        seconds_per_slot=fmean(slot.seconds for slot in run.slots) if run.slots else None,
    )


def _weighted_completion(run: "RunResult") -> float | None:
    done = [(job.finish - job.arrival + 1, job.priority) for job in run.jobs if job.finish is not None]
    return fmean(*zip(*done, strict=True)) if done else None


def _deadlines_met(run: "RunResult") -> float | None:
    """A job that is not done and may still be in time is not counted."""
    due = [(job.deadline, job.finish) for job in run.jobs if job.deadline is not None]
    told = [
        finish is not None and finish < deadline
        for deadline, finish in due
        if finish is not None or deadline <= len(run.slots)
    ]
    return fmean(told) if told else None


def summarise_policy(runs: tuple[RunSummary, ...]) -> PolicySummary:
    """Means and spreads over the runs of one policy."""
    means: dict[str, object] = {"seed": runs[0].seed, "utilisation": {}}
    spread: dict[str, float] = {}
    for field in fields(RunSummary):
        values = [getattr(run, field.name) for run in runs]
        if field.name in means or any(value is None for value in values):
            means.setdefault(field.name, None)
        elif field.name == "certified_ratio":
            means[field.name] = min(values)
        else:
            means[field.name] = _mean(values)
            if len(runs) > 1 and field.name not in _ALIKE:
                spread[field.name] = stdev(values)
    resources = [name for name in runs[0].utilisation if all(name in run.utilisation for run in runs)]
    means["utilisation"] = {name: _mean([run.utilisation[name] for run in runs]) for name in resources}
    return PolicySummary(RunSummary(**means), spread, runs)  # type: ignore[arg-type]  # one mean a field


def _certified_ratio(run: "RunResult") -> float | None:
    """α/(α+1) over the slots with anything to decide; None if one has no proven bound."""
    if any(slot.violations for slot in run.slots):
        return None
    return certified_ratio(_proven_ratio(slot) for slot in run.slots if slot.active)


def _proven_ratio(slot: "SlotResult") -> float | None:
    """α_t, where a surrogate that it was read in tells the true gains."""
    surrogate = slot.surrogate_objective
    is_true = surrogate is None or isclose(surrogate, slot.objective, rel_tol=1e-6, abs_tol=1e-9)
    return slot.ratio if is_true else None


def _tail(numbers: Sequence[int]) -> float | None:
    return float(np.percentile(numbers, TAIL_PERCENT, method="higher")) if numbers else None


def _settle(ratio: float) -> float:
    """A schedule as good as its bound may exceed it by rounding."""
    return 1.0 if 1 < ratio < 1 + 1e-9 else ratio


def _mean(values: Sequence[float] | Iterable[float]) -> float:
    values = list(values)
    # Equal numbers stay what they are, whole ones whole.
    return values[0] if len(set(values)) == 1 else fmean(values)
