"""From a failed check to one message: file, line, key path, what is wrong, how to mend it."""

import json
import re
from pathlib import Path
from typing import Any

from gadget.errors import BadFile, InvalidValue
from gadget.model.documents import build_schema
from gadget.model.names import nearest_hint
from gadget.model.yaml_text import KeyPath, YamlError, parse_yaml

# What msgspec says of a document: "… - at `$.jobs[3].workers.min`"; at the top level it says no place.
_PLACE = re.compile(r"(?P<problem>.*?)(?: - at `\$(?P<keys>.*)`)?", re.DOTALL)
_MISSING = re.compile(r"Object missing required field `(.*)`")
_UNKNOWN = re.compile(r"Object contains unknown field `(.*)`", re.DOTALL)
_ELIDED = "…"
_WORDS = {
    "array": "list",
    "object": "mapping of keys to values",
    "str": "text",
    "int": "whole number",
    "float": "number",
    "null": "null",
    "bool": "true or false",
}


def complain_of_value(path: Path, content: bytes, error: InvalidValue) -> BadFile:
    """A value of the file breaks its own rules."""
    return _complaint(path, content, _split(error.key), f"{error.key} {error.problem}", error.mend)


def complain_of_shape(path: Path, content: bytes, kind: str, raw: Any, said: str) -> BadFile:
    """The file does not have the shape of its kind: a key, a type or a range is off."""
    found = _PLACE.fullmatch(said)
    problem, keys = (found["problem"], _split(found["keys"] or "")) if found else (said, ())
    keys = _name_elided(keys, raw)
    around = _schema_at(build_schema(kind), keys, raw)
    shown = _join(keys) or "the document"
    if missing := _MISSING.fullmatch(problem):
        keys = (*keys, missing[1])
        return _complaint(path, content, keys, f"{_join(keys)} is missing", _mend_missing(kind, keys, around))
    if unknown := _UNKNOWN.fullmatch(problem):
        keys = (*keys, unknown[1])
        known = list(around.get("properties", {}))
        hint = nearest_hint(unknown[1], known)
        return _complaint(
            path, content, keys, f"{_join(keys)} is not a known key{hint}", f"Known here: {', '.join(known)}"
        )
    given = _value_at(raw, keys)
    if keys == ("version",):
        return _complaint(path, content, keys, f"version is {_show(given)}", "This release reads version 1")
    if problem.startswith("Invalid"):
        allowed = list(map(str, around.get("enum", []))) or _kinds(
            _schema_at(build_schema(kind), keys[:-1], raw, last=False)
        )
        hint = nearest_hint(str(given), allowed)
        return _complaint(
            path, content, keys, f"{shown} is {_show(given)}{hint}", f"Choose one of {', '.join(allowed)}"
        )
    wanted = re.sub(r"`(\w+)`", lambda word: _WORDS.get(word[1], word[1]), problem)
    wanted = (
        re.sub(r", got .*|\.0$", "", wanted)
        .removeprefix("Expected ")
        .replace("Number out of range", "smaller")
    )
    return _complaint(path, content, keys, f"{shown} is {_show(given)}", f"It should be: {wanted}")


def find_line(content: bytes, keys: KeyPath) -> int | None:
    """The line of a key, or of the nearest key around it. JSON is YAML enough for this."""
    lines: dict[KeyPath, int] = {}
    try:
        parse_yaml(content.decode(), lines)
    except (YamlError, UnicodeDecodeError):
        return None
    for length in range(len(keys), 0, -1):
        if line := lines.get(keys[:length]):
            return line
    return None


def _complaint(path: Path, content: bytes, keys: KeyPath, problem: str, mend: str) -> BadFile:
    line = find_line(content, keys)
    where = f"{path}:{line}" if line else f"{path}"
    return BadFile(f"{where}: {problem}. {mend}.")


def _mend_missing(kind: str, keys: KeyPath, around: dict[str, Any]) -> str:
    if kinds := _kinds(around):
        return f"Choose one of {', '.join(kinds)}"
    if kind == "snapshot" and keys == ("slot",):
        return "Add it; a file without it is a scenario, and `--slot N` takes slot N of one"
    return "Add it"


def _join(keys: KeyPath) -> str:
    """('jobs', 3, 'workers', 'min') as jobs[3].workers.min."""
    return "".join(f"[{key}]" if isinstance(key, int) else f".{key}" for key in keys).removeprefix(".")


def _split(key: str) -> KeyPath:
    """jobs[3].workers.min as ('jobs', 3, 'workers', 'min')."""
    parts = key.replace("[...]", f".{_ELIDED}").replace("[", ".[").split(".")
    return tuple(int(part[1:-1]) if re.fullmatch(r"\[\d{1,9}\]", part) else part for part in parts if part)


def _name_elided(keys: KeyPath, raw: Any) -> KeyPath:
    """msgspec does not tell a key of free choice, a resource: it is the first whose amount is none."""
    if not keys or keys[-1] != _ELIDED:
        return keys
    amounts = _value_at(raw, keys[:-1])
    odd = [name for name, amount in amounts.items() if not _is_amount(amount)]
    return (*keys[:-1], *odd[:1])


def _is_amount(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and abs(value) <= 1e300


def _value_at(raw: Any, keys: KeyPath) -> Any:
    for key in keys:
        try:
            raw = raw[key]
        except (KeyError, IndexError, TypeError):
            return None
    return raw


def _show(given: Any) -> str:
    # Bit by bit: aliases can make a value far larger than its file, and a single text can be large too.
    text = ""
    for bit in json.JSONEncoder(ensure_ascii=False).iterencode(_cut(given)):
        text += bit
        if len(text) > 60:
            return f"{text[:57]}…"
    return text


def _cut(given: Any) -> Any:
    """The value with its texts and containers no longer than can be shown."""
    match given:
        case str():
            return given[:80]
        case list():
            return [_cut(one) for one in given[:20]]
        case dict():
            return {key[:80]: _cut(value) for key, value in list(given.items())[:20]}
        case _:
            return given


def _kinds(schema: dict[str, Any]) -> list[str]:
    return list(schema.get("discriminator", {}).get("mapping", {}))


def _schema_at(schema: dict[str, Any], keys: KeyPath, raw: Any, *, last: bool = True) -> dict[str, Any]:
    """The part of the schema that speaks of the value at `keys`, as far as it can be followed.

    `raw`, the document, tells which of several kinds a value is; without `last` not for the value itself.
    """
    here = _follow(schema, schema, raw)
    for place, key in enumerate(keys, 1):
        raw = _value_at(raw, (key,)) if last or place < len(keys) else None
        if isinstance(key, int):
            here = here.get("items") or (here.get("prefixItems") or [{}])[0]
        else:
            here = here.get("properties", {}).get(key, {})
        here = _follow(schema, here, raw)
    return here


def _follow(schema: dict[str, Any], here: dict[str, Any], raw: Any) -> dict[str, Any]:
    while True:
        kind = raw.get("kind") if isinstance(raw, dict) else None
        branch = here.get("$ref") or (
            here.get("discriminator", {}).get("mapping", {}).get(kind) if isinstance(kind, str) else None
        )
        if branch is None:
            return here
        here = schema["$defs"][branch.rsplit("/", 1)[1]]
