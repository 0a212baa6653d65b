"""Fitting where measurements tell little, and what is said of placements held out."""

from dataclasses import replace

import numpy as np
import pytest

from gadget.errors import BadOption, InvalidValue
from gadget.solve.fitting import Constants, Law, fit_constants
from gadget.solve.held_out import Fit, deal_placements, fit_held_out, name_part
from gadget.solve.profiles import Conventions, build_profile
from tests.measuring import BERT_LIKE, build_shapes, measure

ONLY_LOCAL = [(1,), (2,), (3,), (4,)]
ONLY_CROSS = [(1,), (1, 1), (2, 2), (1, 1, 1), (4, 4, 4)]


def test_the_law_that_holds_is_better_on_what_it_has_not_seen():
    measured = measure(BERT_LIKE, noise=0.01)
    part_of = deal_placements(measured, 10, 0)
    published, extended = (fit_held_out(measured, law, part_of) for law in Law)
    assert extended.median_error < 0.01 < published.median_error
    assert extended.tail_error < published.tail_error


def test_the_same_measurements_give_the_same_fit_in_any_order():
    measured = measure(BERT_LIKE, noise=0.05)
    assert fit_constants(measured, Law.EXTENDED) == fit_constants(measured, Law.EXTENDED)
    turned = measured.where(np.arange(len(measured))[::-1])
    one, other = fit_constants(measured, Law.EXTENDED), fit_constants(turned, Law.EXTENDED)
    assert other.predict(measured) == pytest.approx(one.predict(measured), rel=1e-6)


def test_a_few_wild_times_do_little_harm():
    measured = measure(BERT_LIKE)
    wild = measured.step_seconds.copy()
    wild[::25] *= 10
    found = fit_constants(replace(measured, step_seconds=wild), Law.EXTENDED)
    off = np.abs(found.predict(measured) / measured.step_seconds - 1)
    assert np.median(off) < 0.005
    assert np.max(off) < 0.05


@pytest.mark.parametrize("placements", [ONLY_LOCAL, ONLY_CROSS])
def test_one_kind_of_rings_tells_one_bandwidth(placements):
    measured = measure(replace(BERT_LIKE, overlap=0.0), build_shapes(placements))
    found = fit_constants(measured, Law.EXTENDED)
    assert found.local_seconds == found.cross_seconds
    assert found.predict(measured) == pytest.approx(measured.step_seconds, rel=1e-5)


def test_one_batch_tells_no_time_per_sample():
    measured = measure(BERT_LIKE, build_shapes(batches=(32,)))
    for law in Law:
        assert fit_constants(measured, law).sample_seconds == 0
    assert fit_constants(measured, Law.EXTENDED).predict(measured) == pytest.approx(
        measured.step_seconds, rel=1e-3
    )


def test_batches_of_tens_of_thousands():
    truth = replace(BERT_LIKE, sample_seconds=1e-6)
    measured = measure(truth, build_shapes(batches=(32, 1025, 32768)))
    assert fit_constants(measured, Law.EXTENDED).sample_seconds == pytest.approx(1e-6, rel=1e-3)


def test_workers_alone_tell_nothing_of_rings():
    with pytest.raises(InvalidValue, match="no measurement of two or more workers"):
        fit_constants(measure(BERT_LIKE, build_shapes([(1,)])), Law.PUBLISHED)


def test_one_placement_cannot_be_held_out():
    with pytest.raises(InvalidValue, match=r"one placement only \(22\)"):
        deal_placements(build_shapes([(2, 2)]), 5, 0)


def test_errors_are_relative_to_what_was_measured():
    measured = replace(build_shapes([(1,), (2,)], (1, 2)), step_seconds=np.array([1.0, 2.0, 4.0, 8.0]))
    fit = Fit(Law.PUBLISHED, BERT_LIKE, (), measured, np.array([1.1, 1.0, 4.0, 10.0]))
    assert fit.errors == pytest.approx([0.1, 0.5, 0, 0.25])
    assert fit.median_error == pytest.approx(0.175)
    assert fit.tail_error == pytest.approx(0.25 + 0.7 * 0.25)


def test_named_placements_are_held_out_alone():
    measured = measure(BERT_LIKE)
    part_of = name_part(measured, ["44", "1"])
    assert set(measured.placements[part_of == 0]) == {"1", "44"}
    fit = fit_held_out(measured, Law.EXTENDED, part_of)
    assert set(fit.measured.placements) == {"1", "44"}
    assert len(fit.parts) == 1
    assert fit.parts[0] == fit_constants(measured.where(part_of == -1), Law.EXTENDED)


@pytest.mark.parametrize(
    ("names", "said"),
    [(["4444"], "no such placement (nearest: '444')"), (["1", "2"], "names every placement")],
)
def test_placements_that_cannot_be_held_out(names, said):
    shapes = build_shapes() if len(names) == 1 else build_shapes([(1,), (2,)])
    with pytest.raises(BadOption) as caught:
        name_part(shapes, names)
    assert said in str(caught.value)


def test_a_profile_by_hand():
    """d = 100 MB = 0.8 Gb: 0.4 s are 0.8·(2/b + 1/8), so b = 2/(0.5 − 0.125); locally 0.2 s, b = 2/0.125."""
    constants = Constants(0.4, 0.2, 0.001, 0.002, 0.05, 0.5)
    profile = build_profile("x", Law.EXTENDED, constants, Conventions(100, 8, 16))
    timing = profile.timing
    assert profile.bandwidth_gbps == pytest.approx(16 / 3, rel=1e-6)
    assert timing.local_gbps == pytest.approx(16, rel=1e-6)
    assert (timing.gradient_mb, timing.reduce_gbps, timing.batch) == (100, 8, 16)
    assert (timing.forward_ms_per_sample, timing.backward_ms, timing.overhead_ms) == (2, 50, 0)
    assert (timing.hop_ms, timing.overlap) == (1, 0.5)
    assert build_profile("x", Law.PUBLISHED, constants, Conventions(100, 8, 16)).timing.local_gbps is None


def test_a_reduction_slower_than_the_whole_is_refused():
    with pytest.raises(BadOption, match="--reduce-gbps 1: to reduce 100 MB alone would take 800 ms"):
        build_profile("x", Law.EXTENDED, Constants(0.4, 0.2, 0, 0.002, 0.05, 0), Conventions(100, 1, 16))


def test_communication_that_takes_no_time_has_the_largest_bandwidth():
    profile = build_profile("x", Law.EXTENDED, Constants(0.4, 0, 0, 0.002, 0.05, 0), Conventions())
    assert profile.timing.local_gbps == 1e6
