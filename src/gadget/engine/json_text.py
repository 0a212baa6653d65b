"""Documents ↔ one line of JSON, fast and exactly."""

import json
from typing import Any, TypeVar

import msgspec

from gadget.errors import InvalidValue

Shape = TypeVar("Shape")


class _Head(msgspec.Struct):
    version: Any = None


def format_document(document: dict[str, Any]) -> str:
    """The document as one line of JSON."""
    try:
        return msgspec.json.encode(document).decode()
    except UnicodeEncodeError:
        # What a program printed may hold bytes that are no UTF-8; Python carries them as lone surrogates.
        return json.dumps(document, separators=(",", ":"))


def parse_document(decoder: msgspec.json.Decoder[Shape], text: str | bytes, version: int) -> Shape:
    """The document in a line of JSON, which is of this version; InvalidValue says what is wrong with it."""
    try:
        return decoder.decode(text)
    except ValueError as error:  # msgspec's complaints are ValueErrors, as are those about UTF-8
        return _parse_carefully(decoder, text, version, str(error))


def _parse_carefully(
    decoder: msgspec.json.Decoder[Shape], text: str | bytes, version: int, said: str
) -> Shape:
    try:
        raw = json.loads(text)
    except ValueError as error:
        raise InvalidValue("", f"is not JSON ({error})", "It was written otherwise or is damaged") from None
    found = msgspec.convert(raw, _Head).version if isinstance(raw, dict) else None
    if isinstance(found, int) and found > version:
        raise InvalidValue(
            "version", f"is {found}; this release reads up to {version}", "Use the release that wrote it"
        )
    try:
        return msgspec.convert(raw, decoder.type)
    except msgspec.ValidationError:
        raise InvalidValue("", f"has not the shape of its kind: {said}", "It may be damaged") from None
