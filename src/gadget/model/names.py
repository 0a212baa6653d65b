"""Names of nodes, jobs and resources, and the nearest known one to a name nobody knows."""

from collections.abc import Iterable

from gadget.errors import InvalidValue


def check_name(key: str, name: str) -> None:
    """Raise InvalidValue unless `name` is a printable, non-empty string."""
    if not isinstance(name, str) or not name:
        raise InvalidValue(key, f"is {name!r}, not a name", "Give a non-empty string")
    if not name.isprintable():
        raise InvalidValue(
            key, f"is {name!r}, which holds unprintable characters", "Use printable characters"
        )


def nearest_hint(name: str, known: Iterable[str]) -> str:
    """Text to append to a complaint about `name`: the nearest known name, if one is near."""
    # difflib is slow to import and only ever needed for a complaint.
    from difflib import get_close_matches  # noqa: PLC0415

    near = get_close_matches(name, list(known), 1)
    return f" (nearest: {near[0]!r})" if near else ""
