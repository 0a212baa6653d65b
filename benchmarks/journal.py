"""The journal: appends that wait for the disk, and starts after a million entries.

Without compaction every entry is replayed: a tenth of them shows what that costs. Give a number to try
another length than a million.
"""

import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from itertools import islice
from pathlib import Path

from gadget.engine.apply import apply
from gadget.engine.events import Event, JobFinished, JobsArrived, Noted, Seen, SlotDecided, SlotServed
from gadget.engine.state import State, begin
from gadget.model.builders import build_leaf_spine
from gadget.model.decision import Decision, Status
from gadget.model.job import Job
from gadget.model.quantity import MOST_SLOTS
from gadget.model.resources import Resources
from gadget.model.ring import Allocation, Ring
from gadget.model.snapshot import Scenario
from gadget.model.utility import Sqrt
from gadget.store.journal import Journal

ENTRIES = 1_000_000
RINGS = 8
NOTES = 6
LIFE_SLOTS = 80
COMPACT_EVERY = 20_000
# What a start after compaction must keep to.
LIMIT_SECONDS = 1.0

CLUSTER = build_leaf_spine(4, 2, 8)
BEGIN = begin(Scenario(CLUSTER, (), MOST_SLOTS, 60), is_measured=True)


def build_job(number: int) -> Job:
    return Job(
        name=f"job-{number}",
        resources=Resources({"gpu": 1, "memory_gib": 32}),
        max_workers=2,
        utility=Sqrt(),
        bandwidth_gbps=10,
        rate=5,
    )


def happen() -> Iterator[Event]:
    """Eight rings at a time, each for eighty slots, and a few notes in every slot."""
    servers = [server.name for server in CLUSTER.servers]
    alive = list(range(RINGS))
    yield JobsArrived(tuple(build_job(number) for number in alive))
    slot, coming = 0, RINGS
    while True:
        rings = tuple(
            Ring(f"job-{job}", (servers[job % RINGS],) * 2, ((servers[job % RINGS],),) * 2) for job in alive
        )
        yield SlotDecided(Decision(slot, "bench", Allocation(rings), (), 12.5, 13.25, Status.CERTIFIED))
        for note in range(NOTES):
            yield Noted("engine", f"ring {alive[note]} was found running in slot {slot}")
        yield SlotServed(slot, tuple(Seen(ring.job, 9.75, 0.0) for ring in rings))
        slot += 1
        if slot % (LIFE_SLOTS // RINGS) == 0:
            yield JobFinished(f"job-{alive[0]}", 780.0)
            yield JobsArrived((build_job(coming),))
            alive = [*alive[1:], coming]
            coming += 1


def seconds(work: Callable[[], object]) -> float:
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def fill(path: Path, entries: int, *, compacting: bool) -> State:
    """A journal of so many entries, and the state after them."""
    state = BEGIN
    course = islice(happen(), entries)
    with Journal.open(path, BEGIN) as journal:
        while batch := list(islice(course, 1000)):
            journal.append(batch, at=time.time())
            for event in batch:
                state = apply(state, event)
            if compacting and journal.last % COMPACT_EVERY == 0:
                journal.compact(state)
    return state


def time_appends(folder: Path) -> None:
    with Journal.open(folder / "appends", BEGIN) as journal:
        for together in (1, 10, 100):
            events = list(islice(happen(), together))
            times = [seconds(lambda e=events: journal.append(e, at=1.0)) for _ in range(200)]
            typical, slow = statistics.median(times), sorted(times)[-10]
            print(
                f"append of {together:3}: median {1000 * typical:6.2f} ms, one in twenty above "
                f"{1000 * slow:6.2f} ms, {together / statistics.mean(times):8.0f} entries/s"
            )


def main() -> int:
    most = int(sys.argv[1]) if len(sys.argv) > 1 else ENTRIES
    met = True
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        time_appends(folder)
        for compacting in (True, False):
            path = folder / f"journal-{compacting}"
            entries = most if compacting else most // 10
            state = fill(path, entries, compacting=compacting)
            opening = time.perf_counter()
            with Journal.open(path, BEGIN) as journal:
                opened = time.perf_counter() - opening
                found = journal.recover()
                took = time.perf_counter() - opening
                compaction = seconds(lambda j=journal, s=state: j.compact(s))
            assert found == (state, entries)
            met = met and (took < LIMIT_SECONDS or not compacting)
            print(
                f"{entries:,} entries{', compacted' if compacting else ''}: "
                f"{path.stat().st_size / 1e6:,.0f} MB, "
                f"{len(state.ended):,} ended jobs, start {took:.2f} s (of which opening {opened:.2f} s), "
                f"compaction {compaction:.2f} s"
            )
    print(f"A start after compaction must stay below {LIMIT_SECONDS:g} s: {'met' if met else 'MISSED'}")
    return 0 if met else 1


if __name__ == "__main__":
    raise SystemExit(main())
