"""Jobs: submit, look at, cancel; and the queue."""

import codecs
from pathlib import Path
from typing import Annotated

from fastapi import APIRouter, Query, Request
from starlette.concurrency import run_in_threadpool

from gadget.api.auth import USER, VIEWER
from gadget.api.failures import Refusal
from gadget.api.routes.parts import AskedService, Name, answers, check_known
from gadget.api.schemas import Done, Jobs, JobShown, Log, Queue, Submitted
from gadget.api.shown_jobs import show_job, show_jobs, show_queue
from gadget.engine.state import JobStatus
from gadget.errors import BadInput
from gadget.live.view import View
from gadget.model.codec import read_jobs_content

router = APIRouter(tags=["jobs"])

MOST_JOBS = 10_000
MOST_LINES = 10_000

# What complaints call the body; its ending says how it is read, and without one its content does.
_BODIES = {
    "": "body",
    "application/octet-stream": "body",
    "text/plain": "body",
    "application/json": "body.json",
    "application/yaml": "body.yaml",
    "application/x-yaml": "body.yaml",
    "text/yaml": "body.yaml",
    "text/x-yaml": "body.yaml",
}
_EXAMPLE = {
    "version": 1,
    "jobs": [
        {
            "name": "resnet-7",
            "workers": {"min": 1, "max": 4},
            "resources": {"gpu": 1},
            "bandwidth_gbps": 2.5,
            "rate": 120,
            "work": 9000,
            "utility": {"kind": "sqrt", "scale": 10},
            "run": {"command": ["python", "train_ring.py"]},
        }
    ],
}
_SCHEMA = {"$ref": "#/components/schemas/JobsDoc"}
_BODY = {
    "requestBody": {
        "required": True,
        "description": "Jobs, as in a file: under `jobs` alone, or those of a scenario.",
        "content": {
            "application/json": {"schema": _SCHEMA, "example": _EXAMPLE},
            "application/yaml": {"schema": _SCHEMA},
        },
    }
}


@router.post(
    "/jobs",
    status_code=201,
    dependencies=[USER],
    responses=answers(409, 413, 415, 422),
    openapi_extra=_BODY,
    summary="Submit jobs",
)
async def submit(request: Request, service: AskedService) -> Submitted:
    """Take jobs into the queue, all or none. Their names must be new: 409 says which one is taken."""
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind not in _BODIES:
        raise Refusal(
            415, "wrong-type", f"{kind} is not read here. Send application/json or application/yaml."
        )
    content = (await request.body()).removeprefix(codecs.BOM_UTF8)

    def take() -> Submitted:
        jobs = read_jobs_content(Path(_BODIES[kind]), content)
        if not jobs:
            raise Refusal(422, "bad-input", "the body holds no jobs. Add one under `jobs`.")
        service.submit(jobs)
        return Submitted(names=[job.name for job in jobs])

    return await run_in_threadpool(take)


@router.get("/jobs", dependencies=[VIEWER], responses=answers(422), summary="List jobs")
def list_jobs(
    service: AskedService,
    status: Annotated[JobStatus | None, Query(description="Only those with this status.")] = None,
    offset: Annotated[int, Query(ge=0, description="Leave out so many.")] = 0,
    limit: Annotated[int, Query(ge=1, le=MOST_JOBS, description="At most so many.")] = 1000,
) -> Jobs:
    """Active jobs in order of arrival, then those that ended, the last one first."""
    return show_jobs(service.view(), status, offset, limit)


@router.get(
    "/jobs/{name:path}/logs", dependencies=[VIEWER], responses=answers(404, 422), summary="Read a rank's log"
)
def read_log(
    name: Name,
    service: AskedService,
    rank: Annotated[int, Query(ge=0, description="Whose log.")] = 0,
    lines: Annotated[int, Query(ge=1, le=MOST_LINES, description="How many of the last lines.")] = 100,
) -> Log:
    """The last lines that a rank of the job's newest ring has printed."""
    _check_job(service.view(), name)
    try:
        text = service.read_log(name, rank=rank, lines=lines)
    except BadInput as error:
        raise Refusal(404, "not-found", str(error)) from None
    # A program may print bytes that are no text.
    return Log(job=name, rank=rank, text=text.encode(errors="replace").decode())


@router.get("/jobs/{name:path}", dependencies=[VIEWER], responses=answers(404), summary="Show a job")
def read_job(name: Name, service: AskedService) -> JobShown:
    """Where it stands, the ring that is really there, its speed, why it waits, and its history."""
    view = service.view()
    _check_job(view, name)
    return show_job(view, name)


@router.delete("/jobs/{name:path}", dependencies=[USER], responses=answers(404, 409), summary="Cancel a job")
def cancel(name: Name, service: AskedService) -> Done:
    """Take a job out, waiting or running; 409 if it has ended already."""
    _check_job(service.view(), name)
    service.cancel(name)
    return Done(name=name, done="cancelled")


@router.get("/queue", dependencies=[VIEWER], responses=answers(), summary="Show the queue")
def read_queue(service: AskedService) -> Queue:
    """The jobs that wait, in order of arrival, each with its reason, the evidence and what would help.

    Policies need not follow that order: `gadget` weighs gains.
    """
    return show_queue(service.view())


def _check_job(view: View, name: str) -> None:
    check_known("job", name, view.state.active, view.state.ended)
