"""Laws of iteration times: Eq. (1) at the defaults, monotone, and the same one by one and all at once."""

from dataclasses import replace

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from gadget.model.timing import GIGABITS_PER_MB
from gadget.model.timing_table import TimingTable
from tests.strategies import positive, timings

sizes = st.lists(st.integers(1, 100_000), min_size=1, max_size=8)


@given(timings(wild=True), sizes, positive(wild=True))
def test_without_additions_it_is_eq_1_to_the_last_bit(timing, workers, gbps):
    plain = replace(timing, local_gbps=None, hop_ms=0, overlap=0)
    w = np.array(workers, dtype=np.float64)
    sent = (w - 1) / w * (plain.gradient_mb * GIGABITS_PER_MB * (2 / gbps + 1 / plain.reduce_gbps))
    expected = sent + plain.compute_seconds
    assert np.array_equal(plain.iteration_seconds(workers, gbps), expected)
    assert np.array_equal(plain.iteration_seconds(workers, [gbps] * len(workers)), expected)
    assert np.array_equal(plain.iteration_seconds_on(workers, gbps, [True] * len(workers)), expected)
    assert np.all(expected <= plain.limit_seconds(gbps) * (1 + 1e-12))


@given(timings(wild=True), st.integers(1, 100_000), st.lists(positive(wild=True), min_size=2, max_size=8))
def test_more_bandwidth_never_slows_a_ring(timing, workers, gbps):
    times = timing.iteration_seconds(workers, sorted(gbps))
    assert np.all(np.diff(times) <= 0)


@given(timings(wild=True), sizes, positive(wild=True))
def test_more_workers_never_speed_an_iteration_up(timing, workers, gbps):
    """The bound over the horizon counts on it: per worker, the smallest ring does most."""
    times = timing.iteration_seconds(sorted(workers), gbps)
    assert np.all(np.diff(times) >= -1e-12 * times[:-1])
    assert np.all(times >= timing.compute_seconds)
    assert np.all(times <= timing.limit_seconds(gbps) * (1 + 1e-12))


@given(timings(), sizes, positive(), st.just(0) | st.floats(1e-12, 1))
def test_more_overlap_never_slows_a_ring(timing, workers, gbps, overlap):
    more = replace(timing, overlap=max(overlap, timing.overlap))
    assert np.all(more.iteration_seconds(workers, gbps) <= timing.iteration_seconds(workers, gbps))


@given(
    st.lists(
        st.tuples(timings(wild=True), st.integers(1, 100_000), positive(wild=True), st.booleans()), max_size=6
    )
)
def test_a_table_tells_what_its_timings_tell(rings):
    table = TimingTable.from_timings([timing for timing, *_ in rings])
    told = table.iteration_seconds(*([ring[column] for ring in rings] for column in (1, 2, 3)))
    alone = [float(timing.iteration_seconds_on(*rest)) for timing, *rest in rings]
    assert told.tolist() == alone
