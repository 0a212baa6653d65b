"""The journal, as pages and as a stream."""

from typing import Annotated, Any

from fastapi import APIRouter, Header, Query, Request
from fastapi.responses import Response
from starlette.concurrency import run_in_threadpool

from gadget.api.auth import VIEWER
from gadget.api.event_stream import Streams, entry_document
from gadget.api.routes.parts import MOST_ENTRIES, AskedService, answers
from gadget.api.schemas import Events
from gadget.engine.json_text import format_document
from gadget.live.service import Service

router = APIRouter(tags=["events"])

MOST_EVENTS = 10_000

_STREAM = {
    "schema": {"type": "string"},
    "example": 'id: 7\nevent: server-drained\ndata: {"number": 7, …}\n\n',
}
_BOTH: dict[int | str, dict[str, Any]] = {
    200: {
        "model": Events,
        "description": "Entries; a stream of them where `Accept` is text/event-stream.",
        "content": {"text/event-stream": _STREAM},
    }
}
_ONLY_STREAM: dict[int | str, dict[str, Any]] = {
    200: {"description": "Entries as they come.", "content": {"text/event-stream": _STREAM}}
}

After = Annotated[
    int | None,
    Query(
        ge=0, le=MOST_ENTRIES, description="Only entries above this number; 0 is all that the journal has."
    ),
]
LastEventId = Annotated[str | None, Header(description="What a stream resumes from, as browsers send it.")]


@router.get(
    "/events",
    dependencies=[VIEWER],
    response_class=Response,
    responses={**answers(422, 503), **_BOTH},
    summary="Read the journal",
)
async def read_events(
    request: Request,
    service: AskedService,
    after: After = None,
    limit: Annotated[int, Query(ge=1, le=MOST_EVENTS, description="At most so many.")] = 100,
    last_event_id: LastEventId = None,
) -> Response:
    """Entries of the journal, oldest first: those above `after`, or the newest ones where it is not given."""
    if "text/event-stream" in request.headers.get("accept", ""):
        return _follow(request, service, after, last_event_id)

    def read() -> bytes:
        last = service.view().last_entry
        start = max(0, last - limit) if after is None else after
        events = [entry_document(entry) for entry in service.read_entries(start, limit)]
        return format_document({"last": last, "events": events}).encode()

    return Response(await run_in_threadpool(read), media_type="application/json")


@router.get(
    "/events/stream",
    dependencies=[VIEWER],
    response_class=Response,
    responses={**answers(422, 503), **_ONLY_STREAM},
    summary="Follow the journal",
)
async def follow_events(
    request: Request, service: AskedService, after: After = None, last_event_id: LastEventId = None
) -> Response:
    """Entries as server-sent events, with their numbers as ids, until one side ends it.

    It goes on behind `Last-Event-ID`, or `after`; without either it begins with what comes next.
    """
    return _follow(request, service, after, last_event_id)


def _follow(request: Request, service: Service, after: int | None, last_event_id: str | None) -> Response:
    streams: Streams = request.app.state.streams
    if last_event_id is not None and last_event_id.isascii() and last_event_id.isdigit():
        return streams.follow(request, min(int(last_event_id[:20]), MOST_ENTRIES))
    return streams.follow(request, service.view().last_entry if after is None else after)
