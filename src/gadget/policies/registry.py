"""Policies by name, with their options: `fifo`, `fifo:workers=2,backfill=true`."""

import dataclasses
from typing import Any, get_type_hints

from gadget.errors import BadOption
from gadget.model.names import nearest_hint
from gadget.policies.fifo import Fifo
from gadget.policies.policy import Policy

POLICIES: dict[str, type[Policy]] = {"fifo": Fifo}
DEFAULT_POLICY = "fifo"


def build_policy(text: str) -> Policy:
    """The policy that `name` or `name:option=value,…` stands for."""
    name, _, options = text.partition(":")
    if name not in POLICIES:
        raise BadOption(
            f"{name!r} is no policy{nearest_hint(name, POLICIES)}. Choose one of {', '.join(POLICIES)}."
        )
    kind = POLICIES[name]
    return kind(**dict(_read_option(name, kind, option) for option in options.split(",") if option))


def _read_option(policy: str, kind: type[Policy], text: str) -> tuple[str, Any]:
    key, _, value = text.partition("=")
    types = get_type_hints(kind)
    known = [field.name for field in dataclasses.fields(kind)]  # type: ignore[arg-type]  # every policy is one
    if key not in known:
        raise BadOption(
            f"{policy} has no option {key!r}{nearest_hint(key, known)}. Its options: {', '.join(known)}."
        )
    for meaning, words in ((True, ("true", "yes", "on", "1")), (False, ("false", "no", "off", "0"))):
        if types[key] is bool and value.lower() in words:
            return key, meaning
    for wanted in (int, float):
        if wanted in (types[key], *getattr(types[key], "__args__", ())):
            try:
                return key, wanted(value)
            except ValueError:
                continue
    raise BadOption(f"{policy}: option {key} cannot be {value!r}. Give a value of type {types[key]}.")
