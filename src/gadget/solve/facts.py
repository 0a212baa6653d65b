"""What a cluster means for a job: it does not change from slot to slot, so it is found out once."""

import weakref
from collections.abc import Sequence
from typing import NamedTuple

from gadget.model.job import Job
from gadget.solve.market import Floats
from gadget.solve.network import Network
from gadget.solve.reach import find_largest_rings


class Fact(NamedTuple):
    """A job on a network."""

    job: Job
    demand: Floats | None
    """What a worker takes of each resource; None if it needs one that no server has."""
    most: int
    """The largest ring that the empty cluster holds."""


class Facts:
    """The facts of the jobs of one network, known by identity; jobs not asked for in a slot are forgotten."""

    def __init__(self, network: Network) -> None:
        # A store must not keep its network alive: it dies with it.
        self._network = weakref.ref(network)
        self._known: dict[int, Fact] = {}

    def of(self, jobs: Sequence[Job]) -> list[Fact]:
        """The facts of all jobs of a slot."""
        known = self._known
        found = [known.get(id(job)) for job in jobs]
        new = [job for job, fact in zip(jobs, found, strict=True) if fact is None]
        if new:
            network = self._network()
            assert network is not None  # who asks holds it
            demands = [network.demand(job) for job in new]
            largest = find_largest_rings(network, new, demands)
            known = {**known, **{id(f.job): f for f in map(Fact, new, demands, largest)}}
            found = [known[id(job)] for job in jobs]
        facts = [fact for fact in found if fact is not None]
        self._known = {id(fact.job): fact for fact in facts}
        return facts


_KEPT: dict[int, Facts] = {}


def find_facts(network: Network) -> Facts:
    """The facts of a network; one store in its life."""
    key = id(network)
    if key not in _KEPT:
        _KEPT[key] = Facts(network)
        weakref.finalize(network, _KEPT.pop, key, None)
    return _KEPT[key]
