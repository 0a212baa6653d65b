"""The protocol of engines: discovery, execution of orders, and a stream of reports.

A ring in the world is known by its job and its number, the slot whose decision started it
(`JobRecord.ring_since`). The number is the fence: no two rings of a job share one, later ones are larger, and
a backend that has seen a number for a job obeys no order with a smaller one. Orders are wishes for a state of
the world, so giving one twice changes nothing.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Protocol

from gadget.model.cluster import Cluster
from gadget.model.job import Job
from gadget.model.ring import Ring


@dataclass(frozen=True, slots=True, order=True)
class RingKey:
    """Which ring of which job."""

    job: str
    number: int

    def __str__(self) -> str:
        return f"{self.job}@{self.number}"


class RingPhase(StrEnum):
    """Where a ring in the world stands."""

    STARTING = "starting"
    """It was ordered; not all its workers are up."""
    RUNNING = "running"
    STOPPING = "stopping"
    """Its workers were asked to leave, and some have not."""
    FINISHED = "finished"
    """Every worker ended with exit code 0."""
    STOPPED = "stopped"
    """It was asked to leave, and has left."""
    FAILED = "failed"
    """It broke, or never came up."""
    TAKEN = "taken"
    """The engine had no room for it after all, or took it away again: no fault of the job."""

    @property
    def is_over(self) -> bool:
        """True when no process of it is left."""
        return self in (RingPhase.FINISHED, RingPhase.STOPPED, RingPhase.FAILED, RingPhase.TAKEN)


@dataclass(frozen=True, slots=True)
class RingFound:
    """A ring as the engine has it. One that is over is told of until it is forgotten."""

    key: RingKey
    ring: Ring
    phase: RingPhase
    reason: str = ""
    """Why it failed or stopped, for people."""


@dataclass(frozen=True, slots=True)
class Launch:
    """Start this ring, rank k on `ring.workers[k]`, each worker as `job.program` says."""

    key: RingKey
    ring: Ring
    job: Job
    env: Mapping[str, str] = field(default_factory=dict)
    """What the service adds for every rank: where to report to and by which token."""


@dataclass(frozen=True, slots=True)
class Dismissal:
    """Ask the workers of this ring to leave, and make them when the grace is over."""

    key: RingKey
    grace_seconds: float
    reason: str = ""


@dataclass(frozen=True, slots=True)
class RingMoved:
    """A ring reached another phase."""

    key: RingKey
    phase: RingPhase
    reason: str = ""


@dataclass(frozen=True, slots=True)
class ServerWentAway:
    """A server cannot be reached any more; what ran there is gone."""

    server: str
    reason: str = ""


@dataclass(frozen=True, slots=True)
class ServerCameBack:
    """A server can be reached again, empty."""

    server: str


@dataclass(frozen=True, slots=True)
class ClusterFound:
    """The engine has other servers, resources or links than it said before."""

    cluster: Cluster


@dataclass(frozen=True, slots=True)
class EngineWentAway:
    """The engine itself does not answer; orders wait until it does."""

    reason: str


@dataclass(frozen=True, slots=True)
class EngineCameBack:
    """The engine answers again; what it has must be surveyed anew."""


Report = RingMoved | ServerWentAway | ServerCameBack | ClusterFound | EngineWentAway | EngineCameBack


@dataclass(frozen=True, slots=True)
class Inventory:
    """What an engine offers."""

    cluster: Cluster
    away: frozenset[str] = frozenset()
    """Servers of the cluster that cannot be reached now."""


class EngineAway(Exception):
    """The engine does not answer; nothing was changed. Try again when it says that it is back."""


class Backend(Protocol):
    """Where rings really run. All methods may be called from one thread only; reports come from any."""

    name: str

    def open(self, deliver: Callable[[Report], None]) -> Inventory:
        """Find what is there, rings of an earlier life included, and begin to report."""
        ...

    def survey(self) -> Sequence[RingFound]:
        """Every ring that it has, also those that are over and not forgotten."""
        ...

    def launch(self, order: Launch) -> None:
        """Start a ring; returns at once, the rest is reported. Does nothing if it is there already."""
        ...

    def dismiss(self, order: Dismissal) -> None:
        """Stop a ring; returns at once. A shorter grace than before holds; unknown rings have left."""
        ...

    def forget(self, key: RingKey) -> None:
        """Keep nothing more of a ring that is over, but its logs."""
        ...

    def read_log(self, job: str, *, rank: int, lines: int) -> str:
        """The last lines that this rank of the job's newest ring has printed."""
        ...

    def close(self, *, keep_rings: bool) -> None:
        """End: with the rings left to run for a later life, or with everything that it made removed."""
        ...
