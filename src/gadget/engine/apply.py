"""The one way a state changes."""

from gadget.engine.apply_job import change_job
from gadget.engine.apply_server import change_cluster
from gadget.engine.apply_slot import change_slot
from gadget.engine.events import (
    ClusterChanged,
    Event,
    Noted,
    ServerDrained,
    ServerFailed,
    ServerReturned,
    ServerUndrained,
    SlotDecided,
    SlotObserved,
    SlotServed,
)
from gadget.engine.state import State


def apply(state: State, event: Event) -> State:
    """The state after the event; ImpossibleEvent if it cannot have happened."""
    match event:
        case SlotDecided() | SlotServed() | SlotObserved():
            return change_slot(state, event)
        case ServerFailed() | ServerReturned() | ServerDrained() | ServerUndrained() | ClusterChanged():
            return change_cluster(state, event)
        case Noted():
            return state
        case _:
            return change_job(state, event)
