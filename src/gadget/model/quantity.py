"""What counts as a sensible number, so that no arithmetic further on can overflow.

Every quantity is 0 or between SMALLEST and LARGEST in size. With that, products of a few of them
(rate × worker-slots × scale, squared for energy) stay far inside what a float can hold.
"""

import math

from gadget.errors import InvalidValue

SMALLEST = 1e-12
LARGEST = 1e15
MOST_WORKERS = 100_000
MOST_SLOTS = 10_000_000

# Sums of decimal fractions miss their limit by rounding: 0.1 + 0.2 GPUs fit in 0.3.
# Limits are compared with this relative slack, everywhere.
TOLERANCE = 1e-9

_NUMBERS = frozenset((int, float))


def check_number(key: str, number: float) -> None:
    """Raise InvalidValue unless `number` is finite and of a sensible size, of either sign."""
    if isinstance(number, bool) or not isinstance(number, int | float):
        raise InvalidValue(key, f"is {number!r}, not a number", "Give a number")
    if isinstance(number, int) and abs(number) > 10**300:  # no float can show it
        digits = round(number.bit_length() * math.log10(2))
        raise InvalidValue(
            key, f"has some {digits} digits, more than {LARGEST:g} has", "Choose a larger unit"
        )
    if not math.isfinite(number):
        raise InvalidValue(key, f"is {number}, not a finite number", "Give a finite number")
    if abs(number) > LARGEST:
        raise InvalidValue(key, f"is {number:g}, larger than {LARGEST:g}", "Choose a larger unit")
    if 0 < abs(number) < SMALLEST:
        raise InvalidValue(key, f"is {number:g}, smaller than {SMALLEST:g}", "Choose a smaller unit, or 0")


def check_at_least_zero(key: str, number: float) -> None:
    """Raise InvalidValue unless `number` is a sensible number ≥ 0."""
    if type(number) in _NUMBERS and (SMALLEST <= number <= LARGEST or number == 0):
        return  # the usual case, kept short: a large file has a hundred thousand of these
    check_number(key, number)
    if number < 0:
        raise InvalidValue(key, f"is {number:g}, below 0", "Give 0 or more")


def check_positive(key: str, number: float) -> None:
    """Raise InvalidValue unless `number` is a sensible number > 0."""
    if type(number) in _NUMBERS and SMALLEST <= number <= LARGEST:
        return
    check_number(key, number)
    if number <= 0:
        raise InvalidValue(key, f"is {number:g}, not above 0", "Give a number above 0")


def check_whole(key: str, number: int, least: int, most: int) -> None:
    """Raise InvalidValue unless `number` is a whole number from `least` to `most`."""
    if type(number) is not int:
        raise InvalidValue(key, f"is {number!r}, not a whole number", "Give a whole number")
    if not least <= number <= most:
        raise InvalidValue(key, f"is {number}, outside {least} … {most}", "Give a number in that range")
