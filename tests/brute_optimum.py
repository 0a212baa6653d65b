"""The optimum of a tiny slot by plain enumeration, sharing no code with any solver.

Every ring of every job is written down: every size, every choice and order of servers, every routing over
simple paths. Then the jobs are combined one after another. Numbers count as the decimals they are written as.
For up to four servers, three jobs and three workers.
"""

from collections import Counter
from fractions import Fraction
from itertools import combinations_with_replacement, pairwise, permutations

from gadget import Allocation, Ring


def find_optimum(snapshot, gain=None):
    """(value, allocation) of the best slot; `gain(active, size)` replaces the true gain when given.

    The true gain is that of the ring: one that goes on with the workers of the slot before loses nothing.
    """
    limits = _limits(snapshot.cluster)
    choices = [_worth_having(_options(snapshot, active, gain, limits)) for active in snapshot.jobs]
    # What the jobs from each place on could gain if nothing were in their way.
    hopes = [sum(max((o[0] for o in own), default=0.0) for own in choices[n:]) for n in range(len(choices))]
    best = (0.0, ())

    def extend(place, value, used, rings):
        nonlocal best
        if value > best[0]:
            best = (value, rings)
        if place == len(choices) or value + hopes[place] <= best[0]:
            return
        for worth, load, ring in choices[place]:
            together = {**used, **{what: used.get(what, 0) + load[what] for what in load}}
            if all(together[what] <= limits.get(what, 0) for what in load):
                extend(place + 1, value + worth, together, (*rings, ring))
        extend(place + 1, value, used, rings)

    extend(0, 0.0, {}, ())
    return best[0], Allocation(best[1])


def exact(number):
    return Fraction(str(number))


def _limits(cluster):
    """Capacity of every (server, resource) and of every directed link (here, there)."""
    limits = {(s.name, r): exact(amount) for s in cluster.servers for r, amount in s.resources.items()}
    for link in cluster.links:
        for here, there in (link.ends, link.ends[::-1]):
            limits["link", here, there] = exact(link.gbps)
    return limits


def _options(snapshot, active, gain, limits):
    """(gain, load, ring) of every ring that the job may have on the empty cluster and that gains anything."""
    if snapshot.slot < active.job.arrival:
        return
    servers = [server.name for server in snapshot.cluster.servers]
    for size in range(active.job.min_workers, active.job.max_workers + 1):
        if (gain or snapshot.gains)(active, size) <= 0 or not _budget_pays(active, size):
            continue
        for workers in combinations_with_replacement(servers, size):
            counts = Counter(workers)
            load = {
                (server, resource): held * exact(amount)
                for server, held in counts.items()
                for resource, amount in active.job.resources.items()
                if amount
            }
            if any(amount > limits.get(what, 0) for what, amount in load.items()):
                continue
            ways = list(_closings(snapshot.cluster, active.job, counts, limits))
            before = snapshot.running.ring_of.get(active.job.name)
            if before is not None and Counter(before.workers) == counts:
                ways += _routings(snapshot.cluster, active.job, before, limits)
            for crossed, ring in ways:
                worth = gain(active, size) if gain else _gain_of(snapshot, active, ring)
                if worth > 0:
                    yield worth, {**load, **crossed}, ring


def _gain_of(snapshot, active, ring):
    return float(snapshot.gains(active, ring.size, restart=snapshot.is_restart(ring)))


def _budget_pays(active, size):
    """(11) for every resource that the budget names."""
    for resource, limit in (active.job.budget or {}).items():
        per_worker = exact(active.job.resources[resource]) if resource in active.job.resources else 0
        if per_worker * (exact(active.served) + size) > exact(limit):
            return False
    return True


def _closings(cluster, job, counts, limits):
    """Every way to close a ring over these workers: every order of the servers, every routing."""
    first, *others = counts
    if not others:
        size = counts[first]
        yield {}, Ring(job.name, (first,) * size, ((first,),) * size if size > 1 else ())
        return
    for rest in permutations(others):
        stops = (first, *rest)
        for load, routes in _routes(cluster, job, stops, limits):
            yield load, _write_ring(job.name, stops, counts, routes)


def _routings(cluster, job, ring, limits):
    """Every way to route the edges between the workers of a ring in their order."""
    if ring.size == 1:
        yield {}, ring
        return
    for load, routes in _routes(cluster, job, ring.workers, limits):
        yield load, Ring(job.name, ring.workers, routes)


def _routes(cluster, job, stops, limits):
    """(load, routes) of every routing from stop to stop and back to the first."""
    gbps = exact(job.bandwidth_gbps)
    # Crossings of each directed link so far → routes that have them; equal crossings are one way.
    ways = {frozenset(): ()}
    for here, there in zip(stops, (*stops[1:], stops[0]), strict=True):
        longer = {}
        for crossed, routes in ways.items():
            for path in _simple_paths(cluster, here, there):
                count = Counter(dict(crossed)) + Counter(pairwise(path))
                if all(gbps * times <= limits["link", *hop] for hop, times in count.items()):
                    longer.setdefault(frozenset(count.items()), (*routes, path))
        ways = longer
    for crossed, routes in ways.items():
        yield {("link", *hop): gbps * times for hop, times in crossed if gbps}, routes


def _simple_paths(cluster, here, there, passed=()):
    """Every path without a node twice."""
    if here == there:
        yield (*passed, here)
        return
    for beside in cluster.neighbours[here]:
        if beside not in passed:
            yield from _simple_paths(cluster, beside, there, (*passed, here))


def _write_ring(name, stops, counts, routes):
    workers, paths = [], []
    for stop, route in zip(stops, routes, strict=True):
        workers += [stop] * counts[stop]
        paths += [(stop,)] * (counts[stop] - 1) + [route]
    return Ring(name, tuple(workers), tuple(paths))


def _worth_having(options):
    """The options of a job, best first, without those that gain no more and load no less than another."""
    kept = []
    for worth, load, ring in sorted(options, key=lambda option: (-option[0], len(option[1]))):
        if not any(
            all(load.get(what, 0) >= amount for what, amount in other.items()) for _, other, _ in kept
        ):
            kept.append((worth, load, ring))
    return kept
