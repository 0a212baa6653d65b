"""Spans of time as people say them."""

_UNITS = (("d", 86_400.0), ("h", 3600.0), ("min", 60.0))


def say_span(seconds: float) -> str:
    """A span in its largest unit: 3.2 d, 14 h, 2.5 min, 7 s."""
    for name, size in _UNITS:
        if seconds >= size:
            return f"{_digits(seconds / size)} {name}"
    return f"{_digits(seconds)} s"


def _digits(number: float) -> str:
    return f"{number:,.0f}" if number >= 100 or number == int(number) else f"{number:.3g}"
