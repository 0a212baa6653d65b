"""Hypothesis strategies for slots so small that `brute_optimum` can enumerate them.

At most four servers and two switches, three jobs, three workers a ring; one or two resources, links that
carry nothing, servers that hold nothing, smallest rings above one, budgets that are nearly spent.
"""

from dataclasses import replace

from hypothesis import strategies as st

from gadget import (
    ActiveJob,
    Allocation,
    Cluster,
    Energy,
    Job,
    Linear,
    Link,
    Log,
    Resources,
    Server,
    Snapshot,
    Sqrt,
    Table,
)
from gadget.solve.greedy import place_greedily
from gadget.solve.network import compile_network
from gadget.solve.room import Room

_utilities = st.sampled_from(
    (
        *(Linear(1), Linear(0.7), Linear(2), Sqrt(1), Sqrt(3), Log(2), Log(5)),
        # Rises, then falls: a larger ring may gain less.
        Energy(Sqrt(4), weight=0.3),
        Table(((0, 0), (1, 2), (2, 3), (9, 3.5))),
        Linear(0),
    )
)


@st.composite
def tiny_clusters(draw, *, tree=False, loops=False):
    """A tree, or a connected graph with up to two links more (`loops`: at least one more, where it can)."""
    servers = [f"s{n}" for n in range(draw(st.sampled_from((3, 4, 4, 2, 1))))]
    switches = [f"w{n}" for n in range(draw(st.sampled_from((1, 0, 2))))]
    nodes = draw(st.permutations(servers + switches))
    pairs = [(node, draw(st.sampled_from(nodes[:place]))) for place, node in enumerate(nodes) if place]
    missing = [(a, b) for n, a in enumerate(nodes) for b in nodes[:n] if {a, b} not in map(set, pairs)]
    if missing and not tree:
        pairs += draw(st.lists(st.sampled_from(missing), unique=True, min_size=loops, max_size=2))
    memory = draw(st.booleans())
    return Cluster(
        tuple(Server(name, draw(_offers(memory))) for name in servers),
        tuple(switches),
        tuple(Link(pair, draw(st.sampled_from((1, 1, 2, 3, 0.3, 0)))) for pair in pairs),
    )


@st.composite
def _offers(draw, memory):
    offer = {"gpu": draw(st.sampled_from((1, 1, 1, 2, 3, 0)))}
    if memory:
        offer["memory_gib"] = draw(st.sampled_from((2, 3, 5, 1, 0)))
    return Resources(offer)


@st.composite
def tiny_actives(draw, name, *, memory=False):
    """A job under way; with `memory` it may need that too."""
    most = draw(st.sampled_from((3, 3, 2, 1)))
    demands = [*[{"gpu": 1}] * 6, {"gpu": 2}, {"gpu": 0.5}, {"gpu": 0.3}]
    if memory:
        demands += [{"gpu": 1, "memory_gib": 2}, {"gpu": 0.5, "memory_gib": 1}, {"memory_gib": 1}]
    job = Job(
        name=name,
        resources=Resources(draw(st.sampled_from(demands))),
        min_workers=draw(st.sampled_from((1, most))),
        max_workers=most,
        utility=draw(_utilities),
        bandwidth_gbps=draw(st.sampled_from((1, 1, 0.1, 2, 0))),
        rate=draw(st.sampled_from((1, 2))),
        budget=draw(st.sampled_from((None, None, None, Resources({"gpu": 4})))),
    )
    return ActiveJob(job, draw(st.sampled_from((0, 0, 1, 2))))


@st.composite
def tiny_slots(draw, *, tree=False, loops=False):
    """A slot over a tiny cluster with one to three jobs."""
    cluster = draw(tiny_clusters(tree=tree, loops=loops))
    memory = "memory_gib" in cluster.resource_names
    count = draw(st.sampled_from((2, 3, 3, 1)))
    jobs = tuple(draw(tiny_actives(f"j{n}", memory=memory)) for n in range(count))
    return Snapshot(cluster, jobs, slot=0, slots=5)


@st.composite
def contended_slots(draw, *, tree=False, loops=False):
    """Jobs that share no server resource, with one seat each on some servers: only links can be short."""
    cluster = draw(tiny_clusters(tree=tree, loops=loops))
    actives = [draw(tiny_actives(f"j{n}")) for n in range(draw(st.sampled_from((2, 3))))]
    jobs = [
        replace(active.job, resources=Resources({f"seat{n}": 1}), budget=None, bandwidth_gbps=1)
        for n, active in enumerate(actives)
    ]
    servers = [
        Server(
            server.name, Resources({f"seat{n}": draw(st.sampled_from((1, 1, 0))) for n in range(len(jobs))})
        )
        for server in cluster.servers
    ]
    links = [Link(link.ends, draw(st.sampled_from((1, 1, 2, 3, 0)))) for link in cluster.links]
    return Snapshot(
        Cluster(tuple(servers), cluster.switches, tuple(links)), tuple(map(ActiveJob, jobs)), slot=0, slots=5
    )


@st.composite
def running_slots(draw, *, tree=False):
    """A tiny slot in which some rings run, and moving them may cost work."""
    snapshot = draw(tiny_slots(tree=tree))
    room = Room(compile_network(snapshot.cluster))
    actives, rings = [], []
    for active in snapshot.jobs:
        # Where more work is worth less, losing some is a gain, and no solver looks for that.
        costs = (0, 1, 1.5, 100) if active.job.worth.non_decreasing else (0,)
        job = replace(active.job, resize_cost=draw(st.sampled_from(costs)))
        if draw(st.booleans()):
            job = replace(job, work=draw(st.sampled_from((2.5, 4, 20))))
        done = draw(st.sampled_from((0.5, 2.0))) if active.served else 0.0
        actives.append(ActiveJob(job, active.served, done))
        if (wanted := actives[-1].largest_ring) and active.served and draw(st.booleans()):
            ring = place_greedily(room, job, draw(st.integers(job.min_workers, wanted)))
            if ring is not None:
                room.take(job, ring)
                rings.append(ring)
    return replace(snapshot, jobs=tuple(actives), running=Allocation(tuple(rings)))
