"""What extends Eq. (1), worked by hand: bandwidth inside a server, latency of steps, overlap."""

import math
from dataclasses import replace

import pytest
from numpy.testing import assert_allclose

from gadget import BadFile, InvalidValue, Timing, read_scenario, write
from gadget.model.timing_table import TimingTable

# d = 0.8 Gb, G = 4 Gbps, 40 ms of computing: a ring of four at 2 Gbps takes 0.75 s of communication.
TIMING = Timing(
    gradient_mb=100, reduce_gbps=4, forward_ms_per_sample=0.5, batch=32, backward_ms=20, overhead_ms=4
)


@pytest.mark.parametrize(
    ("change", "seconds"),
    [
        ({"hop_ms": 10}, 0.850),  # 2·(4−1) steps of 10 ms more
        ({"overlap": 0.5}, 0.770),  # 20 ms of 750 hide
        ({"overlap": 1}, 0.750),  # all of the computing runs beside it
        ({"hop_ms": 10, "overlap": 0.25}, 0.840),
        # 0.8 · 0.75 · (2/200 + 1/400) = 7.5 ms, less than the 20 ms behind which it may hide.
        ({"reduce_gbps": 400, "overlap": 0.5}, 0.6 * (1 + 1 / 400) + 0.020),
        ({"gradient_mb": 0, "hop_ms": 1}, 0.046),
        ({"gradient_mb": 0, "hop_ms": 1, "overlap": 1}, 0.040),
        ({"local_gbps": 100}, 0.790),  # a plan counts with b, wherever the ring will lie
    ],
)
def test_each_addition(change, seconds):
    assert float(replace(TIMING, **change).iteration_seconds(4, 2)) == pytest.approx(seconds, rel=1e-12)


def test_one_worker_takes_its_computing_whatever_is_added():
    extended = replace(TIMING, local_gbps=8, hop_ms=10, overlap=1)
    assert_allclose(extended.iteration_seconds(1, [0, 2]), 0.040, rtol=1e-12)


def test_communication_that_hides_takes_no_time_at_all():
    hidden = replace(TIMING, reduce_gbps=400, overlap=0.5)
    assert float(hidden.iteration_seconds(4, 200)) == hidden.compute_seconds


def test_sizes_and_bandwidths_go_together():
    """0.8 · 3/4 · (2/b + 1/4) + 0.04 for b = 2 and 8; nothing moves without bandwidth."""
    assert_allclose(TIMING.iteration_seconds([4, 4, 1], [2, 8, 0]), [0.790, 0.340, 0.040], rtol=1e-12)
    assert_allclose(TIMING.iteration_seconds(4, [2, 8]), [0.790, 0.340], rtol=1e-12)
    assert_allclose(TIMING.iteration_seconds([[1], [4]], [2, 8]), [[0.04, 0.04], [0.79, 0.34]], rtol=1e-12)
    assert TIMING.iteration_seconds(4, [0.0])[0] == math.inf


def test_a_ring_inside_a_server_has_the_bandwidth_of_the_server():
    local = replace(TIMING, local_gbps=8)
    assert_allclose(local.iteration_seconds_on([4, 4], 2, [True, False]), [0.340, 0.790], rtol=1e-12)
    assert_allclose(local.iteration_seconds_on([4, 4], [0, 8], [True, False]), [0.340, 0.340], rtol=1e-12)
    assert_allclose(TIMING.iteration_seconds_on([4, 4], 2, [True, False]), [0.790, 0.790], rtol=1e-12)


def test_steps_that_take_time_have_no_limit_and_overlap_lowers_it():
    assert replace(TIMING, hop_ms=1).limit_seconds(2) == math.inf
    assert replace(TIMING, overlap=0.5).limit_seconds(2) == pytest.approx(1.020, rel=1e-12)
    assert replace(TIMING, overlap=0.5, gradient_mb=1e-3).limit_seconds(2) == pytest.approx(0.040, rel=1e-12)


@pytest.mark.parametrize(
    ("change", "key"),
    [
        ({"local_gbps": 0}, "local_gbps"),
        ({"local_gbps": math.inf}, "local_gbps"),
        ({"hop_ms": -1}, "hop_ms"),
        ({"hop_ms": math.nan}, "hop_ms"),
        ({"overlap": 1.5}, "overlap"),
        ({"overlap": -0.1}, "overlap"),
    ],
)
def test_numbers_that_make_no_sense(change, key):
    with pytest.raises(InvalidValue) as caught:
        replace(TIMING, **change)
    assert caught.value.key == key


def test_a_table_times_rings_of_many_jobs_in_one_call():
    table = TimingTable.from_timings([TIMING, replace(TIMING, local_gbps=8, hop_ms=10)])
    assert len(table) == 2
    rings = table.take([1, 0, 1])
    assert_allclose(
        rings.iteration_seconds([4, 2, 4], [2, 2, 2], [True, True, False]), [0.400, 0.540, 0.850], rtol=1e-12
    )


def test_a_table_may_be_empty():
    table = TimingTable.from_timings([])
    assert len(table) == 0
    assert table.iteration_seconds([], [], []).shape == (0,)


def scenario_with(timing):
    return (
        "version: 1\nslots: 2\ncluster: {servers: [{name: s, resources: {gpu: 4}}]}\njobs:\n"
        "  - name: j\n    workers: {max: 4}\n    resources: {gpu: 1}\n    bandwidth_gbps: 5\n"
        f"    utility: {{kind: sqrt}}\n    timing: {timing}\n"
    )


PLAIN = (
    "gradient_mb: 100, reduce_gbps: 4, forward_ms_per_sample: 0.5, batch: 32, backward_ms: 20, overhead_ms: 4"
)


def test_the_keys_of_a_file_and_what_is_written(tmp_path):
    path = tmp_path / "scenario.yaml"
    path.write_text(scenario_with(f"{{{PLAIN}, local_gbps: 8, hop_ms: 1.5, overlap: 0.5}}"))
    found = read_scenario(path)
    assert found.jobs[0].timing == replace(TIMING, local_gbps=8, hop_ms=1.5, overlap=0.5)
    write(path, found)
    assert read_scenario(path) == found


def test_a_file_without_the_new_keys_is_written_without_them(tmp_path):
    path = tmp_path / "scenario.yaml"
    path.write_text(scenario_with(f"{{{PLAIN}}}"))
    found = read_scenario(path)
    assert found.jobs[0].timing == TIMING
    write(path, found)
    assert not any(key in path.read_text() for key in ("local_gbps", "hop_ms", "overlap"))


@pytest.mark.parametrize(
    ("added", "said"),
    [
        ("overlap: 1.5", "jobs[0].timing.overlap is 1.5"),
        ("overlap: half", "jobs[0].timing.overlap is"),
        ("hop_ms: -1", "jobs[0].timing.hop_ms is -1"),
        ("local_gbps: 0", "jobs[0].timing.local_gbps is 0"),
        ("local_gbps: 1e-13", "jobs[0].timing.local_gbps is 1e-13"),
        ("local_gpbs: 8", "jobs[0].timing.local_gpbs is not a known key (nearest: 'local_gbps')"),
    ],
)
def test_keys_that_make_no_sense(tmp_path, added, said):
    path = tmp_path / "scenario.yaml"
    path.write_text(scenario_with(f"{{{PLAIN}, {added}}}"))
    with pytest.raises(BadFile) as caught:
        read_scenario(path)
    assert str(caught.value).startswith(f"{path}:10: {said}")
