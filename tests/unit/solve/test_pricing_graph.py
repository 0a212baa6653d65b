"""The best ring at prices on graphs: hand-solved cases."""

import numpy as np
import pytest

from gadget import Cluster, Link, Resources, Server
from gadget.solve.network import Network, compile_network
from gadget.solve.pricing_graph import GraphQuote, count_fits, quote_along, quote_on_graph
from gadget.solve.ways import find_ways

INF = np.inf


def network_of(gpus: list[float], links: list[tuple[str, str]], *switches: str, gbps: float = 1) -> Network:
    """Servers s0, s1, … with these GPUs."""
    servers = tuple(Server(f"s{n}", Resources({"gpu": gpu})) for n, gpu in enumerate(gpus))
    return compile_network(Cluster(servers, switches, tuple(Link(pair, gbps) for pair in links)))


def ring_of(*gpus: float, gbps: float = 1) -> Network:
    """Servers in a ring; link 2n leads from sn to the next, link 2n + 1 back."""
    count = len(gpus)
    return network_of(list(gpus), [(f"s{n}", f"s{(n + 1) % count}") for n in range(count)], gbps=gbps)


def ask(network: Network, gain: list[float], unit: object = 0.0, link: object = 0.0, **more) -> GraphQuote:
    """The quote for a job that takes one GPU a worker and 1 Gbps."""
    return quote_on_graph(
        network,
        np.ones(1),
        more.pop("gbps", 1.0),
        np.array(gain),
        unit=np.broadcast_to(np.reshape(unit, (-1, 1)), (network.servers, 1)).astype(float),
        link=np.broadcast_to(link, len(network.link_gbps)).astype(float),
        **more,
    )


def test_one_server_pays_no_links() -> None:
    quote = ask(ring_of(2, 2, 2, 2), [-INF, 1, 3], unit=[3, 1, 0.5, 2], link=1)
    assert quote == GraphQuote(2.0, 2.0, True, True, (2,), (2,), ())
    assert quote.size == 2


def test_neighbours_in_a_ring_pay_one_link_each_way() -> None:
    quote = ask(ring_of(1, 1, 1, 1), [-INF, -INF, 5], unit=[1, 9, 1, 9], link=0.25)
    # Opposite servers are two links apart: 2 + 4 · 0.25, against 10 + 2 · 0.25 for neighbours.
    assert quote.value == 2
    assert sorted(quote.servers) == [0, 2]
    assert [len(path) for path in quote.paths] == [2, 2]


def test_around_the_ring_every_link_is_crossed_once() -> None:
    quote = ask(ring_of(1, 1, 1, 1), [-INF, -INF, -INF, -INF, 5], link=[1, 9] * 4)
    assert quote.value == 1
    assert sorted(link for path in quote.paths for link in path) == [0, 2, 4, 6]
    assert quote.is_feasible


def test_prices_of_both_directions_differ() -> None:
    quote = ask(ring_of(1, 1, 1), [-INF, -INF, 5], unit=[0, 0, 9], link=[1, 0.2, 9, 0, 9, 0])
    # s0 → s1 by s2 for nothing, not straight for 1; s1 → s0 straight for 0.2, not by s2 for 18.
    assert quote.value == pytest.approx(5 - 0.2)
    assert set(quote.paths) == {(5, 3), (1,)}


def test_narrow_links_are_closed() -> None:
    network = network_of([1, 1], [("s0", "s1")])
    gain = [-INF, 1, 5]
    assert ask(network, gain).size == 2
    closed = ask(network, gain, gbps=1.5)
    assert (closed.value, closed.size, closed.is_exact) == (1, 1, True)
    assert ask(network, [-INF, -INF, 5], gbps=1.5) == GraphQuote(-INF, -INF, True, False, (), (), ())


def test_equally_cheap_spines_are_both_found_by_their_prices() -> None:
    links = [("s0", "a"), ("s0", "b"), ("s1", "a"), ("s1", "b")]
    network = network_of([1, 1], links, "a", "b")
    by_b = ask(network, [-INF, -INF, 5], link=[0.1, 0.1, 0, 0, 0.1, 0.1, 0, 0])
    assert by_b.value == 5
    assert {link // 2 for path in by_b.paths for link in path} == {1, 3}


def test_a_ring_that_crosses_a_link_twice_is_told_apart() -> None:
    # Between s0, s2 and s1, s3 lies one link: in the order of their numbers a ring would cross it twice.
    links = [("s0", "a"), ("s2", "a"), ("a", "b"), ("s1", "b"), ("s3", "b")]
    quote = ask(network_of([1, 1, 1, 1], links, "a", "b"), [-INF] * 4 + [9], link=0.1)
    assert quote.value == pytest.approx(9 - 1.0)
    assert quote.is_feasible
    # Free of charge, every order costs the same; what is said of the one found is true.
    free = ask(network_of([1, 1, 1, 1], links, "a", "b"), [-INF] * 4 + [9])
    crossings = np.bincount([link for path in free.paths for link in path])
    assert free.value == 9
    assert free.is_feasible == (crossings.max() == 1)


def test_without_patience_it_says_what_it_does_not_know() -> None:
    network = ring_of(*[1] * 6)
    gain, link = [-INF] * 4 + [9.0], np.arange(12) / 10
    hasty, exact = ask(network, gain, link=link, node_limit=1), ask(network, gain, link=link)
    assert exact.is_exact
    assert not hasty.is_exact
    assert hasty.value < exact.value <= hasty.bound < 9


def test_a_floor_that_no_ring_beats_is_the_answer() -> None:
    assert ask(ring_of(1, 1, 1), [-INF, 1, 2], floor=3.0) == GraphQuote(3.0, 3.0, True, False, (), (), ())


def test_a_hair_too_little_is_enough() -> None:
    network = network_of([0.3, 0.7], [("s0", "s1")])
    assert count_fits(network, np.array([0.1]), 5).tolist() == [3, 5]
    assert count_fits(network, np.array([0.1]), 2).tolist() == [2, 2]


def test_ways_of_fewer_hops_are_taken_among_equals() -> None:
    ways = find_ways(ring_of(1, 1, 1, 1, 1), 1.0, np.zeros(10))
    assert ways.hops[0].tolist() == [0, 1, 2, 2, 1]
    assert ways.cost.max() == 0


def test_the_turn_says_who_is_first_among_equals() -> None:
    network = ring_of(1, 1, 1, 1)
    ways = find_ways(network, 1.0, np.zeros(8))
    for turn in range(4):
        quote = quote_along(
            network,
            ways,
            fit=np.ones(4, np.int64),
            gbps=1.0,
            gain=np.array([-INF, 1.0]),
            worker=np.zeros(4),
            turn=turn,
        )
        assert quote.servers == (turn,)


def test_islands_hold_rings_of_their_own() -> None:
    network = network_of([1, 1, 1, 1], [("s0", "s1"), ("s2", "s3")])
    assert ask(network, [-INF, -INF, 2, 9]).size == 2
    assert ask(network, [-INF, 1, -INF, 9]).size == 1
