"""Shortest remaining time first, on schedules worked out by hand."""

import pytest

from gadget.errors import BadOption
from gadget.model.job import ActiveJob
from gadget.model.resources import Resources
from gadget.model.timing import Timing
from gadget.policies.registry import build_policy
from gadget.policies.srtf import Measure, Srtf
from tests.unit.policies.schedules import decide, job, reasons, run, sizes, star

# On two GPUs: a runs four slots, b two, c one.
JOBS = (
    job("a", 2, work=8),
    job("b", 2, work=4, arrival=1),
    job("c", 1, work=1, arrival=2),
)


def test_shorter_jobs_preempt_and_equals_go_by_arrival() -> None:
    # Slot 1: b has 2 left, a 3. Slot 2: b and c have 1, b came first. Slot 3: c, and no room for a beside it.
    assert run("srtf", star(2), *JOBS, slots=8) == [
        {"a": 2},
        {"b": 2},
        {"b": 2},
        {"c": 1},
        {"a": 2},
        {"a": 2},
        {"a": 2},
        {},
    ]


def test_without_preemption_it_is_shortest_job_first() -> None:
    # a runs to its end; then c, the shortest, beside which b does not fit.
    assert run("srtf:preemptive=false", star(2), *JOBS, slots=8) == [
        *([{"a": 2}] * 4),
        {"c": 1},
        {"b": 2},
        {"b": 2},
        {},
    ]


def test_service_counts_time_once_for_each_gpu() -> None:
    # wide has 2 slots left on 4 GPUs, thin 5 on 1: by time wide goes first, by service thin.
    jobs = (job("wide", 4, work=8), job("thin", 1, work=5))
    assert sizes(decide("srtf", star(4), *jobs)) == {"wide": 4}
    assert sizes(decide("srtf:measure=service", star(4), *jobs)) == {"thin": 1}


def test_what_is_done_counts_and_not_what_there_was() -> None:
    # long has 1 of 9 left, short all of its 2.
    jobs = (ActiveJob(job("long", 1, work=9), served=8), job("short", 1, work=2))
    assert sizes(decide("srtf", star(1), *jobs)) == {"long": 1}


def test_without_work_the_budget_counts_and_without_both_a_job_is_endless() -> None:
    endless = job("endless", 1)
    paid = job("paid", 1, budget=Resources({"gpu": 7}))
    known = job("known", 1, work=9)
    assert sizes(decide("srtf", star(1), endless, known, paid)) == {"paid": 1}
    assert sizes(decide("srtf", star(1), endless, known)) == {"known": 1}
    # Whichever ends first: 9 of work, but 7 paid for.
    both = job("both", 1, work=9, budget=Resources({"gpu": 7}))
    assert sizes(decide("srtf", star(1), job("eight", 1, work=8), both)) == {"both": 1}


def test_pace_is_that_of_the_ring() -> None:
    # An iteration takes 60 s, so a worker does one in a slot: 4 left are 2 slots for two workers, 4 for one.
    slow = Timing(gradient_mb=0, reduce_gbps=1, forward_ms_per_sample=0, batch=0, backward_ms=60_000)
    timed = job("timed", 2, least=1, work=4, rate=None, timing=slow)
    assert sizes(decide("srtf", star(2), job("three", 2, work=6), timed)) == {"timed": 2}
    assert sizes(decide("srtf:workers=1", star(1), job("three", 1, work=3), timed)) == {"three": 1}


def test_one_that_finds_no_place_is_passed_over_and_told_why() -> None:
    decision = decide("srtf", star(2), job("x", 1, work=1), job("y", 2, work=4), job("z", 1, work=9))
    assert sizes(decision) == {"x": 1, "z": 1}
    assert reasons(decision) == {"y": "capacity"}


def test_options_are_read_and_checked() -> None:
    assert build_policy("srtf:measure=service,preemptive=no,workers=2") == Srtf(
        workers=2, measure=Measure.SERVICE, preemptive=False
    )
    with pytest.raises(BadOption, match="Choose one of time, service"):
        build_policy("srtf:measure=length")
    with pytest.raises(BadOption, match="srtf: workers is 0"):
        build_policy("srtf:workers=0")
