"""YAML as we read and write it: the JSON subset of YAML 1.2 with anchors and merges, bounded in depth and size.

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


@dataclass(slots=True)
class _Open:
    """A list or mapping whose end has not been read yet."""

    held: Any
    path: KeyPath | None  # None: around the document itself
    anchor: str | None
    key: str | None = None
    merged: list[Any] = field(default_factory=list)
    size: int = 1


def parse_yaml(text: str, lines: dict[KeyPath, int] | None = None) -> Any:
    """The document's value; `lines`, if given, is filled with the line of every key and item."""
    try:
        return _build(yaml.parse(text, Loader=_LOADER), lines)
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

    def ignore_aliases(self, data: Any) -> bool:
        return True


_Dumper.add_implicit_resolver("tag:yaml.org,2002:float", re.compile(f"({_FLOAT.pattern})$"), list("-+.0123456789"))


def _build(events: Iterator[Any], lines: dict[KeyPath, int] | None) -> Any:
    anchors: dict[str, tuple[Any, int]] = {}
    root = _Open([], None, None)
    stack = [root]
    documents = 0
    for event in events:
        line = event.start_mark.line + 1
        match event:
            case yaml.ScalarEvent():
                top = stack[-1]
                if type(top.held) is dict and top.key is None:
                    _take_key(top, event, line, lines)
                else:
                    value = _scalar(event, line)
                    _note(top, line, lines)
                    _keep(top, value, 1, line)
                    if event.anchor:
                        anchors[event.anchor] = (value, 1)
            case yaml.MappingStartEvent() | yaml.SequenceStartEvent():
                top = stack[-1]
                if type(top.held) is dict and top.key is None:
                    raise YamlError("a key is a list or mapping; keys are plain text", line)
                if event.tag not in (None, "!"):
                    raise YamlError(f"the tag {event.tag} means nothing here; leave it out", line)
                if len(stack) > DEEPEST:
                    raise YamlError(f"nests deeper than {DEEPEST} levels", line)
                _note(top, line, lines)
                held: Any = {} if isinstance(event, yaml.MappingStartEvent) else []
                stack.append(_Open(held, _place(top), event.anchor))
            case yaml.MappingEndEvent() | yaml.SequenceEndEvent():
                done = stack.pop()
                value = _merge(done) if done.merged else done.held
                if done.anchor:
                    anchors[done.anchor] = (value, done.size)
                _keep(stack[-1], value, done.size, line)
            case yaml.AliasEvent():
                if event.anchor not in anchors:
                    raise YamlError(f"the alias *{event.anchor} has no anchor that ends before it", line)
                top = stack[-1]
                if type(top.held) is dict and top.key is None:
                    raise YamlError("a key is an alias; keys are plain text", line)
                _note(top, line, lines)
                _keep(top, *anchors[event.anchor], line)
            case yaml.DocumentStartEvent():
                documents += 1
                if documents > 1:
                    raise YamlError("holds a second document; keep one to a file", line)
    return root.held[0] if root.held else None


def _take_key(top: _Open, event: Any, line: int, lines: dict[KeyPath, int] | None) -> None:
    top.key = event.value
    if event.value in top.held:
        raise YamlError(f"the key {event.value!r} is given twice", line)
    if lines is not None:
        lines[_place(top)] = line


def _keep(top: _Open, value: Any, size: int, line: int) -> None:
    top.size += size
    if top.size > LARGEST:
        raise YamlError(f"grows past {LARGEST:,} values when its aliases are written out", line)
    if type(top.held) is list:
        top.held.append(value)
        return
    if top.key == "<<":
        sources = value if isinstance(value, list) else [value]
        if not all(isinstance(source, dict) for source in sources):
            raise YamlError("'<<' merges mappings only", line)
        top.merged += sources
    else:
        top.held[top.key] = value
    top.key = None


def _merge(done: _Open) -> dict[str, Any]:
    # Own keys win over merged ones, earlier sources over later ones.
    whole: dict[str, Any] = {}
    for source in reversed(done.merged):
        whole.update(source)
    whole.update(done.held)
    return whole


def _place(top: _Open) -> KeyPath:
    if top.path is None:
        return ()
    return (*top.path, top.key if type(top.held) is dict else len(top.held))


def _note(top: _Open, line: int, lines: dict[KeyPath, int] | None) -> None:
    if lines is not None and type(top.held) is list:
        lines[_place(top)] = line


def _scalar(event: Any, line: int) -> Any:
    text: str = event.value
    plain, quoted = event.implicit
    if not plain:
        if quoted or event.tag in ("!", "tag:yaml.org,2002:str"):
            return text
        raise YamlError(f"the tag {event.tag} means nothing here; leave it out", line)
    if text in _WORDS:
        return _WORDS[text]
    if _INTEGER.fullmatch(text):
        # Python refuses to turn thousands of digits into an int; as a float it is plainly too large.
        return int(text) if len(text) < 400 else float(text)
    return float(text) if _FLOAT.fullmatch(text) else text
