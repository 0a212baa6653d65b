"""A scenario: a cluster and its jobs over a horizon. A snapshot: all that a policy may see in one slot."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike, NDArray

from gadget.errors import InvalidValue
from gadget.model.cluster import Cluster
from gadget.model.job import ActiveJob, Job
from gadget.model.prices import Prices
from gadget.model.quantity import MOST_SLOTS, check_positive, check_whole
from gadget.model.ring import Allocation, Ring

DEFAULT_SLOT_SECONDS = 60.0
NOTHING_RUNS = Allocation()


@dataclass(frozen=True)
class Scenario:
    """A cluster and its jobs over slots 0 … slots−1."""

    cluster: Cluster
    jobs: tuple[Job, ...]
    slots: int
    slot_seconds: float = DEFAULT_SLOT_SECONDS

    def __post_init__(self) -> None:
        _check_horizon(self.slots, self.slot_seconds)
        check_unique_jobs(job.name for job in self.jobs)

    def snapshot(self, slot: int) -> "Snapshot":
        """What a policy would see in `slot` if nothing had been served before it."""
        arrived = tuple(ActiveJob(job) for job in self.jobs if job.arrival <= slot)
        return Snapshot(self.cluster, arrived, slot, self.slots, self.slot_seconds)


@dataclass(frozen=True)
class Snapshot:
    """A scenario at one slot: jobs that have arrived and are unfinished, and the rings of the slot before."""

    cluster: Cluster
    jobs: tuple[ActiveJob, ...]
    slot: int
    slots: int
    slot_seconds: float = DEFAULT_SLOT_SECONDS
    running: Allocation = NOTHING_RUNS
    prices: Prices | None = field(default=None, compare=False, repr=False)
    """What the slot before ended with, if it had prices. Not written to files: a file starts cold."""

    def __post_init__(self) -> None:
        _check_horizon(self.slots, self.slot_seconds)
        check_whole("slot", self.slot, 0, self.slots - 1)
        if len(self.job_by_name) < len(self.jobs):
            check_unique_jobs(active.job.name for active in self.jobs)

    @cached_property
    def job_by_name(self) -> Mapping[str, ActiveJob]:
        """The jobs by name."""
        return {active.job.name: active for active in self.jobs}

    def is_restart(self, ring: Ring) -> bool:
        """True for a restart, as `ActiveJob.is_restart` has it; rings of unknown jobs are none."""
        active = self.job_by_name.get(ring.job)
        return active is not None and active.is_restart(ring, self.running.ring_of.get(ring.job))

    def gains(self, active: ActiveJob, workers: ArrayLike, *, restart: bool = False) -> NDArray[np.float64]:
        """π_{iκ} in (12) for rings of the given sizes of one of its jobs, by the true utility."""
        return active.gains(workers, self.slot_seconds, restart=restart)

    def objective(self, allocation: Allocation) -> float:
        """Σ of the true gains over the rings; rings of unknown jobs add nothing."""
        known = self.job_by_name
        return float(
            sum(
                self.gains(known[ring.job], ring.size, restart=self.is_restart(ring))
                for ring in allocation.rings
                if ring.job in known
            )
        )


def check_unique_jobs(names: Iterable[str]) -> None:
    """Raise InvalidValue when two jobs share a name."""
    seen: dict[str, int] = {}
    for place, name in enumerate(names):
        if (first := seen.setdefault(name, place)) != place:
            raise InvalidValue(
                f"jobs[{place}].name", f"is {name!r}, as is jobs[{first}].name", "Rename one of them"
            )


def _check_horizon(slots: int, slot_seconds: float) -> None:
    check_whole("slots", slots, 1, MOST_SLOTS)
    check_positive("slot_seconds", slot_seconds)
