"""Policies by name, with their options: `fifo`, `fifo:workers=2,backfill=true`, `las:queues=3250/7200`."""

from collections.abc import Iterable
from typing import Any

from gadget.errors import BadOption
from gadget.model.names import nearest_hint
from gadget.policies.drf import Drf
from gadget.policies.fifo import Fifo
from gadget.policies.gadget import Gadget
from gadget.policies.gadget_paper import GadgetPaper
from gadget.policies.gavel import Gavel
from gadget.policies.gittins import Gittins
from gadget.policies.las import Las
from gadget.policies.objectives import OBJECTIVE_OF, Objective
from gadget.policies.optimal import Optimal
from gadget.policies.optimus import Optimus
from gadget.policies.options import list_fields, read_options, split_options
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
    name, _ = split_options(text)
    if name not in POLICIES:
        raise BadOption(
            f"{name!r} is no policy{nearest_hint(name, POLICIES)}. Choose one of {', '.join(POLICIES)}."
        )
    kind = POLICIES[name]
    known = list_fields(kind)
    own = read_options(text, kind, known)
    shared = {key: value for key, value in common.items() if value is not None and key in known}
    policy = kind(**{**shared, **own})
    _check_objective(text, own, getattr(policy, "objective", None))
    return policy


def _check_objective(text: str, given: Iterable[str], objective: Objective | None) -> None:
    """Refuse options that the objective does not look at."""
    for option in given:
        wanted = OBJECTIVE_OF.get(option)
        if wanted is not None and objective is not wanted:
            raise BadOption(
                f"{text}: {option} is looked at with objective={wanted} alone. "
                f"Add objective={wanted}, or leave {option} out."
            )


def add_options(text: str, **common: Any) -> str:
    """The text with those of the `common` options that are not None, that the policy has and does not set.

    So a name tells all that was chosen, as `fifo` with a placement becomes `fifo:placement=gadget`.
    """
    name, given = split_options(text)
    if name not in POLICIES:
        return text
    known = list_fields(POLICIES[name])
    said = {option.partition("=")[0] for option in given}
    more = [
        f"{key}={value}"
        for key, value in common.items()
        if value is not None and key in known and key not in said
    ]
    return f"{name}:{','.join([*given, *more])}" if more else text
