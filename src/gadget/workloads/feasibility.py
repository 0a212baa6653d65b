"""Before a run: what a scenario asks for against what its cluster has, and which jobs can never run."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from gadget.model.cluster import Cluster
from gadget.model.decision import Reason, Waiting
from gadget.model.job import ActiveJob, Job
from gadget.model.quantity import TOLERANCE
from gadget.model.snapshot import Scenario, Snapshot
from gadget.policies.waiting import find_obstacle
from gadget.solve.network import compile_network
from gadget.solve.reach import find_largest_rings

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Feasibility:
    """Load against capacity of one resource, slot by slot, and jobs that no empty cluster would hold."""

    jobs: int
    slot_seconds: float
    resource: str
    capacity: float
    """What the cluster has in each slot."""
    offered: Floats
    """What the jobs would hold in each slot if each ran from its arrival on in its largest ring."""
    never: tuple[Waiting, ...]

    @property
    def slots(self) -> int:
        """The horizon."""
        return len(self.offered)

    @property
    def is_possible(self) -> bool:
        """True when every job could run if it were alone."""
        return not self.never

    @cached_property
    def over(self) -> NDArray[np.bool_]:
        """Slots in which more is asked for than there is."""
        return self.offered > self.capacity * (1 + TOLERANCE)

    @property
    def mean_load(self) -> float:
        """Offered load over capacity; infinite where there is no capacity for a load."""
        return _share(float(self.offered.mean()), self.capacity)

    @property
    def peak_slot(self) -> int:
        """The slot with the greatest load, the first of several."""
        return int(np.argmax(self.offered))

    @property
    def peak_load(self) -> float:
        """The greatest load over capacity."""
        return _share(float(self.offered.max()), self.capacity)

    @cached_property
    def backlog(self) -> Floats:
        """What is left over after each slot when the whole cluster works on what was asked for so far."""
        surplus = np.cumsum(self.offered - self.capacity)
        drained: Floats = surplus - np.minimum(np.minimum.accumulate(surplus), 0.0)
        return drained


def assess(scenario: Scenario) -> Feasibility:
    """What a scenario asks of its cluster's main resource, and which of its jobs can never run."""
    resource = find_main_resource(scenario.cluster)
    return Feasibility(
        jobs=len(scenario.jobs),
        slot_seconds=scenario.slot_seconds,
        resource=resource,
        capacity=float(scenario.cluster.total(resource)),
        offered=_find_offered(scenario, resource),
        never=tuple(find_misfits(scenario)),
    )


def find_main_resource(cluster: Cluster) -> str:
    """GPUs if there are any, else the first resource."""
    names = cluster.resource_names
    return "gpu" if "gpu" in names or not names else names[0]


def count_slots(job: Job, slot_seconds: float) -> float:
    """Whole slots that a job takes in its largest ring, by its budget and its work; infinite without both."""
    budget = job.worker_slots / job.max_workers
    if job.work is None:
        return math.ceil(budget) if math.isfinite(budget) else math.inf
    if job.rate is not None:
        in_slot = job.rate * job.max_workers
    else:
        in_slot = float(job.work_in_slot(job.max_workers, slot_seconds))
    # A ring that does no work in a slot never ends.
    work = job.work / in_slot if in_slot else math.inf
    least = min(budget, work * (1 - TOLERANCE))
    return math.ceil(least) if math.isfinite(least) else math.inf


def find_misfits(scenario: Scenario) -> Iterator[Waiting]:
    """Jobs that could not run even if they were alone, each with the reason."""
    last = scenario.slots - 1
    empty = Snapshot(scenario.cluster, (), last, scenario.slots, scenario.slot_seconds)
    network = compile_network(scenario.cluster)
    # Thousands of jobs are alike in all that matters here.
    shapes: dict[object, list[Job]] = {}
    for job in scenario.jobs:
        if job.arrival > last:
            yield Waiting(
                job.name, Reason.NOT_ARRIVED, f"arrives in slot {job.arrival}; the last one is {last}"
            )
            continue
        shape = (job.resources, job.bandwidth_gbps, job.min_workers, job.max_workers, job.budget)
        shapes.setdefault(shape, []).append(job)
    examples = [jobs[0] for jobs in shapes.values()]
    demands = [network.demand(job) for job in examples]
    largest = find_largest_rings(network, examples, demands)
    for jobs, demand, most in zip(shapes.values(), demands, largest, strict=True):
        if demand is not None and most >= jobs[0].min_workers and ActiveJob(jobs[0]).largest_ring:
            continue
        for job in jobs:
            if found := find_obstacle(empty, network, ActiveJob(job), most):
                yield found


def _find_offered(scenario: Scenario, resource: str) -> Floats:
    jobs: Sequence[Job] = [job for job in scenario.jobs if job.arrival < scenario.slots]
    change = np.zeros(scenario.slots + 1)
    if jobs:
        first = np.array([job.arrival for job in jobs], dtype=np.int64)
        lengths = np.array([count_slots(job, scenario.slot_seconds) for job in jobs])
        end = np.minimum(first + lengths, scenario.slots).astype(np.int64)
        held = np.array([job.max_workers * float(job.resources.get(resource, 0)) for job in jobs])
        np.add.at(change, first, held)
        np.add.at(change, end, -held)
    # Sums of additions and subtractions may miss 0 by rounding.
    return np.maximum(np.cumsum(change)[:-1], 0.0)


def _share(part: float, whole: float) -> float:
    if whole:
        return part / whole
    return math.inf if part else 0.0
