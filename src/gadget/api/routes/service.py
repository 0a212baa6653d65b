"""The service as a whole: where it stands, whether it is well, its numbers."""

import time

from fastapi import APIRouter, Response

from gadget.api.auth import VIEWER
from gadget.api.metrics import MEDIA_TYPE, Meter
from gadget.api.routes.parts import AskedService, answers
from gadget.api.schemas import Health, Readiness, Status
from gadget.api.shown_service import show_readiness, show_status

router = APIRouter(tags=["service"])


@router.get("/status", dependencies=[VIEWER], responses=answers(), summary="Where the service stands")
def read_status(service: AskedService) -> Status:
    """Mode, engine, policy, slot, faults, and counts of jobs, servers and what has happened."""
    return show_status(service.view(), time.time())


@router.get("/health", summary="Whether the process answers")
def read_health() -> Health:
    """Always ok, as long as it answers at all. Needs no token."""
    return Health(status="ok")


@router.get(
    "/ready",
    responses={503: {"model": Readiness, "description": "It cannot: its engine or its journal fails."}},
    summary="Whether the service can do its work",
)
def read_readiness(service: AskedService, response: Response) -> Readiness:
    """Whether engine and journal answer. Needs no token."""
    found = show_readiness(service.view())
    response.status_code = 200 if found.ready else 503
    return found


def build_metrics_router(*, needs_token: bool) -> APIRouter:
    """The route of the numbers, for viewers or for everybody."""
    made = APIRouter(tags=["service"])
    meter = Meter()

    @made.get(
        "/metrics",
        dependencies=[VIEWER] if needs_token else [],
        response_class=Response,
        responses={
            **(answers() if needs_token else {}),
            200: {
                "description": "Prometheus text.",
                "content": {"text/plain": {"schema": {"type": "string"}}},
            },
        },
        summary="Numbers for Prometheus",
    )
    def read_metrics(service: AskedService) -> Response:
        """Jobs, waits, decisions, gap, utilisation, fragmentation, edges that leave racks, utility."""
        return Response(meter.format(service.view()), media_type=MEDIA_TYPE)

    return made
