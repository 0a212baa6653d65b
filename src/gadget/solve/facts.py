"""What a cluster means for a job: it does not change from slot to slot, so it is found out once."""

import math
import weakref
from collections.abc import Sequence
from dataclasses import dataclass, fields

import numpy as np

from gadget.model.capped import Capped
from gadget.model.job import Job
from gadget.model.resources import Resources
from gadget.model.utility import Linear, Log, Sqrt, Utility
from gadget.solve.lifetime import once_in_a_life
from gadget.solve.market import Booleans, Floats, Integers
from gadget.solve.network import Network
from gadget.solve.reach import find_largest_rings

# Concave and never falling whatever their parameters: no majorant, and no gain below 0.
_PLAIN = frozenset({Sqrt, Log, Linear})
# A table is tidied up when it holds this many more jobs than twice those asked for.
_SPARE = 1000


@dataclass(frozen=True, eq=False)
class JobTable:
    """Jobs on a network, a row each."""

    demand: Floats
    """What a worker takes of each resource; 0 where `is_hosted` is False."""
    is_hosted: Booleans
    """False if a worker needs a resource that no server has."""
    arrival: Integers
    least: Integers
    most: Integers
    """The largest ring that the empty cluster holds, within the job's own limit."""
    gbps: Floats
    rate: Floats
    """NaN for a job with timing."""
    total: Floats
    """All there is to do; infinite where nothing is said."""
    worker_slots: Floats
    is_plain: Booleans
    """Concave and non-decreasing by the kind of its utility alone."""
    is_lossy: Booleans
    """A restart costs it work."""
    kind: Integers
    """Of its utility, as a place in the list of kinds."""
    shape: Integers
    """The same number for jobs whose workers take the same, bandwidth and all."""

    def take(self, rows: Integers | Booleans) -> "JobTable":
        """Some of the rows."""
        return JobTable(*(getattr(self, field.name)[rows] for field in fields(self)))

    def extend(self, other: "JobTable") -> "JobTable":
        """The rows of both, one after the other."""
        return JobTable(
            *(
                np.concatenate([getattr(self, field.name), getattr(other, field.name)])
                for field in fields(self)
            )
        )


class Facts:
    """The facts of the jobs of one network, known by identity; those not asked for are forgotten in time."""

    def __init__(self, network: Network) -> None:
        self._network = weakref.ref(network)
        self._kinds: dict[type[Utility], int] = {}
        self._shapes: dict[tuple[Resources, float], int] = {}
        self._jobs: list[Job] = []
        self._row: dict[int, int] = {}
        self._table = self._read([])

    def of(self, jobs: Sequence[Job]) -> JobTable:
        """The facts of all jobs of a slot, in their order."""
        known = self._row
        new = [job for job in jobs if id(job) not in known]
        if new:
            known.update((id(job), len(self._jobs) + place) for place, job in enumerate(new))
            self._jobs += new
            self._table = self._table.extend(self._read(new))
        rows = np.fromiter((known[id(job)] for job in jobs), dtype=np.int64, count=len(jobs))
        found = self._table.take(rows)
        if len(self._jobs) > 2 * len(jobs) + _SPARE:
            self._jobs, self._table = list(jobs), found
            self._row = {id(job): place for place, job in enumerate(jobs)}
        return found

    @property
    def kinds(self) -> tuple[type[Utility], ...]:
        """The kinds of utilities met so far."""
        return tuple(self._kinds)

    def _read(self, jobs: Sequence[Job]) -> JobTable:
        network = self._network()
        assert network is not None  # who asks holds it
        demands = [network.demand(job) for job in jobs]
        nothing = np.zeros(len(network.resource_number))
        return JobTable(
            demand=_rows([nothing if own is None else own for own in demands], len(nothing)),
            is_hosted=np.array([own is not None for own in demands], dtype=np.bool_),
            arrival=np.array([job.arrival for job in jobs], dtype=np.int64),
            least=np.array([job.min_workers for job in jobs], dtype=np.int64),
            most=np.array(find_largest_rings(network, jobs, demands), dtype=np.int64),
            gbps=np.array([job.bandwidth_gbps for job in jobs], dtype=np.float64),
            rate=np.array([job.rate for job in jobs], dtype=np.float64),  # None becomes NaN
            total=np.array([math.inf if job.work is None else job.work for job in jobs], dtype=np.float64),
            worker_slots=np.array([job.worker_slots for job in jobs], dtype=np.float64),
            is_plain=np.array([_is_plain(job.worth) for job in jobs], dtype=np.bool_),
            is_lossy=np.array([job.loses_by_restart for job in jobs], dtype=np.bool_),
            kind=np.array(
                [self._kinds.setdefault(type(job.worth), len(self._kinds)) for job in jobs], dtype=np.int64
            ),
            shape=np.array(
                [
                    self._shapes.setdefault((job.resources, job.bandwidth_gbps), len(self._shapes))
                    for job in jobs
                ],
                dtype=np.int64,
            ),
        )


@once_in_a_life
def find_facts(network: Network) -> Facts:
    """The facts of a network: one store, which learns as it goes."""
    return Facts(network)


def _rows(rows: list[Floats], width: int) -> Floats:
    return np.array(rows, dtype=np.float64).reshape(len(rows), width)


def _is_plain(worth: Utility) -> bool:
    return type(worth.inner if isinstance(worth, Capped) else worth) in _PLAIN
