"""The greedy placement: where it puts workers, and that it finds a ring whenever open links allow one."""

from itertools import combinations_with_replacement

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from gadget.model.builders import build_leaf_spine, build_ring4, build_torus
from gadget.model.cluster import Cluster, Link, Server
from gadget.model.job import ActiveJob, Job
from gadget.model.referee import find_violations
from gadget.model.resources import Resources
from gadget.model.ring import Allocation
from gadget.model.snapshot import Snapshot
from gadget.model.utility import Linear
from gadget.solve.greedy import largest_ring, place_greedily
from gadget.solve.network import compile_network
from gadget.solve.room import Room
from tests.strategies import clusters

TWO_GPUS = Resources({"gpu": 2})


def job(workers: int, gbps: float = 1.0, **resources: float) -> Job:
    return Job(
        name="j",
        resources=Resources(resources or {"gpu": 1}),
        max_workers=workers,
        bandwidth_gbps=gbps,
        rate=1,
        utility=Linear(),
    )


def violations(cluster: Cluster, one: Job, allocation: Allocation) -> list[object]:
    return list(find_violations(Snapshot(cluster, (ActiveJob(one),), 0, 1), allocation))


def test_a_ring_that_fits_one_server_takes_the_fullest_that_holds_it() -> None:
    servers = tuple(Server(f"s{gpus}", Resources({"gpu": gpus})) for gpus in (8, 3, 4))
    cluster = Cluster(servers, ("sw",), tuple(Link((s.name, "sw"), 10) for s in servers))
    ring = place_greedily(Room(compile_network(cluster)), job(3), 3)
    assert ring is not None
    assert ring.workers == ("s3", "s3", "s3")
    assert ring.routes == (("s3",),) * 3


def test_a_larger_ring_stays_in_one_rack() -> None:
    cluster = build_leaf_spine(2, 1, 2, resources=TWO_GPUS)
    ring = place_greedily(Room(compile_network(cluster)), job(4), 4)
    assert ring is not None
    assert ring.workers == ("s0-0", "s0-0", "s0-1", "s0-1")
    assert ring.routes == (("s0-0",), ("s0-0", "leaf0", "s0-1"), ("s0-1",), ("s0-1", "leaf0", "s0-0"))


def test_links_without_bandwidth_are_gone_round_or_end_the_search() -> None:
    room = Room(compile_network(build_ring4(resources=Resources({"gpu": 1}), gbps=5)))
    first = place_greedily(room, job(2, gbps=4), 2)
    assert first is not None
    assert set(first.workers) == {"s1", "s2"}
    room.take(job(2, gbps=4), first)
    second = place_greedily(room, job(2, gbps=4), 2)
    assert second is not None
    assert set(second.workers) == {"s3", "s4"}
    room.take(job(2, gbps=4), second)
    assert place_greedily(room, job(1), 1) is None


def test_a_worker_that_fits_exactly_fits_despite_rounding() -> None:
    cluster = Cluster((Server("s", Resources({"gpu": 0.3})),), (), ())
    room = Room(compile_network(cluster))
    for _ in range(3):
        ring = place_greedily(room, job(1, gpu=0.1), 1)
        assert ring is not None
        room.take(job(1, gpu=0.1), ring)
    assert place_greedily(room, job(1, gpu=0.1), 1) is None


@pytest.mark.parametrize(("gbps", "most"), [(1, 8), (100, 8), (101, 2)])
def test_the_largest_ring_of_an_empty_cluster_follows_the_links(gbps: float, most: int) -> None:
    cluster = build_torus([2, 2], resources=TWO_GPUS, gbps=100)
    assert largest_ring(compile_network(cluster), job(50, gbps)) == most


@settings(max_examples=200, deadline=None)
@given(cluster=clusters(), workers=st.integers(1, 5), gbps=st.sampled_from([0.0, 1.0, 5.0, 20.0]))
def test_it_finds_a_ring_exactly_when_open_links_join_enough_servers(
    cluster: Cluster, workers: int, gbps: float
) -> None:
    resource = cluster.resource_names[0] if cluster.resource_names else "gpu"
    one = job(workers, gbps, **{resource: 1})
    ring = place_greedily(Room(compile_network(cluster)), one, workers)
    assert (ring is not None) == holds(cluster, resource, workers, gbps)
    assert (largest_ring(compile_network(cluster), one) >= workers) == (ring is not None)
    if ring is not None:
        assert ring.size == workers
        assert violations(cluster, one, Allocation((ring,))) == []


def holds(cluster: Cluster, resource: str, workers: int, gbps: float) -> bool:
    """By brute force: some choice of servers, with repetition, inside one component of the fitting links."""
    thick = Cluster(
        cluster.servers, cluster.switches, tuple(link for link in cluster.links if link.gbps >= gbps)
    )
    fits = {s.name: int(s.resources.get(resource, 0) + 1e-9) for s in cluster.servers}
    for chosen in combinations_with_replacement([s.name for s in cluster.servers], workers):
        joined = len(set(chosen)) == 1 or set(chosen) <= thick.reach(chosen[0])
        if joined and all(chosen.count(name) <= fits[name] for name in chosen):
            return True
    return False


@settings(max_examples=100, deadline=None)
@given(cluster=clusters(), demands=st.lists(st.tuples(st.integers(1, 4), st.floats(0.1, 8)), max_size=6))
def test_rings_placed_one_after_another_never_over_commit(
    cluster: Cluster, demands: list[tuple[int, float]]
) -> None:
    assume(cluster.resource_names)
    room = Room(compile_network(cluster))
    placed, jobs = [], []
    for number, (workers, gbps) in enumerate(demands):
        one = Job(
            name=f"j{number}",
            resources=Resources({cluster.resource_names[0]: 1}),
            max_workers=workers,
            bandwidth_gbps=gbps,
            rate=1,
            utility=Linear(),
        )
        ring = place_greedily(room, one, workers)
        if ring is not None:
            assert room.admits(one, ring)
            room.take(one, ring)
            placed.append(ring)
        jobs.append(ActiveJob(one))
    snapshot = Snapshot(cluster, tuple(jobs), 0, 1)
    assert find_violations(snapshot, Allocation(tuple(placed))) == []
