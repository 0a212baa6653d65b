"""Equal shares and Jain's index, by hand and by law."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gadget.model.resources import Resources
from gadget.model.snapshot import Scenario
from gadget.simulate.fairness import equal_share_work, jain_index
from gadget.simulate.simulation import simulate
from tests.unit.engine.worlds import PAIR, TIMING, job

GPUS = {"gpu": np.array([4.0, 4.0, 2.0]), "memory_gib": np.array([10.0, 10.0, 10.0])}
CROWD = np.array([1.0, 2.0, 4.0])


def share(**fields: object) -> float:
    return equal_share_work(job("x", **fields), CROWD, GPUS, 10)


def test_an_equal_share_is_what_a_job_can_use_of_its_part_of_the_cluster() -> None:
    # 4/1, 4/2 and 2/4 GPUs: min(3, 4) + 2 + 0.5 workers at 5 a slot.
    assert share(max_workers=3) == pytest.approx(5 * (3 + 2 + 0.5))
    # Two GPUs a worker: 2, 1 and a quarter of a worker.
    assert share(max_workers=3, resources=Resources({"gpu": 2})) == pytest.approx(5 * 3.25)
    # Memory is short: 10/4, 10/8 and 10/16 workers of 4 GiB, and GPUs for half a one in the last.
    assert share(max_workers=9, resources=Resources({"gpu": 1, "memory_gib": 4})) == pytest.approx(
        5 * (2.5 + 1.25 + 0.5)
    )


def test_less_than_the_smallest_ring_is_that_ring_part_of_the_time() -> None:
    # τ(1) = 1 s, τ(2) = 2.5 s in slots of 10 s: a ring of two does 2·4 a slot. Shares are 4 (at most 2), 2
    # and a half: all of the ring twice, and a quarter of it.
    assert share(rate=None, timing=TIMING, min_workers=2) == pytest.approx(8 + 8 + 2)
    # With rings of one allowed, half a worker is a ring of one for half the time.
    assert share(rate=None, timing=TIMING) == pytest.approx(8 + 8 + 0.5 * 10)


def test_in_its_last_slot_a_share_does_no_more_than_is_left() -> None:
    def ended(left: float) -> float:
        return equal_share_work(job("x", max_workers=3), CROWD, GPUS, 10, left_at_end=left)

    assert ended(1.0) == pytest.approx(5 * (3 + 2) + 1)
    assert ended(9.0) == pytest.approx(5 * (3 + 2 + 0.5))


def test_whoever_always_has_all_that_it_can_use_has_an_equal_share_however_short_it_is() -> None:
    jobs = [job(f"j{n}", arrival=n, work=1 + 3 * n, max_workers=1) for n in range(4)]
    result = simulate(Scenario(PAIR, tuple(jobs), 9), "fifo")
    assert [one.service_share for one in result.runs[0].jobs] == [1, 1, 1, 1]
    assert result.summaries["fifo"].mean.jain_index == 1


def test_no_slots_and_no_such_resource_make_no_share() -> None:
    assert equal_share_work(job("x"), CROWD[:0], {"gpu": GPUS["gpu"][:0]}, 10) == 0
    assert share(resources=Resources({"tpu": 1})) == 0


def test_jains_index_by_hand() -> None:
    # Jain's own example: 50, 30 and 50 where 50, 10 and 10 are fair.
    assert jain_index([1, 3, 5]) == pytest.approx(81 / 105)
    assert jain_index([2, 2, 2]) == 1
    assert jain_index([0, 0, 7, 0]) == 0.25
    assert jain_index([]) is None
    assert jain_index([0, 0]) is None


@given(st.lists(st.floats(0, 1e12), min_size=1, max_size=30), st.sampled_from((1e-30, 1e-3, 7.0, 1e40)))
def test_jains_index_lies_between_one_nth_and_one_whatever_the_scale(values: list[float], by: float) -> None:
    index = jain_index(values)
    if index is None:
        assert not any(values)
        return
    assert 1 / len(values) * (1 - 1e-9) <= index <= 1 + 1e-9
    if min(value for value in values if value) > 1e-100:
        assert jain_index([value * by for value in values]) == pytest.approx(index)
