"""Where a controller begins: the fold of its journal."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from gadget.engine.events import Event, SlotDecided
from gadget.engine.state import State, begin
from gadget.model.cluster import Cluster
from gadget.model.quantity import MOST_SLOTS
from gadget.model.snapshot import Scenario
from gadget.store.journal import Entry, Journal

_NO_CLUSTER = Cluster((), (), ())
_LOOK_BACK = 5_000
"""Within so many entries the decision on the present slot is found, or it was long ago."""


class Log(Protocol):
    """The journal, as far as the controller needs it."""

    def append(self, events: Sequence[Event], at: float) -> Sequence[Entry]:
        """Write events down; durable when it returns. JournalFailed if that cannot be."""
        ...

    def compact(self, state: State) -> None:
        """Write the present state down, for a short start."""
        ...


@dataclass(frozen=True, slots=True)
class Origin:
    """What the journal holds."""

    state: State
    last: int
    """Its newest entry's number."""
    decided_at: float | None
    """When the present slot was decided, in seconds since 1970; None if it is not."""


def begin_live(slot_seconds: float) -> State:
    """The state before the first entry: no servers, no jobs, no end; work is what workers report."""
    scenario = Scenario(_NO_CLUSTER, (), MOST_SLOTS, slot_seconds)
    return begin(scenario, is_measured=True)


def find_origin(journal: Journal) -> Origin:
    """Where a journal ends: recovery after a crash, and replay, are this one fold."""
    state, last = journal.recover()
    decided_at = None
    if state.decided:
        newest = journal.read(max(0, last - _LOOK_BACK), _LOOK_BACK)
        times = [entry.at for entry in newest if isinstance(entry.event, SlotDecided)]
        decided_at = times[-1] if times else None
    return Origin(state, last, decided_at)
