"""Mappings: what it means to be closed, and what they load."""

import pytest

from gadget import build_ring4
from gadget.solve.mapping import Mapping, link_load, node_load
from tests.unit.solve.small import job, line, problem_of


@pytest.mark.parametrize(
    ("stops", "legs", "closed"),
    [
        ((3,), (), True),
        ((3,), ((3,),), False),
        ((1, 1), ((1,), (1,)), True),
        ((1, 2), ((1, 2), (2, 1)), True),
        ((1, 2), ((1, 5, 2), (2, 6, 1)), True),
        ((1, 2), ((1, 2), (2, 5)), False),
        ((1, 2), ((1, 2),), False),
        ((1, 2), (), False),
        ((1, 2, 1), ((1, 2), (2, 1), (1,)), True),
        ((1, 2, 3), ((1, 2), (2, 3), (3, 2)), False),
    ],
)
def test_each_leg_leads_to_the_next_and_the_last_to_the_first(
    stops: tuple[int, ...], legs: tuple[tuple[int, ...], ...], closed: bool
) -> None:
    assert Mapping(0, 1.0, stops, legs).is_closed is closed


def test_loads_count_every_worker_and_every_crossing() -> None:
    problem = problem_of(line(9, 9, 9), job("x", 1), job("a", 3, gbps=2, needs={"gpu": 1.5}))
    # s0 → s2 through s1, a stay on s2, and back. Links: 0 is 0→1, 1 is 1→0, 2 is 1→2, 3 is 2→1.
    mapping = Mapping(1, 0.3, (0, 2, 2), ((0, 1, 2), (2,), (2, 1, 0)))
    assert node_load(problem, mapping).tolist() == [[1.5], [0], [3]]
    assert link_load(problem, mapping).tolist() == [2, 2, 2, 2]
    # There and back again over one link counts twice.
    restless = Mapping(1, 0.3, (0, 1, 0), ((0, 1, 0, 1), (1, 0), (0,)))
    assert link_load(problem, restless).tolist() == [4, 4, 0, 0]
    assert link_load(problem, Mapping(1, 1.0, (0,), ())).tolist() == [0, 0, 0, 0]


def test_a_mapping_becomes_a_ring_that_visits_each_server_once() -> None:
    problem = problem_of(build_ring4(), job("a", 3))
    # Nodes 0 … 3 are s1 … s4. s1, s2, s1: both workers of s1 come first.
    ring = Mapping(0, 1.0, (0, 1, 0), ((0, 1), (1, 3, 2, 0), (0,))).ring(problem)
    assert ring.workers == ("s1", "s1", "s2")
    assert ring.routes == (("s1",), ("s1", "s2"), ("s2", "s4", "s3", "s1"))
