"""The choice of a policy placed by the ring solver: who is chosen, who goes first, what stays."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gadget.model.cluster import Cluster, Server
from gadget.model.decision import Reason
from gadget.model.job import ActiveJob
from gadget.model.referee import find_violations
from gadget.model.resources import Resources
from gadget.model.ring import Allocation, Ring
from gadget.model.snapshot import Snapshot
from gadget.policies.placement import Placement
from gadget.policies.policy import ask
from gadget.policies.registry import build_policy
from gadget.policies.ring_placement import choose_from_pool, place_chosen
from gadget.solve.greedy import place_greedily
from gadget.solve.network import compile_network
from gadget.solve.room import Room
from tests.unit.policies.schedules import THICK, decide, job, places, reasons, sizes, star

PLACED = ("fifo:backfill=true", "las", "srtf", "gittins")


def thick(name: str, workers: int, served: float = 0, **more: object) -> ActiveJob:
    """A job whose ring keeps to one server."""
    return ActiveJob(job(name, workers, bandwidth_gbps=THICK, **more), served)  # type: ignore[arg-type]


@pytest.mark.parametrize("policy", PLACED)
def test_the_solver_finds_places_that_greed_does_not(policy: str) -> None:
    # On 3 and 4 GPUs: greedily x takes the tighter server, y the other, and z finds one GPU on each. But y
    # fills one server, and x with z the other.
    jobs = (thick("x", 2, work=2), thick("y", 3, work=6), thick("z", 2, work=8))
    assert sizes(decide(policy, star(3, 4), *jobs)) == {"x": 2, "y": 3}
    text = f"{policy}{',' if ':' in policy else ':'}placement=gadget"
    assert sizes(decide(text, star(3, 4), *jobs)) == {"x": 2, "y": 3, "z": 2}


@pytest.mark.parametrize("policy", ["drf", "themis:fairness=0", "optimus"])
def test_sizes_that_grow_are_those_of_the_pool(policy: str) -> None:
    # Seven GPUs for three jobs alike: three, two and two, by numbers and with the solver in rings too.
    jobs = [thick(name, 3, least=2, work=60) for name in "xyz"]
    text = f"{policy}{',' if ':' in policy else ':'}placement=gadget"
    assert sorted(sizes(decide(text, star(3, 4), *jobs)).values()) == [2, 2, 3]


def test_the_pool_is_one_server_and_who_does_not_fit_is_passed_over() -> None:
    jobs = (thick("x", 3), thick("y", 3), thick("z", 1))
    snapshot = Snapshot(star(3, 2), jobs, 5, 10)
    placement = Placement(snapshot)
    wanted = [(candidate, candidate.most) for candidate in placement.find_candidates()]
    assert [one.name for one, _ in choose_from_pool(placement, wanted)] == ["x", "z"]
    assert [one.name for one, _ in choose_from_pool(placement, wanted, may_pass=False)] == ["x"]


def test_every_resource_is_counted_in_the_pool() -> None:
    cluster = Cluster((Server("a", Resources({"gpu": 4, "memory_gib": 6})),), (), ())
    jobs = [job(name, 1, resources=Resources({"gpu": 1, "memory_gib": 4})) for name in ("x", "y")]
    assert sizes(decide("fifo:placement=gadget,backfill=true", cluster, *jobs, job("z", 1))) == {
        "x": 1,
        "z": 1,
    }


def test_when_not_all_chosen_find_a_place_earlier_ones_do() -> None:
    # Four GPUs hold both by numbers, but only one ring of two fits on a server.
    first, second = thick("first", 2, served=0), thick("second", 2, served=5)
    for jobs in ((first, second), (second, first)):
        decision = decide("las:placement=gadget", star(3, 1), *jobs)
        assert sizes(decision) == {"first": 2}
        assert reasons(decision) == {"second": Reason.BANDWIDTH}  # one GPU is free on each
    # A small one before a large one, though the large one would fill more.
    small, large = thick("small", 1, served=0), thick("large", 3, served=5)
    assert sizes(decide("las:placement=gadget", star(3), small, large)) == {"small": 1}


def test_a_later_ring_yields_its_place_and_fifo_takes_none_away() -> None:
    old = Ring("old", ("a", "a"), (("a",), ("a",)))
    jobs = (thick("old", 2, served=5), thick("new", 2, served=0))
    assert sizes(decide("las:placement=gadget", star(3, 1), *jobs, running=(old,))) == {"new": 2}
    assert sizes(decide("fifo:placement=gadget", star(3, 1), *jobs, running=(old,))) == {"old": 2}


def test_what_runs_stays_unless_another_needs_its_place() -> None:
    # p and q each stand alone on a server of two; r needs two together.
    running = (Ring("p", ("a",), ()), Ring("q", ("b",), ()))
    p, q, r = thick("p", 1), thick("q", 1), thick("r", 2, arrival=1)
    decision = decide("fifo:placement=gadget", star(2, 2), p, q, running=running)
    assert places(decision) == {"p": ("a",), "q": ("b",)}
    assert sizes(decide("fifo", star(2, 2), p, q, r, running=running)) == {"p": 1, "q": 1}
    decision = decide("fifo:placement=gadget", star(2, 2), p, q, r, running=running)
    assert sizes(decision) == {"p": 1, "q": 1, "r": 2}
    where = places(decision)
    assert (where["p"] == ("a",)) != (where["q"] == ("b",))  # one of the two had to move


def test_fifo_blocks_by_the_pool() -> None:
    jobs = (job("x", 2), job("big", 3), job("late", 1))
    decision = decide("fifo:placement=gadget", star(2, 2), *jobs)
    assert sizes(decision) == {"x": 2}
    assert reasons(decision) == {"big": Reason.CAPACITY, "late": Reason.QUEUE}
    decision = decide("fifo:placement=gadget,backfill=true", star(2, 2), *jobs)
    assert sizes(decision) == {"x": 2, "late": 1}


@st.composite
def crowds(draw: st.DrawFn) -> Snapshot:
    """More jobs than fit, some of them running where an earlier slot put them."""
    gpus = draw(st.lists(st.integers(1, 4), min_size=1, max_size=4))
    cluster = star(*gpus, gbps=draw(st.sampled_from((4, 9))))
    jobs = tuple(
        ActiveJob(
            job(
                f"j{n}",
                draw(st.integers(1, 4)),
                least=1,
                work=draw(st.integers(10, 90)),
                arrival=draw(st.integers(0, 5)),
                bandwidth_gbps=draw(st.sampled_from((1, 3, THICK))),
            ),
            draw(st.integers(0, 9)),
        )
        for n in range(draw(st.integers(1, 8)))
    )
    earlier = tuple(one for one in jobs if draw(st.booleans()))
    running = ask(build_policy("fifo:backfill=true"), Snapshot(cluster, earlier, 5, 100), 0).allocation
    return Snapshot(cluster, jobs, 5, 100, running=running)


@settings(max_examples=60, deadline=None)
@given(snapshot=crowds())
def test_chosen_pairs_are_placed_exactly_and_nobody_waits_for_a_later_one(snapshot: Snapshot) -> None:
    placement = Placement(snapshot)
    wanted = [(one, one.most) for one in placement.find_candidates()]
    chosen = choose_from_pool(placement, wanted)
    place_chosen(placement, chosen, np.random.default_rng(0))
    decision = placement.decide("chosen")
    rings = decision.allocation.ring_of
    assert find_violations(snapshot, decision.allocation) == []
    assert rings.keys() <= {one.name for one, _ in chosen}
    assert {one.name for one, _ in chosen} == rings.keys() | {one.job for one in decision.waiting}
    room = Room(compile_network(snapshot.cluster))
    for one, size in chosen:  # in order: who has no ring fits nowhere beside those before
        if one.name in rings:
            assert rings[one.name].size == size
            room.take(one.job, rings[one.name])
        else:
            assert place_greedily(room, one.job, size) is None


@settings(max_examples=40, deadline=None)
@given(snapshot=crowds())
def test_rings_that_all_fit_together_stay_where_they_are(snapshot: Snapshot) -> None:
    kept = {ring.job: ring for ring in snapshot.running.rings}
    known = tuple(active for active in snapshot.jobs if active.job.name in kept)
    shown = Snapshot(snapshot.cluster, known, 5, 100, running=Allocation(tuple(kept.values())))
    placement = Placement(shown)
    wanted = [(one, kept[one.name].size) for one in placement.find_candidates()]
    place_chosen(placement, wanted, np.random.default_rng(0))
    assert placement.decide("chosen").allocation.ring_of == kept


@pytest.mark.parametrize("policy", ["fifo:backfill=true", "las", "srtf", "srtf:preemptive=false", "gittins"])
@settings(max_examples=60, deadline=None)
@given(snapshot=crowds())
def test_greedily_nobody_waits_whose_ring_finds_a_place(policy: str, snapshot: Snapshot) -> None:
    decision = ask(build_policy(policy), snapshot, 0)
    room = Room(compile_network(snapshot.cluster))
    for ring in decision.allocation.rings:
        room.take(snapshot.job_by_name[ring.job].job, ring)
    most = {one.name: one.most for one in Placement(snapshot).find_candidates()}
    for one in decision.waiting:
        if one.job in most:
            assert place_greedily(room, snapshot.job_by_name[one.job].job, most[one.job]) is None


@pytest.mark.parametrize("policy", ["drf", "themis", "optimus"])
@settings(max_examples=60, deadline=None)
@given(snapshot=crowds())
def test_nobody_waits_whose_smallest_ring_finds_a_place(policy: str, snapshot: Snapshot) -> None:
    decision = ask(build_policy(policy), snapshot, 0)
    room = Room(compile_network(snapshot.cluster))
    for ring in decision.allocation.rings:
        room.take(snapshot.job_by_name[ring.job].job, ring)
    able = {one.name for one in Placement(snapshot).find_candidates()}
    for one in decision.waiting:
        waiting = snapshot.job_by_name[one.job].job
        if one.job in able:
            assert place_greedily(room, waiting, waiting.min_workers) is None
