"""Orders: nothing starts without room that is really free, nothing runs twice, strays leave."""

from dataclasses import replace

from gadget.backends.backend import RingFound, RingKey, RingPhase
from gadget.engine.apply import apply
from gadget.engine.events import JobLeft, SlotDecided
from gadget.live.fleet import Fleet
from gadget.live.orders import STRAY_GRACE_SECONDS, find_dismissals, find_starts, find_wanted
from gadget.model.cluster import Cluster, Link, Server
from gadget.model.resources import Resources
from tests.unit.engine.worlds import decision, ring
from tests.unit.live.scenes import add, live_job, running, serve


def starts(state, fleet):
    return [str(one.key) for one in find_starts(state, fleet)]


def test_a_wanted_ring_is_started_once() -> None:
    state, fleet = running(ring("j", "a", "b")), Fleet()
    assert list(find_wanted(state)) == [RingKey("j", 0)]
    assert starts(state, fleet) == ["j@0"]
    for phase in RingPhase:  # whatever became of it
        add(fleet, state, ring("j", "a", "b"), phase=phase)
        assert starts(state, fleet) == []


def test_a_resized_ring_waits_until_the_old_one_has_left() -> None:
    before = running(ring("j", "a"))
    fleet = Fleet()
    old = add(fleet, before, ring("j", "a"))
    state = apply(serve(before), SlotDecided(decision(1, ring("j", "a", "b"))))
    [leave] = find_dismissals(state, fleet)
    assert (leave.key, leave.grace_seconds, leave.reason) == (old, 7, "its ring is resized")
    assert starts(state, fleet) == []
    fleet.mark(old, 0.0)
    assert list(find_dismissals(state, fleet)) == []  # it was told
    assert starts(state, fleet) == []  # it has not left, though there is room for both
    fleet.move(old, RingPhase.STOPPED, "", 0.0, 0.0)
    assert starts(state, fleet) == ["j@1"]


def test_a_start_waits_for_room_that_is_really_free() -> None:
    before = running(ring("old", "a", "a"), jobs=[live_job("new")])
    fleet = Fleet()
    old = add(fleet, before, ring("old", "a", "a"))
    state = apply(serve(before), SlotDecided(decision(1, ring("new", "a", "b"))))
    assert starts(state, fleet) == []
    fleet.mark(old, 0.0)
    assert starts(state, fleet) == []
    fleet.move(old, RingPhase.FAILED, "", 0.0, 0.0)
    assert starts(state, fleet) == ["new@1"]


def test_rings_that_start_together_do_not_take_each_others_room() -> None:
    # Links carry 10 Gbps: a ring of 6 in each direction, and no second one, until the first has left.
    jobs = [live_job(name, bandwidth_gbps=6) for name in "jk"]
    state, fleet = running(ring("j", "a", "b"), ring("k", "a", "b"), jobs=jobs), Fleet()
    assert starts(state, fleet) == ["j@0"]


def test_a_ring_of_a_job_that_nobody_knows_closes_its_place() -> None:
    state, fleet = running(ring("j", "a", "b"), ring("k", "b")), Fleet()
    stray = RingKey("stray", 7)
    fleet.add(RingFound(stray, ring("stray", "a"), RingPhase.RUNNING), None, 0.0, 0.0)
    [leave] = find_dismissals(state, fleet)
    assert (leave.key, leave.grace_seconds) == (stray, STRAY_GRACE_SECONDS)
    assert leave.reason == "no such job is known"
    assert starts(state, fleet) == ["k@0"]  # nobody knows what it takes of server a
    fleet.move(stray, RingPhase.STOPPED, "", 0.0, 0.0)
    assert starts(state, fleet) == ["j@0", "k@0"]


def test_a_cancelled_job_leaves_and_a_hung_one_gets_no_grace() -> None:
    before = running(ring("j", "a"), ring("k", "b"))
    fleet = Fleet()
    gone, hung = add(fleet, before, ring("j", "a")), add(fleet, before, ring("k", "b"))
    state = apply(apply(before, JobLeft("j")), JobLeft("k"))
    fleet.rings[hung] = replace(fleet.rings[hung], hung=True)
    told = {one.key: (one.grace_seconds, one.reason) for one in find_dismissals(state, fleet)}
    assert told == {gone: (7, "the job has left"), hung: (0, "it said nothing any more")}


def test_a_ring_counts_where_the_newest_decision_has_laid_it() -> None:
    # Two ways from a to b; a decision may lay a ring that goes on along the other one.
    ways = Cluster(
        tuple(Server(name, Resources({"gpu": 2})) for name in "ab"),
        ("up", "down"),
        tuple(Link((server, way), 10) for server in "ab" for way in ("up", "down")),
    )
    jobs = [live_job(name, bandwidth_gbps=6) for name in "jk"]
    before = running(ring("j", "a", "b", through="up"), jobs=jobs, cluster=ways)
    fleet = Fleet()
    add(fleet, before, ring("j", "a", "b", through="up"))
    rings = (ring("j", "a", "b", through="down"), ring("k", "a", "b", through="up"))
    state = apply(serve(before), SlotDecided(decision(1, *rings)))
    assert list(find_dismissals(state, fleet)) == []
    assert starts(state, fleet) == ["k@1"]
