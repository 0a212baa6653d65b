"""The interface on a loopback socket, over a service that is a fold of events."""

from collections.abc import Callable, Iterator
from typing import Any

import httpx
import pytest

from gadget.api.app import build_app
from gadget.api.server import Server as HttpServer
from tests.live_service import FoldedService, KnownTokens
from tests.unit.api.worlds import RACKS

Ask = Callable[..., httpx.Response]


@pytest.fixture
def service() -> FoldedService:
    return FoldedService(RACKS)


@pytest.fixture
def address(service: FoldedService) -> Iterator[str]:
    """Where the interface of `service` listens."""
    app = build_app(service, KnownTokens(), most_bytes=100_000, keep_alive_seconds=0.5)
    server = HttpServer(app)
    server.start()
    yield server.address
    server.stop()


@pytest.fixture
def ask(address: str) -> Iterator[Ask]:
    """Ask a route under /v1 as the holder of a role; `role=None` sends no token."""
    with httpx.Client(trust_env=False, timeout=10) as client:

        def run(method: str, path: str, role: str | None = "admin", **more: Any) -> httpx.Response:
            headers = more.pop("headers", {})
            if role is not None:
                headers = {"Authorization": f"Bearer {role}", **headers}
            return client.request(method, f"{address}/v1{path}", headers=headers, **more)

        yield run
