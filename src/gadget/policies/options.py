"""Options as text, `name:option=value,…`, read as the fields of a dataclass ask for."""

import dataclasses
from collections.abc import Sequence
from enum import StrEnum
from typing import Any, get_type_hints

from gadget.errors import BadOption
from gadget.model.names import nearest_hint

_SWITCH = {
    **dict.fromkeys(("true", "yes", "on", "1"), True),
    **dict.fromkeys(("false", "no", "off", "0"), False),
}


def split_options(text: str) -> tuple[str, list[str]]:
    """The name, and its options as they stand there."""
    name, _, options = text.partition(":")
    return name, [option for option in options.split(",") if option]


def list_fields(kind: type) -> list[str]:
    """The options that a dataclass has."""
    return [field.name for field in dataclasses.fields(kind)]


def read_options(text: str, kind: type, known: Sequence[str], where: str = "") -> dict[str, Any]:
    """The options that stand in a text, as fields of `kind`; only those that are `known`.

    `where` ends the sentence that refuses another one.
    """
    name, options = split_options(text)
    types = get_type_hints(kind)
    given: dict[str, Any] = {}
    for option in options:
        key, _, value = option.partition("=")
        if key not in known:
            raise BadOption(
                f"{name} has no option {key!r}{nearest_hint(key, known)}{where}. {tell_options(known)}"
            )
        if key in given:
            raise BadOption(f"{text}: an option is given twice. Keep one.")
        given[key] = _read_value(f"{name}: option {key}", types[key], value)
    return given


def tell_options(known: Sequence[str]) -> str:
    """What there is instead of an option that nobody knows."""
    return f"Its options: {', '.join(known)}." if known else "It has none; leave it out."


def _read_value(option: str, wanted: Any, text: str) -> Any:
    if wanted == tuple[float, ...]:
        try:
            return tuple(float(number) for number in text.split("/"))
        except ValueError:
            raise BadOption(f"{option} cannot be {text!r}. Give numbers, joined by '/'.") from None
    kinds = (wanted, *getattr(wanted, "__args__", ()))
    for words in kinds:
        if isinstance(words, type) and issubclass(words, StrEnum):
            if text not in list(words):
                raise BadOption(f"{option} cannot be {text!r}. Choose one of {', '.join(words)}.")
            return words(text)
    if wanted is bool and text.lower() in _SWITCH:
        return _SWITCH[text.lower()]
    for number in (int, float):
        if number in kinds:
            try:
                return number(text)
            except ValueError:
                continue
    told = {bool: "true or false", int: "a whole number", float: "a number"}
    likely = " or ".join(told[one] for one in kinds if one in told)
    raise BadOption(f"{option} cannot be {text!r}. Give {likely or 'another value'}.")
