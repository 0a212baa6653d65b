"""GPU indices and ports: disjoint among rings, counted, given back."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gadget.backends.ring_seats import NoRoom, Seats
from gadget.model.cluster import Cluster, Server
from gadget.model.resources import Resources


def build_seats(gpus: float = 4, taken: frozenset[int] = frozenset()) -> Seats:
    cluster = Cluster((Server("a", Resources({"gpu": gpus})), Server("b", Resources({"gpu": gpus}))), (), ())
    return Seats(cluster, {"a": "127.0.0.1", "b": "127.0.0.2"}, lambda _, port: port not in taken)


@given(st.lists(st.tuples(st.sampled_from(["take", "give"]), st.integers(0, 3)), max_size=30))
def test_whole_gpus_and_ports_are_held_by_one_ring_at_a_time(moves: list[tuple[str, int]]) -> None:
    seats, held = build_seats(), []
    for move, gpu in moves:
        if move == "give" and held:
            seats.give_back(*held.pop(gpu % len(held)))
        elif move == "take":
            in_use = sum(amount for _, _, amount in held)
            try:
                held.append((*seats.take(["a", "b"], gpu), float(gpu)))
            except NoRoom:
                assert in_use + gpu > 4
        for server in (0, 1):
            indices = [index for ring, _, _ in held for index in ring[server].gpus]
            assert len(indices) == len(set(indices)) == sum(amount for _, _, amount in held)
            ports = [ring[server].port for ring, _, _ in held]
            ports += [port for _, port, _ in held if server == 0]
            assert len(ports) == len(set(ports))


def test_parts_of_gpus_share_one_as_long_as_it_holds_them() -> None:
    seats = build_seats()
    indices = [seats.take(["a"], 0.4)[0][0].gpus for _ in range(4)]
    assert indices == [(0,), (0,), (1,), (1,)]
    assert seats.take(["a"], 2)[0][0].gpus == (2, 3)
    with pytest.raises(NoRoom, match="4 gpu"):
        seats.take(["a"], 1)


def test_where_parts_leave_no_gpu_whole_the_emptiest_is_shared() -> None:
    seats = build_seats(2)
    first, port = seats.take(["a"], 0.7)
    assert first[0].gpus == (0,)
    assert seats.take(["a"], 0.3)[0][0].gpus == (0,)
    assert seats.take(["a"], 0.2)[0][0].gpus == (1,)
    seats.give_back(first, port, 0.7)
    # 1.5 are free, but no GPU is wholly so.
    assert seats.take(["a"], 1)[0][0].gpus == (1,)


def test_a_ring_that_finds_no_room_takes_nothing() -> None:
    seats = build_seats()
    seats.take(["b"], 4)
    with pytest.raises(NoRoom, match="b has 4 gpu"):
        seats.take(["a", "b"], 1)
    assert seats.take(["a"], 4)[0][0].gpus == (0, 1, 2, 3)
    with pytest.raises(NoRoom, match="no server 'z'"):
        seats.take(["z"], 0)


def test_ports_in_use_by_others_are_passed_over_and_rest_before_they_come_again() -> None:
    seats = build_seats(taken=frozenset({20_000, 20_002}))
    (seat,), master = seats.take(["a"], 0)
    assert (seat.port, master) == (20_001, 20_003)
    seats.give_back((seat,), master, 0)
    assert seats.take(["a"], 0)[0][0].port == 20_004


def test_seats_of_an_earlier_life_are_kept() -> None:
    before, after = build_seats(), build_seats()
    ring, master = before.take(["a", "a"], 1)
    after.keep(ring, master, 1)
    (seat, *_), port = after.take(["a"], 2)
    assert seat.gpus == (2, 3)
    assert {seat.port, port}.isdisjoint({master, *(one.port for one in ring)})
