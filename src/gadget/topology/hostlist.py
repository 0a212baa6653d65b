"""Slurm's hostlists: n[1-8,10] for n1 … n8 and n10, and back.

Ranges keep their leading zeros (n[08-10]), may stand in several places (rack[1-2]n[1-4], the last one turning
fastest), and may hold names themselves (n[1,2[3-4]]), which Slurm does not need and others write.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import product

from gadget.errors import InvalidValue

MOST_NAMES = 1_000_000
_RANGE = re.compile(r"([0-9]+)-([0-9]+)")
_NUMBERED = re.compile(r"(.*?)([0-9]{1,18})", re.DOTALL)
_SPECIAL = re.compile(r"[\[\],=#\"\\\s]")


def expand_hostlist(text: str) -> list[str]:
    """The names that a hostlist stands for, in its order; InvalidValue says what is wrong with it."""
    names: list[str] = []
    for item in _split(text, text):
        for name in _expand_item(item, text):
            if len(names) >= MOST_NAMES:
                raise _complain(text, f"stands for more than {MOST_NAMES:,} names", "Shorten its ranges")
            names.append(name)
    return names


def fold_hostlist(names: Iterable[str]) -> str:
    """The shortest hostlist with ranges at the ends of names that stands for these names in this order."""
    folded: list[str] = []
    for stem, numbers in _group(names):
        if not numbers:
            folded.append(stem)
            continue
        ranges = list(_runs(numbers))
        single = len(ranges) == 1 and "-" not in ranges[0]
        folded.append(f"{stem}{ranges[0]}" if single else f"{stem}[{','.join(ranges)}]")
    return ",".join(folded)


def _split(text: str, whole: str) -> Iterator[str]:
    """The parts between commas that stand in no brackets."""
    depth, start = 0, 0
    for place, letter in enumerate(text):
        depth += (letter == "[") - (letter == "]")
        if depth < 0:
            raise _complain(whole, "closes a bracket that is not open", "Remove the ']' or add a '['")
        if letter == "," and not depth:
            yield _check_part(text[start:place], whole)
            start = place + 1
    if depth:
        raise _complain(whole, "leaves a bracket open", "Add the missing ']'")
    yield _check_part(text[start:], whole)


def _check_part(part: str, whole: str) -> str:
    part = part.strip()
    if not part:
        raise _complain(whole, "has nothing between two commas, or at an end", "Leave out the comma")
    return part


def _expand_item(item: str, whole: str) -> Iterator[str]:
    """The names of one item: fixed text and brackets in turn."""
    choices: list[Sequence[str]] = []
    count, start = 1, 0
    while (opening := item.find("[", start)) >= 0:
        closing = _find_closing(item, opening)
        choices.append((item[start:opening],))
        inside = [
            name for part in _split(item[opening + 1 : closing], whole) for name in _numbers(part, whole)
        ]
        count *= len(inside)
        if count > MOST_NAMES:
            raise _complain(whole, f"stands for more than {MOST_NAMES:,} names", "Shorten its ranges")
        choices.append(inside)
        start = closing + 1
    choices.append((item[start:],))
    return map("".join, product(*choices))


def _find_closing(item: str, opening: int) -> int:
    depth = 0
    for place in range(opening, len(item)):
        depth += (item[place] == "[") - (item[place] == "]")
        if not depth:
            return place
    raise _complain(item, "leaves a bracket open", "Add the missing ']'")


def _numbers(part: str, whole: str) -> Iterable[str]:
    """What one part between the commas of a bracket stands for."""
    if "[" in part:
        return _expand_item(part, whole)
    if found := _RANGE.fullmatch(part):
        first, last = int(found[1][:18]), int(found[2][:18])
        if len(found[1]) > 18 or len(found[2]) > 18 or last - first >= MOST_NAMES:
            raise _complain(whole, f"stands for more than {MOST_NAMES:,} names", "Shorten its ranges")
        if last < first:
            raise _complain(
                whole, f"has the range {part}, which runs backwards", "Put the smaller number first"
            )
        return [f"{number:0{len(found[1])}d}" for number in range(first, last + 1)]
    if not part.isascii() or not part.isdigit():
        raise _complain(whole, f"has {part!r} in brackets", "Write numbers and ranges there, as in [1-8,10]")
    return (part,)


def _complain(whole: str, problem: str, mend: str) -> InvalidValue:
    shown = whole if len(whole) <= 60 else f"{whole[:57]}…"
    return InvalidValue("", f"the hostlist {shown!r} {problem}", mend)


def _group(names: Iterable[str]) -> Iterator[tuple[str, list[str]]]:
    """Runs of names that differ in their last number alone: what is before it, and the numbers."""
    stem: str | None = None
    numbers: list[str] = []
    for name in names:
        if _SPECIAL.search(name) or not name:
            raise InvalidValue(
                "", f"the name {name!r} cannot stand in a hostlist", "Use letters, digits, '-', '_' and '.'"
            )
        found = _NUMBERED.fullmatch(name)
        if found and found[1] == stem:
            numbers.append(found[2])
            continue
        if stem is not None:
            yield stem, numbers
        stem, numbers = (found[1], [found[2]]) if found else (name, [])
        if not found:
            yield name, []
            stem = None
    if stem is not None:
        yield stem, numbers


def _runs(numbers: Sequence[str]) -> Iterator[str]:
    """Numbers as ranges, where each is the one before plus 1, written as wide."""
    start = last = numbers[0]
    for number in numbers[1:]:
        if number != f"{int(last) + 1:0{len(start)}d}":
            yield start if start == last else f"{start}-{last}"
            start = number
        last = number
    yield start if start == last else f"{start}-{last}"
