"""What is still free on servers and links while a slot fills up."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from gadget.model.job import Job
from gadget.model.quantity import TOLERANCE
from gadget.model.ring import Ring
from gadget.solve.network import Network

if TYPE_CHECKING:
    from gadget.solve.loads import Load

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]


class Room:
    """Free amounts on every server and Gbps on every directed link; rings are taken out of it."""

    def __init__(self, network: Network) -> None:
        self.network = network
        self.free = network.capacity.copy()
        self.free_gbps = network.link_gbps.copy()
        # Rounding may leave a hair too little for a worker that fits exactly.
        self._slack = network.capacity * (TOLERANCE / 4)
        self._slack_gbps = network.link_gbps * (TOLERANCE / 4)

    def fits(self, job: Job) -> Integers:
        """How many workers of the job each server could take now, at most its largest ring."""
        whole: Integers = np.clip(self.space(job), 0, job.max_workers).astype(np.int64)
        return whole

    def space(self, job: Job) -> Floats:
        """How many workers of the job each server has space for, with fractions."""
        demand = self.network.demand(job)
        if demand is None:
            return np.zeros(self.network.servers)
        needed = demand > 0
        return np.asarray(((self.free + self._slack)[:, needed] / demand[needed]).min(axis=1))

    def open_links(self, job: Job) -> NDArray[np.bool_]:
        """Which directed links have the job's bandwidth free."""
        return self.free_gbps + self._slack_gbps >= job.bandwidth_gbps

    def admits(self, job: Job, ring: Ring) -> bool:
        """True when it is a ring and fits into what is free; a ring of the past may be neither by now."""
        number = self.network.node_number
        if not is_closed(ring) or not all(node in number for route in ring.routes for node in route):
            return False
        fits = self.fits(job)
        for server, workers in ring.workers_by_server().items():
            place = number.get(server, self.network.servers)
            if place >= self.network.servers or workers > fits[place]:
                return False
        links = self._links(ring)
        if links is None:
            return False
        crossings = np.bincount(links, minlength=len(self.free_gbps))
        return bool(np.all(crossings * job.bandwidth_gbps <= self.free_gbps + self._slack_gbps))

    def take(self, job: Job, ring: Ring) -> None:
        """Take out what the ring uses."""
        demand, links = self.network.demand(job), self._links(ring)
        assert demand is not None
        assert links is not None
        for server, workers in ring.workers_by_server().items():
            self.free[self.network.node_number[server]] -= workers * demand
        np.subtract.at(self.free_gbps, links, job.bandwidth_gbps)

    def admits_load(self, job: Job, demand: Floats, load: "Load") -> bool:
        """The same as `admits` for a ring whose load is known, `demand` being what a worker takes."""
        needed = demand > 0
        space = (self.free[load.servers] + self._slack[load.servers])[:, needed] / demand[needed]
        if not np.all(load.workers[:, None] <= space):
            return False
        taken = load.crossings * job.bandwidth_gbps
        return bool(np.all(taken <= self.free_gbps[load.links] + self._slack_gbps[load.links]))

    def take_load(self, job: Job, demand: Floats, load: "Load") -> None:
        """Take out what a ring of that load uses."""
        self.free[load.servers] -= load.workers[:, None] * demand
        self.free_gbps[load.links] -= load.crossings * job.bandwidth_gbps

    def give_back(self, job: Job, demand: Floats, load: "Load") -> None:
        """Put back what a ring of that load used."""
        self.free[load.servers] += load.workers[:, None] * demand
        self.free_gbps[load.links] += load.crossings * job.bandwidth_gbps

    def take_loads(self, demands: Floats, gbps: Floats, loads: Sequence["Load"]) -> None:
        """Take out what many rings use; a row of demands and a bandwidth for each."""
        if not loads:
            return
        stops = np.repeat(np.arange(len(loads)), [len(load.servers) for load in loads])
        workers = np.concatenate([load.workers for load in loads])
        amounts = workers[:, None] * demands[stops]
        np.subtract.at(self.free, np.concatenate([load.servers for load in loads]), amounts)
        hops = np.repeat(np.arange(len(loads)), [len(load.links) for load in loads])
        crossings = np.concatenate([load.crossings for load in loads])
        links = np.concatenate([load.links for load in loads])
        np.subtract.at(self.free_gbps, links, crossings * gbps[hops])

    @property
    def is_sound(self) -> bool:
        """True when nothing is taken that was not there."""
        return bool(np.all(self.free >= -self._slack) and np.all(self.free_gbps >= -self._slack_gbps))

    def _links(self, ring: Ring) -> list[int] | None:
        """The directed links the ring crosses; None when it crosses where none is."""
        number, between = self.network.node_number, self.network.link_between
        found = [between.get((number[here], number[there])) for here, there in ring.hops()]
        return None if None in found else [link for link in found if link is not None]


def is_closed(ring: Ring) -> bool:
    """True when the routes lead from each worker to the next and every server is entered once, (9)."""
    if ring.size < 2:
        return ring.size == 1 and not ring.routes
    after = (*ring.workers[1:], ring.workers[0])
    entered = [there for here, there in zip(ring.workers, after, strict=True) if here != there]
    return (
        len(entered) == len(set(entered))
        and len(ring.routes) == ring.size
        and all(
            route and route[0] == here and route[-1] == there and len(set(route)) == len(route)
            for here, there, route in zip(ring.workers, after, ring.routes, strict=True)
        )
    )
