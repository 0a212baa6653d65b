"""The course of a ring on any engine: its phases, the wish that it leaves, how its ranks ended and why.

Each engine looks at ranks and acts on them in its own way; what the exit codes mean is the same for all.
"""

import signal
from abc import ABC, abstractmethod
from contextlib import suppress
from pathlib import Path

from gadget.backends.backend import RingFound, RingKey, RingMoved, RingPhase
from gadget.backends.ring_folder import Ending, Leaving, Record, RingFolder, read_tail
from gadget.errors import BadFile, printable

LEFT = 75
"""Exit code of a worker that was asked to leave, wrote its checkpoint and left."""
LOST = -1
"""In place of an exit code: it is gone, and nobody knows how it ended."""
NEVER_RAN = -2
"""It did not begin."""
_LONGEST_LINE = 200


class RingCourse(ABC):
    """What is known of one ring, and written down of it."""

    def __init__(self, record: Record, folder: RingFolder) -> None:
        self.record = record
        self.phase = RingPhase.STARTING
        self.reason = ""
        self._folder = folder
        self._exits: dict[int, int] = {}
        self._leaving: Leaving | None = None
        self._killed: set[int] = set()
        self._broken = ""
        self._is_taken = False

    @property
    def key(self) -> RingKey:
        """Which ring it is."""
        return self.record.key

    def tell(self) -> RingFound:
        """The ring as the engine has it."""
        return RingFound(self.key, self.record.ring, self.phase, self.reason)

    def recall(self) -> bool:
        """Take up what an earlier life wrote down; True if the ring was over by then."""
        ending = self._folder.ending(self.key)
        if ending is not None:
            self.phase, self.reason = ending.phase, ending.reason
            return True
        if not self.record.seats:
            self.end_now(RingPhase.FAILED, "the service ended before it could refuse this ring")
            return True
        self._leaving = self._folder.leaving(self.key)
        if self._leaving is not None:
            self.phase, self.reason = RingPhase.STOPPING, self._leaving.reason
        return False

    def end_now(self, phase: RingPhase, reason: str) -> RingMoved:
        """It is over and no process of it was ever there, or is left."""
        self.phase, self.reason = phase, reason
        # If it cannot be written, a later life finds the same from the exit codes.
        with suppress(BadFile):
            self._folder.end(self.key, Ending(phase, reason))
        return RingMoved(self.key, phase, reason)

    def dismiss(self, deadline: float, reason: str) -> list[RingMoved]:
        """Ask it to leave by the deadline; an earlier one than before holds."""
        if self.phase.is_over:
            return []
        before = self._leaving
        if before is not None:
            deadline, reason = min(deadline, before.deadline), before.reason or reason
        self._leaving = Leaving(deadline, reason)
        if self._leaving == before:
            return []
        with suppress(BadFile):
            self._folder.ask_to_leave(self.key, self._leaving)
        if before is not None:
            return []
        self.phase, self.reason = RingPhase.STOPPING, reason
        return [RingMoved(self.key, self.phase, reason)]

    def break_off(self, reason: str, *, taken: bool = False) -> None:
        """Kill all of it. It is `taken` when the engine is why, and not the job."""
        if not self._broken:
            self._broken, self._is_taken = reason, taken

    # What an engine knows of a rank.

    @abstractmethod
    def _has_run(self, rank: int) -> bool:
        """True when its worker was started."""

    @abstractmethod
    def _ended_at(self, rank: int) -> float:
        """When the rank ended, to tell who broke first; late if nobody knows."""

    # What follows from it.

    def _come_up(self) -> list[RingMoved]:
        if self.phase is not RingPhase.STARTING or not all(map(self._has_run, self._ranks)):
            return []
        self.phase = RingPhase.RUNNING
        return [RingMoved(self.key, self.phase)]

    def _judge(self) -> None:
        if self._leaving is not None or self._broken:
            return
        if broken := [rank for rank, code in self._exits.items() if code not in (0, LEFT)]:
            # The others break because the first one did.
            first = min(broken, key=lambda rank: (self._ended_at(rank), rank))
            self.break_off(self._describe(first))

    def _finish(self) -> RingMoved:
        ending = self._find_ending()
        return self.end_now(ending.phase, ending.reason)

    def _find_ending(self) -> Ending:
        """How it ends, once every rank has."""
        if all(code == 0 for code in self._exits.values()) and not self._broken:
            return Ending(RingPhase.FINISHED, "")
        if self._leaving is not None:
            told = [text for text in (self._leaving.reason, self._broken) if text]
            if all(code == NEVER_RAN for code in self._exits.values()):
                return Ending(RingPhase.STOPPED, "; ".join([*told, "it had not started yet"]))
            # To die of the wish to leave is to leave.
            well = (0, LEFT, 128 + signal.SIGTERM)
            told += [self._describe(rank) for rank, code in sorted(self._exits.items()) if code not in well]
            return Ending(RingPhase.STOPPED, "; ".join(told))
        if self._broken:
            return Ending(RingPhase.TAKEN if self._is_taken else RingPhase.FAILED, self._broken)
        return Ending(RingPhase.STOPPED, f"its workers left by themselves (exit code {LEFT})")

    @property
    def _ranks(self) -> range:
        return range(len(self.record.seats))

    def _name(self, rank: int) -> str:
        return f"rank {rank} on {self.record.seats[rank].server}"

    def _describe(self, rank: int) -> str:
        code, name = self._exits[rank], self._name(rank)
        if rank in self._killed:
            return f"{name} did not leave in time and was killed"
        if code == NEVER_RAN or not self._has_run(rank):
            said = self._last_line(rank)
            return f"{name} was never started" + (f": {said}" if said else "")
        if code == LOST:
            return f"{name} is gone, and nobody knows its exit code"
        if code > 128:
            return f"{name} was killed by signal {code - 128}"
        said = self._last_line(rank)
        return f"{name} ended with exit code {code}" + (f": {said}" if said else "")

    def _last_line(self, rank: int) -> str:
        return find_last_line(self._folder.log(self.key, rank))


def find_last_line(path: Path) -> str:
    """The last line of a log that says something, fit to be shown."""
    lines = read_tail(path, 20).split("\n")
    last = next((line.strip() for line in reversed(lines) if line.strip()), "")
    return printable(last[:_LONGEST_LINE])
