"""One ring on Ray: an actor a rank, known by name, from its order to its last process."""

from collections.abc import Callable, Mapping
from typing import Any

from gadget.backends.backend import RingMoved, RingPhase
from gadget.backends.local_folder import LocalFolder, Record, safe_name
from gadget.backends.ray_link import RayLink
from gadget.backends.ring_course import LOST, NEVER_RAN, RingCourse
from gadget.errors import printable

# An actor that has not ended its worker by then is ended itself, and its worker with it.
_PATIENCE_SECONDS = 5.0
# And one that Ray has not ended by then is on a node that nobody reaches.
_STUCK_SECONDS = 20.0
_LATE = float("inf")

Spec = tuple[str, dict[str, float], dict[str, Any]]
Start = Callable[[int], Spec]
"""Of one rank: the node, what Ray is asked for, and what its actor is told."""


class RayRing(RingCourse):
    """What is known of one ring. `hear` takes news of a rank; `step` acts and tells what has changed."""

    def __init__(
        self, record: Record, folder: LocalFolder, link: RayLink, space: str, start: Start | None = None
    ) -> None:
        super().__init__(record, folder)
        self._link, self._space, self._start = link, space, start
        self._states: dict[int, Mapping[str, Any]] = {}
        self._dead: dict[int, str] = {}
        self._asked: dict[int, float] = {}
        self._kills: dict[int, float] = {}
        self._ends: dict[int, float] = {}

    def name(self, rank: int) -> str:
        """How the actor of a rank is named."""
        return f"{safe_name(self.key.job)}@{self.key.number}#{rank}"

    @property
    def names(self) -> dict[str, int]:
        """The ranks by the names of their actors."""
        return {self.name(rank): rank for rank in self._ranks}

    def adopt(self, found: Mapping[str, Mapping[str, Any] | None]) -> None:
        """Take over the actors that are there, by name with their states; ranks without one are gone."""
        if not self._states and self.recall():
            return
        for name, rank in self.names.items():
            if name not in found:
                if rank not in self._exits:
                    self.hear(rank, dead="its actor is gone")
            elif (state := found[name]) is not None:
                self.hear(rank, state=state)

    def hear(self, rank: int, *, state: Mapping[str, Any] | None = None, dead: str | None = None) -> None:
        """News of one rank."""
        if dead is not None:
            self._dead.setdefault(rank, dead)
        if rank in self._exits:
            return
        if state is not None:
            self._states[rank] = state
            if state["code"] is not None:
                self._exits[rank] = state["code"]
        if dead is not None:
            self._exits[rank] = LOST if self._has_run(rank) else NEVER_RAN

    def lose(self, server: str, reason: str) -> None:
        """The server is gone, and the ranks on it; the others are ended."""
        for rank, seat in enumerate(self.record.seats):
            if seat.server == server:
                self.hear(rank, dead=reason)
        self.break_off(f"server {server} went away: {reason}")

    def step(self, now: float) -> list[RingMoved]:
        """Act, and tell the phases that it went through. EngineAway if Ray does not answer."""
        if self.phase.is_over:
            return []
        self._start_ranks()
        moves = self._come_up()
        self._judge()
        if self._broken:
            self._kill(now)
        elif self._leaving is not None:
            self._ask(now)
        if len(self._exits) == len(self.record.seats) and self._have_ended(now):
            self._killed |= {rank for rank, state in self._states.items() if state["killed"]}
            moves.append(self._finish())
        return moves

    def _start_ranks(self) -> None:
        start, self._start = self._start, None
        if start is None:
            return
        if self._leaving is not None or self._broken:
            self._exits = dict.fromkeys(self._ranks, NEVER_RAN)
            self._dead = dict.fromkeys(self._ranks, "")
            return
        for rank in self._ranks:
            try:
                node, amounts, spec = start(rank)
                self._link.ask(
                    "start", space=self._space, name=self.name(rank), node=node, amounts=amounts, spec=spec
                )
            except RuntimeError as error:
                self.break_off(f"{self._name(rank)} cannot be started: {printable(str(error))}")
                for other in range(rank, len(self.record.seats)):
                    self.hear(other, dead=str(error))
                return

    def _ask(self, now: float) -> None:
        assert self._leaving is not None
        for rank in self._ranks:
            if rank in self._exits:
                continue
            if rank not in self._states:
                # Perhaps Ray has no room for it yet, and would never tell it.
                self._end(rank, now)
            elif self._asked.get(rank, _LATE) > self._leaving.deadline:
                self._call(rank, "ask", self._leaving.deadline - now)
                self._asked[rank] = self._leaving.deadline
            elif now > self._leaving.deadline + _PATIENCE_SECONDS:
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
            self.hear(rank, dead="nobody can reach it")

    def _have_ended(self, now: float) -> bool:
        """Whether Ray has given back all that the actors held; they are ended once every worker has."""
        for rank in self._ranks:
            if rank not in self._dead:
                self._end(rank, now)
        return len(self._dead) == len(self.record.seats)

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
