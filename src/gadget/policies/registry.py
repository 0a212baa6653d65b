"""Policies by name, with their options: `fifo`, `fifo:workers=2,backfill=true`, `las:queues=3250/7200`."""

import dataclasses
from collections.abc import Iterable
from enum import StrEnum
from typing import Any, get_type_hints

from gadget.errors import BadOption
from gadget.model.names import nearest_hint
from gadget.policies.drf import Drf
from gadget.policies.fifo import Fifo
from gadget.policies.gadget import Gadget
from gadget.policies.gadget_paper import GadgetPaper
from gadget.policies.gavel import Gavel
from gadget.policies.gittins import Gittins
from gadget.policies.las import Las
from gadget.policies.optimal import Optimal
from gadget.policies.optimus import Optimus
from gadget.policies.policy import Policy
from gadget.policies.sia import Sia
from gadget.policies.sjf_bco import SjfBco
from gadget.policies.srtf import Srtf
from gadget.policies.themis import Themis

POLICIES: dict[str, type[Policy]] = {
    "gadget": Gadget,
    "gadget-paper": GadgetPaper,
    "optimal": Optimal,
    "fifo": Fifo,
    "drf": Drf,
    "las": Las,
    "gavel": Gavel,
    "sia": Sia,
    "srtf": Srtf,
    "gittins": Gittins,
    "themis": Themis,
    "optimus": Optimus,
    "sjf-bco": SjfBco,
}
DEFAULT_POLICY = "gadget"


def build_policies(texts: Iterable[str]) -> dict[str, Policy]:
    """Policies by the texts that stand for them; BadOption if there is none, or one stands there twice."""
    known: dict[str, Policy] = {}
    for text in texts:
        policy = build_policy(text)
        if text in known:
            raise BadOption(f"policy {text!r} is given twice. Name each once.")
        if same := next((other for other, made in known.items() if made == policy), None):
            raise BadOption(f"policies {same!r} and {text!r} are the same. Name each once.")
        known[text] = policy
    if not known:
        raise BadOption("no policy is given. Name at least one.")
    return known


def build_policy(text: str, **common: Any) -> Policy:
    """The policy that `name` or `name:option=value,…` stands for.

    `common` options, where not None, go to policies that have them; what stands in the text wins.
    """
    name, _, options = text.partition(":")
    if name not in POLICIES:
        raise BadOption(
            f"{name!r} is no policy{nearest_hint(name, POLICIES)}. Choose one of {', '.join(POLICIES)}."
        )
    kind = POLICIES[name]
    known = {field.name for field in dataclasses.fields(kind)}  # type: ignore[arg-type]  # every policy is one
    shared = {key: value for key, value in common.items() if value is not None and key in known}
    given = [_read_option(name, kind, option) for option in options.split(",") if option]
    own = dict(given)
    if len(own) < len(given):
        raise BadOption(f"{text}: an option is given twice. Keep one.")
    return kind(**{**shared, **own})


def add_options(text: str, **common: Any) -> str:
    """The text with those of the `common` options that are not None, that the policy has and does not set.

    So a name tells all that was chosen, as `fifo` with a placement becomes `fifo:placement=gadget`.
    """
    name, _, options = text.partition(":")
    if name not in POLICIES:
        return text
    known = {field.name for field in dataclasses.fields(POLICIES[name])}  # type: ignore[arg-type]  # every policy is one
    given = [option for option in options.split(",") if option]
    said = {option.partition("=")[0] for option in given}
    more = [
        f"{key}={value}"
        for key, value in common.items()
        if value is not None and key in known and key not in said
    ]
    return f"{name}:{','.join([*given, *more])}" if more else text


def _read_option(policy: str, kind: type[Policy], text: str) -> tuple[str, Any]:
    key, _, value = text.partition("=")
    types = get_type_hints(kind)
    known = [field.name for field in dataclasses.fields(kind)]  # type: ignore[arg-type]  # every policy is one
    if key not in known:
        raise BadOption(
            f"{policy} has no option {key!r}{nearest_hint(key, known)}. Its options: {', '.join(known)}."
        )
    if types[key] == tuple[float, ...]:
        try:
            return key, tuple(float(number) for number in value.split("/"))
        except ValueError:
            raise BadOption(
                f"{policy}: option {key} cannot be {value!r}. Give numbers, joined by '/'."
            ) from None
    for words in (types[key], *getattr(types[key], "__args__", ())):
        if isinstance(words, type) and issubclass(words, StrEnum):
            if value not in list(words):
                raise BadOption(
                    f"{policy}: option {key} cannot be {value!r}. Choose one of {', '.join(words)}."
                )
            return key, words(value)
    for meaning, said in ((True, ("true", "yes", "on", "1")), (False, ("false", "no", "off", "0"))):
        if types[key] is bool and value.lower() in said:
            return key, meaning
    for wanted in (int, float):
        if wanted in (types[key], *getattr(types[key], "__args__", ())):
            try:
                return key, wanted(value)
            except ValueError:
                continue
    raise BadOption(f"{policy}: option {key} cannot be {value!r}. Give {_describe(types[key])}.")


def _describe(kind: Any) -> str:
    words = {bool: "true or false", int: "a whole number", float: "a number"}
    kinds = [words[one] for one in (kind, *getattr(kind, "__args__", ())) if one in words]
    return " or ".join(kinds) or "another value"
