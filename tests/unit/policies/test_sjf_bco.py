"""Smallest job first with balanced contention and overhead, on plans worked out by hand."""

import math

import numpy as np
import pytest

from gadget.errors import BadOption
from gadget.model.resources import Resources
from gadget.model.ring import Ring
from gadget.policies.registry import build_policy
from gadget.solve.timelines import Costs, Gangs, Lanes, Plan, Rule, plan_gangs
from tests.unit.policies.schedules import THICK, decide, job, places, reasons, run, sizes, star

# Three servers of two lanes: the first is busy for 5 slots, the second idle, the third busy for 1.
BUSY = Lanes(np.array([0, 2, 4, 6]), np.array([5.0, 5, 0, 0, 1, 1]), np.zeros(3, dtype=np.int64))


def plan(size: int, slots: float, *, packed: int = 0, limit: float = math.inf, lanes: Lanes = BUSY):
    """One gang: when it begins and ends, and its workers on each server."""
    gangs = Gangs(np.array([size]), np.array([slots]), np.ones((1, 3), dtype=np.int64))
    made = Plan(np.zeros(1), np.zeros((1, 3), dtype=np.int64))
    end = plan_gangs(gangs, lanes, Costs(1.0, 0.05, 0.1), Rule(packed, limit), made)
    return float(made.begin[0]), end, made.workers[0].tolist()


def test_a_large_ring_takes_the_least_busy_lanes_of_the_least_busy_servers() -> None:
    # Two lanes on the second, one on the third, which is idle from 1 on; one server more costs 5%.
    assert plan(3, 10) == (1, pytest.approx(1 + 10 * 1.05), [0, 2, 1])


def test_a_small_ring_is_packed_where_it_begins_soonest() -> None:
    assert plan(2, 10, packed=2) == (0, 10, [0, 2, 0])
    # The tightest of those where it begins at once: the third server has one idle lane, the second two.
    tight = BUSY._replace(busy=np.array([5.0, 5, 0, 0, 0, 9]))
    assert plan(1, 10, packed=1, lanes=tight) == (0, 10, [0, 0, 1])


def test_no_lane_is_planned_beyond_the_limit() -> None:
    # Four find idle lanes from 1 on, and end at 4; five need the first server, which is busy until 5.
    assert plan(4, 3, limit=4)[0] == 1
    assert plan(5, 3, limit=7.9)[1] == math.inf
    assert plan(5, 3, limit=8)[0] == 5


def test_rings_between_servers_slow_each_other_down() -> None:
    # Two of them already reach beyond the third server.
    crowded = BUSY._replace(spanning=np.array([0, 1, 2]))
    assert plan(3, 10, lanes=crowded)[1] == pytest.approx(1 + 10 * (1 + 0.05 + 2 * 0.1))


def test_smallest_first_packed_and_the_largest_waits_for_its_turn() -> None:
    # Two servers of two GPUs, all jobs run 4 slots. a and b fill one server, c the other; d needs three and
    # its turn is when they end.
    jobs = (job("d", 3, work=12), job("c", 2, work=8), job("a", 1, work=4), job("b", 1, work=4))
    decision = decide("sjf-bco", star(2, 2), *jobs)
    assert sizes(decision) == {"a": 1, "b": 1, "c": 2}
    where = places(decision)
    assert where["a"] == where["b"]
    assert len(set(where["c"])) == 1
    assert where["c"][0] != where["a"][0]
    assert reasons(decision) == {"d": "queue"}
    assert "start in 4 slots" in decision.waiting[0].detail


def test_what_runs_goes_on_to_its_end() -> None:
    # In order of size alone, small would go first.
    jobs = (job("large", 2, work=4), job("small", 1, work=2, arrival=1))
    assert run("sjf-bco", star(2), *jobs, slots=5) == [
        {"large": 2},
        {"large": 2},
        {"small": 1},
        {"small": 1},
        {},
    ]
    old = Ring("old", ("a",), ())
    assert places(
        decide("sjf-bco", star(1), job("old", 1, work=9), job("new", 1, work=1), running=(old,))
    ) == {"old": ("a",)}


def test_equal_sizes_go_by_what_is_left() -> None:
    assert sizes(decide("sjf-bco", star(1), job("long", 1, work=9), job("short", 1, work=2))) == {"short": 1}


def test_a_worker_takes_lanes_by_its_share_of_a_server() -> None:
    # fat takes half a server a worker: beside thin there is room for one of its two.
    fat = job("fat", 2, work=4, resources=Resources({"gpu": 2}))
    decision = decide("sjf-bco", star(4), job("thin", 1, work=2), fat)
    assert sizes(decision) == {"thin": 1}
    assert reasons(decision) == {"fat": "queue"}


def test_servers_that_cannot_be_joined_are_not_insisted_on() -> None:
    # Workers find room on both servers, but no link carries the ring.
    decision = decide("sjf-bco", star(3, 2), job("x", 3, work=9, bandwidth_gbps=THICK))
    assert places(decision) == {"x": ("a", "a", "a")}


def test_options_are_checked() -> None:
    for option in ("spread=0.5", "overhead=-1", "contention=inf", "workers=0"):
        with pytest.raises(BadOption, match="sjf-bco"):
            build_policy(f"sjf-bco:{option}")
    with pytest.raises(BadOption, match="Choose one of greedy, gadget"):
        build_policy("sjf-bco:placement=best")
