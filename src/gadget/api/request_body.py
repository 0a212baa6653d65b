"""What a request may bring: a bounded body, and names with any character in its path."""

from urllib.parse import unquote_to_bytes

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from gadget.api.failures import Refusal, answer

MOST_BYTES = 10_000_000

# Stands for a slash inside a name until the route is found; no name holds it, as it is not printable.
_SLASH = "\0"


class Bounded:
    """Refuses bodies above the limit, also those that do not tell their length."""

    def __init__(self, app: ASGIApp, most_bytes: int = MOST_BYTES) -> None:
        self._app = app
        self._most = most_bytes

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the request on, its body counted."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        told = dict(scope["headers"]).get(b"content-length", b"0")
        if told.isdigit() and int(told) > self._most:
            await answer(413, "too-large", self._message())(scope, receive, send)
            return
        seen = 0

        async def count() -> Message:
            nonlocal seen
            message = await receive()
            seen += len(message.get("body", b""))
            if seen > self._most:
                raise Refusal(413, "too-large", self._message())
            return message

        await self._app(scope, count, send)

    def _message(self) -> str:
        return f"the body has more than {self._most:,} bytes. Send its jobs in several parts."


class NamesInPaths:
    """Keeps an encoded slash apart from one that separates, so that a name may hold slashes."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the request on, with encoded slashes marked in its path."""
        raw = scope.get("raw_path")
        if scope["type"] == "http" and raw and b"%2f" in raw.lower():
            marked = raw.replace(b"%2F", b"%00").replace(b"%2f", b"%00")
            scope = {**scope, "path": unquote_to_bytes(marked).decode(errors="replace")}
        await self._app(scope, receive, send)


def restore_name(text: str) -> str:
    """A name as it was before it became part of a path."""
    return text.replace(_SLASH, "/")
