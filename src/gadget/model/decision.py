"""What a policy decides for one slot, and what it can say about its quality."""

from dataclasses import dataclass, field
from enum import StrEnum

from gadget.model.prices import Prices
from gadget.model.ring import Allocation


class Status(StrEnum):
    """How much is proved about an objective."""

    OPTIMAL = "optimal"
    CERTIFIED = "certified"
    HEURISTIC = "heuristic"


class Reason(StrEnum):
    """Why a job waits: one dominant reason, with stable names."""

    NOT_ARRIVED = "not-arrived"
    BUDGET = "budget"
    DONE = "done"
    TOO_LARGE = "too-large"
    CAPACITY = "capacity"
    BANDWIDTH = "bandwidth"
    QUEUE = "queue"
    GAIN = "gain"


@dataclass(frozen=True, slots=True)
class Waiting:
    """A job that gets no ring in this slot, and why."""

    job: str
    reason: str
    """A `Reason` where the decision is ours; other programs may have words of their own."""
    detail: str


@dataclass(frozen=True, slots=True)
class Surrogate:
    """Objective and bound in the surrogate that a policy decided on (the concave majorant of a sigmoid)."""

    objective: float
    upper_bound: float | None


@dataclass(frozen=True, slots=True)
class Decision:
    """The rings of one slot with their objective and, where proved, a bound on any objective."""

    slot: int
    policy: str
    allocation: Allocation
    waiting: tuple[Waiting, ...]
    objective: float
    upper_bound: float | None
    status: Status
    surrogate: Surrogate | None = None
    seed: int = 0
    seconds: float = 0.0
    """Time to decide, reading and writing files excluded."""
    prices: Prices | None = field(default=None, compare=False, repr=False)
    """What it ends with, for the next slot to start from. Not written to files: a file starts cold."""
