"""The live service: what a slot costs beside its decision, whether memory grows, how fast a journal is.

A slot's overhead is the time of the controller's tick less `decision.seconds`, which the solver's own process
measures: events written to disk, the snapshot sent and the decision read, judging, orders, and the view.
`--quick` takes fewer rounds; `--million` starts from a journal of a million entries.
"""

import argparse
import gc
import os
import statistics
import tempfile
import time
import tracemalloc
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from benchmarks.parts.obliging import Stage
from benchmarks.parts.table import Row, print_head, print_row

from gadget.engine.events import Event, JobLeft, JobsArrived, JobsForgotten, Noted
from gadget.live.decider import Apart, Here
from gadget.live.origin import begin_live, find_origin
from gadget.live.settings import Settings
from gadget.model.builders import build_leaf_spine
from gadget.model.job import Job
from gadget.model.resources import Resources
from gadget.model.utility import Linear
from gadget.policies.registry import build_policy
from gadget.store.journal import Journal
from gadget.workloads.paper import build_paper_jobs

_MEMORY_FOLDER = Path("/dev/shm")
_BATCH = 1_000


@dataclass(frozen=True)
class Plan:
    """Sizes of one run."""

    racks: int = 40
    per_rack: int = 25
    jobs: int = 500
    changed: int = 10
    """Jobs that come, and as many that go, in every slot."""
    rounds: int = 15
    policy: str = "gadget"
    slots: int = 10_000
    appends: int = 400
    entries: int = 100_000
    compact_every: int = 20_000

    def quick(self) -> "Plan":
        return replace(self, rounds=5, slots=2_000, entries=40_000)


FULL = Plan()


def overhead(plan: Plan) -> Iterator[Row]:
    """Slots of a large cluster in which some jobs come and go, on a journal on disk."""
    cluster = build_leaf_spine(plan.racks, 1, plan.per_rack, resources=Resources({"gpu": 4}))
    pool = iter(_endless_jobs(plan.jobs + plan.changed * (plan.rounds + 2)))
    decider = Apart(plan.policy, 0, limit_seconds=600)
    settings = Settings(slot_seconds=32, policy=plan.policy)
    with tempfile.TemporaryDirectory() as folder:
        stage = Stage(Path(folder), cluster, decider, settings)
        controller = stage.controller
        controller.submit([next(pool) for _ in range(plan.jobs)])
        whole, alone, idle, views = [], [], [], []
        for number in range(plan.rounds + 2):
            seconds = _time(controller.tick)
            assert controller.decision is not None
            if number >= 2:  # the first slots start every ring, and the solver's caches
                whole.append(seconds)
                alone.append(controller.decision.seconds)
                idle.append(_time(controller.tick))
                views.append(_time(controller.view))
            rings = len(stage.engine.rings)
            stage.pass_slot()
            for name in list(controller.state.active)[: plan.changed]:
                controller.cancel(name)
            controller.submit([next(pool) for _ in range(plan.changed)])
        stage.close()
    more = statistics.median(a - b for a, b in zip(whole, alone, strict=True))
    solver = statistics.median(alone)
    yield Row(
        f"{len(cluster.servers):,} servers, {plan.jobs} active jobs, {rings} rings, {plan.policy}",
        "overhead of a slot ≤ 1 × its decision",
        f"{more / solver:.2f} × ({1000 * more:.0f} ms beside {1000 * solver:.0f} ms)",
        more <= solver,
    )
    tick, view = statistics.median(idle), statistics.median(views)
    yield Row(
        "the same: a tick in which nothing is due, and a view",
        "≤ 0.1 × a decision",
        f"{(tick + view) / solver:.3f} × ({1000 * tick:.1f} ms and {1000 * view:.1f} ms)",
        tick + view <= 0.1 * solver,
    )


def memory(plan: Plan) -> Iterator[Row]:
    """Jobs come and go for many slots; what is held early against what is held late."""
    cluster = build_leaf_spine(2, 1, 2, resources=Resources({"gpu": 4}))
    settings = Settings(slot_seconds=32, policy="fifo", keep_ended=50, compact_every=1_000)
    home = _MEMORY_FOLDER if _MEMORY_FOLDER.is_dir() else None  # a disk would only make it longer
    with tempfile.TemporaryDirectory(dir=home) as folder:
        stage = Stage(Path(folder), cluster, Here(build_policy("fifo"), 0), settings)
        held: list[int] = []
        tracemalloc.start()
        for slot in range(plan.slots):
            if slot in (plan.slots // 5, plan.slots * 3 // 5):
                held.append(_held())
            stage.controller.submit([_short_job(slot)])
            if slot % 7 == 3:
                stage.controller.cancel(next(iter(stage.controller.state.active)))
            stage.controller.tick()
            stage.controller.view()
            stage.pass_slot()
        held.append(_held())
        tracemalloc.stop()
        entries = stage.journal.last
        stage.close()
    growth = held[-1] / held[0] - 1
    yield Row(
        f"{plan.slots:,} slots, {entries:,} entries, jobs come and go",
        "memory grows < 10% from the first fifth to the end",
        f"{growth:+.1%} ({held[0] / 1e6:.2f}, {held[1] / 1e6:.2f}, {held[-1] / 1e6:.2f} MB)",
        growth < 0.1,
    )


def journal(plan: Plan) -> Iterator[Row]:
    """Appends that are on disk when they return, and a start after many entries."""
    with tempfile.TemporaryDirectory() as folder:
        with Journal.open(Path(folder) / "appends.db", begin_live(30)) as one:
            single = _time(lambda: [one.append((Noted("bench", "one"),), 0.0) for _ in range(plan.appends)])
            many = [Noted("bench", f"{n}") for n in range(100)]
            batches = _time(lambda: [one.append(many, 0.0) for _ in range(plan.appends // 10)])
        raw = _time(lambda: _write_synced(Path(folder) / "raw", plan.appends))
        rate = plan.appends / single
        yield Row(
            "appends of one event, and events in batches of 100",
            "one: ≥ 0.1 × as many as bare writes with fsync",
            f"{raw / single:.2f} × ({rate:,.0f}/s beside {plan.appends / raw:,.0f}/s); "
            f"batched {plan.appends * 10 / batches:,.0f}/s",
            raw / single >= 0.1,
        )
        few = _start_after(Path(folder) / "few.db", plan.compact_every, plan)
        much = _start_after(Path(folder) / "many.db", plan.entries, plan)
        yield Row(
            f"start after {plan.entries:,} entries, a state written every {plan.compact_every:,}",
            f"≤ 2 × that after {plan.compact_every:,}",
            f"{much / few:.2f} × ({much:.2f} s beside {few:.2f} s)",
            much <= 2 * few,
        )


def _start_after(path: Path, entries: int, plan: Plan) -> float:
    """Seconds to open a journal and fold it, when the last state in it is as old as it gets."""
    with Journal.open(path, begin_live(30)) as one:
        state = find_origin(one).state
        for number in range(0, entries, _BATCH):
            if number and number % plan.compact_every == 0 and number < entries - plan.compact_every // 2:
                one.compact(state)
            one.append(_some_life(number), 0.0)

    def start() -> None:
        with Journal.open(path, begin_live(30)) as again:
            assert find_origin(again).last == entries

    return statistics.median(_time(start) for _ in range(3))


def _some_life(number: int) -> list[Event]:
    """Jobs that come, leave and are forgotten: after it the state is what it was before."""
    events: list[Event] = []
    jobs = [_short_job(number + n) for n in range(_BATCH // 3)]
    for job in jobs:
        events += (JobsArrived((job,)), JobLeft(job.name), Noted("ring", f"{job.name}@0 stopped"))
    return [*events, JobsForgotten(tuple(job.name for job in jobs))]


def _endless_jobs(count: int) -> list[Job]:
    jobs = build_paper_jobs(np.random.default_rng(0), np.zeros(count, dtype=np.int64))
    return [replace(job, work=None, budget=None, deadline=None) for job in jobs]


def _short_job(number: int) -> Job:
    return Job(
        name=f"job-{number}",
        resources=Resources({"gpu": 1}),
        max_workers=4,
        bandwidth_gbps=1.0,
        utility=Linear(),
        rate=1.0,
        work=float(4 + number % 9),
    )


def _held() -> int:
    gc.collect()
    return tracemalloc.get_traced_memory()[0]


def _write_synced(path: Path, count: int) -> None:
    with path.open("wb", buffering=0) as file:
        for _ in range(count):
            file.write(b"x" * 200)
            os.fsync(file.fileno())


def _time(work: Callable[[], object]) -> float:
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def main(arguments: Sequence[str] | None = None, plan: Plan = FULL) -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="fewer rounds, slots and entries")
    parser.add_argument("--million", action="store_true", help="start after a million entries")
    asked = parser.parse_args(arguments)
    if asked.quick:
        plan = plan.quick()
    if asked.million:
        plan = replace(plan, entries=1_000_000)
    missed = 0
    print_head("case", "must", "measured", "")
    for part in (overhead, memory, journal):
        for row in part(plan):
            print_row(row)
            missed += row.is_met is False
    print(f"\n{missed} musts missed" if missed else "\nAll musts met")
    return 1 if missed else 0


if __name__ == "__main__":
    raise SystemExit(main())
