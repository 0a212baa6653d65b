"""The journal as server-sent events: each entry as it is written, from any number on."""

import threading
from collections.abc import AsyncIterator
from typing import Any

from anyio import CapacityLimiter, sleep, to_thread
from fastapi import Request
from fastapi.responses import StreamingResponse

from gadget.api.failures import Refusal
from gadget.engine.event_documents import event_document, kind_of
from gadget.engine.json_text import format_document
from gadget.live.service import Service
from gadget.store.journal import Entry

MOST_STREAMS = 64
KEEP_ALIVE_SECONDS = 15.0
# How long a stream may go on after its client has gone or the service ends.
_LOOK_SECONDS = 0.5
_CHUNK = 200


def entry_document(entry: Entry) -> dict[str, Any]:
    """An entry as programs read it."""
    return {
        "number": entry.number,
        "at": entry.at,
        "kind": kind_of(entry.event),
        "event": event_document(entry.event),
    }


class Streams:
    """The streams that are open, each with a thread of its own to wait in."""

    def __init__(self, service: Service, *, keep_alive_seconds: float = KEEP_ALIVE_SECONDS) -> None:
        self._service = service
        self._keep_alive = keep_alive_seconds
        self._closing = threading.Event()
        self._open = 0
        self._limiter: CapacityLimiter | None = None

    def close(self) -> None:
        """End every stream soon; may be called from any thread."""
        self._closing.set()

    def follow(self, request: Request, after: int) -> StreamingResponse:
        """A stream of the entries above `after`, those to come included."""
        if self._open >= MOST_STREAMS:
            raise Refusal(
                503, "too-many-streams", f"{MOST_STREAMS} streams of events are open already. Close one."
            )
        self._open += 1
        return _Stream(
            self._run(request, after),
            self,
            headers={"Cache-Control": "no-store", "X-Accel-Buffering": "no"},
        )

    def leave(self) -> None:
        """One stream less."""
        self._open -= 1

    async def _run(self, request: Request, after: int) -> AsyncIterator[bytes]:
        self._limiter = self._limiter or CapacityLimiter(MOST_STREAMS)
        yield b"retry: 2000\n\n"
        silent = 0.0
        while not self._closing.is_set() and not await request.is_disconnected():
            if not await self._wait(after):
                silent += _LOOK_SECONDS
                if silent >= self._keep_alive:
                    silent = 0.0
                    yield b": still here\n\n"
                continue
            silent = 0.0
            entries = await to_thread.run_sync(
                self._service.read_entries, after, _CHUNK, limiter=self._limiter
            )
            if not entries:  # told of, and not to be read yet
                await sleep(_LOOK_SECONDS)
            for entry in entries:
                yield _format(entry)
                after = entry.number
        yield b": the service ends\n\n"

    async def _wait(self, after: int) -> bool:
        return await to_thread.run_sync(
            self._service.wait_for_entries, after, _LOOK_SECONDS, limiter=self._limiter
        )


class _Stream(StreamingResponse):
    """Tells when it is over, however it ends."""

    media_type = "text/event-stream"

    def __init__(self, content: AsyncIterator[bytes], streams: Streams, headers: dict[str, str]) -> None:
        super().__init__(content, headers=headers)
        self._streams = streams

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        try:
            await super().__call__(scope, receive, send)
        finally:
            self._streams.leave()


def _format(entry: Entry) -> bytes:
    document = entry_document(entry)
    return f"id: {entry.number}\nevent: {document['kind']}\ndata: {format_document(document)}\n\n".encode()
