"""How many jobs of the Philly trace a second: its first 4,000 on 128 GPUs, and all of them on 2,490.

In a pool without a network, time goes from event to event. All of Philly leaves 2,490 GPUs mostly idle, so it
is also run on 400, which it keeps busy. Growth: how many times as much processor time a job of the whole
trace takes as one of the first 4,000. Jobs a second are counted in processor time.

Then every policy that places rings runs in slots of ten minutes on the first 4,000 jobs as a scenario, on
servers with a network, each until the horizon or until its budget of processor time is spent: the table says
how far it came. `--policies=fifo,las` names others, `--jobs=100` takes fewer jobs, `--budget=0` knows no
limit. `--whole` also runs `gadget` on the whole trace, elastic and to the end, which takes ten minutes, and
so, rigid, what `--policies` names. `--quick` takes fewer rounds and a quarter of the budget.
"""

import argparse
import os
import statistics
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import chain
from pathlib import Path

import numpy as np
from benchmarks.parts.table import Row, print_head, print_row

from gadget.model.builders import build_leaf_spine
from gadget.model.snapshot import Scenario
from gadget.policies.registry import POLICIES
from gadget.policies.warming import compile_kernels
from gadget.simulate.blind import BlindResult, run_blind
from gadget.simulate.simulation import build_tasks, slow_restarts
from gadget.simulate.sweep import run_task
from gadget.workloads.traces.conversion import ConversionParams, Elasticity, convert
from gadget.workloads.traces.registry import read_trace
from gadget.workloads.traces.trace import Trace

ROOT = Path(__file__).parents[1]
# Least jobs a second on the first 4,000, and the largest growth: linear, and a quarter for chance.
LEAST = 5_000
MOST_GROWTH = 1.25
# For the whole trace with `gadget`, elastic.
MOST_SECONDS = 3_600
TIRESIAS = "las:queues=3250/7200,running_first=true"
LINK_GBPS = 100_000.0
# A budget ends runs between slots only, and the proof of one slot may take hours.
PATIENCE = {"optimal": "optimal:time_limit=5"}


@dataclass(frozen=True)
class Plan:
    """What to run, and how often."""

    first: int = 4_000
    first_gpus: int = 128
    all_gpus: int = 2_490
    busy_gpus: int = 400
    rounds: int = 5
    rules: tuple[str, ...] = ("fifo", "fifo:backfill=true", "srtf", "las", "las:queues=3250/7200", TIRESIAS)
    policies: tuple[str, ...] = tuple(PATIENCE.get(name, name) for name in POLICIES)
    """What runs in slots, as on the command line."""
    budget: float = 20.0
    """Processor seconds for each of them on the first jobs."""
    slot_seconds: float = 600.0
    elastic: Elasticity | None = None
    """How rings of jobs in slots may differ from the trace; None: they are rigid."""


FULL = Plan()


def find_philly() -> Path:
    return Path(os.environ.get("GADGET_TRACES", ROOT / "../shared/traces")) / "philly/philly.csv"


def in_pool(trace: Trace, plan: Plan) -> Iterator[Row]:
    """Every rule on the first jobs, on all of them, and on all of them on fewer GPUs."""
    first = trace.take(np.arange(min(plan.first, len(trace))))
    for rule in plan.rules:
        cases = ((first, plan.first_gpus), (trace, plan.all_gpus), (trace, plan.busy_gpus))
        few, everything, busy = race([partial(run_pool, *case, rule) for case in cases], plan.rounds)
        speed, stops = few.jobs / few.processor_seconds, few.stops
        yield Row(
            f"{rule}: first {few.jobs:,} jobs, {plan.first_gpus:,} GPUs",
            f"≥ {LEAST:,} jobs/s",
            f"{few.tell_speed()}, {stops:,} preemptions",
            speed >= LEAST,
        )
        for lap, gpus, most in ((everything, plan.all_gpus, MOST_GROWTH), (busy, plan.busy_gpus, None)):
            growth = (lap.processor_seconds / lap.jobs) / (few.processor_seconds / few.jobs)
            yield Row(
                f"{rule}: all {lap.jobs:,} jobs, {gpus:,} GPUs",
                "" if most is None else f"growth ≤ {most}",
                f"growth {growth:.2f}, {lap.tell_speed()}, {lap.stops:,} preemptions",
                None if most is None else growth <= most,
            )


@dataclass(frozen=True)
class Lap:
    jobs: int
    stops: int
    seconds: float
    processor_seconds: float

    def tell_speed(self) -> str:
        """By processor time, and by that of the clock, in which others may have been at work too."""
        by_clock = self.jobs / self.seconds
        return f"{self.jobs / self.processor_seconds:,.0f} jobs/s ({by_clock:,.0f} by the clock)"


def race(runs: Sequence[Callable[[], BlindResult]], rounds: int) -> list[Lap]:
    """Medians of rounds in which all run in turns, so that a busy machine slows all."""
    laps = [[run_lap(run) for run in runs] for _ in range(rounds)]
    return [
        replace(
            column[0],
            seconds=statistics.median(lap.seconds for lap in column),
            processor_seconds=statistics.median(lap.processor_seconds for lap in column),
        )
        for column in zip(*laps, strict=True)
    ]


def run_lap(run: Callable[[], BlindResult]) -> Lap:
    began = time.process_time()
    result = run()
    processor = time.process_time() - began
    return Lap(len(result.gpus), int(result.preemptions.sum()), result.seconds, processor)


def run_pool(trace: Trace, gpus: int, rule: str) -> BlindResult:
    return run_blind(trace.submit_seconds, trace.duration_seconds, trace.gpus, capacity=gpus, rule=rule)


def in_slots(trace: Trace, plan: Plan) -> Iterator[Row]:
    """Each policy on the first jobs as a scenario, on racks of eight servers with eight GPUs."""
    first = trace.take(np.arange(min(plan.first, len(trace))))
    scenario = build_scenario(first, plan.first_gpus, plan)
    for policy in plan.policies:
        yield Row(
            f"{policy} in slots: first {len(first):,} jobs, {scenario.cluster.total('gpu'):,.0f} GPUs",
            "",
            str(run_slotted(scenario, policy, plan.budget)),
        )


def whole(trace: Trace, plan: Plan, policies: Sequence[str] = ()) -> Iterator[Row]:
    """`gadget` on all jobs, each elastic up to twice its GPUs; policies that are named on rigid ones."""
    elastic = replace(plan, elastic=Elasticity.parse("1:2x"))
    for policy, its_plan, must in [
        ("gadget", elastic, MOST_SECONDS),
        *((one, plan, None) for one in policies),
    ]:
        scenario = build_scenario(trace, plan.all_gpus, its_plan)
        run = run_slotted(scenario, policy)
        yield Row(
            f"{policy} in slots{'' if must is None else ', elastic'}: all {len(trace):,} jobs, "
            f"{scenario.cluster.total('gpu'):,.0f} GPUs",
            "" if must is None else f"< {must:,} s",
            str(run),
            None if must is None else run.seconds < must,
        )


def build_scenario(trace: Trace, gpus: int, plan: Plan) -> Scenario:
    """The trace on racks of eight servers with eight GPUs, at least so many in all."""
    servers = -(-gpus // 8)
    cluster = build_leaf_spine(-(-servers // 8), 1, min(servers, 8), uplink_gbps=LINK_GBPS)
    params = ConversionParams(slot_seconds=plan.slot_seconds)
    if plan.elastic is not None:
        params = replace(params, elastic=plan.elastic)
    return slow_restarts(convert(trace, cluster, params, np.random.default_rng(0)).scenario, None)


@dataclass(frozen=True)
class Slotted:
    """How far a run in slots came, and in what time."""

    jobs: int
    finished: int
    slots: int
    of_slots: int
    seconds: float
    processor_seconds: float

    def __str__(self) -> str:
        is_whole = self.slots == self.of_slots
        reached = f"all {self.slots:,}" if is_whole else f"{self.slots:,} of {self.of_slots:,}"
        return (
            f"{self.finished / self.processor_seconds:,.1f} jobs/s: {self.finished:,} of {self.jobs:,} jobs "
            f"finished, {reached} slots in {self.processor_seconds:,.1f} processor s ({self.seconds:,.1f} s)"
        )


def run_slotted(scenario: Scenario, policy: str, budget: float = 0.0) -> Slotted:
    """Run a policy to the end, or until so many processor seconds are spent."""
    (task,) = build_tasks(scenario, [policy], [0])
    began, processor = time.perf_counter(), time.process_time()
    run = run_task(
        task,
        stop=lambda: 0 < budget <= time.process_time() - processor,
        on_progress=lambda _: None,
    )
    return Slotted(
        len(scenario.jobs),
        sum(job.finish is not None for job in run.jobs),
        len(run.slots),
        scenario.slots,
        time.perf_counter() - began,
        time.process_time() - processor,
    )


def main(arguments: Sequence[str] | None = None, plan: Plan = FULL, path: Path | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="fewer rounds")
    parser.add_argument("--policies", help="policies that run in slots, joined by commas; without it all")
    parser.add_argument("--budget", type=float, help="processor seconds for each of them; 0: no limit")
    parser.add_argument(
        "--whole", action="store_true", help="run gadget on the whole trace, elastic, and these"
    )
    parser.add_argument("--jobs", type=int, help="how many of the first jobs they have")
    parser.add_argument("--slot-seconds", type=float, help="how long their slots are")
    parser.add_argument("--elastic", help="their ring sizes, as 1:2x; without it as in the trace")
    options = parser.parse_args(arguments)
    if options.quick:
        plan = replace(plan, rounds=2, budget=plan.budget / 4)
    path = path or find_philly()
    if not path.exists():
        print(
            f"Nothing measured: no Philly trace at {path}. Put it there, or name its folder in GADGET_TRACES."
        )
        return 0
    began = time.perf_counter()
    trace = read_trace([path])
    print(f"{len(trace):,} jobs read in {time.perf_counter() - began:.2f} s.")
    tiny = trace.take(np.arange(min(100, len(trace))))
    for rule in plan.rules:
        run_pool(tiny, plan.all_gpus, rule)
    print(f"Kernels were compiled and loaded before. Times: medians of {plan.rounds} rounds in turns.\n")
    missed = 0
    print_head("case", "must", "measured", "")
    for row in in_pool(trace, plan):
        print_row(row)
        missed += row.is_met is False
    slotted = replace(
        plan,
        first=options.jobs or plan.first,
        slot_seconds=options.slot_seconds or plan.slot_seconds,
        elastic=Elasticity.parse(options.elastic) if options.elastic else plan.elastic,
        budget=plan.budget if options.budget is None else options.budget,
    )
    named = tuple(filter(None, (options.policies or "").split(",")))
    if options.policies is not None:
        slotted = replace(slotted, policies=named)
    if slotted.policies or options.whole:
        compile_kernels()
    for row in chain(in_slots(trace, slotted), whole(trace, plan, named) if options.whole else ()):
        print_row(row)
        missed += row.is_met is False
    print(f"{missed} musts missed" if missed else "All musts met")
    return 1 if missed else 0


if __name__ == "__main__":
    raise SystemExit(main())
