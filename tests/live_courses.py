"""Hypothesis strategies for what happens in a live service: any event, any state, and courses that can be."""

from collections.abc import Iterable
from dataclasses import dataclass, replace

from hypothesis import strategies as st

from gadget.engine.apply import apply
from gadget.engine.decide import decide_slot
from gadget.engine.events import (
    Cause,
    ClusterChanged,
    Event,
    JobFinished,
    JobLeft,
    JobsArrived,
    JobsForgotten,
    Noted,
    RingFailed,
    Seen,
    ServerDrained,
    ServerFailed,
    ServerReturned,
    ServerUndrained,
    SlotDecided,
    SlotObserved,
    SlotServed,
    SpeedMeasured,
    WorkLost,
)
from gadget.engine.state import JobRecord, JobStatus, State, begin, find_available
from gadget.model.cluster import Cluster, Server
from gadget.model.job import ActiveJob, Job
from gadget.model.quantity import MOST_SLOTS
from gadget.model.resources import Resources
from gadget.model.snapshot import Scenario
from gadget.policies.fifo import Fifo
from tests.strategies import (
    allocations,
    any_text,
    at_least_zero,
    clusters,
    decisions,
    finite,
    live_jobs,
    names,
    positive,
    timings,
)

# What a program prints may be no UTF-8: Python carries such bytes as lone surrogates.
said = any_text | st.binary(max_size=8).map(lambda some: some.decode(errors="surrogateescape"))
slots = st.integers(0, MOST_SLOTS)
shares = st.floats(0, 1)


def _parts(names_: Iterable[str]) -> st.SearchStrategy[frozenset[str]]:
    known = sorted(names_)
    return st.frozensets(st.sampled_from(known)) if known else st.just(frozenset())


@st.composite
def live_clusters(draw: st.DrawFn) -> Cluster:
    """Clusters that may have lost servers, all of them or those that joined the rest."""
    cluster = draw(clusters(wild=True))
    return cluster.without(draw(_parts(cluster.server_by_name)))


def job_lists(wild: bool = True, fewest: int = 0) -> st.SearchStrategy[tuple[Job, ...]]:
    return st.lists(live_jobs(wild), min_size=fewest, max_size=4, unique_by=lambda job: job.name).map(tuple)


EVENTS: dict[type[Event], st.SearchStrategy[Event]] = {
    JobsArrived: st.builds(JobsArrived, job_lists()),
    JobLeft: st.builds(JobLeft, names),
    JobFinished: st.builds(JobFinished, names, finite, finite),
    RingFailed: st.builds(RingFailed, names, finite, said, st.sampled_from(Cause), finite),
    WorkLost: st.builds(WorkLost, names, finite, said),
    SpeedMeasured: st.builds(SpeedMeasured, names, st.none() | finite, st.none() | timings(wild=True)),
    ServerFailed: st.builds(ServerFailed, names, said),
    ServerReturned: st.builds(ServerReturned, names),
    ServerDrained: st.builds(ServerDrained, names),
    ServerUndrained: st.builds(ServerUndrained, names),
    ClusterChanged: st.builds(ClusterChanged, live_clusters(), positive(wild=True)),
    SlotDecided: st.builds(SlotDecided, decisions()),
    SlotServed: st.builds(
        SlotServed,
        slots,
        st.none() | st.lists(st.builds(Seen, names, finite, finite), max_size=3).map(tuple),
        shares,
    ),
    SlotObserved: st.builds(SlotObserved, decisions()),
    JobsForgotten: st.builds(JobsForgotten, st.lists(names, max_size=3).map(tuple)),
    Noted: st.builds(Noted, said, said),
}
"""Any event of each kind, most of which cannot follow any state."""


@st.composite
def _records(draw: st.DrawFn) -> JobRecord:
    served, work = draw(at_least_zero(wild=True)), draw(st.none() | at_least_zero(wild=True))
    counts = st.integers(0, 5)
    return JobRecord(
        ActiveJob(draw(live_jobs(wild=True)), served, work),
        draw(slots),
        first_start=draw(st.none() | slots),
        ring_since=draw(st.none() | slots),
        slots_served=draw(st.just(0) | st.floats(0, 1e7)),
        resizes=draw(counts),
        restarts=draw(counts),
        work_lost=draw(st.just(0.0) | finite),
        failures=draw(counts),
        last_failure=draw(st.none() | said),
        ending=draw(st.none() | st.sampled_from(JobStatus)),
        ended=draw(st.none() | slots),
        finished_at=draw(st.none() | st.floats(0, 1e7)),
    )


@st.composite
def states(draw: st.DrawFn) -> State:
    """States of any shape, most of them not sound."""
    cluster = draw(live_clusters())
    down, drained = (draw(_parts(cluster.server_by_name)) for _ in range(2))
    records = draw(st.lists(_records(), max_size=4, unique_by=lambda record: record.job.name))
    cut = draw(st.integers(0, len(records)))
    return State(
        cluster,
        draw(slots),
        draw(positive(wild=True)),
        slot=draw(slots),
        decided=draw(st.booleans()),
        down=down,
        drained=drained,
        available=find_available(cluster, down, drained),
        active={record.job.name: record for record in records[:cut]},
        ended={record.job.name: record for record in records[cut:]},
        running=draw(allocations()),
        restarting=draw(st.frozensets(names, max_size=2)),
        is_measured=draw(st.booleans()),
    )


@dataclass(frozen=True)
class Course:
    """Events that happened one after the other, and the state before each and after all."""

    events: list[Event]
    states: list[State]


@st.composite
def live_courses(draw: st.DrawFn, most: int = 25) -> Course:
    """What may happen in a live service, in any order in which it can."""
    cluster = _roomy(draw(clusters()), draw)
    state = begin(Scenario(cluster, (), MOST_SLOTS, draw(positive())), is_measured=True)
    to_come = [_modest(job, draw) for job in draw(job_lists(wild=False, fewest=1))]
    course = Course([], [state])
    for _ in range(draw(st.integers(0, most))):
        event = draw(st.sampled_from(_possible(state, to_come, cluster, draw)))
        if isinstance(event, JobsArrived):
            to_come = to_come[len(event.jobs) :]
        state = apply(state, event)
        course.events.append(event)
        course.states.append(state)
    return course


def _roomy(cluster: Cluster, draw: st.DrawFn) -> Cluster:
    """With room on every server, so that rings run."""
    room = Resources({"gpu": draw(st.integers(1, 8))})
    return replace(cluster, servers=tuple(Server(server.name, room) for server in cluster.servers))


def _modest(job: Job, draw: st.DrawFn) -> Job:
    budget = draw(st.none() | st.integers(1, 20).map(lambda amount: Resources({"gpu": amount})))
    return replace(
        job, arrival=0, deadline=None, min_workers=1, resources=Resources({"gpu": 1}), budget=budget
    )


def _possible(state: State, to_come: list[Job], cluster: Cluster, draw: st.DrawFn) -> list[Event]:
    share, work = draw(st.sampled_from((0.0, 0.25, 1.0))), draw(st.integers(0, 100)) / 8
    servers = state.cluster.server_by_name
    possible: list[Event] = [
        Noted("test", draw(said)),
        ClusterChanged(cluster.without(draw(_parts(cluster.server_by_name))), draw(positive())),
        *(ServerFailed(name, "pulled") for name in list(servers)[:1] if name not in state.down),
        *(ServerReturned(name) for name in sorted(state.down)),
        *(ServerDrained(name) for name in list(servers)[-1:] if name not in state.drained),
        *(ServerUndrained(name) for name in sorted(state.drained)),
        *(JobLeft(name) for name in state.active),
        *(WorkLost(name, work, draw(said)) for name in state.active),
        *(
            RingFailed(name, work, draw(said), draw(st.sampled_from(Cause)), share)
            for name in state.running.ring_of
        ),
        *(JobsForgotten((name,)) for name in state.ended),
        *(JobFinished(name, work, share) for name in state.running.ring_of),
    ]
    for name, record in state.active.items():
        if record.job.rate is not None:
            possible.append(SpeedMeasured(name, rate=draw(positive())))
        elif not record.job.timing or record.job.bandwidth_gbps:
            possible.append(SpeedMeasured(name, timing=draw(timings())))
    if to_come:
        possible += [JobsArrived(tuple(to_come[: draw(st.integers(1, len(to_come)))]))] * 8
    if state.decided:
        seen = tuple(Seen(ring.job, draw(st.integers(0, 40)) / 8, 0.0) for ring in state.running.rings)
        possible += [SlotServed(state.slot, seen, share)] * 12
    else:
        decided = decide_slot(state, Fifo(backfill=True), 0)
        possible += [decided] * 12
        if not state.running.rings:
            possible.append(SlotObserved(decided.decision))
    return possible
