"""How the solver's benchmarks measure: fresh slots, races in turns, and a process of its own for memory."""

import multiprocessing
import resource
import statistics
import time
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field, replace

from benchmarks.parts.instances import next_slot, on_graph, paper_sized, racks, two_resources
from benchmarks.slot_programs import build_relaxation

from gadget.model.claims import find_false_claims
from gadget.model.cluster import Link
from gadget.model.decision import Decision
from gadget.model.referee import find_violations
from gadget.model.ring import Allocation
from gadget.model.snapshot import Snapshot
from gadget.policies.gadget import Gadget
from gadget.policies.gadget_paper import GadgetPaper
from gadget.policies.policy import Policy, ask
from gadget.solve.lp import Outcome, solve
from gadget.solve.slot import build_slot_problem

# No ring of these jobs needs as much.
WIDE_GBPS = 1000.0


@dataclass
class Court:
    """Asks policies for decisions, and judges each one outside its time."""

    judged: int = 0
    complaints: list[str] = field(default_factory=list)

    def ask(self, policy: Policy, snapshot: Snapshot) -> Decision:
        decision = ask(policy, snapshot, 0)
        found = [*find_violations(snapshot, decision.allocation), *find_false_claims(snapshot, decision)]
        self.add(Court(1, [str(one) for one in found]))
        return decision

    def add(self, other: "Court") -> None:
        self.judged += other.judged
        self.complaints += other.complaints


@dataclass(frozen=True)
class Lap:
    """One entrant of a race."""

    seconds: float
    """Mean over its slots of the median over the rounds."""
    decisions: tuple[Decision, ...]
    """Of the last round, one a slot."""

    @property
    def worst_gap(self) -> float:
        return max(map(gap, self.decisions))


@dataclass(frozen=True)
class Alone:
    """What a race in a process of its own took."""

    seconds: dict[str, float]
    worst_gap: dict[str, float]
    peak_gib: float
    court: Court


def gap(decision: Decision) -> float:
    """How far the rings may be from the optimum, relative to the bound."""
    assert decision.upper_bound is not None
    return 1 - decision.objective / decision.upper_bound if decision.upper_bound else 0.0


def fresh(snapshot: Snapshot) -> Snapshot:
    """The same slot as if never seen: new cluster and job objects, no rings that run, no prices."""
    jobs = tuple(replace(active, job=replace(active.job)) for active in snapshot.jobs)
    return replace(
        snapshot, cluster=replace(snapshot.cluster), jobs=jobs, running=Allocation(()), prices=None
    )


def widen(snapshot: Snapshot) -> Snapshot:
    """The same slot, fresh, with links that never bind."""
    links = tuple(Link(link.ends, WIDE_GBPS) for link in snapshot.cluster.links)
    return fresh(replace(snapshot, cluster=replace(snapshot.cluster, links=links)))


def warm_up() -> None:
    """Load every compiled kernel (or compile it, the first time after a change) and all libraries."""
    large = racks(0, 4, 4, 60)
    for snapshot in (paper_sized(0, 60, 12), two_resources(0, 6, 12, 0.02), on_graph(1, 8, 12, 0.02), large):
        decision = ask(Gadget(), snapshot, 0)
        after = next_slot(snapshot, decision.allocation, 0)
        ask(Gadget(gap=0.02), replace(after, prices=decision.prices), 0)
    ask(GadgetPaper(), paper_sized(0, 20, 8), 0)


def race(
    court: Court,
    policy: Policy,
    entrants: Mapping[str, Sequence[Callable[[], Snapshot]]],
    rounds: int,
) -> dict[str, Lap]:
    """All entrants in turns, so that a busy machine slows each alike."""
    seconds: defaultdict[tuple[str, int], list[float]] = defaultdict(list)
    last: dict[tuple[str, int], Decision] = {}
    for _ in range(rounds):
        for name, builders in entrants.items():
            for place, build in enumerate(builders):
                found = court.ask(policy, build())
                seconds[name, place].append(found.seconds)
                last[name, place] = found
    laps = {}
    for name, builders in entrants.items():
        keys = [(name, place) for place in range(len(builders))]
        medians = [statistics.median(seconds[key]) for key in keys]
        laps[name] = Lap(statistics.mean(medians), tuple(last[key] for key in keys))
    return laps


def time_relaxation(snapshot: Snapshot, rounds: int) -> float:
    """Median seconds of HiGHS for the relaxation of (12)–(19), building it not counted."""
    program = build_relaxation(build_slot_problem(snapshot))
    seconds = []
    for _ in range(rounds):
        start = time.perf_counter()
        found = solve(program)
        seconds.append(time.perf_counter() - start)
        assert found.outcome is Outcome.OPTIMAL
    return statistics.median(seconds)


def race_alone(
    policy: Policy, entrants: Mapping[str, Sequence[Callable[[], Snapshot]]], rounds: int
) -> Alone:
    """A race in a child process that does nothing else."""
    with ProcessPoolExecutor(1, multiprocessing.get_context("spawn")) as child:
        return child.submit(_race_here, policy, entrants, rounds).result()


def _race_here(
    policy: Policy, entrants: Mapping[str, Sequence[Callable[[], Snapshot]]], rounds: int
) -> Alone:
    warm_up()
    court = Court()
    laps = race(court, policy, entrants, rounds)
    # Linux counts in KiB. Never too low: the referee's memory is in it, and what the parent had at the fork.
    peak_gib = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    return Alone(
        {name: lap.seconds for name, lap in laps.items()},
        {name: lap.worst_gap for name, lap in laps.items()},
        peak_gib,
        court,
    )
