"""Columns of text to numbers, words and moments, all of a piece at once."""

import re
from collections.abc import Callable, Mapping, Sequence
from enum import Enum
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gadget.workloads.traces.trace import Floats, Integers, Labels, Texts

LONGEST_WORD = 200
LONGEST_WHOLE = 18
"""Digits of a whole number that 64 bits hold for certain."""

_MISSING = frozenset(("", "nan", "none", "null", "n/a", "unknown"))
_MOMENT = re.compile(r"\d{4}-\d\d-\d\d[ T]\d\d:\d\d:\d\d", re.ASCII)

Odd = NDArray[np.bool_] | None
"""Which texts could not be converted; None: all could."""


class Kind(Enum):
    """What a column holds."""

    NUMBER = "number"
    MAYBE_NUMBER = "number, or nothing"
    WHOLE = "whole number of any length"
    TEXT = "text"
    LABEL = "one of a few words"
    MOMENT = "moment as in 2017-10-09 07:01:55, in seconds from 1970 on"
    MAYBE_MOMENT = "moment, or nothing"


def convert(kind: Kind, texts: Sequence[str]) -> tuple[Any, Odd]:
    """The values of a column's texts, and which of the texts are none."""
    return _CONVERTERS[kind](texts)


def to_labels(words: Sequence[str]) -> Labels:
    """Words as labels."""
    known: dict[str, int] = {}
    codes = np.array([known.setdefault(word, len(known)) for word in words], dtype=np.int32)
    return Labels(codes, tuple(known))


def to_names(words: Sequence[str]) -> Texts:
    """Words as a column of text."""
    return np.array(words, dtype=np.dtypes.StringDType())


def to_moment(text: str | None) -> float:
    """Seconds from 1970 on; NaN for what is no moment."""
    try:
        if text is None or not _MOMENT.fullmatch(text):
            return np.nan
        return float(np.datetime64(text, "s").astype(np.int64))
    except ValueError:
        return np.nan


def explain_odd(name: str, kind: Kind, text: str) -> str:
    """Why a text is no value of its column."""
    if kind in (Kind.TEXT, Kind.LABEL):
        if len(text) > LONGEST_WORD:
            return f"{name} has {len(text):,} characters, more than {LONGEST_WORD}"
        odd = "is missing" if not text else "holds bytes that are no printable UTF-8 text"
        return f"{name} {odd}"
    shown = text if len(text) <= 40 else f"{text[:37]}…"
    if not shown.strip():
        return f"{name} is missing"
    what = "no moment such as 2017-10-09 07:01:55" if "moment" in kind.value else f"no {kind.value}"
    return f"{name} is {shown!r}, {what}"


def _numbers(texts: Sequence[str]) -> tuple[Floats, Odd]:
    try:
        values = np.array(list(map(float, texts)), dtype=np.float64)
    except (ValueError, OverflowError):
        values = np.array([_number(text) for text in texts], dtype=np.float64)
    odd = ~np.isfinite(values)
    return values, odd if odd.any() else None


def _maybe_numbers(texts: Sequence[str]) -> tuple[Floats, Odd]:
    values, odd = _numbers([text or "nan" for text in texts])
    if odd is None:
        return values, None
    told = np.array([texts[row].strip().lower() not in _MISSING for row in np.flatnonzero(odd).tolist()])
    wrong = np.zeros(len(texts), dtype=bool)
    wrong[np.flatnonzero(odd)[told]] = True
    return np.where(odd, np.nan, values), wrong


def _number(text: str) -> float:
    try:
        return float(text)
    except (ValueError, OverflowError):
        return np.nan


def _wholes(texts: Sequence[str]) -> tuple[Integers, Odd]:
    odd = np.array([not (text.isdecimal() and len(text) <= LONGEST_WHOLE) for text in texts], dtype=bool)
    if not odd.any():
        return np.array(list(map(int, texts)), dtype=np.int64), None
    return np.array([0 if bad else int(text) for text, bad in zip(texts, odd, strict=True)]), odd


def _words(texts: Sequence[str]) -> tuple[Sequence[str], Odd]:
    if not texts or (max(map(len, texts)) <= LONGEST_WORD and "".join(texts).isprintable()):
        return texts, None
    return texts, np.array([len(text) > LONGEST_WORD or not text.isprintable() for text in texts])


def _names(texts: Sequence[str]) -> tuple[Sequence[str], Odd]:
    _, odd = _words(texts)
    empty = np.array([not text for text in texts], dtype=bool)
    return texts, empty if odd is None else odd | empty


def _moments(texts: Sequence[str]) -> tuple[Floats, Odd]:
    try:
        if all(map(_MOMENT.fullmatch, texts)):
            return np.array(texts, dtype="datetime64[s]").astype(np.float64), None
    except ValueError:
        pass
    values = np.array([to_moment(text) for text in texts], dtype=np.float64)
    return values, np.isnan(values)


def _maybe_moments(texts: Sequence[str]) -> tuple[Floats, Odd]:
    values, odd = _moments(texts)
    if odd is not None:
        odd &= np.array([text.strip().lower() not in _MISSING for text in texts])
    return values, odd


_CONVERTERS: Mapping[Kind, Callable[[Sequence[str]], tuple[Any, Odd]]] = {
    Kind.NUMBER: _numbers,
    Kind.MAYBE_NUMBER: _maybe_numbers,
    Kind.WHOLE: _wholes,
    Kind.TEXT: _names,
    Kind.LABEL: _words,
    Kind.MOMENT: _moments,
    Kind.MAYBE_MOMENT: _maybe_moments,
}
DTYPES: Mapping[Kind, Any] = {
    Kind.NUMBER: np.float64,
    Kind.MAYBE_NUMBER: np.float64,
    Kind.WHOLE: np.int64,
    Kind.TEXT: np.dtypes.StringDType(),
    Kind.LABEL: np.int32,
    Kind.MOMENT: np.float64,
    Kind.MAYBE_MOMENT: np.float64,
}
