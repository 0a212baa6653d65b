"""The journal: events in the order in which they happened, each with its number and time."""

from dataclasses import dataclass

from gadget.engine.events import Event


@dataclass(frozen=True, slots=True)
class Entry:
    """An event in the journal."""

    number: int
    """1, 2, 3 … without gaps."""
    at: float
    """Seconds since 1970, by the clock of the service."""
    event: Event
