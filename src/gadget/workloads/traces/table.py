"""Tables of text as columns: converted piece by piece, bad rows counted, shown and left out."""

import csv
from bisect import insort
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gadget.errors import BadFile, printable
from gadget.workloads.traces.columns import DTYPES, Kind, convert, explain_odd
from gadget.workloads.traces.source import Part, Progress
from gadget.workloads.traces.trace import BadRow, BadRows, Floats, Integers, Labels

MOST_SHOWN = 5
MOST_ROWS = 50_000_000


@dataclass(slots=True)
class Reading:
    """What goes on while a trace is read: progress out, bad rows in."""

    strict: bool = False
    progress: Progress = lambda _: None
    count: int = 0
    ranks: dict[Part, int] = field(default_factory=dict)
    """In which order the files were named; others come after them, as they turn out to have bad rows."""
    _first: list[tuple[int, int, BadRow]] = field(default_factory=list)

    def refuse(self, part: Part, line: int, reason: str) -> None:
        """Count a bad row."""
        self.count += 1
        rank = self.ranks.setdefault(part, len(self.ranks))
        if len(self._first) < MOST_SHOWN or (rank, line) < self._first[-1][:2]:
            row = BadRow(str(part.path), line, printable(reason))
            insort(self._first, (rank, line, row), key=lambda one: one[:2])
            del self._first[MOST_SHOWN:]

    @property
    def bad(self) -> BadRows:
        """The rows refused so far; the first by file and line, whatever is wrong with them."""
        return BadRows(self.count, tuple(row for *_, row in self._first))

    def check(self) -> None:
        """Refuse the files for their first bad row, if reading is strict and all of them is read."""
        if self.strict and self.count:
            raise BadFile(f"{self.bad.first[0]}. Mend or remove the row, or read without --strict.")


@dataclass(frozen=True, eq=False)
class Table:
    """Columns by name, and for each row the part and the line that it came from."""

    parts: Sequence[Part]
    columns: Mapping[str, Any]
    part: NDArray[np.int32]
    line: Integers

    def __len__(self) -> int:
        return len(self.line)

    def __getitem__(self, name: str) -> Any:
        return self.columns[name]

    def get(self, name: str) -> Any:
        """A column, or None where the file has none of that name."""
        return self.columns.get(name)

    def floats(self, name: str) -> Floats:
        """A column of numbers; all NaN where the file has none of that name."""
        found = self.columns.get(name)
        return np.full(len(self), np.nan) if found is None else found

    def keep(self, rows: Any) -> "Table":
        """Only these rows."""
        columns = {name: values[rows] for name, values in self.columns.items()}
        return Table(self.parts, columns, self.part[rows], self.line[rows])

    def refuse(self, reading: Reading, odd: NDArray[np.bool_], tell: Callable[[int], str]) -> "Table":
        """The table without its odd rows, which are told as bad ones."""
        if not odd.any():
            return self
        for row in np.flatnonzero(odd):
            reading.refuse(self.parts[self.part[row]], int(self.line[row]), tell(int(row)))
        return self.keep(~odd)


def read_table(
    parts: Sequence[Part],
    wanted: Mapping[str, Kind],
    reading: Reading,
    *,
    optional: Mapping[str, Kind] | None = None,
    header: Sequence[str] | None = None,
    delimiter: str = ",",
) -> Table:
    """The wanted columns of all parts, one below the other.

    `header` names the columns of tables that have no line for that; where they have one it is skipped.
    Columns that are `optional` are read where every part has them.
    """
    kinds = {**(optional or {}), **wanted}
    headers = [_find_header(part, wanted, header, delimiter) for part in parts]
    kinds = {name: kind for name, kind in kinds.items() if all(name in found for found, _ in headers)}
    builder = _Builder(parts, kinds, reading)
    for number, (found, skipped) in enumerate(headers):
        builder.read(number, found, skipped, delimiter)
    return builder.build()


def _find_header(
    part: Part, wanted: Mapping[str, Kind], header: Sequence[str] | None, delimiter: str
) -> tuple[list[str], bool]:
    """The columns of a part, and whether its first line names them."""
    lines = part.head.lines
    first = [cell.strip().strip('"') for cell in lines[0].split(delimiter)] if lines else []
    if header is not None:
        return list(header), first == list(header)
    if missing := [name for name in wanted if name not in first]:
        raise BadFile(
            f"{part.path}: has no column {missing[0]!r}. Give a file whose header names {', '.join(wanted)}."
        )
    return first, True


class _Builder:
    """Columns as they grow, piece by piece."""

    def __init__(self, parts: Sequence[Part], kinds: Mapping[str, Kind], reading: Reading) -> None:
        self._parts, self._kinds, self._reading = parts, kinds, reading
        self._found: dict[str, list[Any]] = {name: [] for name in kinds}
        self._lines: list[Integers] = []
        self._part: list[NDArray[np.int32]] = []
        self._words: dict[str, dict[str, int]] = {
            name: {} for name, kind in kinds.items() if kind is Kind.LABEL
        }
        self._rows = 0

    def read(self, number: int, header: Sequence[str], skips_first: bool, delimiter: str) -> None:
        """Take in the rows of a part."""
        part = self._parts[number]
        for start, lines in part.lines(self._reading.progress):
            full = [place for place, line in enumerate(lines) if line and not line.isspace()]
            if skips_first and full:
                full, skips_first = full[1:], False
            self._rows += len(full)
            if self._rows > MOST_ROWS:
                raise BadFile(f"{part.path}: has more than {MOST_ROWS:,} rows. Give fewer files, or parts.")
            places = np.array(full, dtype=np.int64) + start
            cells, good = _cut([lines[place] for place in full], len(header), delimiter)
            for row in np.flatnonzero(good != len(header)):
                why = f"has {good[row]:,} columns, not {len(header)}"
                self._reading.refuse(part, int(places[row]), why)
            self._convert(number, header, cells, places[good == len(header)])

    def build(self) -> Table:
        columns = {name: self._join(name) for name in self._kinds}
        return Table(self._parts, columns, _concatenate(self._part, np.int32), _concatenate(self._lines))

    def _convert(self, number: int, header: Sequence[str], cells: list[str], places: Integers) -> None:
        good = np.ones(len(places), dtype=bool)
        made: dict[str, Any] = {}
        for name, kind in self._kinds.items():
            texts = cells[header.index(name) :: len(header)]
            values, odd = convert(kind, texts)
            if odd is not None and (odd := odd & good).any():
                for row in np.flatnonzero(odd):
                    why = explain_odd(name, kind, texts[row])
                    self._reading.refuse(self._parts[number], int(places[row]), why)
                good &= ~odd
            made[name] = values
        keep = slice(None) if good.all() else np.flatnonzero(good)
        for name, values in made.items():
            kept = values[keep] if isinstance(keep, slice) else [values[row] for row in keep]
            if self._kinds[name] is Kind.LABEL:
                words = self._words[name]
                codes = [words.setdefault(word, len(words)) for word in kept]
                self._found[name].append(np.array(codes, dtype=np.int32))
            else:
                self._found[name].append(np.array(kept, dtype=DTYPES[self._kinds[name]]))
        self._lines.append(places[keep])
        self._part.append(np.full(len(self._lines[-1]), number, dtype=np.int32))

    def _join(self, name: str) -> Any:
        if self._kinds[name] is Kind.LABEL:
            return Labels(_concatenate(self._found[name], np.int32), tuple(self._words[name]))
        return _concatenate(self._found[name], DTYPES[self._kinds[name]])


def _cut(lines: list[str], width: int, delimiter: str) -> tuple[list[str], Integers]:
    """The cells of all rows with the right number of them, row after row; and how many each row has."""
    if delimiter == "," and any('"' in line for line in lines):
        rows = [_cut_quoted(line) for line in lines]
        counts = np.array([len(row) for row in rows], dtype=np.int64)
        return [cell for row in rows if len(row) == width for cell in row], counts
    counts = np.array([line.count(delimiter) for line in lines], dtype=np.int64) + 1
    good = lines if (counts == width).all() else [lines[row] for row in np.flatnonzero(counts == width)]
    # One cut for all of them is three times as fast as one for each.
    text = delimiter.join(good)
    if "\r" in text:
        text = delimiter.join(line.removesuffix("\r") for line in good)
    return text.split(delimiter) if good else [], counts


def _cut_quoted(line: str) -> list[str]:
    try:
        return next(csv.reader([line.removesuffix("\r")]))
    except csv.Error:
        return [line]


def _concatenate(pieces: Sequence[Any], dtype: Any = np.int64) -> Any:
    return np.concatenate(pieces) if pieces else np.array([], dtype=dtype)
