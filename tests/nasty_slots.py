"""Hypothesis strategies for slots that are hard on a solver: everything at its limit, and several at once.

Links without capacity, jobs larger than any server, all jobs alike, one server, budgets of one, demands that
leave a remainder, smallest rings that need several servers, rings that run and cost work to restart.
"""

from dataclasses import replace
from itertools import pairwise

from hypothesis import strategies as st

from gadget import ActiveJob, Allocation, Cluster, Job, Linear, Link, Log, Resources, Server, Snapshot, Sqrt
from gadget.solve.greedy import place_greedily
from gadget.solve.network import compile_network
from gadget.solve.room import Room

_gbps = st.sampled_from((0, 0, 0.5, 1, 2, 3, 10))
_gpus = st.sampled_from((0, 1, 2, 3, 4, 5, 8))


@st.composite
def nasty_clusters(draw):
    """A line, a star, racks, a ring, or leaves under two spines; one server now and then."""
    count = draw(st.sampled_from((1, 2, 3, 5, 8, 12)))
    memory = draw(st.booleans())
    alike = draw(st.booleans())
    offer = draw(_offers(memory))
    servers = [Server(f"s{n}", offer if alike else draw(_offers(memory))) for n in range(count)]
    shape = draw(st.sampled_from(("line", "star", "racks", "deep", "ring", "spines")))
    switches, pairs = _wire(shape, [server.name for server in servers])
    width = draw(_gbps)
    links = tuple(Link(pair, width if alike else draw(_gbps)) for pair in pairs)
    return Cluster(tuple(servers), tuple(switches), links)


@st.composite
def _offers(draw, memory):
    offer = {"gpu": draw(_gpus)}
    if memory:
        offer["memory_gib"] = draw(st.sampled_from((0, 1.5, 4, 7, 16)))
    return Resources(offer)


def _wire(shape, names):
    """Switches and links of a shape."""
    if shape == "line":
        return [], list(pairwise(names))
    if shape == "star":
        return ["w"], [(name, "w") for name in names]
    if shape == "ring" and len(names) > 2:
        return [], [*pairwise(names), (names[-1], names[0])]
    if shape == "spines":
        leaves = [f"leaf{n}" for n in range(min(3, len(names)))]
        up = [(leaf, spine) for leaf in leaves for spine in ("spine0", "spine1")]
        return [*leaves, "spine0", "spine1"], [(n, leaves[i % len(leaves)]) for i, n in enumerate(names)] + up
    racks = [f"rack{n}" for n in range(min(3, len(names)))]
    below = [(name, racks[place % len(racks)]) for place, name in enumerate(names)]
    if shape == "deep":
        pods = [(rack, f"pod{n // 2}") for n, rack in enumerate(racks)]
        names_of_pods = sorted({pod for _, pod in pods})
        return [*racks, *names_of_pods, "core"], [*below, *pods, *((pod, "core") for pod in names_of_pods)]
    return [*racks, "core"], [*below, *((rack, "core") for rack in racks)]


@st.composite
def nasty_jobs(draw, name):
    least = draw(st.sampled_from((1, 1, 2, 4, 9)))
    demand = {"gpu": draw(st.sampled_from((1, 1, 2, 3, 0.3, 20)))}
    if draw(st.booleans()):
        demand["memory_gib"] = draw(st.sampled_from((0, 1, 2.5)))
    utility = draw(st.sampled_from((Sqrt(1), Sqrt(40), Log(3), Linear(1), Linear(0), Sqrt(1e-9))))
    return Job(
        name=name,
        resources=Resources(demand),
        min_workers=least,
        max_workers=least + draw(st.sampled_from((0, 0, 1, 3, 12))),
        utility=utility,
        bandwidth_gbps=draw(st.sampled_from((0, 0.3, 1, 1, 2.5, 11))),
        rate=draw(st.sampled_from((1, 100, 1e-6, 1e9))),
        budget=draw(st.none() | st.sampled_from((1, 5, 40)).map(lambda most: Resources({"gpu": most}))),
        resize_cost=draw(st.sampled_from((0, 0, 0, 1, 1e9))),
        work=draw(st.sampled_from((None, None, 1, 7.5, 1e9))),
    )


@st.composite
def nasty_slots(draw):
    """A slot of such a cluster with up to ten jobs; some of them run already, where that is possible."""
    cluster = draw(nasty_clusters())
    count = draw(st.integers(0, 10))
    if draw(st.booleans()) and count:
        one = draw(nasty_jobs("j"))
        jobs = [replace(one, name=f"j{n}") for n in range(count)]
    else:
        jobs = [draw(nasty_jobs(f"j{n}")) for n in range(count)]
    served = draw(st.sampled_from((0, 0, 1, 7)))
    actives = tuple(ActiveJob(job, served) for job in jobs)
    running = draw(_running(cluster, actives))
    return Snapshot(cluster, actives, 3, draw(st.sampled_from((4, 50))), running=running)


@st.composite
def _running(draw, cluster, actives):
    """Rings for some of the jobs, as another policy may have left them."""
    room = Room(compile_network(cluster))
    rings = []
    for active in actives:
        wanted = active.largest_ring
        if wanted and draw(st.booleans()):
            size = draw(st.integers(active.job.min_workers, wanted))
            ring = place_greedily(room, active.job, size)
            if ring is not None:
                room.take(active.job, ring)
                rings.append(ring)
    return Allocation(tuple(rings))
