"""Eq. (1): τ(w) = d·(w−1)/w·(2/b + 1/G) + t_f·M + t_b + γ, in seconds, worked by hand."""

import math
import pickle
from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose

from gadget import InvalidValue, Timing, parameter_server_mb, ring_mb_per_worker

# d = 100 MB = 0.8 Gb, G = 4 Gbps, t_f·M = 0.5 ms · 32 = 16 ms, t_b = 20 ms, γ = 4 ms: 40 ms of computing.
TIMING = Timing(
    gradient_mb=100, reduce_gbps=4, forward_ms_per_sample=0.5, batch=32, backward_ms=20, overhead_ms=4
)


@pytest.mark.parametrize(
    ("workers", "bandwidth_gbps", "seconds"),
    [
        # One worker exchanges nothing: 0.016 + 0.020 + 0.004.
        (1, 2, 0.040),
        # 0.8 · 1/2 · (2/2 + 1/4) = 0.4 · 1.25 = 0.5
        (2, 2, 0.540),
        # 0.8 · 3/4 · (2/2 + 1/4) = 0.6 · 1.25 = 0.75
        (4, 2, 0.790),
        # 0.8 · 4/5 · (2/0.5 + 1/4) = 0.64 · 4.25 = 2.72
        (5, 0.5, 2.760),
        # 0.8 · 9/10 · (2/8 + 1/4) = 0.72 · 0.5 = 0.36
        (10, 8, 0.400),
    ],
)
def test_iteration_time(workers, bandwidth_gbps, seconds):
    assert float(TIMING.iteration_seconds(workers, bandwidth_gbps)) == pytest.approx(seconds, rel=1e-12)


@pytest.mark.parametrize(
    ("change", "seconds"),
    [
        # Each term on its own, for w = 4, b = 2; the whole is 0.790.
        ({"gradient_mb": 200}, 1.540),  # 1.6 · 0.75 · 1.25 = 1.5
        ({"gradient_mb": 0}, 0.040),
        ({"reduce_gbps": 1}, 1.240),  # 0.6 · (1 + 1) = 1.2
        ({"forward_ms_per_sample": 1}, 0.806),  # 1 ms · 32 = 32 ms
        ({"batch": 0}, 0.774),
        ({"backward_ms": 120}, 0.890),
        ({"overhead_ms": 0}, 0.786),
    ],
)
def test_each_term(change, seconds):
    assert float(replace(TIMING, **change).iteration_seconds(4, 2)) == pytest.approx(seconds, rel=1e-12)


def test_overhead_may_be_left_out():
    assert Timing(100, 4, 0.5, 32, 20).compute_seconds == pytest.approx(0.036, rel=1e-12)


def test_all_sizes_in_one_call():
    assert_allclose(TIMING.iteration_seconds([1, 2, 4], 2), [0.040, 0.540, 0.790], rtol=1e-12)


def test_limit_of_endless_rings():
    """0.8 · 1.25 + 0.040 = 1.040, approached from below."""
    assert TIMING.limit_seconds(2) == pytest.approx(1.040, rel=1e-12)
    assert float(TIMING.iteration_seconds(10**6, 2)) == pytest.approx(1.04 - 1e-6, rel=1e-12)


def test_longer_rings_take_longer_and_less_so_each_time():
    times = TIMING.iteration_seconds(np.arange(1, 200), 2)
    steps = np.diff(times)
    assert np.all(steps > 0)
    assert np.all(np.diff(steps) < 0)
    assert times[-1] < TIMING.limit_seconds(2)


def test_a_gradient_of_nothing_needs_no_bandwidth():
    still = replace(TIMING, gradient_mb=0)
    assert_allclose(still.iteration_seconds([1, 2, 100], 0), 0.040, rtol=1e-12)
    assert still.limit_seconds(0) == pytest.approx(0.040, rel=1e-12)


def test_iterations_in_a_slot():
    """60 s hold 60/0.79 = 75.949… iterations of a ring of four, and 1500 of one worker alone."""
    assert_allclose(TIMING.iterations([1, 4], 2, 60), [1500, 60 / 0.79], rtol=1e-12)


@pytest.mark.parametrize(("workers", "megabytes"), [(1, 0), (2, 100), (4, 150), (5, 160)], ids=str)
def test_data_of_a_ring(workers, megabytes):
    """2·100·(w−1)/w."""
    assert ring_mb_per_worker(100, workers) == megabytes


def test_data_of_a_ring_stays_below_twice_the_gradient():
    assert 199 < ring_mb_per_worker(100, 1000) < 200


@pytest.mark.parametrize(("workers", "megabytes"), [(1, 200), (4, 800), (1000, 200_000)])
def test_data_of_parameter_servers(workers, megabytes):
    """2·w·100."""
    assert parameter_server_mb(100, workers) == megabytes


@pytest.mark.parametrize(
    ("change", "key"),
    [
        ({"gradient_mb": -1}, "gradient_mb"),
        ({"reduce_gbps": 0}, "reduce_gbps"),
        ({"forward_ms_per_sample": math.nan}, "forward_ms_per_sample"),
        ({"batch": math.inf}, "batch"),
        ({"backward_ms": "20"}, "backward_ms"),
        ({"overhead_ms": 1e16}, "overhead_ms"),
        ({"batch": 0, "backward_ms": 0, "overhead_ms": 0}, ""),
    ],
)
def test_numbers_that_make_no_sense(change, key):
    with pytest.raises(InvalidValue) as caught:
        replace(TIMING, **change)
    assert caught.value.key == key


def test_it_is_a_value():
    assert pickle.loads(pickle.dumps(TIMING)) == TIMING
    assert {TIMING, replace(TIMING)} == {TIMING}
