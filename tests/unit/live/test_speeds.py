"""What rings are seen to do becomes what decisions reckon with."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gadget.backends.backend import RingKey
from gadget.backends.words import Kind
from gadget.engine.apply import apply
from gadget.engine.events import SpeedMeasured
from gadget.live.fleet import Fleet
from gadget.live.speeds import Speeds, find_speed
from gadget.model.timing import Timing
from gadget.solve.rescaling import rescale_timing
from tests.unit.engine.worlds import TIMING, ring
from tests.unit.live.scenes import add, live_job, running, say, serve

factors = st.floats(0.1, 10)


def progress(fleet: Fleet, key: RingKey, *told: tuple[float, float], **more: float) -> None:
    for steady, work in told:
        say(fleet, key, Kind.PROGRESS, steady, work=work, **more)


def test_a_rate_is_work_over_worker_slots() -> None:
    state, fleet = serve(running(ring("j", "a", "b"))), Fleet()
    key = add(fleet, state, ring("j", "a", "b"))
    progress(fleet, key, (5.0, 10.0), (15.0, 30.0))
    assert find_speed(fleet.rings[key]) == 2.0
    # 2 a second are 20 a slot of 10 s, by two workers; the job said 5.
    [event] = Speeds().learn(state, fleet)
    assert event == SpeedMeasured("j", rate=10.0)
    assert list(Speeds().learn(apply(state, event), fleet)) == []


@pytest.mark.parametrize("told", [[], [(5.0, 10.0)], [(5.0, 10.0), (6.9, 90.0)], [(5.0, 10.0), (15.0, 20.5)]])
def test_too_little_or_nothing_new_is_not_learnt(told: list[tuple[float, float]]) -> None:
    state, fleet = serve(running(ring("j", "a", "b"))), Fleet()
    progress(fleet, add(fleet, state, ring("j", "a", "b")), *told)
    assert list(Speeds().learn(state, fleet)) == []


def test_a_timing_learns_from_each_size_and_forgets_jobs_that_ended() -> None:
    slow = live_job("j", rate=None, timing=TIMING)
    state, fleet, speeds = serve(running(ring("j", "a", "b"), jobs=[slow])), Fleet(), Speeds()
    key = add(fleet, state, ring("j", "a", "b"))
    progress(fleet, key, (5.0, 1.0), step_seconds=5.0)
    # One size says one thing: everything takes twice as long as τ(2) = 2.5 s.
    [event] = speeds.learn(state, fleet)
    assert event.timing is not None
    assert float(event.timing.iteration_seconds(2, 1)) == pytest.approx(5.0)
    assert float(event.timing.iteration_seconds(1, 1)) == pytest.approx(2.0)
    state = apply(state, event)
    assert list(speeds.learn(state, fleet)) == []
    assert speeds._seconds.keys() == {"j"}
    list(speeds.learn(serve(running(ring("other", "a"))), Fleet()))
    assert speeds._seconds == {}


@given(
    compute=factors,
    sent=factors,
    sizes=st.sets(st.integers(1, 16), min_size=2, max_size=5),
    hop=st.sampled_from((0.0, 3.0)),
)
def test_exact_measurements_at_two_sizes_are_reproduced(
    compute: float, sent: float, sizes: set[int], hop: float
) -> None:
    said = Timing(100, 20, 4, 16, 30, overhead_ms=5, hop_ms=hop)
    truth = Timing(100 * sent, 20, 4 * compute, 16, 30 * compute, overhead_ms=5 * compute, hop_ms=hop * sent)
    measured = {size: float(truth.iteration_seconds(size, 10)) for size in sizes}
    fitted = rescale_timing(said, 10, measured)
    for size in (*sizes, 2, 7, 32):
        expected = float(truth.iteration_seconds(size, 10))
        assert float(fitted.iteration_seconds(size, 10)) == pytest.approx(expected, rel=1e-6)


@given(factor=factors, size=st.integers(1, 16), overlap=st.sampled_from((0.0, 0.5)))
def test_one_size_is_reproduced_whatever_hides(factor: float, size: int, overlap: float) -> None:
    said = Timing(100, 20, 4, 16, 30, overlap=overlap)
    measured = factor * float(said.iteration_seconds(size, 10))
    fitted = rescale_timing(said, 10, {size: measured})
    assert float(fitted.iteration_seconds(size, 10)) == pytest.approx(measured, rel=1e-9)
