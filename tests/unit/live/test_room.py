"""Room beside rings that are there: just what the referee says of all of them together."""

from hypothesis import given

from gadget.live.room import Room
from gadget.model.referee import find_violations
from gadget.model.ring import Allocation
from gadget.model.snapshot import Snapshot
from gadget.policies.policy import ask
from gadget.policies.registry import build_policy
from tests.tiny_slots import running_slots
from tests.unit.engine.worlds import PAIR, job, ring


@given(snapshot=running_slots())
def test_what_fits_is_what_the_referee_lets_pass(snapshot: Snapshot) -> None:
    jobs = snapshot.job_by_name
    wanted = ask(build_policy("fifo"), snapshot, 0).allocation
    room, there = Room(snapshot.cluster), []
    for one in (*snapshot.running.rings, *wanted.rings):
        if one.job in {ring.job for ring in there}:
            continue
        together = Allocation((*there, one))
        fits = room.fits(one, jobs[one.job].job)
        assert fits == (find_violations(snapshot, together) == [])
        if fits:
            room.take(one, jobs[one.job].job)
            there.append(one)


def test_each_direction_of_a_link_has_all_of_it() -> None:
    # Rings of two use both directions: two of 5 Gbps fill a link of 10, and a third finds nothing.
    thin = job("j", bandwidth_gbps=5)
    room = Room(PAIR, [(ring("j", "a", "b"), thin)])
    assert room.fits(ring("k", "a", "b"), thin)
    room.take(ring("k", "a", "b"), thin)
    assert not room.fits(ring("l", "a", "b"), job("l", bandwidth_gbps=0.1))


def test_a_place_that_nobody_knows_of_is_none() -> None:
    room = Room(PAIR)
    assert not room.fits(ring("j", "c"), job("j"))
    assert not room.fits(ring("j", "a", "b", through="nowhere"), job("j"))


def test_a_closed_place_takes_nothing_and_all_others_do() -> None:
    room = Room(PAIR)
    room.close(ring("stray", "a"))
    assert not room.fits(ring("j", "a", "b"), job("j"))
    assert room.fits(ring("j", "b"), job("j"))
