"""What counts as a sensible number."""

import math

import numpy as np
import pytest

from gadget import InvalidValue
from gadget.model.quantity import (
    LARGEST,
    SMALLEST,
    check_at_least_zero,
    check_number,
    check_positive,
    check_whole,
)

CHECKS = (check_number, check_at_least_zero, check_positive)


@pytest.mark.parametrize("check", CHECKS)
@pytest.mark.parametrize("number", [1, 0.5, SMALLEST, LARGEST, 10**15, np.float64(2.5)], ids=repr)
def test_sensible_numbers_pass_everywhere(check, number):
    check("key", number)


@pytest.mark.parametrize("zero", [0, 0.0, -0.0])
def test_zero_passes_where_it_may(zero):
    check_number("key", zero)
    check_at_least_zero("key", zero)
    with pytest.raises(InvalidValue, match=r"^key is -?0, not above 0\. Give a number above 0\.$"):
        check_positive("key", zero)


def test_below_zero():
    check_number("key", -3)
    with pytest.raises(InvalidValue, match=r"^key is -3, below 0\. Give 0 or more\.$"):
        check_at_least_zero("key", -3)
    with pytest.raises(InvalidValue, match=r"^key is -3, not above 0\. Give a number above 0\.$"):
        check_positive("key", -3)


@pytest.mark.parametrize("check", CHECKS)
@pytest.mark.parametrize(
    ("number", "problem", "mend"),
    [
        (math.nan, "is nan, not a finite number", "Give a finite number"),
        (math.inf, "is inf, not a finite number", "Give a finite number"),
        (-math.inf, "is -inf, not a finite number", "Give a finite number"),
        (1.1e15, "is 1.1e+15, larger than 1e+15", "Choose a larger unit"),
        (-1.1e15, "is -1.1e+15, larger than 1e+15", "Choose a larger unit"),
        (10**16, "is 1e+16, larger than 1e+15", "Choose a larger unit"),
        (9e-13, "is 9e-13, smaller than 1e-12", "Choose a smaller unit, or 0"),
        (-5e-324, "is -4.94066e-324, smaller than 1e-12", "Choose a smaller unit, or 0"),
        (True, "is True, not a number", "Give a number"),
        (False, "is False, not a number", "Give a number"),
        ("1", "is '1', not a number", "Give a number"),
        (None, "is None, not a number", "Give a number"),
        (1j, "is 1j, not a number", "Give a number"),
    ],
    ids=ascii,
)
def test_what_is_no_sensible_number(check, number, problem, mend):
    with pytest.raises(InvalidValue) as caught:
        check("key", number)
    assert (caught.value.key, caught.value.problem, caught.value.mend) == ("key", problem, mend)


def test_whole_numbers_in_their_range():
    for number in (2, 3, 5):
        check_whole("key", number, 2, 5)


@pytest.mark.parametrize("number", [1, 6, -3, 10**30])
def test_whole_numbers_outside(number):
    with pytest.raises(InvalidValue) as caught:
        check_whole("key", number, 2, 5)
    assert str(caught.value) == f"key is {number}, outside 2 … 5. Give a number in that range."


@pytest.mark.parametrize("number", [3.0, True, "3", None, math.nan, np.int64(3)], ids=repr)
def test_what_is_no_whole_number(number):
    with pytest.raises(InvalidValue) as caught:
        check_whole("key", number, 2, 5)
    assert caught.value.problem == f"is {number!r}, not a whole number"
