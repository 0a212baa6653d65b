"""Files of traces, plain or gzip, read in pieces of whole lines so that memory stays bounded."""

import gzip
import io
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import IO

from gadget.errors import BadFile
from gadget.files import is_file, open_bytes, read_bytes

PIECE_BYTES = 1_000_000
HEAD_BYTES = 64_000
LONGEST_LINE = 1_000_000

Progress = Callable[[int], None]
"""Told how many bytes of the files have been read since it was last told."""

_GZIP = b"\x1f\x8b"
_TAR_MARK = slice(257, 262)


@dataclass(frozen=True, slots=True)
class Head:
    """The beginning of a file, by which its format is told."""

    text: str
    lines: tuple[str, ...]
    """Its first whole lines that are not blank."""

    def cells(self, delimiter: str = ",") -> list[list[str]]:
        """The lines, cut at the delimiter."""
        return [line.split(delimiter) for line in self.lines]

    def has_columns(self, *names: str) -> bool:
        """True when the first line is a header that names all of these columns."""
        return bool(self.lines) and set(names) <= {cell.strip().strip('"') for cell in self.cells()[0]}


@dataclass(frozen=True)
class Part:
    """One file of a trace; `what` is named where it cannot be read."""

    path: Path
    what: str = "a trace"

    @cached_property
    def head(self) -> Head:
        """The beginning of the file; BadFile where it holds no text."""
        with self._open() as (file, _):
            start = self._read(file, HEAD_BYTES)
        if start[_TAR_MARK] == b"ustar":
            raise BadFile(f"{self.path}: is a tar archive. Unpack it, and name the files in it.")
        if b"\0" in start:
            raise self._refuse("it holds binary data")
        whole = start if len(start) < HEAD_BYTES else start[: start.rfind(b"\n") + 1] or start
        text = whole.removeprefix(b"\xef\xbb\xbf").decode(errors="replace")
        if text.count("�") > len(text) // 2:
            raise self._refuse("it is no UTF-8 text")
        return Head(text, tuple(line.rstrip("\r") for line in text.split("\n") if line.strip()))

    @property
    def size(self) -> int:
        """Bytes of the file as it lies there; 0 where that is not known."""
        return self.path.stat().st_size if is_file(self.path) else 0

    def lines(self, progress: Progress) -> Iterator[tuple[int, list[str]]]:
        """Pieces of the file: the number of a piece's first line, and its lines, blank ones too.

        Bytes that are no UTF-8 come out as lone surrogates, so that each row can be judged on its own.
        """
        number, rest, told = 1, b"", 0
        with self._open() as (file, raw):
            while piece := self._read(file, PIECE_BYTES):
                whole, newline, tail = (rest + piece).rpartition(b"\n")
                progress(raw.tell() - told)
                told = raw.tell()
                rest = tail
                if newline:
                    found = _decode(whole, first=number == 1)
                    self._check_lengths(found, number)
                    yield number, found
                    number += len(found)
                elif len(rest) > LONGEST_LINE:
                    break
        if len(rest) > LONGEST_LINE:
            raise self._too_long(number)
        if rest:
            yield number, _decode(rest, first=number == 1)

    def content(self, progress: Progress) -> bytes:
        """All of it, for formats that are no lines."""
        with self._open() as (file, raw):
            pieces = []
            while piece := self._read(file, PIECE_BYTES):
                pieces.append(piece)
            progress(raw.tell())
        return b"".join(pieces)

    def _open(self) -> "_Opened":
        return _Opened(open_bytes(self.path) if is_file(self.path) else io.BytesIO(self._read_once))

    @cached_property
    def _read_once(self) -> bytes:
        """All of standard input or of a pipe, which cannot be opened twice."""
        return read_bytes(self.path)

    def _read(self, file: IO[bytes], size: int) -> bytes:
        try:
            return file.read(size)
        except EOFError:
            raise self._refuse("its end is missing: the gzip file is cut short") from None
        except (OSError, zlib.error) as error:
            raise self._refuse(str(error)) from None

    def _refuse(self, why: str) -> BadFile:
        return BadFile(f"{self.path}: cannot be read as {self.what} ({why}). Check the file.")

    def _check_lengths(self, lines: list[str], first: int) -> None:
        if len(longest := max(lines, key=len)) > LONGEST_LINE:
            raise self._too_long(first + lines.index(longest))

    def _too_long(self, line: int) -> BadFile:
        return BadFile(
            f"{self.path}:{line}: is longer than {LONGEST_LINE:,} bytes, which no row of a trace is. "
            "Check the file."
        )


class _Opened:
    """A file and what lies below it: the same, or the gzip file whose position tells how far we are."""

    def __init__(self, raw: IO[bytes]) -> None:
        self._raw = raw
        zipped = raw.read(2) == _GZIP
        raw.seek(0)
        self._file: IO[bytes] = gzip.GzipFile(fileobj=raw) if zipped else raw  # type: ignore[assignment]  # as good as one

    def __enter__(self) -> tuple[IO[bytes], IO[bytes]]:
        return self._file, self._raw

    def __exit__(self, *_: object) -> None:
        self._file.close()
        self._raw.close()


def _decode(content: bytes, *, first: bool) -> list[str]:
    if first:
        content = content.removeprefix(b"\xef\xbb\xbf")
    return content.decode(errors="surrogateescape").split("\n")
