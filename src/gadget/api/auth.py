"""Who may do what: bearer tokens and the four roles, each of which may do all that the one before may."""

from typing import Annotated, Protocol

from fastapi import Depends, Request
from fastapi.security import HTTPAuthorizationCredentials, HTTPBearer

from gadget.api.failures import Problem, Refusal

# In rising order. A viewer reads, a user submits and cancels, an operator drains servers, an admin does all.
ROLES = ("viewer", "user", "operator", "admin")

_SCHEME = HTTPBearer(auto_error=False, description="A token of this service; see docs/reference/api.md.")


class Holder(Protocol):
    """Whose a token is."""

    @property
    def name(self) -> str:
        """Who it was made for."""
        ...

    @property
    def role(self) -> str:
        """One of `ROLES`."""
        ...


class Tokens(Protocol):
    """The tokens that the service knows."""

    def find_token(self, text: str) -> Holder | None:
        """Whose this token is; None if it is nobody's."""
        ...


class Needs:
    """What a route depends on: a token whose holder has at least this role."""

    def __init__(self, role: str) -> None:
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
        tokens: Tokens = request.app.state.tokens
        holder = tokens.find_token(given.credentials)
        if holder is None:
            raise Refusal(
                401,
                "bad-token",
                "the token is not known here. Give a token of this service.",
                {"WWW-Authenticate": 'Bearer error="invalid_token"'},
            )
        if ROLES.index(holder.role) < ROLES.index(self._role):
            raise Refusal(
                403,
                "not-allowed",
                f"this needs the role {self._role}; the token of {holder.name} has {holder.role}. "
                f"Give a token with that role.",
            )


VIEWER = Depends(Needs("viewer"))
USER = Depends(Needs("user"))
OPERATOR = Depends(Needs("operator"))

# What every route with a token may answer, for its description.
TOKEN_ANSWERS: dict[int | str, dict[str, object]] = {
    401: {"model": Problem, "description": "No token, or one that is not known."},
    403: {"model": Problem, "description": "The token's role may not do this."},
}
