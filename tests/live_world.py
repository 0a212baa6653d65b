"""A world that a controller can be tried in: a clock that is set, rings that do what their jobs say.

The world outlives every controller. It keeps the laws itself: no job has two rings, no server or link is
over-committed, no order with a smaller number than before is obeyed.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

from gadget.backends.backend import (
    Dismissal,
    EngineAway,
    Inventory,
    Launch,
    Report,
    RingFound,
    RingKey,
    RingMoved,
    RingPhase,
    ServerCameBack,
    ServerWentAway,
)
from gadget.backends.words import Kind, Word
from gadget.engine.apply_server import touches
from gadget.engine.events import Event
from gadget.engine.state import State
from gadget.live.room import Room
from gadget.model.cluster import Cluster
from gadget.model.job import Job
from gadget.model.ring import Ring
from gadget.store.journal import Entry


class SetClock:
    """A clock that stands until it is set."""

    def __init__(self, wall: float = 1_000_000.0) -> None:
        self.now = 0.0
        self.offset = wall

    def wall(self) -> float:
        return self.now + self.offset

    def steady(self) -> float:
        return self.now


@dataclass
class MemoryLog:
    """A journal in memory."""

    begin: State
    entries: list[Entry] = field(default_factory=list)

    def append(self, events: Sequence[Event], at: float) -> Sequence[Entry]:
        new = [Entry(len(self.entries) + 1 + place, at, event) for place, event in enumerate(events)]
        self.entries.extend(new)
        return new

    def compact(self, state: State) -> None:
        pass


@dataclass
class WorldRing:
    """A ring in the world."""

    launch: Launch
    phase: RingPhase = RingPhase.RUNNING
    work: float = 0.0
    leaves_at: float | None = None
    is_restart: bool = False
    reason: str = ""


@dataclass
class World:
    """Servers and the rings on them."""

    cluster: Cluster
    clock: SetClock
    stop_seconds: float = 0.0
    """How long a ring takes to leave."""
    rings: dict[RingKey, WorldRing] = field(default_factory=dict)
    away: dict[str, str] = field(default_factory=dict)
    safe: dict[str, float] = field(default_factory=dict)
    """What each job's checkpoint holds."""
    served: set[str] = field(default_factory=set)
    """Jobs that have ever run."""
    newest: dict[str, int] = field(default_factory=dict)
    launched: list[RingKey] = field(default_factory=list)
    is_there: bool = True

    def live(self) -> list[WorldRing]:
        return [one for one in self.rings.values() if not one.phase.is_over]

    def start(self, order: Launch) -> None:
        key = order.key
        if key in self.rings:
            return
        assert key.number >= self.newest.get(key.job, -1), f"{key} comes after {self.newest[key.job]}"
        assert key.number != self.newest.get(key.job), f"{key} runs a second time"
        self.newest[key.job] = key.number
        assert not any(one.launch.key.job == key.job for one in self.live()), f"{key} runs beside another"
        room = Room(self.cluster, ((one.launch.ring, one.launch.job) for one in self.live()))
        assert room.fits(order.ring, order.job), f"{key} finds no room"
        self.launched.append(key)
        made = WorldRing(order, work=self.safe.get(key.job, 0.0), is_restart=key.job in self.served)
        if any(touches(order.ring, server) for server in self.away):
            made.phase, made.reason = RingPhase.FAILED, "a server does not answer"
        self.served.add(key.job)
        self.rings[key] = made

    def stop(self, order: Dismissal) -> None:
        one = self.rings.get(order.key)
        if one is not None and not one.phase.is_over:
            one.phase = RingPhase.STOPPING
            one.leaves_at = self.clock.now + self.stop_seconds

    def end(self, key: RingKey, phase: RingPhase, reason: str = "") -> None:
        one = self.rings[key]
        one.phase, one.reason = phase, reason

    def pass_time(self) -> list[RingKey]:
        """Let rings leave that were asked to and had their time; their work is safe then."""
        left = []
        for key, one in self.rings.items():
            if one.phase is RingPhase.STOPPING and self.clock.now >= (one.leaves_at or 0.0):
                self.safe[key.job] = one.work
                one.phase = RingPhase.STOPPED
                left.append(key)
        return left


class WorldBackend:
    """An engine that is the world; one per controller."""

    name = "world"

    def __init__(self, world: World) -> None:
        self.world = world
        self.deliver: Callable[[Report], None] = lambda _: None

    def open(self, deliver: Callable[[Report], None]) -> Inventory:
        self.deliver = deliver
        return Inventory(self.world.cluster, frozenset(self.world.away))

    def survey(self) -> Sequence[RingFound]:
        self._check_there()
        return [
            RingFound(key, one.launch.ring, one.phase, one.reason) for key, one in self.world.rings.items()
        ]

    def launch(self, order: Launch) -> None:
        self._check_there()
        self.world.start(order)
        one = self.world.rings[order.key]
        self.deliver(RingMoved(order.key, one.phase, one.reason))

    def dismiss(self, order: Dismissal) -> None:
        self._check_there()
        self.world.stop(order)
        self.pass_time()

    def forget(self, key: RingKey) -> None:
        self._check_there()
        if key in self.world.rings:
            assert self.world.rings[key].phase.is_over
            del self.world.rings[key]

    def read_log(self, job: str, *, rank: int, lines: int) -> str:
        return ""

    def close(self, *, keep_rings: bool) -> None:
        pass

    def pass_time(self) -> None:
        for key in self.world.pass_time():
            self.deliver(RingMoved(key, RingPhase.STOPPED))

    def break_ring(self, key: RingKey, reason: str) -> None:
        self.world.end(key, RingPhase.FAILED, reason)
        self.deliver(RingMoved(key, RingPhase.FAILED, reason))

    def finish_ring(self, key: RingKey) -> None:
        self.world.end(key, RingPhase.FINISHED)
        self.deliver(RingMoved(key, RingPhase.FINISHED))

    def lose_server(self, server: str, reason: str = "it was switched off") -> None:
        self.world.away[server] = reason
        self.deliver(ServerWentAway(server, reason))
        for key, one in list(self.world.rings.items()):
            if not one.phase.is_over and touches(one.launch.ring, server):
                self.break_ring(key, f"{server} is gone")

    def return_server(self, server: str) -> None:
        del self.world.away[server]
        self.deliver(ServerCameBack(server))

    def _check_there(self) -> None:
        if not self.world.is_there:
            raise EngineAway("the head does not answer")


def work_a_slot(world: World, hear: Callable[[Word], None], slot_seconds: float) -> None:
    """Every ring does a slot's work, by what its job says of itself, and tells it."""
    for key, one in world.rings.items():
        if one.phase is RingPhase.RUNNING:
            job = one.launch.job
            more = float(job.work_in_slot(one.launch.ring.size, slot_seconds, restart=one.is_restart))
            one.work += more
            one.is_restart = False
            hear(Word(key, 0, Kind.PROGRESS, work=one.work))


def ring_on(job: str, *servers: str) -> Ring:
    """A ring whose routes do not matter: all on one server."""
    routes = tuple((server,) for server in servers) if len(servers) > 1 else ()
    return Ring(job, servers, routes)


def with_program(job: Job, **program: object) -> Job:
    """The job with something to run."""
    from gadget.model.program import Program  # noqa: PLC0415 - only here

    return replace(job, program=Program(command=("true",), **program))  # type: ignore[arg-type]
