"""What the live service shows of itself: one frozen value, taken between two events."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from gadget.backends.backend import RingKey, RingPhase
from gadget.engine.state import State
from gadget.model.decision import Decision
from gadget.model.ring import Ring


class Mode(StrEnum):
    """What the service does with its decisions."""

    OBSERVE = "observe"
    """It decides and touches nothing."""
    ENFORCE = "enforce"


@dataclass(frozen=True, slots=True)
class Fault:
    """Something that is wrong now and that people should know."""

    topic: str
    """`solver`, `engine`, `journal`."""
    since: float
    """Seconds since 1970."""
    text: str


@dataclass(frozen=True, slots=True)
class RingShown:
    """A ring in the world."""

    key: RingKey
    ring: Ring
    phase: RingPhase
    since: float
    """When it reached this phase, in seconds since 1970."""
    work: float | None = None
    """All the work of its job, as it last told."""
    safe_work: float | None = None
    """What its last checkpoint holds, as it last told."""
    heard_at: float | None = None
    """When one of its workers last spoke."""
    step_seconds: float | None = None
    """Seconds of an iteration, measured."""
    predicted_step_seconds: float | None = None
    """Seconds of an iteration by the job's own timing when the ring was started, where it has one."""
    work_per_second: float | None = None
    """Its speed, measured since its first word of progress."""
    predicted_work_per_second: float | None = None
    """Its speed by what the job said when the ring was started."""


@dataclass(frozen=True, slots=True)
class Counts:
    """What has happened since the service started."""

    decisions: int = 0
    failed_decisions: int = 0
    launches: int = 0
    dismissals: int = 0
    ring_failures: Mapping[str, int] = field(default_factory=dict)
    """By cause: `worker`, `hung`, `server`, `start`."""
    adopted: int = 0
    strays: int = 0
    decision_seconds: float = 0.0
    """Of the solver, all decisions together."""
    slot_seconds: float = 0.0
    """Of whole slots' overheads, from due to done, the solver included."""


@dataclass(frozen=True, slots=True)
class View:
    """Where the service stands."""

    state: State
    last_entry: int
    """The newest journal entry that it shows."""
    at: float
    """When it was taken, in seconds since 1970."""
    mode: Mode
    engine: str
    policy: str
    slot_began: float
    """When the present slot began, in seconds since 1970."""
    decision: Decision | None = None
    """The newest decision, carried out or observed."""
    faults: tuple[Fault, ...] = ()
    rings: Mapping[str, RingShown] = field(default_factory=dict)
    """What is really there, by job: its newest ring."""
    counts: Counts = field(default_factory=Counts)
