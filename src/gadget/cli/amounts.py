"""Amounts as people type them: spans of time, samples, ranges."""

import math
import re

from gadget.errors import BadOption

_UNITS = {"": 1.0, "s": 1.0, "m": 60.0, "min": 60.0, "h": 3600.0, "d": 86_400.0, "w": 604_800.0}
_SPAN = re.compile(r"(\d+(?:\.\d+)?)(min|[smhdw]?)")
_LONGEST = 1e12


def read_span(option: str, text: str) -> float:
    """Seconds of a span such as 90, 90s, 15m, 6h, 2d or 1d12h."""
    found = _SPAN.findall(text)
    if not found or "".join(number + unit for number, unit in found) != text or len(text) > 40:
        raise BadOption(f"{option} {text}: is no span of time. Write 90, 15m, 6h, 2d or 1d12h, say.")
    if len(found) > 1 and any(not unit for _, unit in found):
        raise BadOption(f"{option} {text}: a part has no unit. Write 1d12h, say.")
    seconds = sum(float(number) * _UNITS[unit] for number, unit in found)
    if seconds > _LONGEST:
        raise BadOption(f"{option} {text}: is longer than any trace. Write 2d, say.")
    return seconds


def read_sample(text: str) -> float:
    """A number of jobs (1 or more), or a share of them below 1: 500, 10% or 0.1."""
    try:
        share = float(text.removesuffix("%")) / 100 if text.endswith("%") else float(text)
    except ValueError:
        share = math.nan
    whole = "%" not in text and "." not in text
    if not share > 0 or (not whole and share > 1) or math.isinf(share):
        raise BadOption(f"--sample {text}: is no number of jobs, nor a share. Write 500, 10% or 0.1, say.")
    # All of them, however it is said; as a number it would be one job.
    return math.inf if not whole and share == 1 else share


def read_range(option: str, text: str) -> tuple[float, float]:
    """A number, or two joined by a colon."""
    try:
        low, high = (float(part) for part in (text.split(":") if ":" in text else (text, text)))
    except ValueError:
        raise BadOption(f"{option} {text}: is no number, nor a range. Write 2.5 or 0.1:5, say.") from None
    if not 0 <= low <= high < 1e15:
        raise BadOption(f"{option} {text}: goes from 0 or more up. Write 2.5 or 0.1:5, say.")
    return low, high
