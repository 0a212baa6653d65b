"""What the service answers when it cannot do what was asked: a stable word and one message for people."""

import logging
from collections.abc import Mapping

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from pydantic import BaseModel, Field
from starlette.exceptions import HTTPException

from gadget.backends.backend import EngineAway
from gadget.errors import (
    BadInput,
    BadJournal,
    GadgetError,
    ImpossibleEvent,
    JournalFailed,
    JournalTaken,
    printable,
)

_log = logging.getLogger(__name__)

_WORDS = {404: "not-found", 405: "wrong-method", 413: "too-large", 415: "wrong-type"}


class Problem(BaseModel):
    """Why a request was not carried out."""

    error: str = Field(description="A stable word for programs.", examples=["not-found"])
    message: str = Field(
        description="What is wrong and how to mend it, in one line.",
        examples=["no job is named 'resnet' (nearest: 'resnet-7')."],
    )


class Refusal(Exception):
    """Ends a request with a status, a word and a message."""

    def __init__(
        self, status: int, error: str, message: str, headers: Mapping[str, str] | None = None
    ) -> None:
        super().__init__(message)
        self.status = status
        self.error = error
        self.message = printable(message)
        self.headers = dict(headers or {})


def answer(status: int, error: str, message: str, headers: Mapping[str, str] | None = None) -> JSONResponse:
    """The response that tells a problem."""
    body = Problem(error=error, message=message).model_dump()
    return JSONResponse(body, status, None if headers is None else dict(headers))


def add_handlers(app: FastAPI) -> None:
    """Every failure gets the same shape of answer, and none tells what the service looks like inside."""

    @app.exception_handler(Refusal)
    def tell_refusal(_: Request, refusal: Refusal) -> JSONResponse:
        return answer(refusal.status, refusal.error, refusal.message, refusal.headers)

    @app.exception_handler(BadInput)
    def tell_bad_input(_: Request, error: BadInput) -> JSONResponse:
        return answer(422, "bad-input", str(error))

    @app.exception_handler(ImpossibleEvent)
    def tell_conflict(_: Request, error: ImpossibleEvent) -> JSONResponse:
        return answer(409, "conflict", str(error))

    @app.exception_handler(BadJournal)
    @app.exception_handler(JournalTaken)
    @app.exception_handler(JournalFailed)
    def tell_journal(_: Request, error: GadgetError) -> JSONResponse:
        _log.error("the journal cannot be used: %s", error)
        # What is wrong, but not where things lie.
        reason = str(error).rpartition(": ")[2]
        return answer(503, "not-now", f"the journal cannot be used now, and nothing was changed: {reason}")

    @app.exception_handler(EngineAway)
    def tell_engine(_: Request, error: EngineAway) -> JSONResponse:
        return answer(503, "not-now", printable(f"the engine does not answer now ({error}). Try again."))

    @app.exception_handler(GadgetError)
    def tell_busy(_: Request, error: GadgetError) -> JSONResponse:
        return answer(503, "not-now", str(error))

    @app.exception_handler(RequestValidationError)
    def tell_bad_query(_: Request, error: RequestValidationError) -> JSONResponse:
        first = error.errors()[0]
        where = ".".join(str(part) for part in first["loc"][1:]) or str(first["loc"][0])
        return answer(422, "bad-input", printable(f"{where}: {first['msg']}. Correct it."))

    @app.exception_handler(HTTPException)
    def tell_status(_: Request, error: HTTPException) -> JSONResponse:
        word = _WORDS.get(error.status_code, "refused")
        return answer(error.status_code, word, printable(f"{error.detail}."), error.headers)

    @app.exception_handler(Exception)
    def tell_fault(request: Request, error: Exception) -> JSONResponse:
        _log.error("%s %s failed: %r", request.method, request.url.path, error)
        return answer(500, "fault", "the service met a fault of its own; its log tells which.")
