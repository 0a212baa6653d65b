"""What users ask for beside the utilities of their jobs: objectives, as utilities built slot by slot.

`gadget` maximises the gains of a slot. Another objective is another utility for each job, built from what
is left of it, its `deadline` and its `priority` (its weight w); all that makes rings stays the same. What
each of them is and why is told in docs/howto/choose-an-objective.md:

- completion: a job gains w · (share of what is left that is done), linear in work. A GPU-slot then gains w
  over the GPU-slots that are left: Smith's rule, the optimal order of preemptive jobs on one machine, and
  for equal weights shortest remaining first;
- deadline: the same times an urgency of exp(−slack / look-ahead), as in the apparent-tardiness-cost rule
  (Vepsalainen and Morton, Management Science 1987): slack is how many slots a job could wait and still be
  done in time with its largest ring, the look-ahead twice the mean number of slots that jobs still need. A
  job that cannot be done in time any more has lost its value: it has what is left;
- fairness: w · T · log(1 + work / e) with a job's age T and the work e of an equal share of the cluster in
  a slot. log is proportional fairness; the age makes a GPU's gain fall with the mean share over a job's
  life, not with all that it ever had, so that newcomers do not shut out who came before;
- energy: the job's own utility less `energy_weight` for every GPU-slot.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from gadget.model.decision import Decision, Status, Surrogate
from gadget.model.job import ActiveJob, Job
from gadget.model.quantity import LARGEST, SMALLEST
from gadget.model.snapshot import Snapshot
from gadget.model.utility import Energy, Linear, Utility
from gadget.policies.las import find_service
from gadget.solve.facts import find_facts
from gadget.solve.network import compile_network

Floats = NDArray[np.float64]

# The look-ahead of the deadline rule, in mean times that jobs still need; 2 is what its authors found best.
_LOOK_AHEAD = 2.0
# Urgency falls to e^−5 and no further: jobs with time, and those without a deadline, are not ground to dust.
_MOST_PATIENCE = 5.0
# What comes after all others gains this much of their least, for a GPU-slot, at most.
_AFTER_ALL = 0.01
# A slot that is done to this part is done.
_ROUNDING = 1e-9


class Objective(StrEnum):
    """What `gadget` decides by."""

    UTILITY = "utility"
    COMPLETION = "completion"
    DEADLINE = "deadline"
    FAIRNESS = "fairness"
    ENERGY = "energy"


OBJECTIVE_OF = {"energy_weight": Objective.ENERGY}
"""Options of `gadget` that only one objective looks at."""


@dataclass(frozen=True, slots=True)
class Outlook:
    """A job that could run now, with what lies ahead of it."""

    active: ActiveJob
    age: int
    """Slots of its life, with the one to decide."""
    left: float
    """Work still to do: of its total and of what its budget pays for; infinite where neither ends it."""
    workers: int
    """Of its largest ring on the empty cluster."""
    work: float
    """What that ring does in a slot."""
    gpus: float
    """What that ring takes: GPUs, or as many as its dominant share stands for."""
    equal_work: float
    """What it does in a slot with an equal share of the cluster."""

    @property
    def job(self) -> Job:
        """The job itself."""
        return self.active.job

    @property
    def slots_left(self) -> float:
        """Slots that its largest ring takes for what is left."""
        return self.left / self.work

    @property
    def smith_ratio(self) -> float:
        """w over the GPU-slots that are left; 0 where there is no end."""
        return self.job.priority / (self.slots_left * self.gpus)

    def linear(self, gain: float) -> Linear:
        """A utility by which a GPU-slot of its largest ring gains that much."""
        return Linear(_sensible(gain * self.gpus / self.work))


@dataclass(frozen=True, slots=True)
class FairShare(Utility):
    """weight · log(1 + work/unit): proportional fairness in units of an equal share."""

    weight: float
    unit: float
    kind: ClassVar[str] = "fair-share"

    def value(self, work: ArrayLike) -> Floats:
        """μ at each amount of work."""
        return np.asarray(self.weight * np.log1p(np.asarray(work, dtype=np.float64) / self.unit))

    def gain(self, start: float, end: ArrayLike) -> Floats:
        """μ(end) − μ(start) as log1p of the step, seen from the start."""
        step = (np.asarray(end, dtype=np.float64) - start) / (self.unit + start)
        return np.asarray(self.weight * np.log1p(step))

    @classmethod
    def gains_of_each(
        cls, each: Sequence[Self], which: NDArray[np.int64], start: Floats, end: Floats
    ) -> Floats:
        """The gain of each of several, all at once."""
        weight = np.array([one.weight for one in each])
        unit = np.array([one.unit for one in each])
        step = (end - start[which]) / (unit + start)[which]
        return np.asarray(weight[which] * np.log1p(step))


def restate(snapshot: Snapshot, objective: Objective, energy_weight: float) -> Snapshot:
    """The snapshot with the utilities of the objective; itself where the jobs' own decide."""
    if objective is Objective.UTILITY or (objective is Objective.ENERGY and not energy_weight):
        return snapshot
    outlooks = find_outlooks(snapshot)
    build: Callable[[], list[Utility]] = {
        Objective.COMPLETION: lambda: _completion(outlooks),
        Objective.DEADLINE: lambda: _deadline(outlooks, snapshot.slot),
        Objective.FAIRNESS: lambda: _fairness(outlooks),
        Objective.ENERGY: lambda: [_less_energy(one, energy_weight) for one in outlooks],
    }[objective]
    restated = {
        one.job.name: replace(one.active, job=replace(one.job, utility=utility))
        for one, utility in zip(outlooks, build(), strict=True)
    }
    return replace(snapshot, jobs=tuple(restated.get(active.job.name, active) for active in snapshot.jobs))


def tell_truly(snapshot: Snapshot, decision: Decision) -> Decision:
    """A decision on restated utilities in terms of the true ones; what is proved is told of the surrogate."""
    bound = decision.upper_bound
    return replace(
        decision,
        objective=snapshot.objective(decision.allocation),
        upper_bound=None,
        surrogate=decision.surrogate or Surrogate(decision.objective, bound),
        status=Status.HEURISTIC if bound is None else Status.CERTIFIED,
    )


def find_outlooks(snapshot: Snapshot) -> list[Outlook]:
    """The jobs that could run in this slot if they were alone."""
    network = compile_network(snapshot.cluster)
    table = find_facts(network).of([active.job for active in snapshot.jobs])
    held = np.divide(
        network.capacity.sum(axis=0),
        table.demand,
        out=np.full_like(table.demand, np.inf),
        where=table.demand > 0,
    ).min(axis=1, initial=np.inf)
    found = []
    largest = np.where(table.is_hosted, table.most, 0)
    for active, most, room in zip(snapshot.jobs, largest.tolist(), held.tolist(), strict=True):
        workers = min(most, active.largest_ring)
        has_arrived = snapshot.slot >= active.job.arrival
        if (
            has_arrived
            and workers >= active.job.min_workers
            and not active.is_complete(snapshot.slot_seconds)
        ):
            found.append((active, workers, room))
    return [_look(snapshot, active, workers, room / len(found)) for active, workers, room in found]


def _look(snapshot: Snapshot, active: ActiveJob, workers: int, share: float) -> Outlook:
    job, seconds = active.job, snapshot.slot_seconds
    work = max(float(job.work_in_slot(workers, seconds)), SMALLEST)
    left = active.worker_slots_left * work / workers
    if job.work is not None:
        left = min(left, job.work - active.work(seconds))
    # An equal share may be below the smallest ring, or between two sizes: work is taken as straight there.
    size = min(max(math.floor(share + _ROUNDING), job.min_workers), workers)
    equal = float(job.work_in_slot(size, seconds)) * min(share, workers) / size
    return Outlook(
        active=active,
        age=snapshot.slot - job.arrival + 1,
        left=max(left, SMALLEST),
        workers=workers,
        work=work,
        gpus=workers * find_service(snapshot.cluster, job),
        equal_work=max(equal, SMALLEST),
    )


def _completion(outlooks: Sequence[Outlook]) -> list[Utility]:
    gains = np.array([one.smith_ratio for one in outlooks])
    _put_last(gains, gains == 0, np.array([one.job.priority / one.gpus for one in outlooks]))
    return [one.linear(gain) for one, gain in zip(outlooks, gains.tolist(), strict=True)]


def _deadline(outlooks: Sequence[Outlook], slot: int) -> list[Utility]:
    needed = np.array([one.slots_left for one in outlooks])
    ahead = np.array([math.inf if one.job.deadline is None else one.job.deadline - slot for one in outlooks])
    is_late = np.ceil(needed - _ROUNDING) > ahead
    ends = np.isfinite(needed)
    scale = _LOOK_AHEAD * float(needed[ends & ~is_late].mean()) if np.any(ends & ~is_late) else 1.0
    slack = np.where(ends, ahead - np.where(ends, needed, 0.0), np.inf)
    urgency = np.exp(-np.clip(slack / scale, 0.0, _MOST_PATIENCE))
    smith = np.array([one.smith_ratio for one in outlooks])
    gains = urgency * smith
    worth = np.array([one.job.priority / one.gpus for one in outlooks])
    _put_last(gains, is_late | (smith == 0), np.where(smith > 0, smith, worth))
    return [one.linear(gain) for one, gain in zip(outlooks, gains.tolist(), strict=True)]


def _fairness(outlooks: Sequence[Outlook]) -> list[Utility]:
    return [FairShare(one.job.priority * one.age, one.equal_work) for one in outlooks]


def _less_energy(one: Outlook, weight: float) -> Utility:
    per_work = _sensible(one.gpus / one.work)
    own = one.job.utility
    if not isinstance(own, Energy):
        return Energy(own, weight=_sensible(weight), energy_per_work=per_work, quadratic=0, linear=1)
    # Its own cost and this one, as one polynomial of work.
    return Energy(
        own.progress,
        energy_per_work=1,
        quadratic=_sensible(own.weight * own.quadratic * own.energy_per_work**2),
        linear=_sensible(own.weight * own.linear * own.energy_per_work + weight * per_work),
    )


def _put_last(gains: Floats, last: NDArray[np.bool_], order: Floats) -> None:
    """Gains of the last ones: in proportion to `order`, and small beside those of all others."""
    if last.any():
        least = float(gains[~last].min()) if not last.all() else 1.0
        gains[last] = _AFTER_ALL * least * order[last] / order[last].max()


def _sensible(number: float) -> float:
    """The number, or the nearest that values may have."""
    return min(max(number, SMALLEST), LARGEST) if number > 0 else 0.0
