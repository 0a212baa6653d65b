"""An engine that obeys at once, with rings that do what their jobs say: what is left is the service."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from gadget.backends.backend import (
    Dismissal,
    Inventory,
    Launch,
    Report,
    RingFound,
    RingKey,
    RingMoved,
    RingPhase,
)
from gadget.backends.words import Kind, Word
from gadget.live.controller import Controller
from gadget.live.decider import Decider
from gadget.live.origin import begin_live, find_origin
from gadget.live.settings import Settings
from gadget.model.cluster import Cluster
from gadget.store.journal import Journal


@dataclass
class SetClock:
    """A clock that stands until it is set."""

    now: float = 0.0

    def wall(self) -> float:
        return 1e9 + self.now

    def steady(self) -> float:
        return self.now


@dataclass
class Obliging:
    """Every order is carried out before it returns."""

    cluster: Cluster
    name: str = "obliging"
    rings: dict[RingKey, Launch] = field(default_factory=dict)
    work: dict[str, float] = field(default_factory=dict)
    """What each job has done; a checkpoint that never fails."""
    deliver: Callable[[Report], None] = lambda _: None

    def open(self, deliver: Callable[[Report], None]) -> Inventory:
        self.deliver = deliver
        return Inventory(self.cluster)

    def survey(self) -> Sequence[RingFound]:
        return [RingFound(key, order.ring, RingPhase.RUNNING) for key, order in self.rings.items()]

    def launch(self, order: Launch) -> None:
        self.rings[order.key] = order
        self.deliver(RingMoved(order.key, RingPhase.RUNNING))

    def dismiss(self, order: Dismissal) -> None:
        self.rings.pop(order.key, None)
        self.deliver(RingMoved(order.key, RingPhase.STOPPED))

    def forget(self, key: RingKey) -> None:
        self.rings.pop(key, None)

    def read_log(self, job: str, *, rank: int, lines: int) -> str:  # noqa: ARG002 - as the protocol has it
        return ""

    def close(self, *, keep_rings: bool) -> None:
        pass

    def pass_slot(self, seconds: float, hear: Callable[[Word], None]) -> None:
        """Every ring does a slot's work and tells it; those that are done end."""
        for key, order in tuple(self.rings.items()):
            job = order.job
            done = self.work.get(job.name, 0.0) + float(job.work_in_slot(order.ring.size, seconds))
            self.work[job.name] = done
            for rank in range(order.ring.size):
                hear(Word(key, rank, Kind.PROGRESS, work=done if rank == 0 else None))
            if job.work is not None and done >= job.work:
                del self.rings[key], self.work[job.name]
                self.deliver(RingMoved(key, RingPhase.FINISHED))


@dataclass
class Stage:
    """A controller on a set clock, its engine and its journal."""

    folder: Path
    cluster: Cluster
    decider: Decider
    settings: Settings

    def __post_init__(self) -> None:
        self.clock, self.engine = SetClock(), Obliging(self.cluster)
        self.journal = Journal.open(self.folder / "journal.db", begin_live(self.settings.slot_seconds))
        self.controller = Controller(
            find_origin(self.journal),
            self.journal,
            backend=self.engine,
            decider=self.decider,
            clock=self.clock,
            settings=self.settings,
            env_for=lambda key: {"GADGET_TOKEN": str(key)},
        )
        self.controller.open(self.controller.take)

    def pass_slot(self) -> None:
        """A slot goes by in the world; the controller has not looked yet."""
        self.clock.now += self.settings.slot_seconds
        self.engine.pass_slot(self.settings.slot_seconds, self.controller.hear)

    def close(self) -> None:
        self.decider.close()
        self.journal.close()
