"""Envelopes: nowhere below the utility, concave, and few pieces."""

import itertools

import numpy as np
import pytest

from gadget.model.job import Job
from gadget.model.resources import Resources
from gadget.model.timing import Timing
from gadget.model.utility import Energy, Linear, Log, Sigmoid, Sqrt, Table, Utility, find_majorant
from gadget.solve.envelope import FEW_PIECES, Envelope, find_envelope

TIMING = Timing(
    gradient_mb=100, reduce_gbps=100, forward_ms_per_sample=1, batch=10, backward_ms=90, overhead_ms=0
)
BUMP = Table(((0, 0), (3, 5), (4, 1), (9, 6), (12, -2)))


def job(utility: Utility, *, timing: Timing | None = None, rate: float = 2, least: int = 1) -> Job:
    return Job(
        name="j",
        utility=utility,
        rate=None if timing else rate,
        timing=timing,
        min_workers=least,
        max_workers=5,
        bandwidth_gbps=1,
        resources=Resources({"gpu": 1}),
    )


def height(envelope: Envelope, worker_slots: np.ndarray) -> np.ndarray:
    places = np.concatenate([[0], np.cumsum(envelope.width)])
    return np.interp(worker_slots, places, np.concatenate([[0], np.cumsum(envelope.gain)]))


def test_a_short_reach_has_the_exact_majorant() -> None:
    envelope = find_envelope(job(BUMP, rate=1), 12, 60)
    # Corners (3, 5) and (9, 6); beyond, more work is worth less.
    assert envelope.width.sum() == 9
    assert height(envelope, np.arange(10)) == pytest.approx(
        [*(5 / 3 * np.arange(3)), *(5 + np.arange(7) / 6)]
    )


def test_it_counts_from_the_utility_of_no_work() -> None:
    envelope = find_envelope(job(Table(((0, 7), (1, 8))), rate=1), 3, 60)
    assert envelope.gain.tolist() == [1]


def test_what_only_loses_has_no_pieces() -> None:
    assert len(find_envelope(job(Energy()), 50, 60).gain) == 0


@pytest.mark.parametrize(
    "utility", [Sqrt(3), Log(2), Linear(), Sigmoid(10, 0.01, 900), Sigmoid(50, 0.9, 3000), BUMP]
)
@pytest.mark.parametrize("reachable", [1, 7, 1000, 4096, 10**4, 10**7])
def test_it_lies_close_above_and_falls_nowhere(utility: Utility, reachable: int) -> None:
    envelope = find_envelope(job(utility), reachable, 60)
    slopes = envelope.gain / envelope.width
    assert np.all(slopes > 0)
    assert np.all(np.diff(slopes) <= 1e-9 * slopes.max(initial=0))
    points = np.unique(np.concatenate([np.arange(min(reachable, 6000) + 1), [reachable]]))
    true = utility.gain(0.0, 2.0 * points)
    assert np.all(height(envelope, points) >= true - 1e-9 * np.abs(true).max())
    if reachable <= 10**4:
        exact = np.maximum.accumulate(find_majorant(utility.gain(0.0, 2.0 * np.arange(reachable + 1))))
        above = height(envelope, np.arange(reachable + 1)) - exact
        assert above.max() <= (1e-4 if reachable <= 4096 else 1e-3) * exact.max()


@pytest.mark.parametrize("utility", [Sqrt(3), Log(2), Sigmoid(50, 0.9, 1500)])
def test_many_points_take_few_pieces(utility: Utility) -> None:
    assert len(find_envelope(job(utility), 4000, 60).gain) < 4 * FEW_PIECES


@pytest.mark.parametrize("least", [1, 2])
@pytest.mark.parametrize(
    "utility",
    [
        Sqrt(1),
        Sigmoid(9, 0.02, 2500),
        Energy(Sqrt(10), 1, 0.01, 0.001, 0.02),
        Energy(Sigmoid(9, 0.02, 2500), 1, 0.001, 0.1, 0),
        Table(((0, 0), (1000, 3), (1300, 0), (4000, 2))),
        Energy(),
    ],
)
def test_with_timing_no_mix_of_rings_is_worth_more(utility: Utility, least: int) -> None:
    slow = job(utility, timing=TIMING, least=least)
    envelope = find_envelope(slow, 12, 60)
    work = dict(zip(range(1, 6), slow.work_in_slot(np.arange(1, 6), 60).tolist(), strict=True))
    for sizes in itertools.product([0, *range(least, 6)], repeat=3):
        if sum(sizes) <= 12:
            done = sum(work.get(size, 0) for size in sizes)
            assert height(envelope, np.array(sum(sizes))) >= utility.gain(0.0, done) - 1e-9


def test_wide_steps_of_a_falling_utility_are_covered() -> None:
    # The table's peak lies between two points of a reach of ten million.
    peak = 2.0 * 7_654_321
    utility = Table(((0, 0), (peak - 4, 0), (peak, 100), (peak + 4, 0)))
    envelope = find_envelope(job(utility), 10**7, 60)
    assert height(envelope, np.array([7_654_321]))[0] >= 100
    energy = Energy(utility, 1e-9)
    assert height(find_envelope(job(energy), 10**7, 60), np.array([7_654_321]))[0] >= energy.gain(0.0, peak)


def test_a_utility_of_unknown_shape_is_not_bounded_beyond_its_points() -> None:
    class Wave(Utility):
        kind = "wave"
        least_slope = -1.0
        greatest_curvature = 1.0

        def value(self, work):
            return np.sin(work)

        def gain(self, start, end):
            return np.sin(end) - np.sin(start)

    assert np.isfinite(find_envelope(job(Wave()), 100, 60).gain).all()
    assert find_envelope(job(Wave()), 10**5, 60).gain.tolist() == [np.inf]
