"""What a worker tells the service: one JSON object a line, docs/reference/worker.md."""

from dataclasses import dataclass
from enum import StrEnum

from gadget.backends.backend import RingKey


class Kind(StrEnum):
    """What a word of a worker is about."""

    HELLO = "hello"
    """It is up, with the address of its service and the token of its ring."""
    RESUMED = "resumed"
    """It goes on from `work`: that of the checkpoint it loaded, 0 without one."""
    PROGRESS = "progress"
    """All the work that its ring has done so far, and the seconds of its last iterations."""
    CHECKPOINT = "checkpoint"
    """`work` is safe now."""
    ALIVE = "alive"
    """It is busy with something that is no iteration."""
    NOTE = "note"
    """Something that people should read: an unreadable checkpoint, say."""
    DONE = "done"
    """All its work is done; exit code 0 follows."""


@dataclass(frozen=True, slots=True)
class Word:
    """One thing that one worker said."""

    key: RingKey
    rank: int
    kind: Kind
    work: float | None = None
    step: int | None = None
    step_seconds: float | None = None
    """Mean seconds of an iteration since it last spoke."""
    text: str = ""
