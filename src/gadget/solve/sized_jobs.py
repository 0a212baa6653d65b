"""Jobs by ring size, without a network: what schedulers that count accelerators decide on."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from gadget.model.job import Job
from gadget.solve.network import Network

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]

# What counts as a whole worker.
WHOLE = 1e-6


@dataclass(frozen=True, eq=False)
class SizedJobs:
    """Pairs of job and ring size, by job, sizes rising; a job may have none."""

    job: Integers
    size: Integers
    work: Floats
    """What a ring of each pair does in a slot."""
    demand: Floats
    """What a worker of each job takes of each resource, (jobs × resources)."""

    @property
    def count(self) -> int:
        """How many jobs there are."""
        return len(self.demand)

    @cached_property
    def start(self) -> Integers:
        """Where the pairs of each job begin; one entry more than there are jobs."""
        return np.searchsorted(self.job, np.arange(self.count + 1))

    @cached_property
    def load(self) -> Floats:
        """What the ring of each pair takes of each resource, (pairs × resources)."""
        return np.asarray(self.demand[self.job] * self.size[:, None])

    def workers_within(self, amounts: Floats) -> Floats:
        """Workers of each job that these amounts of the resources hold, with fractions."""
        some = np.where(self.demand > 0, self.demand, 1.0)
        return np.asarray(np.where(self.demand > 0, amounts / some, np.inf).min(axis=1, initial=np.inf))

    def work_of_equal_share(self, total: Floats) -> Floats:
        """What each job does in a slot with as much of its scarcest resource as every other could have.

        That is 1/n of the total, at most its largest ring. Between the sizes that a job may have, and no work
        at 0, work follows straight lines. 0 for a job without a pair.
        """
        workers = self.workers_within(total) / max(self.count, 1)
        work = np.zeros(self.count)
        for job in range(self.count):
            own = slice(self.start[job], self.start[job + 1])
            sizes = np.append(0, self.size[own])
            work[job] = np.interp(workers[job], sizes, np.append(0.0, self.work[own]))
        return work


def join_sizes(
    jobs: Sequence[Job], sizes: Sequence[Integers], network: Network, slot_seconds: float
) -> SizedJobs:
    """Jobs, all of whose resources the network has, with the sizes of each."""
    demand = np.zeros((len(jobs), len(network.resource_number)))
    for row, job in enumerate(jobs):
        demand[row] = network.demand(job)
    work = [job.work_in_slot(own, slot_seconds) for job, own in zip(jobs, sizes, strict=True)]
    return SizedJobs(
        np.repeat(np.arange(len(jobs)), [len(own) for own in sizes]),
        np.concatenate([np.zeros(0, dtype=np.int64), *sizes]),
        np.concatenate([np.zeros(0), *work]),
        demand,
    )
