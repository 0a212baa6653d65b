"""What has happened: frozen values, in the past tense; applied in order they rebuild any state."""

from dataclasses import dataclass
from enum import StrEnum
from typing import NamedTuple

from gadget.model.cluster import Cluster
from gadget.model.decision import Decision
from gadget.model.job import Job
from gadget.model.timing import Timing


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
    reason: str = ""


@dataclass(frozen=True, slots=True)
class ServerReturned:
    """A failed server came back, with its links to nodes that stand."""

    server: str


@dataclass(frozen=True, slots=True)
class ServerDrained:
    """Somebody wants a server emptied: rings on it go on until the next decision, which sees it no more."""

    server: str


@dataclass(frozen=True, slots=True)
class ServerUndrained:
    """A drained server may take workers again."""

    server: str


@dataclass(frozen=True, slots=True)
class ClusterChanged:
    """The cluster is another one from now on; rings on nodes that it lacks have stopped."""

    cluster: Cluster
    slot_seconds: float


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
    share: float = 1.0
    """How much of a whole slot it was: less than 1 where something made the next one begin early."""


@dataclass(frozen=True, slots=True)
class SlotObserved:
    """A decision on the present slot was taken and not carried out; the next slot begins."""

    decision: Decision


@dataclass(frozen=True, slots=True)
class JobFinished:
    """The program of a job ended by itself, all done."""

    job: str
    work: float
    """All the work that it did."""
    share: float = 0.0
    """How much of the present slot its ring ran."""


class Cause(StrEnum):
    """What broke a ring."""

    WORKER = "worker"
    """A worker ended, or never came up."""
    HUNG = "hung"
    """A worker said nothing for too long."""
    SERVER = "server"
    """One of its servers went away: no fault of the job."""
    ENGINE = "engine"
    """The engine had no room for it, or took it away: no fault of the job."""
    SERVICE = "service"
    """The service was stopped, and took its rings along: no fault at all."""


@dataclass(frozen=True, slots=True)
class RingFailed:
    """The ring of a job broke; the job waits again, with the work that its last good checkpoint holds."""

    job: str
    work: float
    reason: str
    """What people read."""
    cause: Cause = Cause.WORKER
    share: float = 0.0
    """How much of the present slot its ring ran."""


@dataclass(frozen=True, slots=True)
class WorkLost:
    """A job went on from less than it had done: its newest checkpoint was missing or unreadable."""

    job: str
    work: float
    """What it went on from."""
    reason: str


@dataclass(frozen=True, slots=True)
class SpeedMeasured:
    """The rings of a job were seen to be faster or slower than it said; decisions reckon with this now."""

    job: str
    rate: float | None = None
    timing: Timing | None = None


@dataclass(frozen=True, slots=True)
class JobsForgotten:
    """Nothing more is kept of these jobs, which ended long ago; their names are free again."""

    jobs: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Noted:
    """Something worth knowing that changes no state: a late solver, a ring found running."""

    topic: str
    text: str


Event = (
    JobsArrived
    | JobLeft
    | JobFinished
    | ServerFailed
    | ServerReturned
    | ServerDrained
    | ServerUndrained
    | ClusterChanged
    | SlotDecided
    | SlotServed
    | SlotObserved
    | RingFailed
    | WorkLost
    | SpeedMeasured
    | JobsForgotten
    | Noted
)
