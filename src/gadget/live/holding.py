"""Rings that are left alone for now: the policy decides on what they leave."""

from collections.abc import Collection
from dataclasses import replace

from gadget.model.cluster import Cluster, Link, Server
from gadget.model.decision import Decision, Status
from gadget.model.job import Job
from gadget.model.resources import Resources
from gadget.model.ring import Allocation, Ring
from gadget.model.snapshot import Snapshot


def set_aside(snapshot: Snapshot, held: Collection[str]) -> Snapshot:
    """The snapshot without these jobs and without what their rings take.

    A link has one capacity for both directions: the busier direction counts.
    """
    rings = [ring for ring in snapshot.running.rings if ring.job in held]
    jobs = snapshot.job_by_name
    return replace(
        snapshot,
        cluster=_without(snapshot.cluster, [(ring, jobs[ring.job].job) for ring in rings]),
        jobs=tuple(active for active in snapshot.jobs if active.job.name not in held),
        running=Allocation(tuple(ring for ring in snapshot.running.rings if ring.job not in held)),
        prices=None,
    )


def bring_back(snapshot: Snapshot, decision: Decision, held: Collection[str]) -> Decision:
    """The decision with the rings that were set aside. A bound on what was left bounds no whole slot."""
    kept = tuple(ring for ring in snapshot.running.rings if ring.job in held)
    allocation = Allocation((*kept, *decision.allocation.rings))
    return replace(
        decision,
        allocation=allocation,
        objective=snapshot.objective(allocation),
        upper_bound=None,
        status=Status.HEURISTIC,
        surrogate=None,
        prices=None,
    )


def _without(cluster: Cluster, rings: list[tuple[Ring, Job]]) -> Cluster:
    on_server: dict[str, dict[str, float]] = {}
    on_link: dict[tuple[str, str], float] = {}
    for ring, job in rings:
        for server, workers in ring.workers_by_server().items():
            taken = on_server.setdefault(server, {})
            for resource, amount in job.resources.items():
                taken[resource] = taken.get(resource, 0.0) + workers * amount
        for hop in ring.hops():
            on_link[hop] = on_link.get(hop, 0.0) + job.bandwidth_gbps
    return replace(
        cluster,
        servers=tuple(_less(server, on_server.get(server.name, {})) for server in cluster.servers),
        links=tuple(_narrower(link, on_link) for link in cluster.links),
    )


def _less(server: Server, taken: dict[str, float]) -> Server:
    if not taken:
        return server
    left = {name: _left(amount, taken.get(name, 0.0)) for name, amount in server.resources.items()}
    return replace(server, resources=Resources(left))


def _narrower(link: Link, loads: dict[tuple[str, str], float]) -> Link:
    a, b = link.ends
    load = max(loads.get((a, b), 0.0), loads.get((b, a), 0.0))
    return replace(link, gbps=_left(link.gbps, load)) if load else link


def _left(amount: float, taken: float) -> float:
    # What rounding leaves is nothing.
    left = amount - taken
    return left if left > 1e-9 * amount else 0.0
