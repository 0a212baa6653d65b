"""A file of another system: its text, its documents, and complaints that tell the line."""

import codecs
import json
import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import jiter

from gadget.errors import BadFile, InvalidValue
from gadget.files import read_bytes
from gadget.model.complaint import find_line
from gadget.model.yaml_text import YamlError, parse_yaml

# A marker at the start of a line always starts a document: no YAML text may hold one.
_DOCUMENT = re.compile(r"^---(?=\s|\Z)", re.MULTILINE)
_NO_CONTENT = re.compile(r"(?:[ \t]*(?:[#%].*)?(?:\r?\n|\Z))*\Z|\s*\Z")

Keys = tuple[str | int, ...]
Place = int | Keys | None
"""A line, or the number of a document and the keys in it; None where the whole file is meant."""


@dataclass(frozen=True)
class Source:
    """A file's path and bytes."""

    path: Path
    content: bytes

    @cached_property
    def text(self) -> str:
        """The file as text."""
        try:
            return self.content.decode()
        except UnicodeDecodeError as error:
            raise self.complain(f"is not UTF-8 text (byte {error.start})", "Check the file") from None

    @cached_property
    def documents(self) -> tuple["Part", ...]:
        """The value of a JSON file, or of every document of a YAML file."""
        if self._is_json:
            try:
                values = [jiter.from_json(self.content, catch_duplicate_keys=True)]
            except ValueError as error:
                raise self.complain(f"is not JSON: {error}", "Check that the file is whole") from None
        else:
            values = [self._parse(text, first) for first, text in self._pieces]
        return tuple(Part(self, (number,), value) for number, value in enumerate(values))

    @cached_property
    def _is_json(self) -> bool:
        suffix = self.path.suffix.lower()
        return suffix == ".json" or (suffix not in (".yaml", ".yml") and self.text.lstrip()[:1] in ("{", "["))

    @cached_property
    def _pieces(self) -> tuple[tuple[int, str], ...]:
        """The YAML documents that hold something, each with the lines before it."""
        cuts = [found.span() for found in _DOCUMENT.finditer(self.text)]
        starts = [0, *(end for _, end in cuts)]
        ends = [*(start for start, _ in cuts), len(self.text)]
        pieces = ((self.text.count("\n", 0, s), self.text[s:e]) for s, e in zip(starts, ends, strict=True))
        return tuple((first, text) for first, text in pieces if not _NO_CONTENT.match(text))

    def _parse(self, text: str, first: int) -> Any:
        try:
            return parse_yaml(text)
        except YamlError as error:
            line = first + error.line if error.line else None
            raise self.complain(f"is not YAML: {error}", "Check the file", line) from None

    def complain(self, problem: str, mend: str, place: Place = None) -> BadFile:
        """A complaint about this file that tells the line where there is one."""
        line = self.find_line(place) if isinstance(place, tuple) else place
        where = f"{self.path}:{line}" if line else f"{self.path}"
        return BadFile(f"{where}: {problem}. {mend}.")

    def find_line(self, place: Keys) -> int | None:
        """The line of the keys in one of the documents."""
        number, *keys = place
        if self._is_json:
            return find_line(self.content, tuple(keys))
        first, text = self._pieces[int(number)]
        line = find_line(text.encode(), tuple(keys))
        return first + line if line else first + 1

    @contextmanager
    def complaining(self, place: Place) -> Iterator[None]:
        """Complaints of values made inside become complaints about that place."""
        try:
            yield
        except InvalidValue as error:
            problem = f"{error.key} {error.problem}" if error.key else error.problem
            raise self.complain(problem, error.mend, place) from None


@dataclass(frozen=True, slots=True)
class Part:
    """A value of a document, and where it stands."""

    source: Source
    place: Keys
    value: Any

    def complain(self, problem: str, mend: str) -> BadFile:
        """A complaint about this value: its place, then the problem."""
        return self.source.complain(f"{self.shown_place} {problem}".strip(), mend, self.place)

    @property
    def shown_place(self) -> str:
        """The keys as people write them: items[3].spec.tier."""
        _, *keys = self.place
        return "".join(f"[{k}]" if isinstance(k, int) else f".{k}" for k in keys).removeprefix(".")

    def get(self, key: str) -> "Part | None":
        """The value of a key of a mapping; None where it is absent or null."""
        if not isinstance(self.value, dict):
            raise self.complain(f"is {self._shown}, not a mapping", "Give keys and values")
        value = self.value.get(key)
        return None if value is None else Part(self.source, (*self.place, key), value)

    def need(self, *keys: str) -> "Part":
        """The value of a key of a mapping, or of keys inside it; a complaint where it is absent."""
        part = self
        for key in keys:
            found = part.get(key)
            if found is None:
                raise part.complain(f"has no {key}", "Add it")
            part = found
        return part

    def find(self, *keys: str) -> "Part | None":
        """The value of keys inside each other; None where one is absent."""
        part: Part | None = self
        for key in keys:
            part = part.get(key) if part is not None else None
        return part

    def items(self) -> Iterator["Part"]:
        """The items of a list."""
        if not isinstance(self.value, list):
            raise self.complain(f"is {self._shown}, not a list", "Give a list")
        for number, value in enumerate(self.value):
            yield Part(self.source, (*self.place, number), value)

    def pairs(self) -> Iterator[tuple[str, "Part"]]:
        """The keys and values of a mapping."""
        if not isinstance(self.value, dict):
            raise self.complain(f"is {self._shown}, not a mapping", "Give keys and values")
        for key, value in self.value.items():
            yield key, Part(self.source, (*self.place, key), value)

    def text(self) -> str:
        """A text that is not empty."""
        if isinstance(self.value, str) and self.value:
            return self.value
        quote = "; quote it" if isinstance(self.value, int | float) else ""
        raise self.complain(f"is {self._shown}, not a name{quote}", "Give a text")

    def whole(self, least: int) -> int:
        """A whole number."""
        if type(self.value) is int and self.value >= least:
            return self.value
        raise self.complain(f"is {self._shown}", f"Give a whole number from {least} on")

    @property
    def _shown(self) -> str:
        if isinstance(self.value, list | dict):
            return "a list" if isinstance(self.value, list) else "a mapping"
        return json.dumps(self.value, ensure_ascii=False)[:60]


def read_source(path: Path) -> Source:
    """A file as it is, a mark of its encoding left out; a complaint where it is empty."""
    source = Source(path, read_bytes(path).removeprefix(codecs.BOM_UTF8))
    if not source.content.strip():
        raise source.complain("is empty", "Give the description of a cluster")
    return source
