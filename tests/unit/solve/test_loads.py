"""Loads of rings: the same rings fit, and the same is taken, as when a ring is read name by name."""

import numpy as np
from hypothesis import given, settings

from gadget.model.ring import Ring
from gadget.model.snapshot import Snapshot
from gadget.policies.policy import ask
from gadget.policies.registry import build_policy
from gadget.solve.loads import Loads, find_loads
from gadget.solve.network import compile_network
from gadget.solve.room import Room
from tests.strategies import snapshots
from tests.unit.policies.schedules import job, star


@settings(max_examples=100, deadline=None)
@given(snapshot=snapshots())
def test_a_load_fits_exactly_where_its_ring_does(snapshot: Snapshot) -> None:
    network = compile_network(snapshot.cluster)
    room, other, all_at_once = Room(network), Room(network), Room(network)
    loads = find_loads(network)
    decided = ask(build_policy("fifo:backfill=true"), snapshot, 0).allocation.rings
    taken = []
    for ring in (*snapshot.running.rings, *decided):
        active = snapshot.job_by_name.get(ring.job)
        demand = network.demand(active.job) if active is not None else None
        if active is None or demand is None:
            continue
        load = loads.of(ring)
        fits = load is not None and room.admits_load(active.job, demand, load)
        # `admits` also asks whether the job may have so many workers on a server.
        if ring.size <= active.job.max_workers:
            assert fits == room.admits(active.job, ring)
        if load is not None and fits:
            room.take_load(active.job, demand, load)
            other.take(active.job, ring)
            taken.append((active.job, demand, load))
    assert np.allclose(room.free, other.free)
    assert np.allclose(room.free_gbps, other.free_gbps)
    assert room.is_sound
    all_at_once.take_loads(
        np.array([demand for _, demand, _ in taken]),
        np.array([one.bandwidth_gbps for one, _, _ in taken], dtype=np.float64),
        [load for _, _, load in taken],
    )
    assert np.allclose(room.free, all_at_once.free)
    assert np.allclose(room.free_gbps, all_at_once.free_gbps)
    for one, demand, load in reversed(taken):
        room.give_back(one, demand, load)
    assert np.allclose(room.free, network.capacity)
    assert np.allclose(room.free_gbps, network.link_gbps)


def test_a_room_that_gave_too_much_is_not_sound() -> None:
    network = compile_network(star(2, 2))
    ring = Ring("x", ("a", "b"), (("a", "sw", "b"), ("b", "sw", "a")))
    demand = np.array([1.0])
    for gbps, rings, sound in ((1, 2, True), (1, 3, False), (6, 1, True), (6, 2, False)):
        room = Room(network)
        for _ in range(rings):
            load = find_loads(network).of(ring)
            assert load is not None
            room.take_load(job("x", 2, bandwidth_gbps=gbps), demand, load)
        assert room.is_sound == sound


def test_what_is_no_ring_of_the_network_has_no_load() -> None:
    loads = Loads(network := compile_network(star(2, 2)))
    assert network.servers == 2
    for nonsense in (
        Ring("x", (), ()),
        Ring("x", ("sw",), ()),
        Ring("x", ("nowhere",), ()),
        Ring("x", ("a", "b"), (("a", "b"), ("b", "a"))),
        Ring("x", ("a", "b"), (("a", "sw", "b"), ("b", "nowhere", "a"))),
        Ring("x", ("a", "b"), (("a", "sw", "b"),)),
    ):
        assert loads.of(nonsense) is None


def test_what_was_not_asked_for_in_a_slot_is_forgotten() -> None:
    loads = Loads(network := compile_network(star(2, 2)))
    ring, other = Ring("x", ("a",), ()), Ring("y", ("b",), ())
    first = loads.of(ring)
    loads.begin_slot()
    assert loads.of(ring) is first
    loads.of(other)
    loads.begin_slot()
    loads.of(other)
    loads.begin_slot()
    again = loads.of(ring)
    assert again is not first
    assert again is not None
    assert (again.servers.tolist(), again.workers.tolist()) == ([network.node_number["a"]], [1.0])
