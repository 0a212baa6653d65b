"""The solver of `gadget` against its musts: how near the bound, how near the optimum, how fast, how large.

Every time is a ratio to another time of the same run. A time is `decision.seconds`: building the problem,
solving it, rings, prices, and a reason for every job that waits. Cold: cluster and jobs are new objects, no
ring runs, no prices are known. `--quick` takes fewer seeds and rounds.
"""

import argparse
import statistics
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial

from benchmarks.parts.instances import next_slot, on_graph, paper_sized, racks, starved, two_resources
from benchmarks.parts.rivals import solve_gavel, solve_sia
from benchmarks.parts.table import Row, print_cells, print_head, print_row
from benchmarks.parts.yardstick import (
    Court,
    fresh,
    gap,
    race,
    race_alone,
    time_relaxation,
    warm_up,
    widen,
)

from gadget.model.decision import Status
from gadget.model.snapshot import Snapshot
from gadget.policies.gadget import Gadget
from gadget.policies.gadget_paper import GadgetPaper
from gadget.policies.optimal import Optimal

OURS = Gadget()
# As near as solvers that round can say that two objectives are the same.
SAME = 1e-6
KINDS: dict[str, Callable[[int, int, int, float], Snapshot]] = {
    "starved": starved,
    "two resources": two_resources,
    "general graph": on_graph,
}
SHARES = (0.02, 0.05, 0.10)


@dataclass(frozen=True)
class Plan:
    """Sizes, seeds and rounds of one run."""

    servers: int = 50
    jobs: tuple[int, ...] = (60, 100, 150, 200)
    seeds: int = 10
    small: tuple[tuple[int, int, float], ...] = ((12, 24, 0.02), (8, 20, 0.02), (9, 16, 0.02))
    """Servers, jobs and share of links of each kind; links cost about half of these slots something."""
    small_seeds: int = 15
    small_seconds: float = 10.0
    """What `optimal` has for one slot; one that it does not prove is not counted."""
    thin_seeds: int = 16
    """Four shapes of graphs times four numbers of jobs."""
    yardstick_jobs: int = 40
    racks: int = 40
    per_rack: int = 32
    rack_jobs: int = 1000
    rack_seeds: int = 3
    times_larger: int = 10
    rounds: int = 5
    """Repetitions of which a time is the median."""
    policy: Gadget = OURS

    def quick(self) -> "Plan":
        return replace(self, seeds=2, small_seeds=2, thin_seeds=2, rack_seeds=1, rounds=1)


FULL = Plan()


def near_bound(plan: Plan, court: Court) -> Iterator[Row]:
    """Slots as in the paper: objective over bound."""
    shares = {
        (jobs, seed): 1 - gap(court.ask(plan.policy, paper_sized(seed, jobs, plan.servers)))
        for jobs in plan.jobs
        for seed in range(plan.seeds)
    }
    worst = min(shares, key=lambda key: shares[key])
    yield Row(
        f"paper-sized, {plan.servers} servers, {_list(plan.jobs)} jobs, {plan.seeds} seeds each",
        "≥ 99.9% of the bound, each",
        f"min {shares[worst]:.3%} ({worst[0]} jobs, seed {worst[1]}), mean {_mean(shares.values()):.3%}",
        shares[worst] >= 0.999,
    )


def near_optimum(plan: Plan, court: Court) -> Iterator[Row]:
    """Slots small enough for `optimal`: objective over optimum, and the bound above it."""
    for (kind, build), (servers, jobs, share) in zip(KINDS.items(), plan.small, strict=True):
        reached: dict[int, float] = {}
        binding, sound = 0, True
        for seed in range(plan.small_seeds):
            snapshot = build(seed, servers, jobs, share)
            best = court.ask(Optimal(time_limit=plan.small_seconds), snapshot)
            if best.status is not Status.OPTIMAL:
                continue
            ours = court.ask(plan.policy, fresh(snapshot))
            reached[seed] = ours.objective / best.objective
            sound &= ours.upper_bound is not None and ours.upper_bound >= best.objective * (1 - SAME)
            binding += court.ask(plan.policy, widen(snapshot)).objective > best.objective * (1 + SAME)
        worst = min(reached, key=lambda seed: reached[seed])
        mean = _mean(reached.values())
        exact = sum(value >= 1 - SAME for value in reached.values())
        yield Row(
            f"{kind}, {servers} servers, {jobs} jobs, links at {share:.0%}, {plan.small_seeds} seeds",
            "mean ≥ 99% of the optimum, min ≥ 97%, bound ≥ optimum",
            f"min {reached[worst]:.3%} (seed {worst}), mean {mean:.3%}, exactly optimal {exact} of "
            f"{len(reached)} proved; links bind in {binding}; bounds {'sound' if sound else 'BROKEN'}",
            sound and mean >= 0.99 and reached[worst] >= 0.97,
        )


def certified(plan: Plan, court: Court) -> Iterator[Row]:
    """The same kinds as large as the paper's slots."""
    for kind, build in KINDS.items():
        for share in SHARES:
            gaps: dict[tuple[int, int], float] = {}
            priced = 0
            for seed in range(plan.thin_seeds):
                jobs = plan.jobs[seed // 4 % len(plan.jobs)]
                found = court.ask(plan.policy, build(seed, plan.servers, jobs, share))
                gaps[jobs, seed] = gap(found)
                priced += found.prices is not None and bool(found.prices.links.any())
            worst = max(gaps, key=lambda key: gaps[key])
            yield Row(
                f"{kind}, {plan.servers} servers, links at {share:.0%}, {plan.thin_seeds} seeds",
                "gap ≤ 1% on average",
                f"mean {_mean(gaps.values()):.3%}, max {gaps[worst]:.3%} ({worst[0]} jobs, seed {worst[1]}); "
                f"links have prices in {priced}",
                _mean(gaps.values()) <= 0.01,
            )


def against_programs(plan: Plan, court: Court) -> Iterator[Row]:
    """The largest slot of the paper against HiGHS on its relaxation, and against the paper's algorithm."""
    jobs = plan.jobs[-1]
    slots = [partial(paper_sized, seed, jobs, plan.servers) for seed in range(plan.rack_seeds)]
    # Each ratio is of one slot.
    ratios = []
    for build in slots:
        ours = race(court, plan.policy, {"": [build]}, plan.rounds)[""].seconds
        ratios.append(race(court, GadgetPaper(), {"": [build]}, plan.rounds)[""].seconds / ours)
    ours = race(court, plan.policy, {"": slots[:1]}, plan.rounds)[""].seconds
    times = time_relaxation(slots[0](), 1) / ours
    case = f"{plan.servers} servers, {jobs} jobs"
    yield Row(
        f"{case}: HiGHS, relaxation of (12)–(19), once, seed 0",
        "≥ 100 × our time",
        f"{times:,.0f} ×",
        times >= 100,
    )
    yield Row(
        f"{case}: policy gadget-paper, {len(slots)} seeds",
        "> our time",
        f"{min(ratios):.1f} × to {max(ratios):.1f} ×",
        min(ratios) > 1,
    )


def large(plan: Plan, court: Court) -> Iterator[Row]:
    """Racks: the uniform tree, one ten times larger, mixed ones, and the next slot."""
    highs = time_relaxation(paper_sized(0, plan.yardstick_jobs, plan.servers), max(1, plan.rounds // 2))
    yardstick = f"HiGHS at {plan.servers} servers, {plan.yardstick_jobs} jobs"
    sizes = (plan.racks, plan.per_rack, plan.rack_jobs)
    seeds = range(plan.rack_seeds)
    kinds = {
        "uniform": {},
        "mixed sizes and links": {"mixed": True},
        "three levels": {"levels": 3},
        "both": {"mixed": True, "levels": 3},
    }
    laps = race(
        court,
        plan.policy,
        {kind: [partial(racks, seed, *sizes, **how) for seed in seeds] for kind, how in kinds.items()},
        plan.rounds,
    )
    uniform = laps["uniform"]
    case = f"{plan.racks * plan.per_rack:,} servers in {plan.racks} racks, {plan.rack_jobs:,} jobs"
    ratio = uniform.seconds / highs
    yield Row(
        f"{case}, N ≤ 64, b up to 5 Gbps on links of 4 and 6, {len(seeds)} seeds",
        f"gap ≤ 1%, ≤ 1 × {yardstick}",
        f"gap ≤ {uniform.worst_gap:.3%}, {ratio:.3f} ×; {_describe_links(plan, court, {})}",
        uniform.worst_gap <= 0.01 and ratio <= 1,
    )
    yield Row(
        f"{case}, with memory, b in 2.4 to 4 Gbps: no link too thin for a ring, few for two",
        "–",
        _describe_links(plan, court, {"memory": True, "gbps": (2.4, 4.0)}),
    )
    yield _much_larger(plan, court, yardstick, highs)
    yield _next_slot(plan, court, case)
    for kind in list(kinds)[1:]:
        ratio = laps[kind].seconds / uniform.seconds
        yield Row(
            f"{case}: {kind}",
            "≤ 2 × the uniform case",
            f"{ratio:.2f} ×, gap ≤ {laps[kind].worst_gap:.3%}",
            ratio <= 2,
        )


def _describe_links(plan: Plan, court: Court, how: dict[str, object]) -> str:
    """What thin links cost: the bound beside that with wide ones, and the dearest link."""
    snapshot = racks(0, plan.racks, plan.per_rack, plan.rack_jobs, **how)
    thin, wide = court.ask(plan.policy, snapshot), court.ask(plan.policy, widen(snapshot))
    assert thin.upper_bound
    assert wide.upper_bound
    assert thin.prices
    return (
        f"seed 0: gap {gap(thin):.3%}; with wide links bound {wide.upper_bound / thin.upper_bound - 1:+.2%}, "
        f"rings {wide.objective / thin.objective - 1:+.2%}, gap {gap(wide):.3%}; "
        f"largest link price {thin.prices.links.max():.3g} a Gbps"
    )


def _much_larger(plan: Plan, court: Court, yardstick: str, highs: float) -> Row:
    """Ten times as many racks and jobs, beside the slots of the line above once more."""
    many = plan.times_larger
    sizes = {
        "line above": (plan.racks, plan.per_rack, plan.rack_jobs),
        "larger": (many * plan.racks, plan.per_rack, many * plan.rack_jobs),
    }
    alone = race_alone(
        plan.policy,
        {
            name: [partial(racks, seed, *size) for seed in range(plan.rack_seeds)]
            for name, size in sizes.items()
        },
        1 + plan.rounds // 2,
    )
    court.add(alone.court)
    seconds, worst = alone.seconds["larger"], alone.worst_gap["larger"]
    times = seconds / alone.seconds["line above"]
    return Row(
        f"{many * plan.racks * plan.per_rack:,} servers, {many * plan.rack_jobs:,} jobs, in a child process",
        "gap ≤ 2%, ≤ 15 × the line above, < 3 GiB",
        f"gap ≤ {worst:.3%}, {times:.1f} × ({seconds / highs:.2f} × {yardstick}), {alone.peak_gib:.2f} GiB",
        worst <= 0.02 and times <= 15 and alone.peak_gib < 3,
    )


def _next_slot(plan: Plan, court: Court, case: str) -> Row:
    """The slot after 2% of the jobs changed, with what is known from before and without."""
    after = []
    for seed in range(plan.rack_seeds):
        before = racks(seed, plan.racks, plan.per_rack, plan.rack_jobs)
        decision = court.ask(plan.policy, before)
        after.append(replace(next_slot(before, decision.allocation, seed), prices=decision.prices))
    laps = race(
        court,
        plan.policy,
        {
            # A snapshot of its own each time, on the same cluster object.
            "warm": [partial(replace, snapshot) for snapshot in after],
            "cold": [partial(fresh, snapshot) for snapshot in after],
        },
        plan.rounds,
    )
    ratio = laps["warm"].seconds / laps["cold"].seconds
    stayed = sum(
        len(set(snapshot.running.rings) & set(found.allocation.rings))
        for snapshot, found in zip(after, laps["warm"].decisions, strict=True)
    )
    ran = sum(len(snapshot.running.rings) for snapshot in after)
    return Row(
        f"{case}: the next slot, 2% of the jobs new",
        "≤ 0.333 × the same slot cold",
        f"{ratio:.3f} ×, gap ≤ {laps['warm'].worst_gap:.3%} (cold {laps['cold'].worst_gap:.3%}), "
        f"{stayed:,} of {ran:,} rings stayed",
        ratio <= 1 / 3,
    )


def beside_rivals(plan: Plan, court: Court) -> Iterator[tuple[str, ...]]:
    """The programs of Gavel and Sia on our slots. Reading the slot is in our time and not in theirs."""
    slots = (
        partial(paper_sized, 0, plan.jobs[-1], plan.servers),
        partial(racks, 0, plan.racks, plan.per_rack, plan.rack_jobs),
    )
    for build in slots:
        lap = race(court, plan.policy, {"": [build]}, plan.rounds)[""]
        ours = lap.decisions[0]
        bound = ours.upper_bound
        assert bound
        snapshot = build()
        case = f"{len(snapshot.cluster.servers):,} servers, {len(snapshot.jobs):,} jobs"
        yield case, "gadget", "1", "1", "", f"{ours.objective / bound:.2%}"
        for name, rival in (("Gavel-style LP", solve_gavel), ("Sia-style ILP", solve_sia)):
            answers = [rival(snapshot) for _ in range(max(1, plan.rounds // 2))]
            programs = statistics.median(one.seconds for one in answers) / lap.seconds
            placed = statistics.median(one.seconds + one.place_seconds for one in answers) / lap.seconds
            last = answers[-1]
            yield (
                case,
                name,
                f"{programs:.1f}",
                f"{placed:.1f}",
                f"{last.planned_objective / bound:.2%}",
                f"{last.objective / bound:.2%}",
            )


def main(arguments: Sequence[str] | None = None, plan: Plan = FULL) -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="fewer seeds and rounds")
    if parser.parse_args(arguments).quick:
        plan = plan.quick()
    warm_up()
    print(
        f"Kernels were compiled and loaded before. Times: medians of {plan.rounds} rounds "
        f"in turns, {max(1, plan.rounds // 2)} for HiGHS and rivals; the large relaxation once.\n"
    )
    court, missed = Court(), 0
    print_head("case", "must", "measured", "")
    for part in (near_bound, near_optimum, certified, against_programs, large):
        for row in part(plan, court):
            print_row(row)
            missed += row.is_met is False
    print("\nRivals: time as a multiple of ours, utility as a share of our bound.\n")
    print_head("slot", "program", "time", "with placing", "planned", "placed")
    for cells in beside_rivals(plan, court):
        print_cells(cells)
    print(
        f"\n{court.judged} decisions judged, {len(court.complaints)} complaints",
        *court.complaints[:5],
        sep="\n",
    )
    print(f"{missed} musts missed" if missed else "All musts met")
    return 1 if missed or court.complaints else 0


def _list(numbers: Sequence[int]) -> str:
    return ", ".join(map(str, numbers))


def _mean(values: Iterable[float]) -> float:
    return statistics.fmean(values)


if __name__ == "__main__":
    raise SystemExit(main())
