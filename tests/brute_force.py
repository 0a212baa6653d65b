"""The slot problem judged by its definitions alone, in plain loops and exact arithmetic."""

from fractions import Fraction


def is_feasible(snapshot, allocation):
    """True when the allocation keeps (2), (4), (6), (7), (9), (11) and (19).

    Numbers count as the decimals they are written as: 0.1 and 0.2 are 0.3 together.
    """
    return (
        all(_may_run(snapshot, ring) for ring in allocation.rings)
        and _at_most_one_ring_each(allocation)
        and all(_is_one_ring(ring) and _routes_join(snapshot.cluster, ring) for ring in allocation.rings)
        and _servers_hold(snapshot, allocation)
        and _links_carry(snapshot, allocation)
    )


def _exact(number):
    return Fraction(str(number))


def _find_active(snapshot, name):
    for active in snapshot.jobs:
        if active.job.name == name:
            return active
    return None


def _may_run(snapshot, ring):
    """(2) the size is allowed, (6) the job is there, (11) the budget still pays for all its workers."""
    active = _find_active(snapshot, ring.job)
    if active is None or snapshot.slot < active.job.arrival:
        return False
    job, workers = active.job, len(ring.workers)
    if workers < job.min_workers or workers > job.max_workers:
        return False
    for resource in job.budget or {}:
        per_worker = _exact(job.resources[resource]) if resource in job.resources else 0
        if per_worker * (_exact(active.served) + workers) > _exact(job.budget[resource]):
            return False
    return True


def _at_most_one_ring_each(allocation):
    jobs = [ring.job for ring in allocation.rings]
    return all(jobs.count(job) == 1 for job in jobs)


def _is_one_ring(ring):
    """(9) from some rank on, the workers of each server stand side by side."""
    for start in range(len(ring.workers)):
        turned = ring.workers[start:] + ring.workers[:start]
        stops = [server for place, server in enumerate(turned) if place == 0 or turned[place - 1] != server]
        if all(stops.count(server) == 1 for server in stops):
            return True
    return False


def _routes_join(cluster, ring):
    """(7) workers stand on servers; each sends to the next along a path that the cluster has."""
    servers = [server.name for server in cluster.servers]
    if any(worker not in servers for worker in ring.workers):
        return False
    size = len(ring.workers)
    if size == 1:
        return len(ring.routes) == 0
    if len(ring.routes) != size:
        return False
    return all(
        _is_path(cluster, ring.routes[rank], ring.workers[rank], ring.workers[(rank + 1) % size])
        for rank in range(size)
    )


def _is_path(cluster, route, first, last):
    nodes = [server.name for server in cluster.servers] + list(cluster.switches)
    cables = [set(link.ends) for link in cluster.links]
    if len(route) == 0 or route[0] != first or route[-1] != last:
        return False
    for node in route:
        if node not in nodes or route.count(node) != 1:
            return False
    return all({route[step], route[step + 1]} in cables for step in range(len(route) - 1))


def _servers_hold(snapshot, allocation):
    """(4) each server has enough of each resource for all workers on it."""
    for server in snapshot.cluster.servers:
        taken = {}
        for ring in allocation.rings:
            demand = _find_active(snapshot, ring.job).job.resources
            for worker in ring.workers:
                if worker == server.name:
                    for resource in demand:
                        taken[resource] = taken.get(resource, 0) + _exact(demand[resource])
        for resource, amount in taken.items():
            if amount > (_exact(server.resources[resource]) if resource in server.resources else 0):
                return False
    return True


def _links_carry(snapshot, allocation):
    """(19) each direction of each link has enough Gbps for all rings that cross it that way."""
    for link in snapshot.cluster.links:
        for here, there in (link.ends, link.ends[::-1]):
            reserved = 0
            for ring in allocation.rings:
                for route in ring.routes:
                    for step in range(len(route) - 1):
                        if (route[step], route[step + 1]) == (here, there):
                            reserved += _exact(_find_active(snapshot, ring.job).job.bandwidth_gbps)
            if reserved > _exact(link.gbps):
                return False
    return True
