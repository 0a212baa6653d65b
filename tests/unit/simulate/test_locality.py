"""Free GPUs in pieces, and ring edges that leave a rack."""

import pytest
from hypothesis import given, settings

from gadget.model.cluster import Cluster, Server
from gadget.model.resources import Resources
from gadget.model.ring import Allocation, Ring
from gadget.model.snapshot import Scenario
from gadget.simulate.locality import count_cross_rack, counted_resource, find_fragmentation
from gadget.simulate.simulation import simulate
from tests.strategies import scenarios
from tests.unit.engine.worlds import PAIR, job, ring

FOUR = Cluster(tuple(Server(name, Resources({"gpu": 4})) for name in "abcd"), (), ())


def pieces(*workers: str, takes: float = 1.0) -> float | None:
    rings = tuple(Ring(f"j{n}", tuple(some), ()) for n, some in enumerate(workers))
    takes_by_job = {one.job: takes for one in rings}
    return find_fragmentation(FOUR, "gpu", 16, Allocation(rings), takes_by_job)


def test_fragmentation_is_what_is_free_beside_others() -> None:
    assert pieces() == 0
    assert pieces("aaaa") == 0  # full, and three empty
    assert pieces("a") == 3 / 15
    assert pieces("a", "b", "c", "d") == 1
    assert pieces("aaab", "d") == (1 + 3 + 3) / 11
    assert pieces("aaaa", "bbbb", "cccc", "dddd") is None  # nothing is free
    assert pieces("ab", takes=2) == (2 + 2) / 12
    # A worker that takes no GPU still makes its server one that is used.
    assert pieces("a", takes=0) == 4 / 16


def test_what_breaks_the_rules_is_measured_all_the_same() -> None:
    assert pieces("aaaaaa") == 0
    assert pieces("x") == 0  # a server that is not there


def test_gpus_are_looked_at_or_else_the_first_resource() -> None:
    assert counted_resource(FOUR) == "gpu"
    named = [Server("a", Resources({"tpu": 1})), Server("b", Resources({"cpu": 2, "gpu": 0}))]
    assert counted_resource(Cluster(tuple(named[:1]), (), ())) == "tpu"
    assert counted_resource(Cluster(tuple(named), (), ())) == "gpu"
    assert counted_resource(Cluster((), (), ())) is None


@pytest.mark.parametrize(
    ("route", "leaves"),
    [
        (("a",), 0),
        (("a", "b"), 0),
        (("a", "rack", "b"), 0),
        (("a", "b", "c"), 0),
        (("a", "rack", "core", "other", "b"), 1),
        (("a", "b", "c", "d"), 1),
    ],
)
def test_an_edge_leaves_the_rack_over_more_than_two_links(route: tuple[str, ...], leaves: int) -> None:
    assert count_cross_rack(Ring("x", ("a", "b"), (route, ("b", "a")))) == leaves
    assert count_cross_rack(Ring("x", ("a",), ())) == 0


def test_slots_count_edges_and_pieces() -> None:
    # x has three workers on two servers of two GPUs; y joins the free one in slot 1.
    jobs = (job("x", min_workers=3, max_workers=3), job("y", arrival=1, max_workers=1))
    result = simulate(Scenario(PAIR, jobs, 2), "fifo")
    first, second = result.runs[0].slots
    assert (first.ring_edges, first.cross_rack_edges, first.fragmentation) == (3, 0, 1.0)
    assert (second.ring_edges, second.cross_rack_edges, second.fragmentation) == (3, 0, None)
    mean = result.summaries["fifo"].mean
    assert (mean.fragmentation, mean.cross_rack_share) == (1.0, 0.0)
    assert ring("y", "a").routes == ()


@settings(max_examples=60)
@given(scenarios())
def test_shares_are_shares_and_every_slot_of_a_stay_is_served_or_waited(scenario: Scenario) -> None:
    result = simulate(scenario, "fifo:backfill=true")
    (run,) = result.runs
    for slot in run.slots:
        assert slot.fragmentation is None or 0 <= slot.fragmentation <= 1
        assert 0 <= slot.cross_rack_edges <= slot.ring_edges
    waited = sum(one.waiting_slots for one in run.jobs)
    assert waited == sum(slot.active - slot.embedded for slot in run.slots)
    for one in run.jobs:
        assert one.waiting_slots >= 0
        if one.completion_slots is not None:
            assert one.completion_slots == one.waiting_slots + one.slots_served
    mean = result.summaries["fifo:backfill=true"].mean
    assert mean.jain_index is None or 0 < mean.jain_index <= 1 + 1e-9
    assert mean.cross_rack_share is None or 0 <= mean.cross_rack_share <= 1
