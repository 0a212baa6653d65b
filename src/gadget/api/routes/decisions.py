"""Decisions of the past, and the present as a file that other commands read."""

from enum import StrEnum
from typing import Annotated, Any

from fastapi import APIRouter, Path, Query
from fastapi.responses import JSONResponse

from gadget.api.auth import VIEWER
from gadget.api.failures import Refusal
from gadget.api.history import find_decision, list_decisions
from gadget.api.left_over import build_left_over
from gadget.api.routes.parts import MOST_ENTRIES, AskedService, answers
from gadget.api.schemas import Decisions
from gadget.engine.decide import snapshot_of
from gadget.model.encoding import to_document
from gadget.model.quantity import MOST_SLOTS

router = APIRouter(tags=["decisions"])

MOST_DECISIONS = 1000


class Form(StrEnum):
    """As which kind of file the present is given."""

    SNAPSHOT = "snapshot"
    SCENARIO = "scenario"


def _document(*kinds: str) -> dict[int | str, dict[str, Any]]:
    shapes = [{"$ref": f"#/components/schemas/{kind}"} for kind in kinds]
    schema = shapes[0] if len(shapes) == 1 else {"oneOf": shapes}
    return {200: {"description": "The document.", "content": {"application/json": {"schema": schema}}}}


@router.get("/decisions", dependencies=[VIEWER], responses=answers(422), summary="List decisions")
def read_decisions(
    service: AskedService,
    before: Annotated[
        int | None,
        Query(ge=1, le=MOST_ENTRIES, description="Only entries below this number: the `before` of a page."),
    ] = None,
    limit: Annotated[int, Query(ge=1, le=MOST_DECISIONS, description="At most so many.")] = 50,
) -> Decisions:
    """Decisions, the newest first, page by page. A page may be short; `before` tells if there is more."""
    return list_decisions(service, before, limit)


@router.get(
    "/decisions/{slot}",
    dependencies=[VIEWER],
    response_class=JSONResponse,
    responses={**answers(404, 422), **_document("DecisionDoc")},
    summary="Read a decision",
)
def read_decision(
    service: AskedService, slot: Annotated[int, Path(ge=0, le=MOST_SLOTS, description="The slot.")]
) -> JSONResponse:
    """The decision on a slot as a document, as `gadget solve --json` writes and `gadget check` reads it."""
    found = find_decision(service, slot)
    if found is None:
        raise Refusal(404, "not-found", f"the journal has no decision on slot {slot}.")
    return JSONResponse(to_document(found))


@router.get(
    "/snapshot",
    dependencies=[VIEWER],
    response_class=JSONResponse,
    responses={**answers(409, 422), **_document("SnapshotDoc", "ScenarioDoc")},
    summary="The present as a file",
)
def read_snapshot(
    service: AskedService,
    form: Annotated[
        Form,
        Query(
            alias="as",
            description="`snapshot` is what a decision would see now (`gadget solve`); `scenario` is what is "
            "left of the unfinished jobs, from slot 0 on (`gadget simulate`).",
        ),
    ] = Form.SNAPSHOT,
    slots: Annotated[
        int, Query(ge=1, le=MOST_SLOTS, description="With `as=scenario`: over how many slots.")
    ] = 200,
) -> JSONResponse:
    """What stands of the cluster and the unfinished jobs, as a document that other commands read."""
    state = service.view().state
    if not state.available.servers or not state.available.is_connected:
        raise Refusal(
            409,
            "conflict",
            "what may be used of the cluster is empty or in parts, which no file can hold. "
            "Bring servers back first.",
        )
    if form is Form.SCENARIO:
        return JSONResponse(to_document(build_left_over(state, slots)))
    return JSONResponse(to_document(snapshot_of(state)))
