"""Laws of cutting a walk to first visits: the workers stay where they are, and no link carries more."""

from collections import Counter
from dataclasses import replace
from itertools import pairwise

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from gadget import (
    ActiveJob,
    Allocation,
    Cluster,
    Job,
    Linear,
    Link,
    Resources,
    Ring,
    Server,
    Snapshot,
    find_violations,
)
from gadget.solve.network import Network, compile_network
from gadget.solve.unfolding import join_legs, unfold_ring
from tests.tiny_slots import tiny_clusters

# Wide enough for any ring, so that the referee judges shape alone.
ROOM, GBPS = Resources({"gpu": 100}), 1000


def widen(cluster: Cluster) -> Cluster:
    servers = tuple(Server(server.name, ROOM) for server in cluster.servers)
    return replace(cluster, servers=servers, links=tuple(Link(k.ends, GBPS) for k in cluster.links))


wide_clusters = tiny_clusters().map(widen)


@st.composite
def legs_between(draw: st.DrawFn, network: Network, here: int, there: int, *, strays: bool) -> list[int]:
    """A way from one node to another: a few steps anywhere first, which may come back, then a simple path."""
    way = [here]
    for _ in range(draw(st.integers(0, 4)) if strays and network.around[here] else 0):
        way.append(draw(st.sampled_from(network.around[way[-1]]))[0])
    return way + draw(simple_paths(network, way[-1], there))[1:]


@st.composite
def simple_paths(draw: st.DrawFn, network: Network, here: int, there: int) -> list[int]:
    """A drawn path without a node twice, found by depth first in a drawn order."""
    order = draw(st.permutations(range(len(network.nodes))))

    def search(path: list[int]) -> list[int] | None:
        if path[-1] == there:
            return path
        beside = sorted((node for node, _ in network.around[path[-1]] if node not in path), key=order.index)
        return next((found for node in beside if (found := search([*path, node]))), None)

    found = search([here])
    assert found is not None
    return found


def check_shape(cluster: Cluster, ring: Ring, stops: list[int], network: Network) -> None:
    """It is a ring by the referee, with every worker where the walk had it."""
    job = Job(
        name=ring.job,
        resources=Resources({"gpu": 1}),
        max_workers=max(len(stops), 1),
        bandwidth_gbps=1,
        rate=1,
        utility=Linear(),
    )
    assert find_violations(Snapshot(cluster, (ActiveJob(job),), 0, 1), Allocation((ring,))) == []
    assert Counter(ring.workers) == Counter(network.nodes[stop] for stop in stops)


@settings(max_examples=250)
@given(cluster=wide_clusters, data=st.data())
def test_joined_legs_visit_every_server_once_and_cross_no_link_more_often(
    cluster: Cluster, data: st.DataObject
) -> None:
    network = compile_network(cluster)
    stops = data.draw(st.lists(st.integers(0, network.servers - 1), min_size=2, max_size=6))
    around = zip(stops, [*stops[1:], stops[0]], strict=True)
    legs = [data.draw(legs_between(network, here, there, strays=True)) for here, there in around]
    ring = join_legs(network, "j", stops, legs)
    check_shape(cluster, ring, stops, network)
    walked = Counter((network.nodes[a], network.nodes[b]) for leg in legs for a, b in pairwise(leg))
    assert Counter(ring.hops()) <= walked


@settings(max_examples=150)
@given(cluster=wide_clusters, data=st.data())
def test_an_unfolded_ring_keeps_to_the_flow_of_its_edges(cluster: Cluster, data: st.DataObject) -> None:
    network = compile_network(cluster)
    links = len(network.link_gbps)
    stops = data.draw(st.lists(st.integers(0, network.servers - 1), min_size=1, max_size=4))
    edges = len(stops) if len(stops) > 1 else 0
    # A solver's flow: 0 and 1 up to its tolerance, the path of each edge and perhaps circles beside it.
    flows = data.draw(st.sampled_from((0.0, 1e-7, 1e-4))) * np.ones((edges, links))
    for edge in range(edges):
        path = data.draw(simple_paths(network, stops[edge], stops[(edge + 1) % len(stops)]))
        for here, there in pairwise(path):
            flows[edge, dict(network.around[here])[there]] = 1 - 1e-7
        if links and data.draw(st.booleans()):
            # Both directions of a cable: the smallest circle there is.
            cable = data.draw(st.integers(0, links // 2 - 1))
            flows[edge, [2 * cable, 2 * cable + 1]] = 1
    ring = unfold_ring(network, "j", stops, flows)
    check_shape(cluster, ring, stops, network)
    tail, head = network.ends
    carried = {
        (network.nodes[a], network.nodes[b]): round(float(amount))
        for a, b, amount in zip(tail, head, np.round(flows).sum(axis=0), strict=True)
    }
    assert all(times <= carried[hop] for hop, times in Counter(ring.hops()).items())
