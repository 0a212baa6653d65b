"""From a failed check to one message: file, line, key path, what is wrong, how to mend it."""

from collections.abc import Iterable
from pathlib import Path
from typing import Any

from pydantic_core import ErrorDetails

from gadget.errors import BadFile, InvalidValue
from gadget.model.names import nearest_hint
from gadget.model.yaml_text import KeyPath, YamlError, parse_yaml

_TYPE_WORDS = {
    "int_type": "a whole number",
    "int_from_float": "a whole number",
    "float_type": "a number",
    "string_type": "text",
    "dict_type": "a mapping of keys to values",
    "list_type": "a list",
    "enum": "one of the known words",
    "too_short": "longer",
    "too_long": "shorter",
}


def complain_of_value(path: Path, text: str, error: InvalidValue) -> BadFile:
    """A value of the file breaks its own rules."""
    return _complaint(path, text, split_key(error.key), f"{error.key} {error.problem}", error.mend)


def complain_of_shape(path: Path, text: str, schema: dict[str, Any], detail: ErrorDetails) -> BadFile:
    """The file does not have the shape of its document: a type, a key or a range is off."""
    keys, here = _resolve(schema, detail["loc"])
    shown = join_key(keys) or "the document"
    context = detail.get("ctx", {})
    given = detail["input"]
    match detail["type"]:
        case "missing":
            problem, mend = f"{shown} is missing", "Add it"
        case "extra_forbidden":
            known = list(here.get("properties", {}))
            hint = nearest_hint(str(keys[-1]), known)
            problem, mend = f"{shown} is not a known key{hint}", f"Known here: {', '.join(known)}"
        case "union_tag_not_found":
            problem, mend = f"{shown}.kind is missing", f"Choose one of {_kinds(here)}"
        case "union_tag_invalid":
            hint = nearest_hint(str(context["tag"]), _kinds(here).split(", "))
            problem, mend = f"{shown}.kind is {context['tag']!r}{hint}", f"Choose one of {_kinds(here)}"
        case "literal_error" if keys == ["version"]:
            problem, mend = f"version is {_show(given)}", "This release reads version 1"
        case "finite_number":
            problem, mend = f"{shown} is {given}, not a finite number", "Give a finite number"
        case kind if kind in _TYPE_WORDS:
            problem, mend = f"{shown} is {_show(given)}", f"It should be {_TYPE_WORDS[kind]}"
        case _:
            problem, mend = f"{shown} is {_show(given)}", detail["msg"].replace("Input should", "It should")
    return _complaint(path, text, tuple(keys), problem, mend)


def _complaint(path: Path, text: str, keys: KeyPath, problem: str, mend: str) -> BadFile:
    place = find_line(text, keys)
    where = f"{path}:{place}" if place else f"{path}"
    return BadFile(f"{where}: {problem}. {mend.rstrip('.')}.")


def find_line(text: str, keys: KeyPath) -> int | None:
    """The line of a key, or of the nearest key around it. JSON is YAML enough for this."""
    lines: dict[KeyPath, int] = {}
    try:
        parse_yaml(text, lines)
    except YamlError:
        return None
    for length in range(len(keys), 0, -1):
        if line := lines.get(keys[:length]):
            return line
    return None


def join_key(keys: Iterable[str | int]) -> str:
    """('jobs', 3, 'workers', 'min') as jobs[3].workers.min."""
    joined = "".join(f"[{key}]" if isinstance(key, int) else f".{key}" for key in keys)
    return joined.removeprefix(".")


def split_key(key: str) -> KeyPath:
    """jobs[3].workers.min as ('jobs', 3, 'workers', 'min')."""
    parts = key.replace("[", ".[").split(".")
    return tuple(int(part[1:-1]) if part[:1] == "[" and part[1:-1].isdigit() else part for part in parts if part)


def _show(given: Any) -> str:
    text = repr(given)
    return text if len(text) <= 60 else f"{text[:57]}…"


def _kinds(schema: dict[str, Any]) -> str:
    return ", ".join(schema.get("discriminator", {}).get("mapping", {}))


def _resolve(schema: dict[str, Any], loc: tuple[int | str, ...]) -> tuple[list[str | int], dict[str, Any]]:
    """Follow pydantic's location into the schema.

    Gives the key path of the file (pydantic puts a union's tag into the location) and the innermost
    schema that was reached: the one around the last key, when that key is unknown.
    """
    keys: list[str | int] = []
    here = schema
    for step in loc:
        here = _follow(schema, here)
        if (branch := here.get("discriminator", {}).get("mapping", {}).get(step)) is not None:
            here = {"$ref": branch}
            continue
        keys.append(step)
        if isinstance(step, int):
            here = here.get("items", {})
        elif step in here.get("properties", {}):
            here = here["properties"][step]
        else:
            extra = here.get("additionalProperties")
            here = extra if isinstance(extra, dict) else here
    return keys, _follow(schema, here)


def _follow(schema: dict[str, Any], here: dict[str, Any]) -> dict[str, Any]:
    while "$ref" in here:
        here = schema["$defs"][here["$ref"].rsplit("/", 1)[1]]
    return here
