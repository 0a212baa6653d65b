"""One ring of the local engine: from its order to its last process, looked at a step at a time."""

import signal
from collections.abc import Callable, Iterable
from contextlib import suppress
from pathlib import Path

from gadget.backends.backend import RingMoved, RingPhase
from gadget.backends.local_processes import (
    Process,
    bury,
    find_by_environment,
    find_sessions,
    is_alive,
    send,
)
from gadget.backends.local_shepherd import find_end_time, read_exit, read_shepherd, read_worker
from gadget.backends.ring_course import LOST, NEVER_RAN, RingCourse
from gadget.backends.ring_folder import Record, RingFolder
from gadget.errors import printable

# A shepherd that does not follow its worker by then is stopped or stuck, and killed too.
_SHEPHERD_SECONDS = 1.0
# A process that SIGKILL has not ended by then waits in the kernel, perhaps for ever.
_STUCK_SECONDS = 10.0

Start = Callable[[int], Process]
"""Starts one rank; raises OSError."""


class LocalRing(RingCourse):
    """What is known of one ring. `step` brings it up to date and tells what has changed."""

    def __init__(self, record: Record, folder: RingFolder, start: Start | None = None) -> None:
        super().__init__(record, folder)
        self._start = start
        self._path: Path = folder.ring(record.key)
        self._shepherds: dict[int, Process] = {}
        self._workers: dict[int, Process] = {}
        self._found: dict[int, list[Process]] = {}
        self._asked: set[int] = set()
        self._killing_since: float | None = None
        self._is_stuck = False

    @property
    def is_changing(self) -> bool:
        """True while something is expected of it any moment."""
        is_ending = self._killing_since is not None and not self._is_stuck
        return self.phase is RingPhase.STARTING or is_ending

    def adopt(self, found: Iterable[tuple[int, Process]], boot: str) -> None:
        """Take over what an earlier life started; `found` are processes by rank, from their environment."""
        if self.recall():
            return
        for rank, process in found:
            self._found.setdefault(rank, []).append(process)
        if boot != self.record.boot:
            codes = {rank: read_exit(self._path, rank) for rank in range(len(self.record.seats))}
            self._exits = {rank: LOST if code is None else code for rank, code in codes.items()}
            if None in codes.values():
                self.break_off("the machine was started anew")

    def step(self, now: float) -> list[RingMoved]:
        """Look at every rank once, act, and tell the phases that it went through."""
        if self.phase.is_over:
            return []
        self._start_ranks()
        self._look()
        moves = self._come_up()
        self._judge()
        if self._leaving is not None and not self._broken:
            self._ask(now)
        if self._broken:
            self._kill(now)
        if len(self._exits) == len(self.record.seats) and not self._sweep(now):
            return [*moves, self._finish()]
        return [*moves, *self._complain(now)]

    def _start_ranks(self) -> None:
        start, self._start = self._start, None
        if start is None:
            return
        ranks = range(len(self.record.seats))
        if self._leaving is not None or self._broken:
            self._exits = dict.fromkeys(ranks, NEVER_RAN)
            return
        for rank in ranks:
            try:
                self._shepherds[rank] = start(rank)
            except (OSError, ValueError) as error:
                self.break_off(f"{self._name(rank)} cannot be started: {printable(str(error))}")
                self._exits |= dict.fromkeys(range(rank, len(ranks)), NEVER_RAN)
                return

    def _look(self) -> None:
        for rank in range(len(self.record.seats)):
            if rank in self._exits:
                continue
            self._meet_worker(rank)
            if rank not in self._shepherds and (shepherd := read_shepherd(self._path, rank)) is not None:
                self._shepherds[rank] = shepherd
            # The shepherd writes the exit code before it goes: with nobody up, it is there or never will be.
            if not any(map(is_alive, self._looked_at(rank))):
                code = read_exit(self._path, rank)
                self._exits[rank] = LOST if code is None else code
                self._meet_worker(rank)  # one that came and went between the two looks

    def _meet_worker(self, rank: int) -> None:
        if rank not in self._workers and (worker := read_worker(self._path, rank)) is not None:
            self._workers[rank] = worker

    def _of_rank(self, rank: int) -> list[Process]:
        known = [which[rank] for which in (self._shepherds, self._workers) if rank in which]
        return [*known, *self._found.get(rank, ())]

    def _looked_at(self, rank: int) -> list[Process]:
        """Those whose end is the end of the rank: what it left behind is none of them."""
        if rank in self._workers and rank in self._shepherds:
            return [self._shepherds[rank], self._workers[rank]]
        return self._of_rank(rank)

    def _has_run(self, rank: int) -> bool:
        return rank in self._workers

    def _ended_at(self, rank: int) -> float:
        return find_end_time(self._path, rank)

    def _known(self) -> list[Process]:
        return [process for rank in range(len(self.record.seats)) for process in self._of_rank(rank)]

    def _ask(self, now: float) -> None:
        assert self._leaving is not None
        for rank, worker in self._workers.items():
            asked = self._path / f"{rank}.asked"
            if rank not in self._exits and rank not in self._asked and not asked.exists():
                self._asked.add(rank)
                send(worker, signal.SIGTERM)
                # A program may take a second wish for one to leave at once: not again in a later life.
                with suppress(OSError):
                    asked.touch()
        if now >= self._leaving.deadline:
            self._killed |= set(range(len(self.record.seats))) - self._exits.keys()
            self._kill(now)

    def _kill(self, now: float) -> None:
        """Everything in the sessions of ranks that have not ended; the shepherds follow, or are made to."""
        if self._killing_since is None:
            self._killing_since = now
        is_patient = now - self._killing_since < _SHEPHERD_SECONDS
        up = set(range(len(self.record.seats))) - self._exits.keys()
        shepherds = [self._shepherds[rank] for rank in up if rank in self._shepherds]
        targets = [process for rank in up for process in self._of_rank(rank)] + find_sessions(shepherds)
        for process in dict.fromkeys(targets):
            if process not in shepherds or not is_patient:
                send(process, signal.SIGKILL)

    def _sweep(self, now: float) -> bool:
        """Kill what workers have left behind; True while something of it is still there."""
        left = [process for process in self._known() if is_alive(process)]
        left += find_sessions(self._shepherds.values())
        # Some begin a session of their own, and some have written over their environment: both are asked.
        marks = {
            "GADGET_INSTANCE": self.record.instance,
            "GADGET_JOB": self.key.job,
            "GADGET_RING": str(self.key.number),
        }
        left += [process for process, _ in find_by_environment(marks)]
        for shepherd in self._shepherds.values():
            bury(shepherd)
        if not left:
            return False
        if self._killing_since is None:
            self._killing_since = now
        for process in dict.fromkeys(left):
            # A shepherd that has just written the exit code goes by itself.
            if process not in self._shepherds.values() or now - self._killing_since > _SHEPHERD_SECONDS:
                send(process, signal.SIGKILL)
        return True

    def _complain(self, now: float) -> list[RingMoved]:
        if self._is_stuck or self._killing_since is None or now - self._killing_since < _STUCK_SECONDS:
            return []
        self._is_stuck = True
        left = [process.pid for process in self._known() if is_alive(process)]
        self.phase = RingPhase.STOPPING
        self.reason = f"process {left[0] if left else '?'} does not end, not even by signal 9"
        return [RingMoved(self.key, self.phase, self.reason)]
