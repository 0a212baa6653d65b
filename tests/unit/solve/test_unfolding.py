"""Rings out of positions and flows, by hand."""

import numpy as np

from gadget import build_ring4
from gadget.solve.network import compile_network
from gadget.solve.unfolding import join_legs, unfold_ring
from tests.unit.solve.small import line

ROW = compile_network(line(1, 1, 1, 1))


def flows(*links: tuple[int, ...]) -> np.ndarray:
    """One row an edge; links 2k and 2k + 1 join nodes k and k + 1 of the row, right and left."""
    found = np.zeros((len(links), 6))
    for edge, crossed in enumerate(links):
        found[edge, list(crossed)] = 1
    return found


def test_one_worker_has_no_routes() -> None:
    ring = unfold_ring(ROW, "a", [2], np.zeros((0, 6)))
    assert (ring.job, ring.workers, ring.routes) == ("a", ("s2",), ())


def test_workers_on_one_server_stay_there() -> None:
    ring = unfold_ring(ROW, "a", [2, 2, 2], np.zeros((3, 6)))
    assert ring.workers == ("s2",) * 3
    assert ring.routes == (("s2",),) * 3


def test_a_detour_of_workers_on_one_server_is_dropped() -> None:
    ring = join_legs(ROW, "a", [1, 1], [[1, 2, 1], [1]])
    assert ring.workers == ("s1", "s1")
    assert list(ring.hops()) == []


def test_two_workers_go_there_and_back() -> None:
    ring = unfold_ring(ROW, "a", [0, 2], flows((0, 2), (3, 1)))
    assert ring.workers == ("s0", "s2")
    assert ring.routes == (("s0", "s1", "s2"), ("s2", "s1", "s0"))


def test_circles_beside_the_path_are_left_out() -> None:
    # Edge 0 also goes round between s2 and s3, and back and forth on its own path.
    ring = unfold_ring(ROW, "a", [0, 1], flows((0, 4, 5, 2, 3), (1,)))
    assert ring.routes == (("s0", "s1"), ("s1", "s0"))


def test_a_second_visit_joins_the_first() -> None:
    # s1 → s0 → s1 → s2 → s1: s1's second worker moves to the first, and s0's route to s2 runs through s1.
    ring = join_legs(ROW, "a", [1, 0, 1, 2], [[1, 0], [0, 1], [1, 2], [2, 1]])
    assert ring.workers == ("s1", "s1", "s0", "s2")
    assert ring.routes == (("s1",), ("s1", "s0"), ("s0", "s1", "s2"), ("s2", "s1"))


def test_legs_that_come_back_are_cut_short() -> None:
    # From s0 to s2 and from there, by s0's second worker, to s1: the way s2 – s1 – s0 – s1 is just s2 – s1.
    ring = join_legs(ROW, "a", [0, 2, 0, 1], [[0, 1, 2], [2, 1, 0], [0, 1], [1, 0]])
    assert ring.workers == ("s0", "s0", "s2", "s1")
    assert ring.routes == (("s0",), ("s0", "s1", "s2"), ("s2", "s1"), ("s1", "s0"))


def test_a_ring_may_go_once_round() -> None:
    network = compile_network(build_ring4())
    ring = join_legs(network, "a", [0, 1, 3], [[0, 1], [1, 3], [3, 2, 0]])
    assert ring.routes == (("s1", "s2"), ("s2", "s4"), ("s4", "s3", "s1"))
