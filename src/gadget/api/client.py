"""Asks a running service, from another process: what programs and the command line use.

Answers are the plain JSON that docs/reference/api.md describes.
"""

import ipaddress
import json
import os
from collections.abc import Iterator
from pathlib import Path
from types import TracebackType
from typing import Any, Self
from urllib.parse import quote, urlsplit

import httpx

from gadget.api.home import ADDRESS_FILE, TOKEN_FILE, find_home
from gadget.errors import BadOption, Refused, Unreachable

# Longer than a service that is busy lets a command wait.
_TIMEOUT = httpx.Timeout(75.0, connect=5.0)
# A stream is silent for 15 seconds at most.
_SILENCE_SECONDS = 60.0
_STRANGER = "this is no answer of a GADGET service. Check the address."
_START = "Start one with `gadget serve`, or name its address with --address or GADGET_ADDRESS."


class Client:
    """A connection to a service."""

    def __init__(self, address: str, token: str) -> None:
        self._address = address
        local = _is_local(address)
        self._http = httpx.Client(
            base_url=f"{address}/v1",
            headers={"Authorization": f"Bearer {token}"},
            timeout=_TIMEOUT,
            trust_env=not local,  # no proxy stands between a machine and itself
        )

    @classmethod
    def find(cls, address: str | None = None, token: str | None = None, home: Path | None = None) -> Self:
        """The service that options, the environment or the files of a local one tell of, in this order."""
        folder = find_home() if home is None else home
        wanted = address or os.environ.get("GADGET_ADDRESS")
        left = _read(folder / ADDRESS_FILE)
        local = None if left is None else _check_address(left)
        found = _check_address(wanted) if wanted else local
        if not found:
            raise Unreachable(f"no service runs here: {folder / ADDRESS_FILE} is missing. {_START}")
        secret = token or os.environ.get("GADGET_TOKEN")
        if not secret and found == local:  # a local token goes nowhere else
            secret = _read(folder / TOKEN_FILE)
        if not secret:
            raise Unreachable(f"{found}: no token is known for it. Give one with GADGET_TOKEN or --token.")
        if not (secret.isascii() and secret.isprintable()) or " " in secret:
            raise BadOption("the token holds characters that no token has. Copy it once more.")
        return cls(found, secret)

    @property
    def address(self) -> str:
        """Where the service listens."""
        return self._address

    def get(self, path: str, **query: Any) -> Any:
        """What a route answers; options that are None are left out."""
        return _parse(self._ask("GET", path, query))

    def post(self, path: str, content: bytes = b"", kind: str = "application/json") -> Any:
        """Send something, and what is answered."""
        return _parse(self._ask("POST", path, {}, content, {"Content-Type": kind}))

    def delete(self, path: str) -> Any:
        """Take something away, and what is answered."""
        return _parse(self._ask("DELETE", path, {}))

    def read(self, path: str, **query: Any) -> bytes:
        """What a route answers, as it is."""
        return self._ask("GET", path, query).content

    def follow(self, after: int | None = None) -> Iterator[dict[str, Any]]:
        """Entries of the journal as they come, until the service ends."""
        query = {} if after is None else {"after": after}
        timeout = httpx.Timeout(_SILENCE_SECONDS, connect=5.0)
        try:
            with self._http.stream("GET", "/events/stream", params=query, timeout=timeout) as response:
                if response.status_code != httpx.codes.OK:
                    response.read()
                    self._check(response)
                for line in response.iter_lines():
                    if line.startswith("data: "):
                        yield json.loads(line.removeprefix("data: "))
        except httpx.TransportError as error:
            raise self._away(error) from None

    def close(self) -> None:
        """Let go of the connection."""
        self._http.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _ask(
        self,
        method: str,
        path: str,
        query: dict[str, Any],
        content: bytes | None = None,
        headers: dict[str, str] | None = None,
    ) -> httpx.Response:
        given = {key: value for key, value in query.items() if value is not None}
        try:
            response = self._http.request(method, path, params=given, content=content, headers=headers)
        except httpx.TransportError as error:
            raise self._away(error) from None
        self._check(response)
        return response

    def _check(self, response: httpx.Response) -> None:
        if response.is_success:
            return
        message = _message(response)
        match response.status_code:
            case 401 | 403:
                raise Unreachable(f"{self._address}: {message}")
            case 404 | 409:
                raise Refused(message)
            case 413 | 415 | 422:
                raise BadOption(message)
            case status:
                raise Refused(f"{self._address}: answered with {status}: {message}")

    def _away(self, error: httpx.TransportError) -> Unreachable:
        if isinstance(error, httpx.ConnectError):
            return Unreachable(f"{self._address}: no service answers there. {_START}")
        if isinstance(error, httpx.TimeoutException):
            return Unreachable(f"{self._address}: the service did not answer in time. Try again.")
        return Unreachable(f"{self._address}: the connection broke ({error}). Try again.")


def quote_name(name: str) -> str:
    """A name as one part of a path, whatever characters it has."""
    # A part of dots alone would be taken for a way up.
    return quote(name, safe="") if name.strip(".") else "%2E" * len(name)


def _check_address(text: str) -> str:
    address = (text if "://" in text else f"http://{text}").rstrip("/")
    try:
        parts, port = httpx.URL(address), urlsplit(address).port  # the one checks names, the other numbers
        fine = parts.scheme in ("http", "https") and parts.host and port != 0
    except (httpx.InvalidURL, ValueError):
        fine = False
    if not fine or not address.isprintable() or " " in address:
        raise BadOption(f"{text!r} is no address. Write http://HOST:PORT.")
    return address


def _is_local(address: str) -> bool:
    host = urlsplit(address).hostname or ""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def _read(path: Path) -> str | None:
    try:
        return path.read_text().strip() or None
    except (OSError, UnicodeDecodeError):
        return None


def _message(response: httpx.Response) -> str:
    try:
        return str(response.json()["message"])
    except (ValueError, KeyError, TypeError):
        return _STRANGER


def _parse(response: httpx.Response) -> Any:
    try:
        return response.json()
    except ValueError:
        raise Refused(f"{response.url}: {_STRANGER}") from None
