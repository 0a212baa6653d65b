"""Repair: draws that overload become rings that fit, and idle room is used."""

from dataclasses import replace

import numpy as np
import pytest

from gadget import (
    Allocation,
    Energy,
    Linear,
    Resources,
    Ring,
    Server,
    Snapshot,
    build_ring4,
    find_violations,
)
from gadget.solve.mapping import Mapping
from gadget.solve.repair import fill_idle, repair
from gadget.solve.slot import SlotProblem, build_slot_problem
from tests.unit.solve.small import job, line, problem_of, slot

TWO = Resources({"gpu": 2})


def on_one(number: int, server: int, size: int) -> Mapping:
    """All workers on one server, whether it holds them or not."""
    return Mapping(number, 1.0, (server,) * size, ((server,),) * size if size > 1 else ())


def sizes(rings: tuple[Ring, ...]) -> dict[str, int]:
    return {ring.job: ring.size for ring in rings}


def check(snapshot: Snapshot, rings: tuple[Ring, ...]) -> None:
    assert find_violations(snapshot, Allocation(rings)) == []


def test_what_fits_stays_as_drawn() -> None:
    snapshot = slot(line(2, 2, gbps=1), job("a", 2), job("b", 2))
    problem = build_slot_problem(snapshot)
    across = Mapping(1, 1.0, (0, 1), ((0, 1), (1, 0)))
    rings = repair(problem, [across])
    assert rings[1].workers == ("s0", "s1")
    check(snapshot, rings)


def test_what_is_too_large_for_its_server_is_placed_again() -> None:
    snapshot = slot(line(2, 2), job("a", (3, 3)))
    problem = build_slot_problem(snapshot)
    [ring] = repair(problem, [on_one(0, 0, 3)])
    assert ring.size == 3
    assert len(set(ring.workers)) == 2
    check(snapshot, (ring,))
    assert repair(problem, [on_one(0, 0, 3)], refill=False) == ()


def test_the_densest_gain_keeps_its_place() -> None:
    # Both drawn onto the same two GPUs; b gains more for each of them.
    problem = problem_of(line(2, 0), job("a", 2), job("b", 2, Linear(1.5)))
    drawn = [on_one(0, 0, 2), on_one(1, 0, 2)]
    assert sizes(repair(problem, drawn)) == {"b": 2}
    assert sizes(repair(problem, drawn[::-1])) == {"b": 2}


def test_a_ring_shrinks_when_only_a_smaller_one_finds_a_place() -> None:
    problem = problem_of(line(3, 0), job("a", 2), job("b", 2, Linear(1.5)))
    assert sizes(repair(problem, [on_one(0, 0, 2), on_one(1, 0, 2)])) == {"a": 1, "b": 2}


def test_room_that_is_left_goes_to_jobs_not_drawn() -> None:
    problem = problem_of(line(2, 2, gbps=0), job("a", 2), job("b", 2))
    assert sizes(repair(problem, [on_one(0, 1, 2)])) == {"a": 2, "b": 2}
    assert sizes(repair(problem, [on_one(0, 1, 2)], refill=False)) == {"a": 2}
    assert sizes(repair(problem, ())) == {"a": 2, "b": 2}


def test_rings_come_in_the_order_of_their_jobs() -> None:
    problem = problem_of(line(9, 9), *(job(name, 1, Linear(n + 1)) for n, name in enumerate("abc")))
    assert [ring.job for ring in repair(problem, [on_one(2, 0, 1), on_one(0, 0, 1)])] == ["a", "b", "c"]


def draw_mapping(problem: SlotProblem, number: int, rng: np.random.Generator) -> Mapping:
    """Any size that the job has, on servers that may not hold it, round the four-server ring."""
    size = int(rng.choice(problem.pair_size[problem.pair_job == number]))
    clockwise = (0, 1, 3, 2)
    places = np.sort(rng.integers(0, 4, size)).tolist()
    stops = tuple(clockwise[place] for place in places)
    legs = []
    for here, there in zip(places, [*places[1:], places[0]], strict=True):
        legs.append(tuple(clockwise[(here + step) % 4] for step in range((there - here) % 4 + 1)))
    return Mapping(number, 1.0, stops, tuple(legs) if size > 1 else ())


@pytest.mark.parametrize("refill", [True, False])
def test_no_draw_leaves_here_infeasible(refill: bool) -> None:
    rng = np.random.default_rng(5)
    cluster = replace(build_ring4(gbps=2), servers=tuple(Server(f"s{n}", TWO) for n in range(1, 5)))
    changed = 0
    for _ in range(40):
        jobs = [
            job(
                f"j{n}",
                int(rng.integers(1, 5)),
                Linear(float(rng.integers(1, 5))),
                gbps=float(rng.choice((1, 2))),
            )
            for n in range(5)
        ]
        snapshot = slot(cluster, *jobs)
        problem = build_slot_problem(snapshot)
        drawn = [draw_mapping(problem, n, rng) for n in range(len(jobs)) if rng.random() < 0.8]
        assert all(mapping.is_closed for mapping in drawn)
        rings = repair(problem, drawn, refill=refill)
        check(snapshot, rings)
        check(snapshot, fill_idle(problem, rings))
        raw = tuple(mapping.ring(problem) for mapping in drawn)
        changed += find_violations(snapshot, Allocation(raw)) != []
    # Most of what was drawn did overload something.
    assert changed > 20


def test_idle_room_serves_jobs_that_gain_nothing_with_their_smallest_ring() -> None:
    snapshot = slot(line(4, 0), job("a", 1), job("b", (2, 3), Linear(0)), job("c", 3, Linear(0)))
    whole = build_slot_problem(snapshot)
    rings = repair(whole.worthwhile(), ())
    assert sizes(rings) == {"a": 1}
    filled = fill_idle(whole, rings)
    assert sizes(filled) == {"a": 1, "b": 2, "c": 1}
    check(snapshot, filled)
    assert fill_idle(whole, filled) == filled


def test_idle_room_is_not_given_to_jobs_that_would_lose() -> None:
    snapshot = slot(line(4, 0), job("a", 2, Energy()))
    assert fill_idle(build_slot_problem(snapshot), ()) == ()
