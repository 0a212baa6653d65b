"""The fixed number of workers of FIFO and Tiresias."""

from collections import Counter

import pytest

from gadget.errors import BadOption
from gadget.model.job import Job
from gadget.model.resources import Resources
from gadget.model.utility import Linear
from gadget.policies.registry import build_policy
from gadget.policies.workers import draw_workers, find_fixed_workers, raise_limits


def job(name: str, most: int, least: int = 1) -> Job:
    return Job(
        name=name,
        min_workers=least,
        max_workers=most,
        resources=Resources({"gpu": 1}),
        bandwidth_gbps=1,
        rate=1,
        utility=Linear(),
    )


def test_numbers_are_drawn_evenly_from_one_to_ten() -> None:
    drawn = Counter(draw_workers(f"job-{n}", 0) for n in range(10_000))
    assert sorted(drawn) == list(range(1, 11))
    # Four standard deviations of a count with mean 1,000.
    assert all(abs(count - 1000) < 120 for count in drawn.values())


def test_a_number_follows_from_name_and_seed_alone() -> None:
    # Written down: another process, another day, the same numbers.
    assert [draw_workers(f"job-{n}", 0) for n in range(5)] == [7, 4, 6, 10, 7]
    assert [draw_workers(f"job-{n}", 1) for n in range(5)] != [draw_workers(f"job-{n}", 0) for n in range(5)]


def test_the_number_is_given_or_drawn_or_the_maximum() -> None:
    assert find_fixed_workers(job("x", 4), 7, None) == 7
    assert find_fixed_workers(job("x", 4), None, 3) == draw_workers("x", 3)
    assert find_fixed_workers(job("x", 4), None, None) == 4


def test_limits_are_raised_to_the_drawn_number_and_never_lowered() -> None:
    jobs = [job(f"job-{n}", 5) for n in range(5)]
    assert [one.max_workers for one in raise_limits(jobs, 0)] == [7, 5, 6, 10, 7]


@pytest.mark.parametrize("policy", ["fifo", "las"])
def test_a_number_is_fixed_in_one_way(policy: str) -> None:
    with pytest.raises(BadOption, match=f"{policy}: workers and draw both"):
        build_policy(f"{policy}:workers=2,draw=1")
    with pytest.raises(BadOption, match=f"{policy}: workers is 0"):
        build_policy(f"{policy}:workers=0")
