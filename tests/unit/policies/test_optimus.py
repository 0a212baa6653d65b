"""Marginal gain, worker by worker, worked out by hand."""

from gadget.model.resources import Resources
from gadget.model.timing import Timing
from tests.unit.policies.schedules import decide, job, reasons, run, sizes, star


def test_the_next_worker_goes_where_it_saves_most_time() -> None:
    # One each. x: 12 → 6 → 4 → 3 slots, y: 6 → 3 → 2. Gains 6 (x), 3 (y), 2 (x): three and two.
    x, y = job("x", 9, least=1, work=12), job("y", 9, least=1, work=6)
    assert sizes(decide("optimus", star(5), x, y)) == {"x": 3, "y": 2}


def test_gain_is_for_what_a_worker_takes() -> None:
    # As before, but a worker of x takes 4 GPUs: 6/4 a GPU for x against 3 for y, then 1.5 against 1.
    x = job("x", 9, least=1, work=12, resources=Resources({"gpu": 4}))
    y = job("y", 9, least=1, work=6)
    assert sizes(decide("optimus", star(4, 4), x, y)) == {"x": 1, "y": 4}
    assert sizes(decide("optimus", star(4, 4, 4), x, y)) == {"x": 2, "y": 4}


def test_every_job_first_has_its_smallest_ring_by_arrival() -> None:
    long, short = job("long", 9, least=1, work=900, arrival=1), job("short", 3, work=3)
    assert sizes(decide("optimus", star(4), long, short)) == {"long": 1, "short": 3}
    decision = decide("optimus", star(3), long, short)
    assert sizes(decision) == {"short": 3}
    assert reasons(decision) == {"long": "capacity"}


def test_an_endless_job_gets_what_the_others_leave() -> None:
    assert sizes(decide("optimus", star(5), job("endless", 9, least=1), job("x", 2, least=1, work=3))) == {
        "endless": 3,
        "x": 2,
    }


def test_a_ring_that_would_only_be_slower_does_not_grow() -> None:
    # A step of two workers sends for 20 ms what one computes in 1 ms.
    slow = Timing(gradient_mb=0, reduce_gbps=1, forward_ms_per_sample=0, batch=0, backward_ms=1, hop_ms=10)
    assert sizes(decide("optimus", star(4), job("x", 4, least=1, work=1e9, rate=None, timing=slow))) == {
        "x": 1
    }


def test_a_schedule_to_its_end() -> None:
    # 3 GPUs, x has 6 to do and y 3. Slot 0: one each, then 6 → 3 beats 3 → 1.5. Slot 1: 4 and 2 are left: x
    # again. Slot 2: 2 and 1 are left: x. Both end.
    x, y = job("x", 9, least=1, work=6), job("y", 9, least=1, work=3)
    assert run("optimus", star(3), x, y, slots=4) == [*([{"x": 2, "y": 1}] * 3), {}]
