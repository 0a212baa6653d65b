"""One ring of the Slurm engine: what its files and Slurm say of it, and what Slurm is to be told next."""

import os
from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum

from gadget.backends.backend import Launch, RingMoved, RingPhase
from gadget.backends.local_folder import LocalFolder, Record
from gadget.backends.local_shepherd import find_end_time, read_exit
from gadget.backends.ring_course import LOST, NEVER_RAN, RingCourse, find_last_line
from gadget.backends.slurm_commands import SlurmJob, Standing

_AGAIN_SECONDS = 5.0
# A controller that was killed may have lost its newest jobs: nodes kill these when they next report to it.
_LOOSE_SECONDS = 30.0
# How Slurm calls the end of a job whose script ended by itself.
_BY_ITSELF = frozenset(("COMPLETED", "FAILED", ""))


class Deed(Enum):
    """What Slurm is to be told about a ring."""

    SUBMIT = "submit"
    ASK = "ask"
    """Its batch script passes the wish to leave on to the workers."""
    END = "end"
    """Its batch script kills all that the workers have started."""
    KILL = "kill"
    """Slurm kills what the batch script could not."""
    CANCEL = "cancel"


# How long each way to end a ring is tried before the next one; the last one is to cancel its job.
_KILLS = ((Deed.END, 5.0), (Deed.KILL, 10.0))


@dataclass(frozen=True, slots=True)
class Look:
    """What Slurm had when it was last asked."""

    began: float
    """When it was asked."""
    jobs: Sequence[SlurmJob] = ()
    """Those of the ring."""
    lost: frozenset[str] = frozenset()
    """Nodes that are gone: what Slurm has not cleaned up there, it never will."""


class SlurmRing(RingCourse):
    """What is known of one ring; `step` brings it up to date."""

    def __init__(self, record: Record, folder: LocalFolder, order: Launch | None = None) -> None:
        super().__init__(record, folder)
        self._path = folder.ring(record.key)
        self._up: set[int] = set()
        """Ranks whose worker was started."""
        self._asked: set[int] = set()
        self.order = order
        """None for a ring of an earlier life, which was handed in then or never will be."""
        self.numbers: tuple[int, ...] = ()
        """Its Slurm jobs, the leading one first."""
        self.holds = False
        """True while Slurm has set nodes aside for it."""
        self._handed_in = float("-inf") if order is None else None
        self._doubted: float | None = None
        self._ended_as = ""
        self._waiting_since: float | None = None
        self._missing_since: float | None = None
        self._killing_since: float | None = None
        self._told: dict[Deed, float] = {}

    @property
    def is_changing(self) -> bool:
        """True while something is expected of it any moment."""
        return (
            self.phase in (RingPhase.STARTING, RingPhase.STOPPING)
            or bool(self._exits)
            or self._killing_since is not None
        )

    def hand_in(self, now: float, number: int) -> None:
        """Slurm took it."""
        self._handed_in, self.numbers = now, (number,)

    def doubt(self, now: float) -> None:
        """It was handed in, and nobody heard whether Slurm took it."""
        self._doubted = now

    def is_unsure(self, asked: float) -> bool:
        """True until Slurm was asked for its jobs after a doubt."""
        return self._doubted is not None and asked <= self._doubted

    def refuse(self, reason: str) -> RingMoved:
        """Slurm did not take it."""
        if self._leaving is not None:
            return self.end_now(RingPhase.STOPPED, f"{self._leaving.reason}; it had not started yet")
        return self.end_now(RingPhase.FAILED, f"Slurm refused it: {reason}")

    def step(self, now: float, look: Look, patience: float) -> tuple[list[RingMoved], Deed | None]:
        """Look at it once; gives the phases that it went through, and what Slurm is to be told."""
        if self.phase.is_over:
            return [], None
        self._look_at_files()
        standing = self._find_standing(look, now)
        moves = self._come_up()
        if standing is Standing.OVER:
            self._close()
        self._judge()
        if standing is Standing.WAITING and self._leaving is None and not self._broken:
            self._waiting_since = self._waiting_since or now
            if now - self._waiting_since > patience and look.jobs:
                why = look.jobs[0].reason or "no reason is told"
                self.break_off(f"it waited {now - self._waiting_since:.0f} s in Slurm's queue ({why})")
        if standing is Standing.OVER:
            return [*moves, self._finish()], None
        if standing is None and (self._leaving is not None or self._broken):
            self._exits = dict.fromkeys(self._ranks, NEVER_RAN)
            return [*moves, self._finish()], None
        return moves, self._choose(now, standing)

    def _find_standing(self, look: Look, now: float) -> Standing | None:
        """Where its job stands; None while Slurm does not have it."""
        if look.jobs:
            # Also one that was handed in when nobody heard the answer.
            self._handed_in = look.began if self._handed_in is None else self._handed_in
            lead = look.jobs[0].lead
            self.numbers = tuple(sorted({job.number for job in look.jobs}, key=lambda n: (n != lead, n)))
            self._ended_as = next((job.state for job in look.jobs if job.standing is Standing.OVER), "")
        if self._handed_in is None:
            return None
        if not look.jobs:
            if look.began <= self._handed_in:
                return Standing.WAITING  # asked before it was handed in
            return Standing.LEAVING if self._is_loose(now) else Standing.OVER
        found = {job.standing for job in look.jobs}
        if Standing.LEAVING in found and set(self.record.workers) & look.lost:
            found = (found - {Standing.LEAVING}) or {Standing.OVER}
        for standing in (Standing.HOLDING, Standing.LEAVING, Standing.WAITING):
            if standing in found:
                return standing
        return Standing.OVER

    def _is_loose(self, now: float) -> bool:
        """True while workers may be up of whose job Slurm knows nothing; their nodes end them, given time."""
        if self._up <= self._exits.keys():
            return False
        self._missing_since = now if self._missing_since is None else self._missing_since
        return now - self._missing_since < _LOOSE_SECONDS

    def _look_at_files(self) -> None:
        # To open a folder is what makes a network file system look anew.
        try:
            names = set(os.listdir(self._path))  # noqa: PTH208
        except OSError:
            return
        for rank in self._ranks:
            if f"{rank}.worker" in names:
                self._up.add(rank)
            if f"{rank}.asked" in names:
                self._asked.add(rank)
            if rank not in self._exits and f"{rank}.exit" in names:
                code = read_exit(self._path, rank)
                if code is not None:
                    self._exits[rank] = code

    def _close(self) -> None:
        """Its job has ended: who has not said how it ended never will."""
        for rank in self._ranks:
            self._exits.setdefault(rank, LOST if rank in self._up else NEVER_RAN)
        if self._leaving is not None or self._broken:
            return
        if not self._exits.keys() - self._silent():
            said = find_last_line(self._path / "batch.out")
            self.break_off(
                f"Slurm ended it ({self._ended_as.lower() or 'gone'})" + (f": {said}" if said else "")
            )
        elif self._silent() and self._ended_as not in _BY_ITSELF:
            self.break_off(f"Slurm ended it ({self._ended_as.lower()})")

    def _has_run(self, rank: int) -> bool:
        return rank in self._up

    def _ended_at(self, rank: int) -> float:
        return find_end_time(self._path, rank)

    def _silent(self) -> set[int]:
        return {rank for rank, code in self._exits.items() if code in (LOST, NEVER_RAN)}

    def _choose(self, now: float, standing: Standing | None) -> Deed | None:
        if standing is None:
            return Deed.SUBMIT
        is_up = len(self._up) == len(self.record.seats)
        if self._leaving is not None and not self._broken:
            if not is_up:
                return self._tell(Deed.CANCEL, now)
            if now >= self._leaving.deadline:
                self._killed |= set(self._ranks) - self._exits.keys()
                return self._kill(now)
            # A wish may get lost on its way, and no rank hears it twice.
            have_heard = (self._asked | self._exits.keys()).issuperset(self._ranks)
            return None if have_heard else self._tell(Deed.ASK, now)
        if self._broken:
            return self._kill(now) if self._up else self._tell(Deed.CANCEL, now)
        return None

    def _kill(self, now: float) -> Deed | None:
        if self._killing_since is None:
            self._killing_since = now
        for deed, seconds in _KILLS:
            if now - self._killing_since < seconds:
                return self._tell(deed, now)
        return self._tell(Deed.CANCEL, now)

    def _tell(self, deed: Deed, now: float) -> Deed | None:
        """The deed, unless it was done a moment ago."""
        if now - self._told.get(deed, float("-inf")) < _AGAIN_SECONDS:
            return None
        self._told[deed] = now
        return deed
