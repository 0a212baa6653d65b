"""Reads measured step times in the two forms of Pollux: by placement, and by numbers of servers and workers.

A file is known by its columns: `placement` (a digit for each server: its workers) or `num_nodes` and
`num_replicas`; with `local_bsz` and `step_time` (seconds) in both. `sync_time`, a part of the step, is only
checked against it. Further columns are ignored.
"""

import csv
import math
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import numpy as np

from gadget.errors import BadFile, printable
from gadget.files import STANDARD_STREAM, is_folder, list_folder, read_bytes
from gadget.model.measured import Measured, name_placement, name_totals
from gadget.model.quantity import LARGEST, MOST_WORKERS, SMALLEST

BY_PLACEMENT = frozenset(("placement", "local_bsz", "step_time"))
BY_TOTALS = frozenset(("num_nodes", "num_replicas", "local_bsz", "step_time"))
_MEND = "Give a CSV file with the columns placement (or num_nodes, num_replicas), local_bsz and step_time"


@dataclass(frozen=True, slots=True)
class LeftOut:
    """Rows of a file that cannot be used."""

    path: Path
    count: int
    rows: int
    """Rows of the file, usable or not."""
    first: str
    """Where the first of them is, and what is wrong with it."""


@dataclass(frozen=True, slots=True)
class Reading:
    """What was found in some files."""

    applications: tuple[Measured, ...]
    left_out: tuple[LeftOut, ...]
    other_files: tuple[Path, ...]
    """CSV files in the folders that hold something else."""


class _Row(NamedTuple):
    placement: str
    servers: int
    workers: int
    batch: float
    step_seconds: float


class _BadRow(Exception):
    """A row that cannot be used, and why."""


def read_measurements(paths: Iterable[Path], *, strict: bool = False) -> Reading:
    """All measurements in files and folders, at any depth; the folder of a file names the application.

    Bad rows are left out and counted; with `strict` the first one is refused.
    """
    rows: defaultdict[str, list[_Row]] = defaultdict(list)
    left_out: list[LeftOut] = []
    other: list[Path] = []
    read: dict[Path, Path] = {}
    for path in paths:
        is_many = is_folder(path)
        found = [file for file in list_folder(path) if file.suffix == ".csv"] if is_many else [path]
        measured = 0
        for file in found:
            place = file.resolve()
            if place in read:
                measured += 1
                continue
            table = _open_table(file)
            if table is None:
                if not is_many:
                    raise BadFile(f"{file}: holds no measured step times. {_MEND}.")
                other.append(file)
                continue
            read[place] = file
            measured += 1
            good, bad = _read_rows(file, table, strict=strict)
            rows[_name_application(file)] += good
            if bad is not None:
                left_out.append(bad)
        if is_many and not measured:
            raise BadFile(f"{path}: no file in it holds measured step times. {_MEND}.")
    applications = tuple(_build(name, rows[name]) for name in sorted(rows) if rows[name])
    if not applications:
        first = f" (first: {left_out[0].first})" if left_out else ""
        where = ", ".join(map(str, read.values()))
        raise BadFile(f"{where}: no row can be used{first}. {_MEND}.")
    return Reading(applications, tuple(left_out), tuple(other))


def _name_application(file: Path) -> str:
    folder = "" if file == STANDARD_STREAM else file.resolve().parent.name
    return printable(folder) or "measurements"


def _open_table(path: Path) -> Iterator[tuple[int, list[str]]] | None:
    """The lines of a file of measurements, header first; None if it is something else."""
    try:
        lines = read_bytes(path).decode("utf-8-sig").splitlines()
    except UnicodeDecodeError:
        return None
    if not lines:
        return None
    try:
        header = next(csv.reader(lines[:1]), [])
    except csv.Error:
        return None
    columns = {name.strip() for name in header}
    if not (columns >= BY_PLACEMENT or columns >= BY_TOTALS):
        return None
    return _fields(path, lines)


def _fields(path: Path, lines: list[str]) -> Iterator[tuple[int, list[str]]]:
    """The fields of each line that is not blank, with its number."""
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        try:
            yield number, [field.strip() for field in next(csv.reader([line]))]
        except csv.Error as error:
            raise BadFile(f"{path}:{number}: is not CSV ({error}). {_MEND}.") from None


def _read_rows(
    path: Path, table: Iterator[tuple[int, list[str]]], *, strict: bool
) -> tuple[list[_Row], LeftOut | None]:
    _, header = next(table)
    good: list[_Row] = []
    bad: list[str] = []
    for number, fields in table:
        try:
            if len(fields) != len(header):
                raise _BadRow(f"it has {len(fields)} fields, the header {len(header)}")
            good.append(_read_row(dict(zip(header, fields, strict=True))))
        except _BadRow as problem:
            if strict:
                raise BadFile(
                    f"{path}:{number}: {problem}. Correct the row, or leave --strict away to pass over it."
                ) from None
            bad.append(f"line {number}: {problem}")
    left_out = LeftOut(path, len(bad), len(good) + len(bad), bad[0]) if bad else None
    return good, left_out


def _read_row(row: Mapping[str, str]) -> _Row:
    if "placement" in row:
        counts = _read_digits(row["placement"])
        placement, servers, workers = name_placement(counts), len(counts), sum(counts)
    else:
        servers, workers = _read_count(row, "num_nodes"), _read_count(row, "num_replicas")
        if workers < servers:
            raise _BadRow(f"num_replicas is {workers}, below num_nodes = {servers}")
        placement = name_totals(servers, workers)
    step = _read_amount(row, "step_time")
    if row.get("sync_time") and _read_amount(row, "sync_time", least=0.0) > step:
        raise _BadRow(f"sync_time is {row['sync_time']}, above step_time = {row['step_time']}")
    return _Row(placement, servers, workers, _read_amount(row, "local_bsz"), step)


def _read_digits(text: str) -> list[int]:
    if not (text.isascii() and text.isdigit()) or "0" in text or len(text) > 1000:
        raise _BadRow(f"placement is {text[:40]!r}, not a digit from 1 to 9 for each server")
    return [int(digit) for digit in text]


def _read_count(row: Mapping[str, str], column: str) -> int:
    amount = _read_amount(row, column)
    if not amount.is_integer() or amount > MOST_WORKERS:
        raise _BadRow(f"{column} is {row[column][:40]}, not a whole number from 1 to {MOST_WORKERS:,}")
    return int(amount)


def _read_amount(row: Mapping[str, str], column: str, *, least: float = SMALLEST) -> float:
    try:
        amount = float(row[column])
    except ValueError:
        amount = math.nan
    if not least <= amount <= LARGEST:
        raise _BadRow(f"{column} is {row[column][:40]!r}, not a number above 0")
    return amount


def _build(name: str, rows: list[_Row]) -> Measured:
    placements, servers, workers, batch, step_seconds = zip(*rows, strict=True)
    return Measured(
        name,
        np.array(placements, dtype=np.str_),
        np.array(servers, dtype=np.int64),
        np.array(workers, dtype=np.int64),
        np.array(batch, dtype=np.float64),
        np.array(step_seconds, dtype=np.float64),
    )
