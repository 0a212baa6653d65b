"""Who may do what: bearer tokens and the four roles, each of which may do all that the one before may."""

import logging
from typing import Annotated, Any, Protocol

from fastapi import Depends, Request
from fastapi.security import HTTPAuthorizationCredentials, HTTPBearer

from gadget.api.failures import Problem, Refusal
from gadget.errors import GadgetError
from gadget.store.tokens import Holder, Role

_log = logging.getLogger(__name__)

_SCHEME = HTTPBearer(auto_error=False, description="A token of this service; see docs/reference/api.md.")


class Tokens(Protocol):
    """The tokens that the service knows."""

    def find_token(self, text: str) -> Holder | None:
        """Whose this token is; None if it is nobody's."""
        ...


class Needs:
    """What a route depends on: a token whose holder has at least this role."""

    def __init__(self, role: Role) -> None:
        self._role = role

    def __call__(
        self, request: Request, given: Annotated[HTTPAuthorizationCredentials | None, Depends(_SCHEME)]
    ) -> None:
        """Refuse with 401 or 403 whoever may not."""
        if given is None:
            raise Refusal(
                401,
                "no-token",
                "the request has no token. Send the header `Authorization: Bearer TOKEN`.",
                {"WWW-Authenticate": "Bearer"},
            )
        holder = _find_holder(request.app.state.tokens, given.credentials)
        if holder is None:
            raise Refusal(
                401,
                "bad-token",
                "the token is not known here. Give a token of this service.",
                {"WWW-Authenticate": 'Bearer error="invalid_token"'},
            )
        if not holder.role.includes(self._role):
            raise Refusal(
                403,
                "not-allowed",
                f"this needs the role {self._role}; the token of {holder.name} has {holder.role}. "
                f"Give a token with that role.",
            )


def _find_holder(tokens: Tokens, text: str) -> Holder | None:
    try:
        return tokens.find_token(text)
    except GadgetError as error:
        _log.error("tokens cannot be read: %s", error)
        raise Refusal(
            503, "not-now", "tokens cannot be read now; the log of the service tells why."
        ) from None


VIEWER = Depends(Needs(Role.VIEWER))
USER = Depends(Needs(Role.USER))
OPERATOR = Depends(Needs(Role.OPERATOR))

# What every route with a token may answer, for its description.
TOKEN_ANSWERS: dict[int | str, dict[str, Any]] = {
    401: {"model": Problem, "description": "No token, or one that is not known."},
    403: {"model": Problem, "description": "The token's role may not do this."},
}
