"""A training job, and a job that is under way."""

import math
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import ArrayLike, NDArray

from gadget.errors import InvalidValue
from gadget.model.capped import Capped
from gadget.model.names import check_name
from gadget.model.program import Program
from gadget.model.quantity import (
    MOST_SLOTS,
    MOST_WORKERS,
    TOLERANCE,
    check_at_least_zero,
    check_positive,
    check_whole,
)
from gadget.model.resources import Resources
from gadget.model.ring import Ring
from gadget.model.timing import Timing
from gadget.model.utility import Utility

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True, kw_only=True)
class Job:
    """What a user asks for: a ring of min … max workers in every slot from its arrival on.

    Its speed is either `rate` (ζ, work per worker-slot) or `timing` (Eq. 1; then it depends on the ring).
    """

    name: str
    resources: Resources
    """l: what each worker takes."""
    max_workers: int
    """N: the largest ring."""
    utility: Utility
    """μ: what its work is worth."""
    bandwidth_gbps: float
    """b: reserved on every link that a ring edge crosses."""
    rate: float | None = None
    timing: Timing | None = None
    min_workers: int = 1
    """A ring has 0 workers or at least this many."""
    arrival: int = 0
    """The first slot in which it may run."""
    budget: Resources | None = None
    """F: what it may take over its life, in resource × slots; a resource not named has no limit."""
    resize_cost: float = 0.0
    """Work that a restart loses (see `ActiveJob.is_restart`), up to all of its slot."""
    restart_seconds: float | None = None
    """Time that a restart takes out of its slot, beside the work that it loses; None if it does not say."""
    work: float | None = None
    """All there is to do: the job ends when it is done, if its budget does not end it before."""
    deadline: int | None = None
    """The slot before which it should be done; only objectives and reports that know deadlines look at it."""
    priority: float = 1
    """How much it counts beside others; only objectives and policies with weights look at it."""

    min_runtime_seconds: float = 0.0
    """How long a ring of it is left as it is once it runs; only the live service looks at it."""
    program: Program | None = None
    """What its workers run; only the live service looks at it."""

    worth: Utility = field(init=False, repr=False, compare=False)
    """The utility of what it can do: as given, and level from its total work on."""
    worker_slots: float = field(init=False, repr=False, compare=False)
    """min_r F^r / l^r: worker-slots that the budget pays for; infinite without a budget."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "worker_slots", _count_worker_slots(self.resources, self.budget))
        if self.work is not None:
            check_positive("work", self.work)
        object.__setattr__(
            self, "worth", self.utility if self.work is None else Capped(self.utility, self.work)
        )
        check_name("name", self.name)
        check_whole("arrival", self.arrival, 0, MOST_SLOTS)
        if self.deadline is not None:
            check_whole("deadline", self.deadline, 1, MOST_SLOTS)
            if self.deadline <= self.arrival:
                raise InvalidValue(
                    "deadline",
                    f"is {self.deadline}, not after arrival = {self.arrival}",
                    "Give a later slot: the job should be done before that one begins",
                )
        check_positive("priority", self.priority)
        check_whole("workers.max", self.max_workers, 1, MOST_WORKERS)
        check_whole("workers.min", self.min_workers, 1, MOST_WORKERS)
        if self.min_workers > self.max_workers:
            raise InvalidValue(
                "workers.min",
                f"is {self.min_workers}, above workers.max = {self.max_workers}",
                "Lower min or raise max",
            )
        if not any(self.resources.values()):
            raise InvalidValue(
                "resources", "takes nothing", "Name at least one resource with an amount above 0"
            )
        check_at_least_zero("bandwidth_gbps", self.bandwidth_gbps)
        check_at_least_zero("resize_cost", self.resize_cost)
        check_at_least_zero("min_runtime_seconds", self.min_runtime_seconds)
        if self.restart_seconds is not None:
            check_at_least_zero("restart_seconds", self.restart_seconds)
        if self.timing is None:
            if self.rate is None:
                raise InvalidValue("rate", "is missing", "Give rate, or timing instead")
            check_positive("rate", self.rate)
        elif self.rate is not None:
            raise InvalidValue("rate", "is given beside timing", "Keep one of the two")
        elif self.timing.gradient_mb and not self.bandwidth_gbps and self.max_workers > 1:
            raise InvalidValue(
                "bandwidth_gbps", "is 0, so a ring with timing would never finish an iteration", "Raise it"
            )

    @property
    def work_is_proportional(self) -> bool:
        """True when its work is ζ·z exactly, whatever its rings were and however much there is to do."""
        return self.rate is not None and not self.loses_by_restart and self.work is None

    @property
    def loses_by_restart(self) -> bool:
        """True when a restart costs it work or time."""
        return self.resize_cost > 0 or bool(self.restart_seconds)

    def work_in_slot(self, workers: ArrayLike, slot_seconds: float, *, restart: bool = False) -> Floats:
        """Work that rings of the given sizes do in one slot: 0 workers none, a restart less its cost."""
        sizes = np.asarray(workers, dtype=np.float64)
        work: Floats
        if self.rate is not None:
            work = sizes * self.rate
        else:
            assert self.timing is not None  # a job has one of the two
            work = sizes * self.timing.iterations(np.maximum(sizes, 1), self.bandwidth_gbps, slot_seconds)
        if not restart or not self.loses_by_restart:
            return work
        kept = max(0.0, 1 - (self.restart_seconds or 0.0) / slot_seconds)
        return np.maximum(work * kept - self.resize_cost, 0.0)

    def work_lost(self, work: float, slot_seconds: float) -> float:
        """What of the work of a whole slot a restart loses."""
        kept = max(0.0, 1 - (self.restart_seconds or 0.0) / slot_seconds)
        return work - max(work * kept - self.resize_cost, 0.0)


def _count_worker_slots(resources: Resources, budget: Resources | None) -> float:
    if budget is None:
        return math.inf
    paid = (budget[name] / amount for name, amount in resources.items() if amount and name in budget)
    return min(paid, default=math.inf)


@dataclass(frozen=True, slots=True)
class ActiveJob:
    """A job that has arrived, with what it has been served so far."""

    job: Job
    served: float = 0
    """z: worker-slots so far."""
    work_done: float | None = None
    """Work so far; when not known it follows from `served`, see `work`."""

    def __post_init__(self) -> None:
        check_at_least_zero("served", self.served)
        if self.work_done is not None:
            check_at_least_zero("work_done", self.work_done)

    @property
    def worker_slots_left(self) -> float:
        """Whole worker-slots that the budget still pays for, (11); infinite without a budget."""
        whole = self.job.worker_slots
        return whole if math.isinf(whole) else max(0, math.floor(whole * (1 + TOLERANCE / 2) - self.served))

    @property
    def largest_ring(self) -> int:
        """Workers that (2) and (11) admit now; 0 when that is below `min_workers`."""
        most = int(min(self.job.max_workers, self.worker_slots_left))
        return most if most >= self.job.min_workers else 0

    def work(self, slot_seconds: float) -> float:
        """Work done so far.

        Where the file does not say (`work_done`) it is ζ·z; with timing, ζ of the largest ring, so
        that no worker-slot is credited with more than any ring can have done. What restarts lost is not
        known then.
        """
        if self.work_done is not None:
            return self.work_done
        job = self.job
        if job.rate is not None:
            return self.served * job.rate
        return self.served * float(job.work_in_slot(job.max_workers, slot_seconds)) / job.max_workers

    def is_complete(self, slot_seconds: float) -> bool:
        """True when all its work is done."""
        total = self.job.work
        return total is not None and self.work(slot_seconds) >= total * (1 - TOLERANCE)

    def is_restart(self, ring: Ring, before: Ring | None) -> bool:
        """True when its workers must load what was done so far: it was served, and not by the same workers.

        `before` is its ring of the slot before, if it had one. Its first start loads nothing, and a ring
        that goes on with the same workers in the same order just goes on, whatever its routes.
        """
        return self.served > 0 and (before is None or before.workers != ring.workers)

    def gains(self, workers: ArrayLike, slot_seconds: float, *, restart: bool = False) -> Floats:
        """π_{iκ} in (12): the true utility that rings of the given sizes add in one slot."""
        done = self.work(slot_seconds)
        more = self.job.work_in_slot(workers, slot_seconds, restart=restart)
        return self.job.worth.gain(done, done + more)
