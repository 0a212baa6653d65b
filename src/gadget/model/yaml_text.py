"""YAML as we read and write it: what JSON can say, in YAML 1.2, with anchors and merges, bounded in size.

Built on libyaml's event stream rather than on a stock loader: plain scalars follow YAML 1.2 (so that every
JSON document means the same here), a document cannot nest or multiply itself without end, a key given
twice is an error, and the line of any key can be told.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import yaml

# Ours need 6 levels; libyaml recurses nowhere, but whoever walks the result might.
DEEPEST = 64
# Values in the document with every alias written out; a scenario of 10,000 jobs has some 300,000.
LARGEST = 10_000_000

KeyPath = tuple[str | int, ...]

_INTEGER = re.compile(r"[-+]?[0-9]+")
_FLOAT = re.compile(r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?")
# JSON writes what is beyond 16 bits as two escapes, which libyaml does not join.
_SURROGATES = re.compile(r"(?<!\\)((?:\\\\)*)\\u([dD][89abAB][0-9a-fA-F]{2})\\u([dD][c-fC-F][0-9a-fA-F]{2})")
_WORDS: dict[str, Any] = {
    **dict.fromkeys(("", "~", "null", "Null", "NULL")),
    **dict.fromkeys(("true", "True", "TRUE"), True),
    **dict.fromkeys(("false", "False", "FALSE"), False),
    **dict.fromkeys((".inf", ".Inf", ".INF", "+.inf", "+.Inf", "+.INF"), float("inf")),
    **dict.fromkeys(("-.inf", "-.Inf", "-.INF"), float("-inf")),
    **dict.fromkeys((".nan", ".NaN", ".NAN"), float("nan")),
}
_LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
_DUMPER = getattr(yaml, "CSafeDumper", yaml.SafeDumper)


class YamlError(Exception):
    """The text is no document of ours; `line` counts from 1."""

    def __init__(self, problem: str, line: int | None) -> None:
        super().__init__(problem)
        self.line = line


def parse_yaml(text: str, lines: dict[KeyPath, int] | None = None) -> Any:
    """The document's value; `lines`, if given, is filled with the line of every key and item."""
    if "\\u" in text:
        text = _SURROGATES.sub(_join_surrogates, text)
    try:
        return _Builder(lines).build(yaml.parse(text, Loader=_LOADER))
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        raise YamlError(error.problem or "is not YAML", mark.line + 1 if mark else None) from None
    except yaml.YAMLError as error:
        raise YamlError(getattr(error, "reason", None) or "is not YAML", None) from None


def format_yaml(document: Any) -> str:
    """The document as YAML, short lists and mappings on one line, keys in the order given."""
    text: str = yaml.dump(
        document, Dumper=_Dumper, sort_keys=False, default_flow_style=None, allow_unicode=True, width=120
    )
    return text


class _Dumper(_DUMPER):  # type: ignore[misc,valid-type]  # chosen at run time: libyaml's where it is there
    """Quotes every string that YAML 1.1 or 1.2 would take for something else; writes no anchors."""

    def ignore_aliases(self, _: Any) -> bool:
        return True


_Dumper.add_implicit_resolver(
    "tag:yaml.org,2002:float", re.compile(f"({_FLOAT.pattern})$"), list("-+.0123456789")
)


@dataclass(slots=True)
class _Open:
    """A list or mapping whose end has not been read yet."""

    held: list[Any] | dict[str, Any]
    path: KeyPath
    anchor: str | None
    key: str | None = None
    merges: bool = False
    """The key is a plain `<<`: its value is merged."""
    merged: list[dict[str, Any]] = field(default_factory=list)
    size: int = 1

    @property
    def wants_key(self) -> bool:
        return type(self.held) is dict and self.key is None

    @property
    def place(self) -> KeyPath:
        return (*self.path, len(self.held) if self.key is None else self.key)

    def keep(self, value: Any, size: int, line: int) -> None:
        self.size += size
        if self.size > LARGEST:
            raise YamlError(f"grows past {LARGEST:,} values when its aliases are written out", line)
        if isinstance(self.held, list):
            self.held.append(value)
            return
        if self.merges:
            sources = value if isinstance(value, list) else [value]
            if not all(isinstance(source, dict) for source in sources):
                raise YamlError("'<<' merges mappings only", line)
            self.merged += sources
        elif self.key is not None:
            self.held[self.key] = value
        self.key = None

    def close(self) -> Any:
        """The finished value; own keys win over merged ones, earlier sources over later ones."""
        if not self.merged:
            return self.held
        whole: dict[str, Any] = {}
        for source in reversed(self.merged):
            whole.update(source)
        whole.update(self.held)
        return whole


class _Builder:
    """Folds the event stream into a value, without recursion."""

    def __init__(self, lines: dict[KeyPath, int] | None) -> None:
        self._lines = lines
        self._anchors: dict[str, tuple[Any, int]] = {}
        self._stack: list[_Open] = []
        self._documents = 0
        self._value: Any = None

    def build(self, events: Iterator[Any]) -> Any:
        for event in events:
            line = event.start_mark.line + 1
            match event:
                case yaml.ScalarEvent() if self._stack and self._stack[-1].wants_key:
                    self._take_key(event, line)
                case yaml.ScalarEvent():
                    self._take(_scalar(event, line), 1, event.anchor, line)
                case yaml.MappingStartEvent() | yaml.SequenceStartEvent():
                    self._enter(event, line)
                case yaml.MappingEndEvent() | yaml.SequenceEndEvent():
                    done = self._stack.pop()
                    self._take(done.close(), done.size, done.anchor, line, note=False)
                case yaml.AliasEvent():
                    if event.anchor not in self._anchors:
                        raise YamlError(f"the alias *{event.anchor} has no anchor that ends before it", line)
                    self._check_no_key(line)
                    self._take(*self._anchors[event.anchor], None, line)
                case yaml.DocumentStartEvent():
                    self._documents += 1
                    if self._documents > 1:
                        raise YamlError("holds a second document; keep one to a file", line)
        return self._value

    def _enter(self, event: Any, line: int) -> None:
        self._check_no_key(line)
        if event.tag not in (None, "!"):
            raise YamlError(f"the tag {event.tag} means nothing here; leave it out", line)
        if len(self._stack) >= DEEPEST:
            raise YamlError(f"nests deeper than {DEEPEST} levels", line)
        self._note(line)
        path = self._stack[-1].place if self._stack else ()
        self._stack.append(_Open({} if isinstance(event, yaml.MappingStartEvent) else [], path, event.anchor))

    def _take_key(self, event: Any, line: int) -> None:
        top, key = self._stack[-1], event.value
        if key in top.held:
            raise YamlError(f"the key {key!r} is given twice", line)
        top.key = key
        top.merges = key == "<<" and event.implicit[0]
        if event.anchor:
            self._anchors[event.anchor] = (key, 1)
        if self._lines is not None:
            self._lines[top.place] = line

    def _take(self, value: Any, size: int, anchor: str | None, line: int, *, note: bool = True) -> None:
        if note:
            self._note(line)
        if anchor:
            self._anchors[anchor] = (value, size)
        if self._stack:
            self._stack[-1].keep(value, size, line)
        else:
            self._value = value

    def _note(self, line: int) -> None:
        """Remember the line of a list's item; a key has its own."""
        if self._lines is not None and self._stack and self._stack[-1].key is None:
            self._lines[self._stack[-1].place] = line

    def _check_no_key(self, line: int) -> None:
        if self._stack and self._stack[-1].wants_key:
            raise YamlError("a key is no plain text", line)


def _join_surrogates(found: re.Match[str]) -> str:
    pair = bytes.fromhex(found[2] + found[3]).decode("utf-16-be")
    return found[1] + pair


def _scalar(event: Any, line: int) -> Any:
    text: str = event.value
    plain, quoted = event.implicit
    if not plain or event.tag == "!":
        if quoted or event.tag in ("!", "tag:yaml.org,2002:str"):
            return text
        raise YamlError(f"the tag {event.tag} means nothing here; leave it out", line)
    if text in _WORDS:
        return _WORDS[text]
    if _INTEGER.fullmatch(text):
        # Python refuses to turn thousands of digits into an int; as a float it is plainly too large.
        return int(text) if len(text) < 400 else float(text)
    return float(text) if _FLOAT.fullmatch(text) else text
