"""How a state changes with its servers."""

from collections.abc import Mapping
from dataclasses import replace

from gadget.engine.events import (
    ClusterChanged,
    ServerDrained,
    ServerFailed,
    ServerReturned,
    ServerUndrained,
)
from gadget.engine.state import State, find_available, find_standing
from gadget.errors import ImpossibleEvent
from gadget.model.names import nearest_hint
from gadget.model.ring import Allocation, Ring


def change_cluster(
    state: State,
    event: ServerFailed | ServerReturned | ServerDrained | ServerUndrained | ClusterChanged,
) -> State:
    """The state after something happened to servers."""
    match event:
        case ServerFailed():
            return _fail(state, event.server)
        case ServerReturned():
            return _bring_back(state, event.server)
        case ServerDrained():
            return _drain(state, event.server)
        case ServerUndrained():
            return _undrain(state, event.server)
        case ClusterChanged():
            return _exchange(state, event)


def _fail(state: State, server: str) -> State:
    _check_server(state, server)
    if server in state.down:
        raise ImpossibleEvent(f"server {server!r} is down already.")
    spared = tuple(ring for ring in state.running.rings if not touches(ring, server))
    lost = state.running.ring_of.keys() - {ring.job for ring in spared}
    return replace(
        _with_servers(state, down=state.down | {server}),
        running=Allocation(spared),
        restarting=state.restarting - lost,
    )


def _bring_back(state: State, server: str) -> State:
    _check_server(state, server)
    if server not in state.down:
        raise ImpossibleEvent(f"server {server!r} cannot return: it is not down.")
    return _with_servers(state, down=state.down - {server})


def _drain(state: State, server: str) -> State:
    _check_server(state, server)
    if server in state.drained:
        raise ImpossibleEvent(f"server {server!r} is drained already.")
    return _with_servers(state, drained=state.drained | {server})


def _undrain(state: State, server: str) -> State:
    _check_server(state, server)
    if server not in state.drained:
        raise ImpossibleEvent(f"server {server!r} is not drained.")
    return _with_servers(state, drained=state.drained - {server})


def _with_servers(
    state: State, *, down: frozenset[str] | None = None, drained: frozenset[str] | None = None
) -> State:
    lost = state.down if down is None else down
    empty = state.drained if drained is None else drained
    return replace(state, down=lost, drained=empty, available=find_available(state.cluster, lost, empty))


def _exchange(state: State, event: ClusterChanged) -> State:
    cluster = event.cluster
    down = state.down & cluster.server_by_name.keys()
    drained = state.drained & cluster.server_by_name.keys()
    nodes = find_standing(cluster, down).neighbours
    kept = tuple(ring for ring in state.running.rings if _fits_into(ring, nodes))
    lost = state.running.ring_of.keys() - {ring.job for ring in kept}
    return replace(
        state,
        cluster=cluster,
        slot_seconds=event.slot_seconds,
        down=down,
        drained=drained,
        available=find_available(cluster, down, drained),
        running=Allocation(kept),
        restarting=state.restarting - lost,
        prices=None,
    )


def _fits_into(ring: Ring, nodes: Mapping[str, Mapping[str, float]]) -> bool:
    """Whether every worker and every hop of the ring is there."""
    return nodes.keys() >= set(ring.workers) and all(b in nodes.get(a, {}) for a, b in ring.hops())


def _check_server(state: State, server: str) -> None:
    known = state.cluster.server_by_name
    if server not in known:
        raise ImpossibleEvent(f"no server is named {server!r}{nearest_hint(server, known)}.")


def touches(ring: Ring, server: str) -> bool:
    """Whether the ring has a worker on the server, or a route through it."""
    return server in ring.workers or any(server in route for route in ring.routes)
