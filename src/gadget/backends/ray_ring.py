"""One ring on Ray: an actor for each rank, known by name, from its order to its last process."""

from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Any

from gadget.backends.backend import RingMoved, RingPhase
from gadget.backends.ray_link import RayLink
from gadget.backends.ring_course import LOST, NEVER_RAN, RingCourse
from gadget.backends.ring_folder import Record, RingFolder, safe_name
from gadget.errors import BadFile, printable

# An actor that has not ended its worker by then is ended itself, and its worker with it.
_PATIENCE_SECONDS = 5.0
# And one that Ray has not ended by then is on a node that nobody reaches.
_STUCK_SECONDS = 20.0
# What an actor leaves that dies without a word is ended by the shepherd of its worker, in a moment.
_SWEEP_SECONDS = 0.5
_LATE = float("inf")

Spec = tuple[str, dict[str, float], dict[str, Any]]
Start = Callable[[int], Spec]
"""Of one rank: the node, what Ray is asked for, and what its actor is told."""


class RayRing(RingCourse):
    """What is known of one ring. `hear` takes news of a rank; `step` acts and tells what has changed.

    The deadline of its leave is on the wall clock: it is written down, and must mean the same elsewhere.
    """

    def __init__(
        self, record: Record, folder: RingFolder, link: RayLink, space: str, start: Start | None = None
    ) -> None:
        super().__init__(record, folder)
        self._link, self._space, self._start = link, space, start
        self._begun: dict[int, float] = {}
        """When Ray was asked to start each rank."""
        self._unsure: set[int] = set()
        """Those of which nobody knows whether it heard."""
        self._adopted: set[int] = set()
        self._states: dict[int, Mapping[str, Any]] = {}
        self._dead: dict[int, str] = {}
        self._asked: dict[int, float] = {}
        self._kills: dict[int, float] = {}
        self._ends: dict[int, float] = {}
        self._swept_at = 0.0
        self._is_noted = False

    def name(self, rank: int) -> str:
        """How the actor of a rank is named."""
        return f"{safe_name(self.key.job)}@{self.key.number}#{rank}"

    @property
    def names(self) -> dict[str, int]:
        """The ranks by the names of their actors."""
        return {self.name(rank): rank for rank in self._ranks}

    def adopt(self, found: Mapping[str, Mapping[str, Any] | None], now: float) -> None:
        """Take over the actors that are there, by name with their states; ranks without one are gone.

        Orders may have been lost with the connection that they went by: they are given again. So are starts.
        """
        for name, rank in self.names.items():
            if name in found:
                self._begun.setdefault(rank, now)
                self._unsure.discard(rank)
                self._adopted.add(rank)
                for orders in (self._asked, self._kills, self._ends):
                    orders.pop(rank, None)
                if (state := found[name]) is not None:
                    self.hear(rank, now, state=state)
            elif self._start is not None and rank not in self._exits:
                self._unsure.discard(rank)
                self._begun.pop(rank, None)
                self._states.pop(rank, None)
            else:
                self.hear(rank, now, dead="its actor is gone")

    def hear(
        self, rank: int, now: float, *, state: Mapping[str, Any] | None = None, dead: str | None = None
    ) -> None:
        """News of one rank."""
        if dead is not None:
            self._dead.setdefault(rank, dead)
        if rank in self._exits:
            return
        if state is not None:
            self._states[rank] = state
            if state["code"] is not None:
                self._exits[rank] = state["code"]
        if dead is not None and rank not in self._exits:
            self._swept_at = now + _SWEEP_SECONDS if rank in self._begun else self._swept_at
            self._exits[rank] = LOST if self._has_run(rank) else NEVER_RAN

    def lose(self, server: str, reason: str, now: float) -> None:
        """The server is gone, and the ranks on it; the others are ended."""
        for rank, seat in enumerate(self.record.seats):
            if seat.server == server:
                self.hear(rank, now, dead=reason)
        self.break_off(f"server {server} went away: {reason}")

    # What it has of the servers.

    @property
    def holding(self) -> list[str]:
        """The server of every rank that Ray has set aside its share for, as far as is known."""
        return self._servers_of(lambda rank: rank in self._states and rank not in self._dead)

    @property
    def pending(self) -> list[tuple[str, float]]:
        """The server of every rank that Ray was asked for and has not started, and since when."""
        waiting = [rank for rank in self._begun if rank not in self._states and rank not in self._dead]
        return [(self.record.seats[rank].server, self._begun[rank]) for rank in waiting]

    @property
    def unsettled(self) -> set[str]:
        """Servers where a rank of it comes or goes."""
        going = self._servers_of(lambda rank: rank in self._exits and rank not in self._dead)
        return {*going, *(server for server, _ in self.pending)}

    def _servers_of(self, is_meant: Callable[[int], bool]) -> list[str]:
        return [seat.server for rank, seat in enumerate(self.record.seats) if is_meant(rank)]

    # What is done.

    def step(self, now: float, wall: float) -> list[RingMoved]:
        """Act, and tell the phases that it went through. EngineAway if Ray does not answer."""
        if self.phase.is_over:
            return []
        self._start_ranks(now)
        moves = self._come_up()
        self._judge()
        if self._broken:
            self._kill(now)
        elif self._leaving is not None:
            self._ask(now, wall)
        if len(self._exits) == len(self.record.seats):
            self._killed |= {rank for rank, state in self._states.items() if state["killed"]}
            self._note_ending()
            if self._have_ended(now):
                moves.append(self._finish())
        return moves

    def _start_ranks(self, now: float) -> None:
        """If Ray falls silent between two ranks, it goes on here when it is back."""
        if self._start is None:
            return
        why = "" if self._leaving is not None or self._broken else None
        for rank in self._ranks:
            is_begun = rank in self._begun and rank not in self._unsure
            if why is None and not is_begun and rank not in self._exits:
                why = self._start_rank(self._start, rank, now)
        if why is not None:
            for rank in self._ranks:
                if rank not in self._begun:
                    self.hear(rank, now, dead=why)
        self._start = None

    def _start_rank(self, start: Start, rank: int, now: float) -> str | None:
        """Have Ray start one rank; to ask for it twice does no harm. Gives why it cannot be."""
        try:
            node, amounts, spec = start(rank)
            self._begun[rank] = now
            self._unsure.add(rank)
            self._link.ask(
                "start", space=self._space, name=self.name(rank), node=node, amounts=amounts, spec=spec
            )
        except RuntimeError as error:
            self._begun.pop(rank, None)
            self._unsure.discard(rank)
            self.break_off(f"{self._name(rank)} cannot be started: {printable(str(error))}")
            return str(error)
        self._unsure.discard(rank)
        return None

    def _ask(self, now: float, wall: float) -> None:
        assert self._leaving is not None
        for rank in self._ranks:
            if rank in self._exits:
                continue
            if rank not in self._states and rank not in self._adopted:
                # Perhaps Ray has no room for it yet, and would never tell it.
                self._end(rank, now)
            elif self._asked.get(rank, _LATE) > self._leaving.deadline:
                self._call(rank, "ask", self._leaving.deadline - wall)
                self._asked[rank] = self._leaving.deadline
            elif wall > self._leaving.deadline + _PATIENCE_SECONDS:
                # The actor should have seen to it.
                self._killed.add(rank)
                self._end(rank, now)

    def _kill(self, now: float) -> None:
        for rank in self._ranks:
            if rank in self._exits:
                continue
            if rank in self._states and rank not in self._kills:
                self._call(rank, "kill")
                self._kills[rank] = now
            elif rank not in self._states or now - self._kills[rank] > _PATIENCE_SECONDS:
                self._end(rank, now)

    def _end(self, rank: int, now: float) -> None:
        """Have Ray end the actor; the news of its death follows, or nobody can reach it."""
        if rank not in self._ends:
            self._link.ask("end", space=self._space, name=self.name(rank))
            self._ends[rank] = now
        elif now - self._ends[rank] > _STUCK_SECONDS:
            self.hear(rank, now, dead="nobody can reach it")

    def _note_ending(self) -> None:
        """Exit codes are known to the actors alone: how it ends is written down before these are ended."""
        if not self._is_noted:
            self._is_noted = True
            with suppress(BadFile):
                self._folder.end(self.key, self._find_ending())

    def _have_ended(self, now: float) -> bool:
        """Whether Ray has given back all that the actors held; they are ended once every worker has."""
        for rank in self._ranks:
            if rank not in self._dead:
                self._end(rank, now)
        return len(self._dead) == len(self.record.seats) and now >= self._swept_at

    def _call(self, rank: int, method: str, *given: float) -> None:
        self._link.ask("call", space=self._space, name=self.name(rank), method=method, given=list(given))

    def _has_run(self, rank: int) -> bool:
        return self._states.get(rank, {}).get("pid") is not None

    def _ended_at(self, rank: int) -> float:
        ended = self._states.get(rank, {}).get("ended")
        return _LATE if ended is None else float(ended)

    def _describe(self, rank: int) -> str:
        if why := self._states.get(rank, {}).get("why"):
            return f"{self._name(rank)} cannot be started: {printable(why)}"
        if self._exits[rank] in (LOST, NEVER_RAN) and self._dead.get(rank):
            what = "is gone" if self._has_run(rank) else "was never started"
            return f"{self._name(rank)} {what}: {printable(self._dead[rank])}"
        return super()._describe(rank)

    @property
    def is_changing(self) -> bool:
        """True while something is expected of it any moment."""
        is_stable = self.phase is RingPhase.RUNNING and not self._broken and not self._exits
        return not self.phase.is_over and not is_stable
