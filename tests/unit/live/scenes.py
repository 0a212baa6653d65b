"""Small states of a live service, and fleets beside them, whose course can be worked out by hand."""

from collections.abc import Iterable

from gadget.backends.backend import RingFound, RingKey, RingPhase
from gadget.backends.words import Kind, Word
from gadget.engine.apply import apply
from gadget.engine.events import Event, JobsArrived, Seen, SlotDecided, SlotServed
from gadget.engine.state import State, begin
from gadget.live.fleet import Fleet
from gadget.live.happenings import World
from gadget.model.cluster import Cluster
from gadget.model.job import Job
from gadget.model.program import Program
from gadget.model.quantity import MOST_SLOTS
from gadget.model.ring import Ring
from gadget.model.snapshot import Scenario
from tests.unit.engine.worlds import PAIR, decision, job

SLOT_SECONDS = 10.0


def live_job(name: str, **fields: object) -> Job:
    """A job with something to run: 20 s to its first word, then a word every 10 s."""
    program = Program(
        command=("true",), start_seconds=20, silence_seconds=10, checkpoint_grace_seconds=7, retries=2
    )
    return job(name, **{"program": program, "work": 100.0, **fields})


def fold(*events: Event, cluster: Cluster = PAIR) -> State:
    """The live state after the events."""
    state = begin(Scenario(cluster, (), MOST_SLOTS, SLOT_SECONDS), is_measured=True)
    for event in events:
        state = apply(state, event)
    return state


def running(*rings: Ring, jobs: Iterable[Job] = (), cluster: Cluster = PAIR) -> State:
    """The state in which slot 0 has these rings."""
    named = {one.name: one for one in jobs}
    arrived = [named.pop(ring.job, None) or live_job(ring.job) for ring in rings]
    return fold(JobsArrived((*arrived, *named.values())), SlotDecided(decision(0, *rings)), cluster=cluster)


def serve(state: State, **work: float) -> State:
    """The slot goes by with so much work of each job."""
    seen = tuple(Seen(ring.job, work.get(ring.job, 0.0), 0.0) for ring in state.running.rings)
    return apply(state, SlotServed(state.slot, seen))


def add(
    fleet: Fleet, state: State, ring: Ring, number: int = 0, phase: RingPhase = RingPhase.RUNNING
) -> RingKey:
    """A ring is there, ordered by us at second 0."""
    key = RingKey(ring.job, number)
    record = state.active.get(ring.job) or state.ended.get(ring.job)
    fleet.add(RingFound(key, ring, phase), None if record is None else record.job, 0.0, 0.0)
    return key


def say(fleet: Fleet, key: RingKey, kind: Kind, steady: float = 1.0, **fields: float) -> None:
    """All ranks speak; rank 0 tells the numbers."""
    for rank in range(fleet.rings[key].ring.size):
        fleet.hear(Word(key, rank, kind, **(fields if rank == 0 else {})), steady, steady)  # type: ignore[arg-type]


def world_of(state: State, *, steady: float = 1.0, away: dict[str, str] | None = None) -> World:
    return World(state.cluster, SLOT_SECONDS, away or {}, 0.5, steady)
