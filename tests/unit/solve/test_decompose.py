"""Decomposition by hand: flows that split, go in circles, and dust."""

from itertools import pairwise

import numpy as np
import pytest

from gadget import build_ring4
from gadget.solve.augmented import Copies, build_copies
from gadget.solve.decompose import decompose
from gadget.solve.mapping import Mapping
from tests.unit.solve.small import job, line, problem_of


def weights(mappings: list[Mapping]) -> dict[tuple[object, object], float]:
    return {(mapping.stops, mapping.legs): pytest.approx(mapping.weight) for mapping in mappings}


def two_on_a_ring() -> Copies:
    """A ring of two on s1 – s2 – s4 – s3 – s1, which are nodes 0, 1, 3, 2."""
    return build_copies(problem_of(build_ring4(), job("a", (2, 2))))


# Directed links of the four-server ring, by node numbers.
LINK = {(0, 1): 0, (1, 0): 1, (1, 3): 2, (3, 1): 3, (3, 2): 4, (2, 3): 5, (2, 0): 6, (0, 2): 7}


def send(flow: np.ndarray, amount: float, *way: int) -> None:
    for hop in pairwise(way):
        flow[LINK[hop]] += amount


def test_a_flow_over_two_paths_is_two_mappings() -> None:
    copies = two_on_a_ring()
    values = np.zeros(len(copies.program.objective))
    root, node, flow = copies.of_pair(values, 0)
    # s1 holds the first, s4 the second; out over s2 with 0.7 and over s3 with 0.3, back over s2.
    root[0] = node[0, 0, 3] = 1
    send(flow[0, 0], 0.7, 0, 1, 3)
    send(flow[0, 0], 0.3, 0, 2, 3)
    send(flow[0, 1], 1, 3, 1, 0)
    back = (3, 1, 0)
    assert weights(decompose(copies, values)) == {
        ((0, 3), ((0, 1, 3), back)): 0.7,
        ((0, 3), ((0, 2, 3), back)): 0.3,
    }


def test_positions_that_split_are_followed_to_where_they_stand() -> None:
    copies = two_on_a_ring()
    values = np.zeros(len(copies.program.objective))
    root, node, flow = copies.of_pair(values, 0)
    # The second stands on s1 itself for 0.25, on s2 for 0.35, and two copies are used.
    root[0], node[0, 0, 0], node[0, 0, 1] = 0.6, 0.25, 0.35
    send(flow[0, 0], 0.35, 0, 1)
    send(flow[0, 1], 0.35, 1, 0)
    root[2] = node[2, 0, 2] = 0.4
    assert weights(decompose(copies, values)) == {
        ((0, 0), ((0,), (0,))): 0.25,
        ((0, 1), ((0, 1), (1, 0))): 0.35,
        ((2, 2), ((2,), (2,))): 0.4,
    }


def test_circles_are_left_where_they_are() -> None:
    copies = two_on_a_ring()
    values = np.zeros(len(copies.program.objective))
    root, node, flow = copies.of_pair(values, 0)
    root[0] = node[0, 0, 1] = 1
    send(flow[0, 0], 1, 0, 1)
    send(flow[0, 1], 1, 1, 0)
    send(flow[0, 0], 0.5, 1, 3, 2, 0, 1)
    send(flow[0, 1], 0.5, 3, 2, 3)
    assert weights(decompose(copies, values)) == {((0, 1), ((0, 1), (1, 0))): 1.0}


def test_single_workers_need_no_flow() -> None:
    copies = build_copies(problem_of(line(1, 1), job("a", 1), job("b", 1)))
    values = np.zeros(len(copies.program.objective))
    copies.of_pair(values, 0)[0][:] = (0.5, 0.25)
    copies.of_pair(values, 1)[0][:] = (0, 1)
    found = decompose(copies, values)
    assert [(m.job, m.stops, m.legs, m.weight) for m in found] == [
        (0, (0,), (), 0.5),
        (0, (1,), (), 0.25),
        (1, (1,), (), 1.0),
    ]


def test_dust_is_no_mapping_and_spoils_none() -> None:
    copies = two_on_a_ring()
    values = np.full(len(copies.program.objective), 1e-9)
    root, node, _ = copies.of_pair(values, 0)
    root[1] = node[1, 0, 1] = 1
    assert weights(decompose(copies, values)) == {((1, 1), ((1,), (1,))): 1.0}
    assert decompose(copies, np.full(len(values), 1e-9)) == []


def test_the_solution_given_is_not_changed() -> None:
    copies = two_on_a_ring()
    values = np.zeros(len(copies.program.objective))
    root, node, _ = copies.of_pair(values, 0)
    root[1] = node[1, 0, 1] = 1
    before = values.copy()
    decompose(copies, values)
    assert values.tobytes() == before.tobytes()
