"""The controller's cadence, its faults, and that nothing is believed which was not written down."""

from collections.abc import Sequence
from dataclasses import dataclass, field

from gadget.backends.backend import ClusterFound, EngineCameBack, EngineWentAway, RingKey
from gadget.engine.events import Event, SlotDecided, SlotObserved, SlotServed, SpeedMeasured
from gadget.engine.state import State
from gadget.errors import JournalFailed
from gadget.live.controller import Controller
from gadget.live.decider import Here
from gadget.live.origin import Origin
from gadget.live.settings import Settings
from gadget.live.view import Mode
from gadget.model.cluster import Cluster, Server
from gadget.model.decision import Decision
from gadget.model.resources import Resources
from gadget.model.snapshot import Snapshot
from gadget.policies.registry import build_policy
from gadget.store.journal import Entry
from tests.live_world import MemoryLog, SetClock, World, WorldBackend, work_a_slot
from tests.unit.engine.worlds import PAIR
from tests.unit.live.scenes import fold, live_job


@dataclass
class Slow:
    """A policy that takes its time on the set clock."""

    clock: SetClock
    seconds: float = 0.0

    def decide(self, snapshot: Snapshot) -> Decision:
        self.clock.now += self.seconds
        return Here(build_policy("fifo"), 0).decide(snapshot)

    def close(self) -> None:
        pass


@dataclass
class Log(MemoryLog):
    """A journal whose disk can be full."""

    is_full: bool = False

    def append(self, events: Sequence[Event], at: float) -> Sequence[Entry]:
        if self.is_full:
            raise JournalFailed("no space left on device")
        return super().append(events, at)

    def compact(self, state: State) -> None:
        self.append((), 0.0)


@dataclass
class Stage:
    """A controller in a world, slots of 10 s, decisions at least 2 s apart."""

    mode: Mode = Mode.ENFORCE
    clock: SetClock = field(default_factory=SetClock)
    cluster: Cluster = PAIR

    def __post_init__(self) -> None:
        self.world = World(self.cluster, self.clock)
        self.backend = WorldBackend(self.world)
        self.log = Log(fold(cluster=self.cluster))
        self.decider = Slow(self.clock)
        self.controller = Controller(
            Origin(self.log.begin, 0, None),
            self.log,
            backend=self.backend,
            decider=self.decider,
            clock=self.clock,
            settings=Settings(slot_seconds=10.0, spacing_seconds=2.0, policy="fifo", mode=self.mode),
            env_for=lambda _: {},
        )
        self.controller.open(self.controller.take)

    def tick(self, now: float) -> None:
        self.clock.now = now
        self.controller.tick()

    def count(self, kind: type) -> int:
        return sum(isinstance(entry.event, kind) for entry in self.log.entries)


def test_a_slot_begins_when_the_last_is_over_or_something_happened_and_not_too_soon() -> None:
    one = Stage()
    one.tick(0.0)
    assert one.count(SlotDecided) == 1
    one.tick(1.0)
    one.controller.submit([live_job("j")])
    assert one.controller.seconds_to_next_tick() == 1.0
    one.tick(1.9)
    assert one.count(SlotDecided) == 1  # not too soon
    one.tick(2.0)
    assert one.count(SlotDecided) == 2  # because something happened
    assert [entry.event.share for entry in one.log.entries if isinstance(entry.event, SlotServed)] == [0.2]
    one.tick(11.9)
    assert one.count(SlotDecided) == 2
    one.tick(12.0)
    assert one.count(SlotDecided) == 3  # because it was over


def test_rings_of_a_slow_decision_get_their_time_all_the_same() -> None:
    one = Stage()
    one.decider.seconds = 15.0  # longer than a slot
    one.tick(0.0)
    one.decider.seconds = 0.0
    one.controller.submit([live_job("j")])
    one.tick(15.1)
    assert one.count(SlotDecided) == 1
    one.tick(17.0)
    assert one.count(SlotDecided) == 2


def test_what_cannot_be_written_down_has_not_happened_and_is_tried_again() -> None:
    one = Stage()
    one.controller.submit([live_job("j")])
    one.tick(0.0)
    [ring] = one.world.live()
    before = one.controller.state
    one.log.is_full = True
    one.backend.break_ring(ring.launch.key, "it broke")
    one.tick(1.0)
    assert one.controller.state == before
    assert [fault.topic for fault in one.controller.faults.now()] == ["journal"]
    assert len(one.world.launched) == 1
    one.log.is_full = False
    one.tick(3.0)
    one.tick(3.0)
    assert one.controller.faults.now() == ()
    assert one.world.launched == [RingKey("j", 0), RingKey("j", 1)]


def test_an_engine_that_comes_back_while_the_disk_is_full_is_surveyed() -> None:
    one = Stage()
    one.controller.submit([live_job("j")])
    one.tick(0.0)
    one.controller.take(EngineWentAway("no answer"))
    one.tick(1.0)
    one.log.is_full = True
    one.controller.take(EngineCameBack())
    one.tick(12.0)
    one.log.is_full = False
    one.tick(13.0)
    assert one.controller.faults.now() == ()
    assert list(one.controller.fleet.rings) == [RingKey("j", 0)]
    assert len(one.world.launched) == 1


def test_what_is_only_observed_touches_nothing() -> None:
    one = Stage(Mode.OBSERVE)
    one.controller.submit([live_job("j")])
    for slot in range(4):
        one.tick(10.0 * slot)
    assert one.world.launched == []
    assert one.count(SlotDecided) == 0
    assert one.count(SlotObserved) == 3
    assert one.controller.decision is not None
    assert one.controller.decision.allocation.ring_of.keys() == {"j"}


def test_a_ring_whose_server_is_taken_out_of_the_cluster_moves() -> None:
    one = Stage()
    one.controller.submit([live_job("j", min_workers=2)])
    one.tick(0.0)
    [ring] = one.world.live()
    lost = ring.launch.ring.workers[0]
    rest = Cluster(tuple(server for server in PAIR.servers if server.name != lost), (), ())
    one.controller.take(ClusterFound(rest))
    one.tick(3.0)
    one.tick(3.0)
    [ring] = one.world.live()
    assert lost not in ring.launch.ring.workers
    assert one.controller.state.cluster == rest


def test_a_cluster_that_grew_is_used() -> None:
    one = Stage(cluster=Cluster(PAIR.servers[:1], (), ()))
    one.controller.submit([live_job("j", min_workers=2), live_job("k", min_workers=2)])
    one.tick(0.0)
    assert len(one.world.live()) == 1
    one.world.cluster = Cluster((*PAIR.servers[:1], Server("new", Resources({"gpu": 2}))), (), ())
    one.controller.take(ClusterFound(one.world.cluster))
    one.tick(3.0)
    assert {server for ring in one.world.live() for server in ring.launch.ring.workers} == {"a", "new"}


def test_speed_is_learnt_at_the_end_of_a_slot() -> None:
    one = Stage()
    one.controller.submit([live_job("j", work=10_000.0)])
    one.tick(0.0)
    for second in (1.0, 9.0):
        one.clock.now = second
        work_a_slot(one.world, one.controller.hear, 80.0)
    one.tick(10.0)
    assert one.count(SpeedMeasured) == 1
