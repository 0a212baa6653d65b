"""The Gittins index, on distributions worked out by hand."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gadget.errors import BadOption
from gadget.model.job import ActiveJob
from gadget.model.resources import Resources
from gadget.policies.gittins import Services
from gadget.policies.registry import build_policy
from tests.unit.policies.schedules import decide, job, run, sizes, star


def test_the_index_of_two_sizes() -> None:
    services = Services([10.0, 1.0])
    # Δ = 1: half of them end, each takes 1. Δ = 10: all end, at 5.5 on average. The first is better.
    assert services.find_index(0) == pytest.approx(1 / 2)
    # Having survived 1, it needs 9 more for sure.
    assert services.find_index(1) == pytest.approx(1 / 9)
    assert services.find_index(9) == pytest.approx(1)
    assert services.find_index(10) == 0


def test_those_that_never_end_take_and_do_not_end() -> None:
    # Δ = 2: one of two ends, both take 2.
    assert Services([2.0, math.inf]).find_index(0) == pytest.approx(1 / 4)
    assert Services([math.inf]).find_index(0) == 0
    assert Services([]).find_index(0) == 0


def test_a_width_is_the_only_delta() -> None:
    services = Services([1.0, 10.0])
    # Within 5 more, one ends after 1 and the other takes all 5.
    assert services.find_index(0, 5) == pytest.approx(1 / 6)
    assert services.find_index(5, math.inf) == pytest.approx(1 / 5)
    assert services.find_index(0, 0.5) == 0
    assert Services([1.0, math.inf]).find_index(0, math.inf) == 0


@given(
    services=st.lists(st.integers(1, 9) | st.just(math.inf), min_size=1, max_size=6),
    attained=st.integers(0, 9),
)
def test_no_delta_beats_the_index(services: list[float], attained: int) -> None:
    index = Services(services).find_index(attained)
    alive = [service - attained for service in services if service > attained]
    best = 0.0
    for delta in range(1, 10):
        if alive:
            chance = sum(more <= delta for more in alive) / len(alive)
            best = max(best, chance / (sum(min(more, delta) for more in alive) / len(alive)))
    assert index == pytest.approx(best)


def test_who_is_nearly_done_goes_before_who_is_new_and_who_survived_goes_last() -> None:
    # By the indices above: attained 9, then 0, then 1. Least attained service would go 0, 1, 9.
    jobs = [ActiveJob(job(f"at-{served}", 1), served) for served in (0, 1, 9)]
    for gpus, taken in ((1, {"at-9"}), (2, {"at-9", "at-0"}), (3, {"at-9", "at-0", "at-1"})):
        assert sizes(decide("gittins:history=1/10", star(gpus), *jobs)).keys() == taken


def test_gpus_count_as_much_as_time() -> None:
    # Two workers with two GPUs each: 1 slot is 4 GPU-slots; one has all but ended after 9, one is beyond 10.
    fat = job("fat", 2, resources=Resources({"gpu": 2}))
    assert sizes(decide("gittins:history=1/10", star(4), ActiveJob(fat, 9 / 2), job("new", 4))) == {"fat": 2}
    assert sizes(decide("gittins:history=1/10", star(4), ActiveJob(fat, 5), job("new", 4))) == {"new": 4}


def test_queues_go_before_indices() -> None:
    # at-9 has the better index but is in the second queue.
    jobs = [ActiveJob(job(f"at-{served}", 1), served) for served in (0, 9)]
    assert sizes(decide("gittins:history=1/10,queues=5", star(1), *jobs)) == {"at-0": 1}


def test_without_history_the_jobs_that_are_there_tell_the_distribution() -> None:
    # Services 2, 2, 12. Slot 0: all indices are equal (at 2, two of three end: 2/6), so by arrival: p.
    # Slot 1: p has attained 1: two of three end with 1 more, 2/3; it is the best. Then q the same.
    jobs = (job("p", 1, work=2), job("q", 1, work=2), job("r", 1, work=12))
    assert run("gittins", star(1), *jobs, slots=5) == [{"p": 1}, {"p": 1}, {"q": 1}, {"q": 1}, {"r": 1}]


def test_options_are_checked() -> None:
    with pytest.raises(BadOption, match="gittins: queues is 5/3"):
        build_policy("gittins:queues=5/3")
    with pytest.raises(BadOption, match="history has a service"):
        build_policy("gittins:history=5/0")
