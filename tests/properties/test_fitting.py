"""A law that made the measurements is found again, whatever its constants and units."""

from dataclasses import astuple, replace

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from gadget.solve.fitting import Constants, Law, fit_constants
from gadget.solve.held_out import deal_placements, fit_held_out
from gadget.solve.profiles import Conventions, build_profile
from tests.measuring import build_shapes, measure

published = st.builds(
    lambda sent, sample, fixed: Constants(sent, sent, 0.0, sample, fixed, 0.0),
    st.floats(0.05, 5),
    st.floats(0.0005, 0.05),
    st.floats(0.01, 1),
)
extended = st.builds(
    Constants,
    cross_seconds=st.floats(0.2, 5),
    local_seconds=st.floats(0.05, 5),
    hop_seconds=st.just(0.0) | st.floats(0.001, 0.02),
    sample_seconds=st.floats(0.0005, 0.02),
    fixed_seconds=st.floats(0.01, 0.5),
    overlap=st.just(0.0) | st.floats(0.05, 0.95),
)

# Other units that leave every digit as it is, so that nothing but the unit can make a difference.
powers_of_two = st.integers(-20, 20).map(lambda power: 2.0**power)


@settings(max_examples=40)
@given(published)
def test_eq_1_is_found_again(truth):
    found = fit_constants(measure(truth), Law.PUBLISHED)
    assert astuple(found) == pytest.approx(astuple(truth), rel=1e-5, abs=1e-7)


@settings(max_examples=40)
@given(extended)
def test_the_extension_is_found_again_where_all_communication_shows(truth):
    measured = measure(truth)
    together = measured.workers > 1
    computed = truth.sample_seconds * measured.batch + truth.fixed_seconds
    # Where some hides, only a part of the constants shows in the times: see the next law.
    assume(np.all(measured.step_seconds[together] > computed[together] * (1 + 1e-6)))
    found = fit_constants(measured, Law.EXTENDED)
    assert astuple(found) == pytest.approx(astuple(truth), rel=1e-3, abs=1e-5)


@settings(max_examples=40)
@given(extended)
def test_times_are_told_again_whatever_hides(truth):
    measured = measure(truth)
    predicted = fit_constants(measured, Law.EXTENDED).predict(measured)
    assert np.median(np.abs(predicted / measured.step_seconds - 1)) < 1e-3


@settings(max_examples=20)
@given(extended, powers_of_two, powers_of_two)
def test_units_change_nothing(truth, seconds, samples):
    measured = measure(truth, noise=0.05)
    scaled = replace(measured, step_seconds=measured.step_seconds * seconds, batch=measured.batch * samples)
    one, other = fit_constants(measured, Law.EXTENDED), fit_constants(scaled, Law.EXTENDED)
    assert other.predict(scaled) == pytest.approx(one.predict(measured) * seconds, rel=1e-9)


@settings(max_examples=20)
@given(extended, st.integers(0, 100), st.integers(2, 12), st.data())
def test_what_is_said_of_a_placement_does_not_depend_on_its_own_times(truth, seed, folds, data):
    """No leak: with the times of one part changed, the predictions of that part stay to the last bit."""
    measured = measure(truth, build_shapes(batches=(8, 32)), noise=0.1)
    part_of = deal_placements(measured, folds, seed)
    part = data.draw(st.integers(0, int(part_of.max())))
    spoilt = np.where(part_of == part, 7.0, 1.0) * measured.step_seconds
    law = data.draw(st.sampled_from(Law))
    before = fit_held_out(measured, law, part_of)
    after = fit_held_out(replace(measured, step_seconds=spoilt), law, part_of)
    assert np.array_equal(before.predicted[part_of == part], after.predicted[part_of == part])
    assert not np.array_equal(before.predicted, after.predicted)


@given(st.integers(0, 1000), st.integers(2, 60), st.permutations(range(34)))
def test_every_placement_is_in_one_part_and_parts_are_even(seed, folds, order):
    shapes = build_shapes(batches=(1, 2))
    part_of = deal_placements(shapes, folds, seed)
    parts = {name: set(part_of[shapes.placements == name].tolist()) for name in shapes.distinct_placements}
    assert all(len(found) == 1 for found in parts.values())
    counts = np.bincount([found.pop() for found in parts.values()])
    assert len(counts) == min(folds, len(shapes.distinct_placements))
    assert counts.max() - counts.min() <= 1
    # The order of the rows deals nobody another part.
    mixed = np.array([2 * place + row for place in order for row in (0, 1)])
    turned = shapes.where(mixed)
    assert np.array_equal(deal_placements(turned, folds, seed), part_of[mixed])


@given(extended, st.sampled_from(Law), st.floats(0.1, 1e4), st.floats(1e4, 1e6), st.integers(1, 512))
def test_a_profile_tells_what_its_constants_tell(constants, law, gradient_mb, reduce_gbps, batch):
    if law is Law.PUBLISHED:
        constants = replace(constants, local_seconds=constants.cross_seconds, hop_seconds=0.0, overlap=0.0)
    assume(gradient_mb * 8e-3 / reduce_gbps < 0.5 * min(constants.local_seconds, constants.cross_seconds))
    profile = build_profile("x", law, constants, Conventions(gradient_mb, reduce_gbps, batch))
    shapes = replace(build_shapes(batches=(batch,)))
    told = profile.timing.iteration_seconds_on(shapes.workers, profile.bandwidth_gbps, shapes.is_local)
    assert told == pytest.approx(constants.predict(shapes), rel=1e-5)
