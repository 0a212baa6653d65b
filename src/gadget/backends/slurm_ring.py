"""One ring of the Slurm engine: what its files and Slurm say of it, and what Slurm is to be told next."""

import os
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from enum import Enum
from pathlib import Path

from gadget.backends.backend import Launch, RingMoved, RingPhase
from gadget.backends.local_shepherd import find_end_time, read_exit
from gadget.backends.ring_course import LOST, NEVER_RAN, RingCourse, find_last_line
from gadget.backends.ring_folder import Record, RingFolder
from gadget.backends.slurm_answers import SlurmJob, Standing

_AGAIN_SECONDS = 5.0
# A controller that was killed may have lost its newest jobs: nodes kill these when they next report to it.
_LOOSE_SECONDS = 30.0
# When they have reported, it takes moments.
_SETTLED_SECONDS = 6.0
# Looks at the queue in which a job must be missing until it is believed to be gone.
_LOOKS = 2
# How long the last files of a job that ended by itself may be on their way through a shared file system.
_FILE_SECONDS = 10.0
# How Slurm calls the end of a job whose script ended by itself.
_BY_ITSELF = frozenset(("COMPLETED", "FAILED"))
# How Slurm calls the end of a job that it took its nodes from; nothing at all is that it has lost it.
_TAKEN = frozenset(
    (
        "",
        "BOOT_FAIL",
        "CANCELLED",
        "DEADLINE",
        "LAUNCH_FAILED",
        "NODE_FAIL",
        "PREEMPTED",
        "RECONFIG_FAIL",
        "REVOKED",
        "TIMEOUT",
    )
)


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
    READ_BOOKS = "read books"
    """Nothing is told: Slurm's books are asked how its job ended."""


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
    silent: frozenset[str] = frozenset()
    """Nodes that do not answer Slurm, those that are lost included."""


class SlurmRing(RingCourse):
    """What is known of one ring; `step` brings it up to date."""

    def __init__(self, record: Record, folder: RingFolder, order: Launch | None = None) -> None:
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
        self._began_as = 0
        """The number of the job that took it up, by its own word."""
        self._ended_as = ""
        self._over_since: float | None = None
        self._waiting_since: float | None = None
        self._missing_since: float | None = None
        self._missing_in: set[float] = set()
        self._settled_since: float | None = None
        self._books: str | None = None
        self._is_judged = False
        self._killing_since: float | None = None
        self._told: dict[Deed, float] = {}

    @property
    def is_changing(self) -> bool:
        """True while something is expected of it any moment."""
        return (
            self.phase in (RingPhase.STARTING, RingPhase.STOPPING)
            or bool(self._exits)
            or self.is_missing
            or self._killing_since is not None
        )

    @property
    def is_missing(self) -> bool:
        """True while Slurm does not show its job, and it is not known why."""
        return self._missing_since is not None

    @property
    def lead(self) -> int:
        """The job that it goes by; 0 if none is known."""
        return self.numbers[0] if self.numbers else self._began_as

    def hand_in(self, now: float, number: int) -> None:
        """Slurm took it."""
        self._handed_in, self.numbers = now, (number,)

    def doubt(self, now: float) -> None:
        """It was handed in, and nobody heard whether Slurm took it."""
        self._doubted = now

    def is_unsure(self, asked: float, seconds: float) -> bool:
        """True until Slurm was asked for its jobs so long after a doubt: what is on its way has come."""
        return self._doubted is not None and asked <= self._doubted + seconds

    def refuse(self, reason: str, *, taken: bool = False) -> RingMoved:
        """Slurm did not take it; `taken` when it is no fault of the job."""
        if self._leaving is not None:
            return self.end_now(RingPhase.STOPPED, f"{self._leaving.reason}; it had not started yet")
        return self.end_now(RingPhase.TAKEN if taken else RingPhase.FAILED, f"Slurm refused it: {reason}")

    def note_books(self, state: str) -> None:
        """How its job ended by Slurm's books; empty if they do not say."""
        self._books = state

    def read_signs(self, server: str) -> Sequence[tuple[int, int]]:
        """What changes while its ranks on a server are alive: their logs."""
        found = []
        for rank, name in enumerate(self.record.workers):
            if name == server:
                with suppress(OSError):
                    stat = self._folder.log(self.key, rank).stat()
                    found.append((stat.st_mtime_ns, stat.st_size))
        return found

    def step(self, now: float, look: Look, patience: float) -> tuple[list[RingMoved], Deed | None]:
        """Look at it once; gives the phases that it went through, and what Slurm is to be told."""
        if self.phase.is_over:
            return [], None
        self._look_at_files()
        standing = self._find_standing(look, now)
        moves = self._come_up()
        if standing is Standing.OVER and self._may_hear_more(now):
            return moves, None
        self._judge()
        if standing is Standing.OVER:
            self._close(look)
            self._judge()
        if standing is Standing.WAITING and self._leaving is None and not self._broken:
            self._waiting_since = self._waiting_since or now
            if now - self._waiting_since > patience and look.jobs:
                why = look.jobs[0].reason or "no reason is told"
                waited = f"it waited {now - self._waiting_since:.0f} s in Slurm's queue ({why})"
                self.break_off(waited, taken=True)
        if standing is Standing.OVER:
            return [*moves, self._finish()], None
        if standing is None and (self._leaving is not None or self._broken):
            self._exits = dict.fromkeys(self._ranks, NEVER_RAN)
            return [*moves, self._finish()], None
        if self.is_missing:
            # Nobody is there to be told anything.
            is_due = self._books is None and self.lead and len(self._missing_in) >= _LOOKS
            return moves, Deed.READ_BOOKS if is_due else None
        return moves, self._choose(now, standing)

    def _find_standing(self, look: Look, now: float) -> Standing | None:
        """Where its job stands; None while Slurm does not have it."""
        if look.jobs:
            # Also one that was handed in when nobody heard the answer.
            self._handed_in = look.began if self._handed_in is None else self._handed_in
            self._missing_since = self._settled_since = self._books = None
            self._missing_in.clear()
            return self._find_standing_of(look)
        if self._handed_in is None:
            return None
        if look.began <= self._handed_in:
            return Standing.WAITING  # asked before it was handed in
        return self._find_standing_of_missing(look, now)

    def _find_standing_of(self, look: Look) -> Standing:
        lead = self._choose_lead(look.jobs)
        jobs = [job for job in look.jobs if job.lead == lead]
        self.numbers = tuple(sorted({job.number for job in jobs}, key=lambda n: (n != lead, n)))
        ends = sorted((job.state for job in jobs if job.standing is Standing.OVER), key="COMPLETED".__eq__)
        self._ended_as = ends[0] if ends else ""
        found = {job.standing for job in jobs}
        if Standing.LEAVING in found and set(self.record.workers) & look.lost:
            found = (found - {Standing.LEAVING}) or {Standing.OVER}
        for standing in (Standing.HOLDING, Standing.LEAVING, Standing.WAITING):
            if standing in found:
                return standing
        return Standing.OVER

    def _choose_lead(self, jobs: Sequence[SlurmJob]) -> int:
        """Of two jobs, if nobody heard that Slurm took the first, the one that runs it, or will."""
        order = (Standing.HOLDING, Standing.LEAVING, Standing.WAITING, Standing.OVER)
        best = min(jobs, key=lambda job: (job.lead != self._began_as, order.index(job.standing), job.lead))
        return best.lead

    def _find_standing_of_missing(self, look: Look, now: float) -> Standing:
        self._missing_in.add(look.began)
        self._missing_since = now if self._missing_since is None else self._missing_since
        if len(self._missing_in) < _LOOKS or (self._books is None and self.lead):
            return Standing.LEAVING
        self._ended_as = self._books or ""
        return Standing.LEAVING if self._is_loose(look, now) else Standing.OVER

    def _is_loose(self, look: Look, now: float) -> bool:
        """True while workers may be up of whose job Slurm knows nothing; their nodes end them, given time.

        A controller that lost its jobs has them cancelled in the books, before their nodes have heard of it.
        """
        if self._up <= self._exits.keys() or self._ended_as not in ("", "CANCELLED"):
            return False
        if set(self.record.workers) & look.silent:
            self._settled_since = None
        elif self._settled_since is None:
            self._settled_since = now
        since = now if self._settled_since is None else self._settled_since
        assert self._missing_since is not None  # nobody asks for one that is there
        return now - since < _SETTLED_SECONDS and now - self._missing_since < _LOOSE_SECONDS

    def _may_hear_more(self, now: float) -> bool:
        """True while files may be on their way that say how the ranks of a job ended that ended by itself."""
        self._over_since = now if self._over_since is None else self._over_since
        return (
            self._ended_as == "COMPLETED"
            and self._killing_since is None
            and self._leaving is None
            and not self._broken
            and not self._exits.keys() >= set(self._ranks)
            and now - self._over_since < _FILE_SECONDS
        )

    def _look_at_files(self) -> None:
        # To open a folder is what makes a network file system look anew.
        try:
            names = set(os.listdir(self._path))  # noqa: PTH208 - names are all that is asked for
        except OSError:
            return
        if not self._began_as and "number" in names:
            self._began_as = read_number(self._path / "number")
        for rank in self._ranks:
            if f"{rank}.worker" in names:
                self._up.add(rank)
            if f"{rank}.asked" in names:
                self._asked.add(rank)
            if rank not in self._exits and f"{rank}.exit" in names:
                code = read_exit(self._path, rank)
                if code is not None:
                    self._exits[rank] = code

    def _judge(self) -> None:
        before = self._broken
        super()._judge()
        self._is_judged = self._is_judged or self._broken != before

    def _close(self, look: Look) -> None:
        """Its job has ended: who has not said how it ended never will."""
        for rank in self._ranks:
            self._exits.setdefault(rank, LOST if rank in self._up else NEVER_RAN)
        if self._leaving is not None or (self._broken and not self._is_judged):
            return
        silent = self._silent()
        lost = sorted({self.record.workers[rank] for rank in silent if rank in self._up} & look.silent)
        if self._is_judged:
            # Ranks break when Slurm takes a ring, or when one of them is lost with its node.
            if self._ended_as in _TAKEN - {""} and Deed.CANCEL not in self._told:
                self._take_away(f"Slurm ended it ({self._ended_as.lower()})")
            elif lost:
                self._take_away(f"server {lost[0]} does not answer Slurm; {self._broken}")
        elif silent and (self._ended_as not in _BY_ITSELF or silent == self._exits.keys()):
            said = find_last_line(self._path / "batch.out") if silent == self._exits.keys() else ""
            why = f"Slurm ended it ({self._ended_as.lower() or 'gone'})" + (f": {said}" if said else "")
            self.break_off(why, taken=self._ended_as in _TAKEN)

    def _take_away(self, reason: str) -> None:
        self._broken, self._is_taken = reason, True

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


def read_number(path: Path) -> int:
    """The number of a job that its own script wrote down; 0 if it is not there, or not whole."""
    try:
        text = path.read_text(errors="replace")
    except OSError:
        return 0
    return int(text) if text.endswith("\n") and text.strip().isdecimal() else 0
