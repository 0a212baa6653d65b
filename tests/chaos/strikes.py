"""What strikes a controller: kills at any moment, a full disk, a policy in a bad mood."""

import shutil
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from gadget.backends.backend import (
    Dismissal,
    EngineWentAway,
    Inventory,
    Launch,
    Report,
    RingFound,
    RingKey,
)
from gadget.engine.events import Event
from gadget.engine.state import State
from gadget.errors import JournalFailed
from gadget.live.decider import DecisionFailed, Here
from gadget.model.decision import Decision
from gadget.model.ring import Allocation
from gadget.model.snapshot import Snapshot
from gadget.store.journal import Entry, Journal
from tests.live_world import World, WorldBackend


class Killed(BaseException):
    """The process is no more."""


@dataclass
class Fuse:
    """Burns down with every thing that the controller does; at its end the controller is killed."""

    left: int | None = None

    def burn(self) -> None:
        if self.left is not None:
            self.left -= 1
            if self.left <= 0:
                self.left = None
                raise Killed


@dataclass
class StruckLog:
    """The real journal, and moments before and after each entry."""

    journal: Journal
    fuse: Fuse
    is_full: Callable[[], bool]

    def append(self, events: Sequence[Event], at: float) -> Sequence[Entry]:
        self.fuse.burn()
        if self.is_full():
            raise JournalFailed("no space left on device")
        entries = self.journal.append(events, at)
        self.fuse.burn()
        return entries

    def compact(self, state: State) -> None:
        self.fuse.burn()
        if self.is_full():
            raise JournalFailed("no space left on device")
        self.journal.compact(state, keep=50)
        self.fuse.burn()


class StruckBackend(WorldBackend):
    """The world as an engine, and moments before and after each order."""

    def __init__(self, world: World, fuse: Fuse) -> None:
        super().__init__(world)
        self.fuse = fuse

    def open(self, deliver: Callable[[Report], None]) -> Inventory:
        def report(one: Report) -> None:
            if self.world.is_there or isinstance(one, EngineWentAway):
                deliver(one)

        return super().open(report)

    def survey(self) -> Sequence[RingFound]:
        self.fuse.burn()
        return super().survey()

    def launch(self, order: Launch) -> None:
        self.fuse.burn()
        super().launch(order)
        self.fuse.burn()

    def dismiss(self, order: Dismissal) -> None:
        self.fuse.burn()
        super().dismiss(order)
        self.fuse.burn()

    def forget(self, key: RingKey) -> None:
        self.fuse.burn()
        super().forget(key)
        self.fuse.burn()


@dataclass
class Moody:
    """A policy that sometimes is late, and sometimes breaks its promise."""

    inner: Here
    rng: np.random.Generator
    mood: float = 0.0

    def decide(self, snapshot: Snapshot) -> Decision:
        decision = self.inner.decide(snapshot)
        if self.rng.random() >= self.mood:
            return decision
        if self.rng.random() < 0.5:
            raise DecisionFailed("the solver took longer than 0 s")
        # Twice the rings: more than one a job, and more than there is room for.
        return replace(decision, allocation=Allocation(decision.allocation.rings * 2))

    def close(self) -> None:
        pass


def copy_journal(source: Path, target: Path) -> None:
    """The files of a journal as they are at this moment."""
    for suffix in ("", "-wal"):
        if Path(f"{source}{suffix}").exists():
            shutil.copyfile(f"{source}{suffix}", f"{target}{suffix}")
