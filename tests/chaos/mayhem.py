"""A seeded life of a controller in which everything breaks that can, and the laws that hold all the same.

The controller is killed before or after any entry of its journal and any order to its engine; the next one
gets a copy of the journal's files as the killed one left them, and the world as it is by then.
"""

import contextlib
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np

from gadget.backends.backend import (
    EngineCameBack,
    EngineWentAway,
    RingKey,
    RingPhase,
)
from gadget.backends.words import Kind, Word
from gadget.engine.check import check_state
from gadget.engine.events import WorkLost
from gadget.errors import ImpossibleEvent, JournalFailed
from gadget.live.controller import Controller
from gadget.live.decider import Here
from gadget.live.origin import begin_live, find_origin
from gadget.live.settings import Settings
from gadget.model.builders import build_leaf_spine
from gadget.model.cluster import Cluster
from gadget.model.job import ActiveJob, Job
from gadget.model.referee import find_violations
from gadget.model.resources import Resources
from gadget.model.ring import Allocation
from gadget.model.snapshot import Snapshot
from gadget.model.utility import Linear, Log, Sqrt
from gadget.policies.registry import build_policy
from gadget.store.journal import Journal, fold
from tests.chaos.strikes import Fuse, Killed, Moody, StruckBackend, StruckLog, copy_journal
from tests.live_world import SetClock, World, WorldRing, with_program

SLOT_SECONDS = 32.0
LISTENS_SECONDS = 4.0
HANGS_SECONDS = 110.0
"""Silence that nobody may overlook: 60 s are allowed after a word, and a stop may be slow."""
CLUSTER = build_leaf_spine(2, 2, 2, resources=Resources({"gpu": 4}), server_gbps=40, uplink_gbps=30)


@dataclass
class Mayhem:
    """One seed's world, its controllers one after the other, and what must be true at any time."""

    folder: Path
    seed: int
    policy: str
    keep_ended: int = 1_000
    compact_every: int = 40
    kind: type[World] = World
    cluster: Cluster = CLUSTER
    clock: SetClock = field(default_factory=SetClock)
    fuse: Fuse = field(default_factory=Fuse)
    known: set[str] = field(default_factory=set)
    """Jobs that were acknowledged."""
    jobs: dict[str, Job] = field(default_factory=dict)
    """All that were ever made."""
    muted: set[RingKey] = field(default_factory=set)
    """Rings whose workers hang."""
    greeted: set[RingKey] = field(default_factory=set)
    """Rings that have told the present controller all there is to tell."""
    resumed: dict[RingKey, float] = field(default_factory=dict)
    """What each ring went on from."""
    told: dict[RingKey, float] = field(default_factory=dict)
    """What each ring last told to have done, in any life."""
    is_full: bool = False
    lives: int = 0
    kills: int = 0
    names: int = 0

    def __post_init__(self) -> None:
        self.rng = np.random.default_rng(self.seed)
        self.world = self.kind(self.cluster, self.clock)
        self.decider = Moody(Here(build_policy(self.policy), 0), self.rng)
        self.journal = Journal.open(self.folder / "0.db", begin_live(SLOT_SECONDS))
        self.folded, self.read = find_origin(self.journal).state, 0
        self.controller: Controller
        self.backend: StruckBackend
        self.live()

    @property
    def path(self) -> Path:
        """The journal of the present life."""
        return self.folder / f"{self.lives}.db"

    # Life and death.

    def live(self) -> None:
        """A new controller on what is there, as often as it is killed while it begins."""
        while True:
            origin = find_origin(self.journal)
            self.follow()
            assert origin.state == self.folded
            assert origin.last == self.read
            self.backend = StruckBackend(self.world, self.fuse)
            self.greeted.clear()
            log = StruckLog(self.journal, self.fuse, lambda: self.is_full)
            self.controller = Controller(
                origin,
                log,
                backend=self.backend,
                decider=self.decider,
                clock=self.clock,
                settings=Settings(
                    slot_seconds=SLOT_SECONDS,
                    policy=self.policy,
                    keep_ended=self.keep_ended,
                    compact_every=self.compact_every,
                ),
                env_for=lambda _: {},
            )
            try:
                self.controller.open(self.controller.take)
                return
            except JournalFailed:
                self.is_full = False  # a service that cannot write does not start; somebody makes room
            except Killed:
                self.die()

    def die(self) -> None:
        """What a kill leaves is what the files hold at that moment."""
        self.kills += 1
        source = self.path
        self.lives += 1
        target = self.path
        copy_journal(source, target)
        self.journal.close()
        self.journal = Journal.open(target, begin_live(SLOT_SECONDS))

    def survive(self, action: Callable[[], object]) -> None:
        """Do it; if that kills the controller, time passes and another one begins."""
        try:
            action()
        except Killed:
            self.die()
            if self.rng.random() < 0.5:
                self.pass_time(float(self.rng.choice((1.0, 40.0))))
            self.live()

    # What the world does.

    def pass_time(self, seconds: float) -> None:
        """Rings work and tell of it; those that are done end."""
        self.clock.now += seconds
        for key, one in list(self.world.rings.items()):
            if one.phase is RingPhase.RUNNING and key not in self.muted:
                self.work(key, one, seconds)
        self.backend.pass_time()

    def work(self, key: RingKey, one: WorldRing, seconds: float) -> None:
        job = self.jobs[key.job]  # as it is, not as it was learnt to be
        assert job.rate is not None
        assert job.work is not None
        self.resumed.setdefault(key, one.work)
        one.work = min(one.work + job.rate * one.launch.ring.size * seconds / SLOT_SECONDS, job.work)
        if self.rng.random() < 0.3:
            self.world.safe[key.job] = one.work
        self.tell(key, one)
        if one.work >= job.work:
            self.backend.finish_ring(key)

    def tell(self, key: RingKey, one: WorldRing) -> None:
        """As the worker's client does: on a new connection it tells again what holds all that came before."""
        hear = self.controller.hear
        ranks = range(one.launch.ring.size)
        for rank in ranks:
            hear(Word(key, rank, Kind.HELLO))
        if key not in self.greeted:
            self.greeted.add(key)
            for rank in ranks:
                hear(Word(key, rank, Kind.RESUMED, work=self.resumed[key]))
            if self.rng.random() < 0.3:
                self.survive(self.controller.tick)  # right between two words
                self.follow()
                if key not in self.world.rings or key not in self.greeted:
                    return
        self.controller.hear(Word(key, 0, Kind.PROGRESS, work=one.work))
        self.told[key] = one.work
        if self.world.safe.get(key.job) == one.work:
            self.controller.hear(Word(key, 0, Kind.CHECKPOINT, work=one.work))

    # What chaos does.

    def strike(self) -> None:
        """One thing of all that may go wrong, or only time."""
        deeds = (
            *(self.submit,) * 4,
            *(self.cancel, self.drain, self.undrain, self.lose_server, self.return_server),
            *(self.break_ring,) * 2,
            *(
                self.mute_ring,
                self.mute_ring,
                self.hang_up,
                self.hang_up,
                self.toggle_engine,
                self.jump,
                self.toggle_disk,
                self.change_mood,
            ),
            *(self.slow_down, self.lengthen_fuse, self.lengthen_fuse, self.lengthen_fuse),
        )
        deeds[int(self.rng.integers(len(deeds)))]()

    def submit(self) -> None:
        jobs = tuple(self.make_job() for _ in range(int(self.rng.integers(1, 4))))

        def command() -> None:
            self.controller.submit(jobs)
            self.known.update(job.name for job in jobs)

        self.command(command)
        # One that was killed in between, or refused, has them all or none.
        state = self.controller.state
        assert len({job.name in state.active or job.name in state.ended for job in jobs}) == 1

    def make_job(self) -> Job:
        rng = self.rng
        self.names += 1
        job = Job(
            name=f"job-{self.names}",
            resources=Resources({"gpu": int(rng.integers(1, 3))}),
            min_workers=int(rng.integers(1, 3)),
            max_workers=int(rng.integers(3, 7)),
            bandwidth_gbps=float(rng.choice([0, 5, 15])),
            rate=float(rng.integers(1, 5) * 16),
            work=float(rng.integers(3, 20) * 64),
            utility=(Sqrt(3), Log(40), Linear(0.25))[int(rng.integers(0, 3))],
            min_runtime_seconds=float(rng.choice([0, 0, 50])),
        )
        self.jobs[job.name] = with_program(
            job, retries=1_000, start_seconds=60.0, silence_seconds=60.0, checkpoint_grace_seconds=20.0
        )
        return self.jobs[job.name]

    def cancel(self) -> None:
        if self.controller.state.active:
            job = str(self.rng.choice(list(self.controller.state.active)))
            self.command(lambda: self.controller.cancel(job))

    def drain(self) -> None:
        server = self.pick_server()
        self.command(lambda: self.controller.drain(server))

    def undrain(self) -> None:
        if self.controller.state.drained:
            server = min(self.controller.state.drained)
            self.command(lambda: self.controller.undrain(server))

    def command(self, action: Callable[[], None]) -> None:
        """A command may be refused; that is an answer. What is not acknowledged need not be."""

        def do() -> None:
            refusals = (JournalFailed, ImpossibleEvent) if self.is_full else ImpossibleEvent
            with contextlib.suppress(refusals):
                action()

        self.survive(do)

    def pick_server(self) -> str:
        return self.cluster.servers[int(self.rng.integers(len(self.cluster.servers)))].name

    def lose_server(self) -> None:
        if len(self.world.away) < 2 and (server := self.pick_server()) not in self.world.away:
            self.backend.lose_server(server)

    def return_server(self) -> None:
        if self.world.away:
            self.backend.return_server(min(self.world.away))

    def pick_ring(self) -> RingKey | None:
        keys = [one.launch.key for one in self.world.live()]
        return keys[int(self.rng.integers(len(keys)))] if keys else None

    def break_ring(self) -> None:
        if key := self.pick_ring():
            self.backend.break_ring(key, "a worker was killed")

    def mute_ring(self) -> None:
        if key := self.pick_ring():
            self.muted.add(key)

    def hang_up(self) -> None:
        self.greeted.clear()  # every worker connects anew

    def toggle_engine(self) -> None:
        if self.world.is_there:
            self.world.is_there = False
            if self.rng.random() < 0.5:  # else it is seen when an order fails
                self.backend.deliver(EngineWentAway("it does not answer"))
        else:
            self.world.is_there = True
            self.survive(lambda: self.backend.deliver(EngineCameBack()))

    def jump(self) -> None:
        if self.rng.random() < 0.5:
            self.clock.offset += float(self.rng.choice((-1e6, -50.0, 50.0, 1e6)))
        else:
            self.clock.now += 500.0  # the machine slept

    def toggle_disk(self) -> None:
        self.is_full = not self.is_full

    def change_mood(self) -> None:
        self.decider.mood = float(self.rng.choice((0.0, 0.5, 1.0)))

    def slow_down(self) -> None:
        self.world.stop_seconds = float(self.rng.choice((0.0, 3.0, 40.0)))

    def lengthen_fuse(self) -> None:
        self.fuse.left = int(self.rng.integers(1, 12))

    # What holds.

    def step(self, seconds: float) -> None:
        """Time goes by, with a tick often enough that silence counts."""
        ticks = max(1, round(seconds / LISTENS_SECONDS))
        for _ in range(ticks):
            self.pass_time(seconds / ticks)
            self.survive(self.controller.tick)
            self.follow()
        self.check()

    def follow(self) -> None:
        """Fold what was written since the last look."""
        for entry in self.journal.read(self.read, 10_000):
            if isinstance(entry.event, WorkLost):
                self.check_loss(entry.event)
            self.folded, self.read = fold(self.folded, (entry,)), entry.number

    def check_loss(self, event: WorkLost) -> None:
        """Nothing is called lost that the ring has told to have done."""
        told = self.told.get(RingKey(event.job, self.world.newest[event.job]), 0.0)
        assert told < (self.folded.active[event.job].active.work_done or 0.0)

    def check(self) -> None:
        state = self.controller.state
        self.follow()
        assert state == self.folded
        assert check_state(state) == []
        if self.keep_ended == 1_000:
            assert self.known <= state.active.keys() | state.ended.keys()
        live = self.world.live()
        # The journal may have lost the slots in which they came.
        jobs = tuple(ActiveJob(replace(one.launch.job, arrival=0)) for one in live)
        really = Snapshot(self.cluster, jobs, slot=state.slot, slots=state.slots)
        assert find_violations(really, Allocation(tuple(one.launch.ring for one in live))) == []
        assert len({one.launch.key.job for one in live}) == len(live)

    def calm_down(self) -> None:
        """Nothing breaks any more."""
        self.fuse.left, self.is_full, self.decider.mood, self.world.stop_seconds = None, False, 0.0, 0.0
        while self.world.away:
            self.return_server()
        if not self.world.is_there:
            self.toggle_engine()
        for server in sorted(self.controller.state.drained):
            self.controller.undrain(server)
        if self.world.live():
            self.mute_ring()
        began = self.clock.now
        for _ in range(400):
            self.step(SLOT_SECONDS / 2)
            if self.clock.now - began > HANGS_SECONDS:
                assert self.muted.isdisjoint(one.launch.key for one in self.world.live())
            if not self.controller.state.active and not self.world.rings:
                return
        raise AssertionError(f"left: {list(self.controller.state.active)}, {list(self.world.rings)}")
