"""Servers: look at, drain, bring back."""

from fastapi import APIRouter

from gadget.api.auth import OPERATOR, VIEWER
from gadget.api.routes.parts import AskedService, Name, answers, check_known
from gadget.api.schemas import Done, Nodes, NodeShown
from gadget.api.shown_nodes import show_node, show_nodes
from gadget.engine.state import State

router = APIRouter(tags=["nodes"])


@router.get("/nodes", dependencies=[VIEWER], responses=answers(), summary="List servers")
def list_nodes(service: AskedService) -> Nodes:
    """The servers with what rings take of them."""
    return show_nodes(service.view().state)


@router.post(
    "/nodes/{name:path}/drain",
    dependencies=[OPERATOR],
    responses=answers(404, 409),
    summary="Drain a server",
)
def drain(name: Name, service: AskedService) -> Done:
    """Let a server become empty: its rings go elsewhere at the next decision; it takes no new ones."""
    _check_server(service.view().state, name)
    service.drain(name)
    return Done(name=name, done="drained")


@router.post(
    "/nodes/{name:path}/undrain",
    dependencies=[OPERATOR],
    responses=answers(404, 409),
    summary="Bring a server back",
)
def undrain(name: Name, service: AskedService) -> Done:
    """Let a drained server take workers again."""
    _check_server(service.view().state, name)
    service.undrain(name)
    return Done(name=name, done="undrained")


@router.get("/nodes/{name:path}", dependencies=[VIEWER], responses=answers(404), summary="Show a server")
def read_node(name: Name, service: AskedService) -> NodeShown:
    """A server with its workers and the bandwidth that is reserved on its links."""
    state = service.view().state
    _check_server(state, name)
    return show_node(state, name)


def _check_server(state: State, name: str) -> None:
    check_known("server", name, state.cluster.server_by_name)
