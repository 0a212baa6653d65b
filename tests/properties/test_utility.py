"""Laws of the utilities: their flags are right both ways, their gains exact, their majorants least."""

import math
from decimal import Decimal, localcontext
from fractions import Fraction
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from gadget import Energy, Linear, Log, Sigmoid, Sqrt, Table, find_majorant, majorant_gains
from tests.strategies import at_least_zero, utilities

# Where the logistic curve bends up the most: σ″ peaks at −log(2 + √3).
PEAK = math.log(2 + math.sqrt(3))

scales = st.floats(0.01, 100)
weights = st.floats(0.01, 10)
sigmoids = st.builds(Sigmoid, st.floats(1, 100), st.floats(0.01, 2), st.floats(1, 3000))
heights = st.lists(st.integers(-1000, 1000), min_size=1, max_size=25)


@st.composite
def integer_tables(draw):
    works = sorted(draw(st.sets(st.integers(0, 12), min_size=1, max_size=6)))
    return Table(tuple((work, draw(st.integers(-10, 10))) for work in works))


@st.composite
def concave_tables(draw):
    """Slopes that fall from point to point and end at 0 or above."""
    slopes = sorted(draw(st.lists(st.integers(0, 20), max_size=5)), reverse=True)
    steps = [draw(st.integers(1, 4)) for _ in slopes]
    points = [(0, draw(st.integers(-10, 10)))]
    for slope, step in zip(slopes, steps, strict=True):
        points.append((points[-1][0] + step, points[-1][1] + slope * step))
    return Table(tuple(points))


moderate = st.one_of(
    st.builds(Sqrt, scales), st.builds(Log, scales), st.builds(Linear, scales), sigmoids, integer_tables()
)
moderate |= st.builds(Energy, st.none() | moderate, weights, weights, weights, weights)


# ---- the least concave majorant


def highest_chord(values, at):
    """The least concave sequence ≥ values, at one place: the highest chord over it, in exact numbers."""
    return max(
        Fraction(values[left])
        + (
            Fraction(values[right] - values[left], right - left) * (at - left)
            if right > left
            else Fraction(0)
        )
        for left in range(at + 1)
        for right in range(at, len(values))
    )


@given(heights)
def test_majorant_is_the_least(values):
    found = find_majorant(values)
    assert len(found) == len(values)
    for at, height in enumerate(found):
        assert height == pytest.approx(float(highest_chord(values, at)), rel=1e-12, abs=1e-9)


@given(st.lists(st.floats(-1e6, 1e6), min_size=1, max_size=60))
def test_majorant_is_concave_and_above_and_touches_both_ends(values):
    found = find_majorant(values)
    assert np.all(found >= values)
    assert (found[0], found[-1]) == (values[0], values[-1])
    assert np.all(np.diff(found, 2) <= 1e-9 * max(1, np.abs(values).max()))


@given(st.integers(1, 99), st.integers(2, 60))
def test_majorant_of_a_straight_line_is_not_below_it(hundredths, count):
    """Each point is rounded on its own, so a line drawn from end to end misses some of them."""
    values = [place * hundredths / 100 for place in range(count)]
    assert np.all(find_majorant(values) >= values)


@given(st.lists(st.floats(-1e6, 1e6), min_size=1, max_size=40), st.integers(0, 50))
def test_majorant_of_the_first_points_sees_all_points(values, upto):
    assert np.array_equal(find_majorant(values, upto), find_majorant(values)[: upto + 1])


@given(concave_tables(), st.integers(0, 5), st.integers(1, 3))
def test_majorant_of_what_is_concave_is_itself(table, start, rate):
    values = table.value(start + rate * np.arange(12))
    assert np.allclose(find_majorant(values), values, rtol=0, atol=1e-9)


@given(sigmoids, st.floats(0, 4000), st.floats(1, 500), st.integers(1, 20), st.integers(0, 30))
def test_majorant_gains_of_a_sigmoid(utility, start, rate, reachable, upto):
    """The least concave gains over all reachable worker-slots, however few are asked for."""
    true = utility.gain(start, start + rate * np.arange(reachable + 1))
    found = majorant_gains(utility, start, rate, reachable, upto)
    assert len(found) == min(upto, reachable) + 1
    assert found[0] == 0
    exact = [Fraction(float(gain)) for gain in true]
    for at, gain in enumerate(found):
        assert gain >= true[at]
        assert gain == pytest.approx(float(highest_chord(exact, at)), rel=1e-9, abs=1e-12)


@given(st.builds(Sqrt, scales) | st.builds(Log, scales), st.floats(0, 1e4), st.floats(0.1, 500))
def test_majorant_gains_of_what_is_concave_are_its_own(utility, start, rate):
    own = utility.gain(start, start + rate * np.arange(10))
    assert np.array_equal(majorant_gains(utility, start, rate, reachable=20, upto=9), own)
    assert np.array_equal(majorant_gains(utility, start, rate, reachable=4, upto=9), own[:5])


# ---- flags


def second_differences(utility, centre, steps):
    """μ(x+h) − 2μ(x) + μ(x−h) for each h, from gains, at a centre with room on both sides."""
    return [
        float(utility.gain(centre, centre + step)) + float(utility.gain(centre, centre - step))
        for step in steps
        if step <= centre
    ]


def exact_table(table, work):
    """The table's value in exact numbers, by the two points around."""
    points = table.points
    if work <= points[0][0]:
        return Fraction(points[0][1])
    for (before, low), (after, high) in pairwise(points):
        if work <= after:
            return low + Fraction(high - low, after - before) * (work - before)
    return Fraction(points[-1][1])


@given(integer_tables() | concave_tables())
def test_flags_of_a_table(table):
    """Corners stand at whole numbers, so the whole numbers see every slope and every bend."""
    values = [exact_table(table, work) for work in range(int(table.points[-1][0]) + 3)]
    rises = np.diff(values)
    assert table.non_decreasing == all(rises >= 0)
    assert table.concave == all(np.diff(rises) <= 0)
    assert table.admits_guarantee == (table.concave and table.non_decreasing)


@given(st.builds(Sqrt, scales) | st.builds(Log, scales) | st.builds(Linear, scales), st.floats(0.01, 1e6))
def test_flags_of_what_admits_the_guarantee(utility, centre):
    assert utility.admits_guarantee
    assert float(utility.gain(centre, 2 * centre)) > 0
    for bend in second_differences(utility, centre, (centre, centre / 3, centre / 100)):
        assert bend <= 1e-12 * float(utility.value(2 * centre))


@given(st.floats(0, 100), st.floats(1e-2, 10), st.floats(0, 3000))
def test_flags_of_a_sigmoid(priority, sensitivity, target):
    """It bends up on all of 0 … target, so it is concave only where there is no such stretch."""
    assume(target == 0 or target * sensitivity > 1e-3)
    assume(priority == 0 or priority > 1e-3)
    utility = Sigmoid(priority, sensitivity, target)
    assert utility.non_decreasing
    assert float(utility.gain(target / 2, 2 * target + 1)) >= 0
    bends_up = any(bend > 0 for bend in second_differences(utility, target / 2, (target / 2, target / 4)))
    assert utility.concave == (not bends_up)
    assert utility.admits_guarantee == (not bends_up)
    # Right of the target it never bends up.
    for bend in second_differences(utility, target + 3 / sensitivity, (1 / sensitivity, 3 / sensitivity)):
        assert bend <= 1e-12 * priority


def steepest_bend(utility):
    """max σ″ over work ≥ 0, by σ″(u) = −tanh(u/2)·sech²(u/2)/4, and where it is."""
    place = max(0.0, utility.target - PEAK / utility.sensitivity)
    half = utility.sensitivity * (place - utility.target) / 2
    return utility.priority * utility.sensitivity**2 * -math.tanh(half) / math.cosh(half) ** 2 / 4, place


@given(
    st.builds(Sigmoid, st.floats(1, 100), st.floats(0.01, 2), st.floats(5, 3000)),
    st.sampled_from((0, 0.5, 0.99, 1.01, 2)),
    weights,
    weights,
)
def test_a_convex_cost_makes_a_sigmoid_concave_when_it_bends_more(progress, share, weight, per_work):
    assume(progress.target * progress.sensitivity > 0.5)
    bend, place = steepest_bend(progress)
    utility = Energy(progress, weight, per_work, quadratic=share * bend / (2 * weight * per_work**2))
    step = 0.001 * min(1 / progress.sensitivity, progress.target)
    seen = second_differences(utility, place + step, (step,))[0]
    assert utility.concave == (share > 1)
    assert (seen > 0) == (share < 1)
    assert utility.non_decreasing == (share == 0)


FAR = [10.0**power for power in range(-6, 19)]


@given(
    st.none()
    | st.builds(Sqrt, scales)
    | st.builds(Log, scales)
    | st.builds(Linear, scales)
    | sigmoids
    | concave_tables(),
    weights,
    weights,
    st.just(0.0) | weights,
    st.just(0.0) | weights,
)
def test_energy_falls_somewhere_unless_it_is_said_not_to(progress, weight, per_work, quadratic, linear):
    utility = Energy(progress, weight, per_work, quadratic, linear)
    if isinstance(progress, Linear) and not quadratic:
        cost = weight * per_work * linear
        assume(abs(progress.scale - cost) > 1e-6 * cost)
    falls = any(float(utility.gain(start, 2 * start)) < 0 for start in FAR)
    assert utility.non_decreasing == (not falls)


@given(
    st.builds(Sqrt, scales) | st.builds(Log, scales) | st.builds(Linear, scales), weights, weights, weights
)
def test_energy_of_a_concave_progress_is_concave(progress, weight, quadratic, linear):
    utility = Energy(progress, weight, 1, quadratic, linear)
    assert utility.concave
    for centre in (0.5, 20.0, 3e3):
        for bend in second_differences(utility, centre, (centre, centre / 2)):
            assert bend <= 1e-9 * abs(float(utility.value(2 * centre)))


@given(sigmoids | integer_tables(), st.floats(0, 5000))
def test_energy_is_progress_less_its_cost(progress, work):
    cost = 2 * (5 * (0.5 * work) ** 2 + 7 * (0.5 * work))
    value = float(Energy(progress, weight=2, energy_per_work=0.5, quadratic=5, linear=7).value(work))
    assert value == pytest.approx(float(progress.value(work)) - cost, rel=1e-12, abs=1e-9)


def test_energy_alone_is_best_left_undone():
    """The paper's literal μ = −c: concave, decreasing, 0 at rest."""
    utility = Energy()
    assert utility.concave
    assert not utility.non_decreasing
    assert list(utility.value([0, 1, 3])) == [0, -1, -9]
    free = Energy(Sqrt(2), weight=0)
    assert free.admits_guarantee
    assert list(free.value([0, 4, 9])) == [0, 4, 6]


@given(integer_tables())
def test_energy_of_a_table_that_bends_up_is_never_concave(table):
    """A kink upwards has no finite curvature that a cost could outweigh."""
    assert Energy(table, weight=1e6, quadratic=1e6).concave == table.concave


# ---- gains


@given(moderate, st.floats(0, 5000), st.floats(0, 5000), st.floats(0, 5000))
def test_gains_are_differences_and_add_up(utility, a, b, c):
    value = {work: float(utility.value(work)) for work in (a, b, c)}
    # Energy takes the difference of two larger numbers; its cost tells how large.
    size = max(1.0, *map(abs, value.values()))
    if isinstance(utility, Energy):
        size += 2 * max(abs(float(Energy(None, *_cost(utility)).value(work))) for work in value)
    ab, bc, ac = (float(utility.gain(*pair)) for pair in ((a, b), (b, c), (a, c)))
    assert ab == pytest.approx(value[b] - value[a], abs=1e-9 * size)
    assert ab + bc == pytest.approx(ac, abs=1e-9 * size)
    assert float(utility.gain(b, a)) == pytest.approx(-ab, rel=1e-9, abs=1e-12 * size)
    assert float(utility.gain(a, a)) == 0


def _cost(energy):
    return energy.weight, energy.energy_per_work, energy.quadratic, energy.linear


@given(moderate, st.floats(0, 5000), st.lists(st.floats(0, 5000), max_size=5))
def test_many_at_once_are_each_alone(utility, start, ends):
    assert list(utility.value(ends)) == [float(utility.value(end)) for end in ends]
    assert list(utility.gain(start, ends)) == [float(utility.gain(start, end)) for end in ends]


@given(utilities(wild=True), at_least_zero(wild=True), at_least_zero(wild=True))
def test_nothing_overflows_however_extreme(utility, start, more):
    """All sizes that a file may hold, and work far beyond: finite, and silent but for underflow to 0."""
    with np.errstate(all="raise", under="ignore"):
        for work in (start, start * 1e15, start * 1e30):
            found = [utility.value(work), utility.gain(work, [work, work + more])]
            assert all(np.all(np.isfinite(numbers)) for numbers in found)


@given(utilities(wild=True))
def test_flags_of_any_utility_agree_with_each_other(utility):
    with np.errstate(all="raise", under="ignore"):
        assert utility.admits_guarantee == (utility.concave and utility.non_decreasing)
        assert not math.isnan(utility.greatest_curvature)
        assert not math.isnan(utility.least_slope)


def exact_sigmoid_gain(utility, start, end):
    with localcontext(prec=400):
        priority, sensitivity, target, a, b = map(
            Decimal, (utility.priority, utility.sensitivity, utility.target, start, end)
        )
        ups = [1 / (1 + (-sensitivity * (work - target)).exp()) for work in (a, b)]
        return float(priority * (ups[1] - ups[0]))


@pytest.mark.parametrize("sensitivity", [0.01, 0.3, 0.999])
@pytest.mark.parametrize("rate", [50.0, 499.5])
@pytest.mark.parametrize("where", [-650.0, -40.0, -1.0, 0.0, 0.5, 37.0, 300.0, 650.0])
def test_tiny_gains_of_a_sigmoid_are_positive_and_exact(sensitivity, rate, where):
    """Far above the target both values round to the priority and far below to 0; the gain must not."""
    utility = Sigmoid(77.0, sensitivity, 1e5)
    start = 1e5 + where / sensitivity
    gain = float(utility.gain(start, start + rate))
    assert gain > 0
    # The exponent itself, some hundreds, is rounded to 16 digits: that much of the gain is uncertain.
    assert gain == pytest.approx(exact_sigmoid_gain(utility, start, start + rate), rel=1e-12, abs=0)


@pytest.mark.parametrize("start", [0.0, 1.0, 1e6, 1e12])
@pytest.mark.parametrize("more", [1e-3, 1.0, 250.0])
def test_gains_of_small_steps_are_exact(start, more):
    end = start + more
    with localcontext(prec=60):
        a, b = Decimal(start), Decimal(end)
        root = float(b.sqrt() - a.sqrt())
        log = float((1 + b).ln() - (1 + a).ln())
        # 2·(5e² + 7e) with e = 0.5·work
        cost = float(2 * (5 * (b * b - a * a) / 4 + 7 * (b - a) / 2))
    assert float(Sqrt(3).gain(start, end)) == pytest.approx(3 * root, rel=1e-13, abs=0)
    assert float(Log(3).gain(start, end)) == pytest.approx(3 * log, rel=1e-13, abs=0)
    assert float(Linear(3).gain(start, end)) == 3 * (end - start)
    assert float(Energy(None, 2, 0.5, 5, 7).gain(start, end)) == pytest.approx(-cost, rel=1e-13, abs=0)


@pytest.mark.parametrize("sensitivity", [1e-12, 1.0, 1e15])
def test_a_sigmoid_at_its_ends(sensitivity):
    utility = Sigmoid(1e15, sensitivity, 1e15)
    with np.errstate(all="raise", under="ignore"):
        low, half, high = utility.value([0.0, 1e15, 1e40])
    assert 0 <= low < half < high
    assert half == 5e14
    assert high == 1e15
    assert low == pytest.approx(1e15 / (1 + math.exp(min(700, sensitivity * 1e15))), abs=1e-280)
