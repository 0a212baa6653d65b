"""Random tiny slots with an allocation each: feasible ones, some tight to the last decimal, and broken ones.

Everything is drawn from the `random.Random` given. Amounts are multiples of 0.1, so that an excess is
never lost in rounding, while sums of them do round.
"""

from dataclasses import replace
from itertools import pairwise

from gadget import ActiveJob, Allocation, Cluster, Job, Link, Resources, Ring, Server, Snapshot, Sqrt
from tests.brute_force import is_feasible

SLOTS = 10


def draw_case(rng):
    """(how it was made, snapshot, allocation): built feasible, then perhaps tightened and broken."""
    snapshot = _draw_snapshot(rng)
    allocation = _fill(rng, snapshot)
    if rng.random() < 0.5:
        snapshot = _tighten(rng, snapshot, allocation)
    how = rng.choice(("untouched", *BREAKS, *BREAKS))
    if how == "untouched" or not allocation.rings:
        return "untouched", snapshot, allocation
    return how, *BREAKS[how](rng, snapshot, allocation)


def _tenths(rng, most):
    return rng.randint(1, most) / 10


def _draw_snapshot(rng):
    nodes = [f"n{place}" for place in range(rng.choice((1, 2, 3, 4, 5, 6, 6)))]
    rng.shuffle(nodes)
    hosts = {rng.choice(nodes), *(node for node in nodes if rng.random() < 0.6)}
    pairs = [(node, rng.choice(nodes[:place])) for place, node in enumerate(nodes) if place]
    for _ in range(rng.choice((0, 0, 1, 3)) if len(nodes) > 2 else 0):
        pair = tuple(rng.sample(nodes, 2))
        if set(pair) not in map(set, pairs):
            pairs.append(pair)
    cluster = Cluster(
        tuple(Server(node, _draw_offer(rng)) for node in nodes if node in hosts),
        tuple(node for node in nodes if node not in hosts),
        tuple(Link(pair, _tenths(rng, 25)) for pair in pairs),
    )
    slot = rng.randrange(SLOTS)
    jobs = tuple(_draw_active(rng, f"j{place}", slot) for place in range(rng.randint(1, 4)))
    return Snapshot(cluster, jobs, slot=slot, slots=SLOTS)


def _draw_offer(rng):
    offer = {"gpu": _tenths(rng, 60)}
    if rng.random() < 0.7:
        offer["memory_gib"] = _tenths(rng, 100)
    return Resources(offer)


def _draw_active(rng, name, slot):
    demand = {"gpu": _tenths(rng, 15)}
    if rng.random() < 0.3:
        demand["memory_gib"] = rng.choice((0, _tenths(rng, 20)))
    served = rng.choice((0, 0, rng.randint(1, 5), _tenths(rng, 40)))
    fewest = rng.choice((1, 1, 2))
    budget = None
    if rng.random() < 0.5:
        paid = served + rng.randint(fewest, 4)
        budget = Resources({resource: round(amount * paid, 6) for resource, amount in demand.items()})
    job = Job(
        name=name,
        resources=Resources(demand),
        min_workers=fewest,
        max_workers=rng.randint(fewest, 4),
        utility=Sqrt(),
        bandwidth_gbps=rng.choice((0, _tenths(rng, 12), _tenths(rng, 12), 0.3)),
        rate=1,
        arrival=rng.randint(0, slot),
        budget=budget,
    )
    return ActiveJob(job, served)


def _fill(rng, snapshot):
    """A feasible allocation: random rings, each kept if all is still well."""
    allocation = Allocation()
    for active in rng.sample(snapshot.jobs, len(snapshot.jobs)):
        for _ in range(4):
            size = rng.randint(active.job.min_workers, active.job.max_workers)
            wider = Allocation((*allocation.rings, _draw_ring(rng, snapshot.cluster, active.job.name, size)))
            if is_feasible(snapshot, wider):
                allocation = wider
                break
    return allocation


def _draw_ring(rng, cluster, job, size):
    most = min(size, len(cluster.servers))
    stops = rng.sample(cluster.servers, rng.choice((most, rng.randint(1, most))))
    counts = [1] * len(stops)
    for _ in range(size - len(stops)):
        counts[rng.randrange(len(stops))] += 1
    workers = [stop.name for stop, count in zip(stops, counts, strict=True) for _ in range(count)]
    turn = rng.randrange(size)
    workers = workers[turn:] + workers[:turn]
    if size == 1:
        return Ring(job, tuple(workers), ())
    ends = zip(workers, workers[1:] + workers[:1], strict=True)
    return Ring(job, tuple(workers), tuple(_draw_route(rng, cluster, *pair) for pair in ends))


def _draw_route(rng, cluster, first, last):
    """Some path from first to last: a random walk that turns back at dead ends."""
    trail, seen = [first], {first}
    while trail[-1] != last:
        onward = [(set(link.ends) - {trail[-1]}).pop() for link in cluster.links if trail[-1] in link.ends]
        onward = [node for node in onward if node not in seen]
        if onward:
            trail.append(rng.choice(onward))
            seen.add(trail[-1])
        else:
            trail.pop()
    return tuple(trail)


def _tighten(rng, snapshot, allocation):
    """The same slot where servers and links have just what is used (as decimals), or leave 0.1."""
    demands = {active.job.name: active.job for active in snapshot.jobs}
    servers = []
    for server in snapshot.cluster.servers:
        taken = dict.fromkeys(server.resources, 0)
        for ring in allocation.rings:
            for resource, amount in demands[ring.job].resources.items():
                if amount:
                    taken[resource] = taken.get(resource, 0) + amount * ring.workers.count(server.name)
        spare = rng.choice((0, 0, 0.1))
        servers.append(
            Server(server.name, Resources({name: round(much + spare, 6) for name, much in taken.items()}))
        )
    links = []
    for link in snapshot.cluster.links:
        both_ways = {link.ends: 0, link.ends[::-1]: 0}
        for ring in allocation.rings:
            for route in ring.routes:
                for hop in pairwise(route):
                    if hop in both_ways:
                        both_ways[hop] += demands[ring.job].bandwidth_gbps
        links.append(Link(link.ends, round(max(both_ways.values()), 6)))
    cluster = Cluster(tuple(servers), snapshot.cluster.switches, tuple(links))
    return replace(snapshot, cluster=cluster)


def _with_ring(allocation, place, ring):
    return Allocation((*allocation.rings[:place], ring, *allocation.rings[place + 1 :]))


def _of_a_ring(change):
    """A break that changes one ring and nothing else."""

    def broken(rng, snapshot, allocation):
        place = rng.randrange(len(allocation.rings))
        return snapshot, _with_ring(allocation, place, change(rng, snapshot.cluster, allocation.rings[place]))

    return broken


def _of_a_job(change):
    """A break that changes the job of one ring."""

    def broken(rng, snapshot, allocation):
        ring = rng.choice(allocation.rings)
        jobs = tuple(
            change(rng, snapshot, active, ring) if active.job.name == ring.job else active
            for active in snapshot.jobs
        )
        return replace(snapshot, jobs=jobs), allocation

    return broken


def _move_a_worker(rng, cluster, ring):
    workers = list(ring.workers)
    workers[rng.randrange(len(workers))] = rng.choice(cluster.nodes)
    return replace(ring, workers=tuple(workers))


def _redraw_somewhere_else(rng, cluster, ring):
    """Well-shaped, but perhaps on a server or a link that is full."""
    return _draw_ring(rng, cluster, ring.job, len(ring.workers))


def _grow(rng, cluster, ring):
    return _draw_ring(rng, cluster, ring.job, len(ring.workers) + 1)


def _shrink(rng, cluster, ring):
    size = len(ring.workers) - 1
    return _draw_ring(rng, cluster, ring.job, size) if size else Ring(ring.job, (), ())


def _drop_a_route(rng, cluster, ring):
    place = rng.randrange(len(ring.routes)) if ring.routes else 0
    return replace(ring, routes=ring.routes[:place] + ring.routes[place + 1 :])


def _add_a_route(rng, cluster, ring):
    return replace(ring, routes=(*ring.routes, (ring.workers[-1],)))


def _change_a_route(change):
    def changed(rng, cluster, ring):
        if not ring.routes:
            return replace(ring, routes=((ring.workers[0],),))
        # Of two, the longer: most routes stay on one server.
        place = max(rng.choices(range(len(ring.routes)), k=2), key=lambda rank: len(ring.routes[rank]))
        route = tuple(change(rng, cluster, list(ring.routes[place])))
        return replace(ring, routes=(*ring.routes[:place], route, *ring.routes[place + 1 :]))

    return _of_a_ring(changed)


def _swap_ends(rng, cluster, route):
    return route[::-1]


def _erase(rng, cluster, route):
    return []


def _skip_a_node(rng, cluster, route):
    place = rng.randrange(len(route))
    return route[:place] + route[place + 1 :]


def _insert_a_node(rng, cluster, route):
    place = rng.randint(1, max(1, len(route) - 1))
    return [*route[:place], rng.choice((rng.choice(cluster.nodes), "nowhere")), *route[place:]]


def _go_there_and_back(rng, cluster, route):
    ends = [set(link.ends) - {route[-1]} for link in cluster.links if route[-1] in link.ends]
    return [*route, rng.choice(ends).pop(), route[-1]] if ends else [*route, route[-1]]


def _visit_again(rng, cluster, ring):
    """The ring walked twice over: every server is entered once more than it may be."""
    return Ring(ring.job, ring.workers * 2, (ring.routes or ((ring.workers[0],),)) * 2)


def _rename(rng, cluster, ring):
    return replace(ring, job="nobody")


def _place_nowhere(rng, cluster, ring):
    return replace(ring, workers=("nowhere", *ring.workers[1:]))


def _turn(rng, cluster, ring):
    """The same ring from another rank on: nothing is broken by that."""
    turn = rng.randrange(len(ring.workers))
    return Ring(ring.job, ring.workers[turn:] + ring.workers[:turn], ring.routes[turn:] + ring.routes[:turn])


def _turn_workers_only(rng, cluster, ring):
    return replace(ring, workers=ring.workers[1:] + ring.workers[:1])


def _reverse(rng, cluster, ring):
    """The same ring the other way round: it loads the other direction of every link."""
    routes = tuple(route[::-1] for route in reversed(ring.routes[:-1])) + tuple(
        route[::-1] for route in ring.routes[-1:]
    )
    return Ring(ring.job, ring.workers[::-1], routes)


def _repeat_a_ring(rng, snapshot, allocation):
    return snapshot, Allocation((*allocation.rings, rng.choice(allocation.rings)))


def _drop_a_ring(rng, snapshot, allocation):
    place = rng.randrange(len(allocation.rings))
    return snapshot, Allocation(allocation.rings[:place] + allocation.rings[place + 1 :])


def _less_room(rng, snapshot, allocation):
    """0.1 less of one resource on a server that the allocation uses."""
    used = rng.choice([worker for ring in allocation.rings for worker in ring.workers])
    servers = []
    for server in snapshot.cluster.servers:
        amounts = dict(server.resources)
        if server.name == used and amounts:
            resource = rng.choice(sorted(amounts))
            amounts[resource] = round(max(0, amounts[resource] - 0.1), 6)
        servers.append(Server(server.name, Resources(amounts)))
    return replace(snapshot, cluster=replace(snapshot.cluster, servers=tuple(servers))), allocation


def _find_used_link(rng, snapshot, allocation):
    """The place of a link that a ring crosses, if one does."""
    crossed = {
        frozenset(hop) for ring in allocation.rings for route in ring.routes for hop in pairwise(route)
    }
    places = [place for place, link in enumerate(snapshot.cluster.links) if frozenset(link.ends) in crossed]
    return rng.choice(places) if places else None


def _thinner_link(rng, snapshot, allocation):
    """A little less on a link that the allocation uses: 0.1 Gbps, where that is all it takes."""
    place = _find_used_link(rng, snapshot, allocation)
    links = list(snapshot.cluster.links)
    if place is not None:
        links[place] = replace(
            links[place], gbps=round(max(0, links[place].gbps - rng.choice((0.1, 0.1, 1))), 6)
        )
    return replace(snapshot, cluster=replace(snapshot.cluster, links=tuple(links))), allocation


def _cut_a_link(rng, snapshot, allocation):
    place = _find_used_link(rng, snapshot, allocation)
    links = list(snapshot.cluster.links)
    if place is not None:
        links.pop(place)
    return replace(snapshot, cluster=replace(snapshot.cluster, links=tuple(links))), allocation


def _arrive_later(rng, snapshot, active, ring):
    return replace(active, job=replace(active.job, arrival=snapshot.slot + rng.randint(0, 1)))


def _forget_a_job(rng, snapshot, allocation):
    name = rng.choice(allocation.rings).job
    return replace(snapshot, jobs=tuple(a for a in snapshot.jobs if a.job.name != name)), allocation


def _narrow_the_sizes(rng, snapshot, active, ring):
    size = len(ring.workers)
    fewest, most = rng.choice(((size, size), (size + 1, size + 2), (max(1, size - 1), max(1, size - 1))))
    return replace(active, job=replace(active.job, min_workers=fewest, max_workers=most))


def _spend_the_budget(rng, snapshot, active, ring):
    """What is left pays for exactly this ring, or for 0.1 worker-slots less."""
    demand = active.job.resources
    paid = active.served + len(ring.workers)
    budget = {resource: round(amount * paid, 6) for resource, amount in demand.items()}
    served = round(active.served + rng.choice((0, 0.1)), 6)
    return ActiveJob(replace(active.job, budget=Resources(budget)), served)


BREAKS = {
    "move a worker": _of_a_ring(_move_a_worker),
    "place it elsewhere": _of_a_ring(_redraw_somewhere_else),
    "one worker more": _of_a_ring(_grow),
    "one worker fewer": _of_a_ring(_shrink),
    "drop a route": _of_a_ring(_drop_a_route),
    "add a route": _of_a_ring(_add_a_route),
    "swap the ends of a route": _change_a_route(_swap_ends),
    "skip a node of a route": _change_a_route(_skip_a_node),
    "a node more on a route": _change_a_route(_insert_a_node),
    "there and back": _change_a_route(_go_there_and_back),
    "an empty route": _change_a_route(_erase),
    "visit servers again": _of_a_ring(_visit_again),
    "a job nobody knows": _of_a_ring(_rename),
    "a server nobody knows": _of_a_ring(_place_nowhere),
    "turn the ring": _of_a_ring(_turn),
    "turn the workers only": _of_a_ring(_turn_workers_only),
    "reverse the ring": _of_a_ring(_reverse),
    "a ring twice": _repeat_a_ring,
    "a ring fewer": _drop_a_ring,
    "less room on a server": _less_room,
    "a thinner link": _thinner_link,
    "a missing link": _cut_a_link,
    "arrives now or later": _of_a_job(_arrive_later),
    "gone from the snapshot": _forget_a_job,
    "other sizes allowed": _of_a_job(_narrow_the_sizes),
    "budget spent": _of_a_job(_spend_the_budget),
}
# These never break a constraint. Reversing a ring does when links are loaded more one way than the other.
HARMLESS = ("untouched", "turn the ring", "a ring fewer")
RARELY_HARMFUL = ("reverse the ring",)
