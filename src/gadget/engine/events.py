"""What has happened: frozen values, in the past tense; applied in order they rebuild any state."""

from dataclasses import dataclass
from typing import NamedTuple

from gadget.model.decision import Decision
from gadget.model.job import Job


@dataclass(frozen=True, slots=True)
class JobsArrived:
    """Jobs came; they are in the queue from the present slot on. One event for all that come together."""

    jobs: tuple[Job, ...]


@dataclass(frozen=True, slots=True)
class JobLeft:
    """A job was cancelled, waiting or running. What its ring did in a slot not yet served is lost."""

    job: str


@dataclass(frozen=True, slots=True)
class ServerFailed:
    """A server went down with its links; every ring on it or through it stopped."""

    server: str


@dataclass(frozen=True, slots=True)
class ServerReturned:
    """A failed server came back, with its links to nodes that stand."""

    server: str


@dataclass(frozen=True, slots=True)
class SlotDecided:
    """The rings of the present slot were chosen, and run from now on."""

    decision: Decision


class Seen(NamedTuple):
    """What the ring of a job was seen to do in a slot."""

    job: str
    work: float
    lost: float
    """Work that its restart took."""


@dataclass(frozen=True, slots=True)
class SlotServed:
    """The present slot went by: every ring that still runs did its work, and the next slot begins.

    Where work is measured, `seen` tells what each running job did; else it is what the job says of itself.
    """

    slot: int
    seen: tuple[Seen, ...] | None = None


Event = JobsArrived | JobLeft | ServerFailed | ServerReturned | SlotDecided | SlotServed
