"""What routes have in common: the service they ask, names in their paths, what they may answer."""

from collections.abc import Iterable
from typing import Annotated, Any

from fastapi import Depends, Path, Request
from pydantic import AfterValidator

from gadget.api.auth import TOKEN_ANSWERS
from gadget.api.failures import Problem, Refusal
from gadget.api.request_body import restore_name
from gadget.live.service import Service
from gadget.model.names import nearest_hint


def _find_service(request: Request) -> Service:
    service: Service = request.app.state.service
    return service


# Numbers of entries as every reader of JSON can hold them.
MOST_ENTRIES = 2**53

AskedService = Annotated[Service, Depends(_find_service)]
Name = Annotated[
    str,
    Path(description="Its name, percent-encoded: a slash in it is %2F.", examples=["resnet-7"]),
    AfterValidator(restore_name),
]

_MEANINGS = {
    404: "There is none of that name.",
    409: "Cannot be, as things stand.",
    413: "The body is too large.",
    415: "The body is of a kind that is not read.",
    422: "What was sent cannot be used.",
    503: "Not now.",
}


def answers(*statuses: int) -> dict[int | str, dict[str, Any]]:
    """What a route may answer beside what it should, for its description."""
    told: dict[int | str, dict[str, Any]] = {
        status: {"model": Problem, "description": _MEANINGS[status]} for status in statuses
    }
    return {**TOKEN_ANSWERS, **told}


def check_known(kind: str, name: str, *known: Iterable[str]) -> None:
    """Refuse with 404 a name that nobody has."""
    if any(name in names for names in known):
        return
    hint = nearest_hint(name, [one for names in known for one in names])
    raise Refusal(404, "not-found", f"no {kind} is named {name!r}{hint}.")
