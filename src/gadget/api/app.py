"""The HTTP interface put together."""

from importlib.metadata import version
from typing import Any

import msgspec
from fastapi import FastAPI

from gadget.api.auth import Tokens
from gadget.api.event_stream import KEEP_ALIVE_SECONDS, Streams
from gadget.api.failures import add_handlers
from gadget.api.request_body import MOST_BYTES, Bounded, NamesInPaths
from gadget.api.routes import decisions, events, jobs, nodes, service
from gadget.live.service import Service
from gadget.model.documents import DOCUMENTS

PREFIX = "/v1"

_TEXT = """The live scheduler of elastic ring-all-reduce training jobs.

Every route but `/health` and `/ready` needs a token, in the header `Authorization: Bearer TOKEN`.
Roles, each with all that those before it may do: `viewer` reads, `user` submits and cancels jobs,
`operator` drains servers, `admin` does everything. What cannot be done is answered with a status,
a stable word (`error`) and one line (`message`)."""


def build_app(
    asked: Service,
    tokens: Tokens,
    *,
    metrics_need_token: bool = True,
    keep_alive_seconds: float = KEEP_ALIVE_SECONDS,
    most_bytes: int = MOST_BYTES,
) -> FastAPI:
    """An application that answers for this service to holders of these tokens."""
    app = FastAPI(
        title="GADGET",
        version=version("gadget-scheduler"),
        description=_TEXT,
        openapi_url=f"{PREFIX}/openapi.json",
        docs_url=None,  # its page would be fetched from elsewhere
        redoc_url=None,
        redirect_slashes=False,
    )
    app.state.service = asked
    app.state.tokens = tokens
    app.state.streams = Streams(asked, keep_alive_seconds=keep_alive_seconds)
    groups = (
        jobs.router,
        nodes.router,
        decisions.router,
        events.router,
        service.router,
        service.build_metrics_router(needs_token=metrics_need_token),
    )
    for group in groups:
        app.include_router(group, prefix=PREFIX)
    add_handlers(app)
    app.add_middleware(NamesInPaths)
    app.add_middleware(Bounded, most_bytes=most_bytes)
    _describe_documents(app)
    return app


def _describe_documents(app: FastAPI) -> None:
    """Files of ours have the shapes in the description that they have as files."""
    describe = app.openapi

    def with_documents() -> dict[str, Any]:
        made = describe()
        kinds = [DOCUMENTS[kind] for kind in ("jobs", "decision", "snapshot", "scenario")]
        _, shapes = msgspec.json.schema_components(kinds, ref_template="#/components/schemas/{name}")
        made["components"]["schemas"].update(shapes)
        return made

    app.openapi = with_documents  # type: ignore[method-assign]  # as FastAPI documents it
