"""A scenario in numbers: its servers, links and jobs; and what the rings of a slot use of them."""

import math
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from statistics import median

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from gadget.model.cluster import Cluster
from gadget.model.job import ActiveJob, Job
from gadget.model.resources import Resources
from gadget.model.ring import Allocation, Ring
from gadget.model.snapshot import Scenario
from gadget.model.wording import say_count
from gadget.report.layout import find_tiers, is_tiered
from gadget.workloads.feasibility import count_slots, find_main_resource

SLACK, MOST_LISTED = 1 + 1e-9, 10


@dataclass(frozen=True, slots=True)
class Spread:
    """The least, the middle and the greatest of some numbers."""

    least: float
    median: float
    most: float

    @classmethod
    def of(cls, numbers: Iterable[float]) -> "Spread":
        """The spread of one number or more."""
        return cls(min(found := list(numbers)), median(found), max(found))

    def __str__(self) -> str:
        return " … ".join(dict.fromkeys(map(_number, (self.least, self.median, self.most))))


@dataclass(frozen=True, slots=True)
class LinkTier:
    """The links between two tiers of nodes."""

    name: str
    count: int
    gbps: Spread
    total_gbps: float


@dataclass(frozen=True, slots=True)
class Oversubscription:
    """Capacity below the switches of a tier over the capacity above them; the worst switch by name."""

    tier: str
    ratios: Spread
    worst_switch: str


@dataclass(frozen=True, slots=True)
class ResourceLoad:
    """What jobs ask of a resource, against what the cluster has of it."""

    resource: str
    capacity: float
    offered: float
    """Resource × slots that the jobs may use within the horizon, by their budgets and largest rings."""
    horizon_capacity: float
    """Resource × slots that there are."""
    peak: float
    """What all jobs would hold at once at full size, if none ever finished."""


@dataclass(frozen=True, slots=True)
class JobLoad:
    """One job's part of the load on the main resource."""

    name: str
    offered: float
    share: float
    workers: tuple[int, int]
    arrival: int


@dataclass(frozen=True, slots=True)
class JobsSummary:
    """The jobs of a scenario; there is at least one."""

    count: int
    first_arrival: int
    last_arrival: int
    min_workers: Spread
    max_workers: Spread
    per_worker: Mapping[str, Spread]
    bandwidth_gbps: Spread
    utilities: Mapping[str, int]
    largest: tuple[JobLoad, ...]
    misfits: tuple[tuple[str, str], ...]
    """Jobs that can never run, each with the reason."""

    @property
    def arrivals_per_slot(self) -> float:
        """Jobs per slot from the first arrival to the last."""
        return self.count / (self.last_arrival - self.first_arrival + 1)


@dataclass(frozen=True, slots=True)
class Summary:
    """A scenario in numbers."""

    slots: int
    slot_seconds: float
    servers: int
    server_kinds: tuple[tuple[Resources, int], ...]
    switches: int
    is_tree: bool
    main_resource: str
    loads: tuple[ResourceLoad, ...]
    link_tiers: tuple[LinkTier, ...]
    oversubscription: tuple[Oversubscription, ...]
    """Empty where servers are joined directly."""
    jobs: JobsSummary | None

    def render(self) -> Group:
        """Tables for a terminal; names are printed as they are."""
        parts: list[RenderableType] = [_render_cluster(self), _render_links(self), _render_loads(self)]
        if self.jobs is None:
            return Group(*parts, Text("No jobs."))
        parts += [_render_jobs(self.jobs), _render_largest(self.jobs, self.main_resource)]
        if self.jobs.misfits:
            parts.append(_render_misfits(self.jobs.misfits))
        return Group(*parts)


def summarise(scenario: Scenario) -> Summary:
    """The numbers of a scenario that people ask for first."""
    cluster = scenario.cluster
    kinds = Counter(server.resources for server in cluster.servers)
    ranked = sorted(kinds.items(), key=lambda kind: (-kind[1], *(-amount for amount in kind[0].values())))
    tiers = find_tiers(cluster)
    return Summary(
        slots=scenario.slots,
        slot_seconds=scenario.slot_seconds,
        servers=len(cluster.servers),
        server_kinds=tuple(ranked),
        switches=len(cluster.switches),
        is_tree=cluster.is_tree,
        main_resource=find_main_resource(cluster),
        loads=tuple(_measure_load(scenario, name) for name in cluster.resource_names),
        link_tiers=tuple(_group_links(cluster, tiers)),
        oversubscription=tuple(_find_oversubscription(cluster, tiers)) if is_tiered(cluster) else (),
        jobs=_summarise_jobs(scenario, kinds) if scenario.jobs else None,
    )


def offered_worker_slots(job: Job, scenario: Scenario) -> float:
    """Worker-slots that a job can use within the horizon: by its budget, its work and its largest ring."""
    slots = float(max(0, scenario.slots - job.arrival))
    if job.work is not None:
        slots = min(slots, count_slots(job, scenario.slot_seconds))
    return min(job.worker_slots, job.max_workers * slots)


def _measure_load(scenario: Scenario, resource: str) -> ResourceLoad:
    demands = [(job, job.resources.get(resource, 0)) for job in scenario.jobs]
    return ResourceLoad(
        resource,
        capacity := scenario.cluster.total(resource),
        offered=sum(offered_worker_slots(job, scenario) * amount for job, amount in demands),
        horizon_capacity=capacity * scenario.slots,
        peak=sum(job.max_workers * amount for job, amount in demands if job.arrival < scenario.slots),
    )


def _tier_names(cluster: Cluster, tiers: Mapping[str, int]) -> dict[int, str]:
    """'server', then what the switches of a tier are called without their numbers, or 'tier 2'."""
    stems: dict[int, set[str]] = defaultdict(set)
    for switch in cluster.switches:
        stems[tiers[switch]].add(re.sub(r"[0-9]+", "", switch).strip("-_. "))
    named = {tier: found.pop() if len(found) == 1 else "" for tier, found in stems.items()}
    return {0: "server"} | {tier: name or f"tier {tier}" for tier, name in named.items()}


def _group_links(cluster: Cluster, tiers: Mapping[str, int]) -> Iterator[LinkTier]:
    groups: dict[tuple[int, int], list[float]] = defaultdict(list)
    for link in cluster.links:
        low, high = sorted(tiers[end] for end in link.ends)
        groups[low, high].append(link.gbps)
    names = _tier_names(cluster, tiers)
    for (low, high), gbps in sorted(groups.items()):
        yield LinkTier(f"{names[low]}–{names[high]}", len(gbps), Spread.of(gbps), sum(gbps))


def _find_oversubscription(cluster: Cluster, tiers: Mapping[str, int]) -> Iterator[Oversubscription]:
    ratios: dict[int, dict[str, float]] = defaultdict(dict)
    for switch in cluster.switches:
        around = cluster.neighbours[switch].items()
        above = [gbps for other, gbps in around if tiers[other] > tiers[switch]]
        below = sum(gbps for other, gbps in around if tiers[other] < tiers[switch])
        if above and below:
            ratios[tiers[switch]][switch] = below / sum(above) if any(above) else math.inf
    names = _tier_names(cluster, tiers)
    for tier, found in sorted(ratios.items()):
        yield Oversubscription(names[tier], Spread.of(found.values()), max(found, key=found.__getitem__))


def _summarise_jobs(scenario: Scenario, kinds: Mapping[Resources, int]) -> JobsSummary:
    jobs = scenario.jobs
    main = find_main_resource(scenario.cluster)
    offered = {j.name: offered_worker_slots(j, scenario) * j.resources.get(main, 0) for j in jobs}
    whole = sum(offered.values()) or 1
    largest = tuple(
        JobLoad(j.name, offered[j.name], offered[j.name] / whole, (j.min_workers, j.max_workers), j.arrival)
        for j in sorted(jobs, key=lambda job: -offered[job.name])[:MOST_LISTED]
    )
    resources = dict.fromkeys(name for job in jobs for name in job.resources)
    reasons = ((job.name, _find_misfit(job, scenario, kinds)) for job in jobs)
    return JobsSummary(
        count=len(jobs),
        first_arrival=min(job.arrival for job in jobs),
        last_arrival=max(job.arrival for job in jobs),
        min_workers=Spread.of(job.min_workers for job in jobs),
        max_workers=Spread.of(job.max_workers for job in jobs),
        per_worker={name: Spread.of(job.resources.get(name, 0) for job in jobs) for name in resources},
        bandwidth_gbps=Spread.of(job.bandwidth_gbps for job in jobs),
        utilities=dict(Counter(job.utility.kind for job in jobs).most_common()),
        largest=largest,
        misfits=tuple((name, reason) for name, reason in reasons if reason),
    )


def _find_misfit(job: Job, scenario: Scenario, kinds: Mapping[Resources, int]) -> str:
    """Why a job can never run in this scenario; empty if it might."""
    if job.arrival >= scenario.slots:
        return f"arrives in slot {job.arrival}; the last one is {scenario.slots - 1}"
    for name, amount in job.resources.items():
        most = max((kind.get(name, 0) for kind in kinds), default=0)
        if amount > most * SLACK:
            return f"needs {amount:g} {name} per worker; the largest server has {most:g}"
    needs = {name: amount for name, amount in job.resources.items() if amount}
    room = sum(
        n * min(math.floor(kind.get(r, 0) / needs[r] * SLACK) for r in needs) for kind, n in kinds.items()
    )
    if room == 0:
        wanted = " and ".join(f"{amount:g} {name}" for name, amount in needs.items())
        return f"needs {wanted} per worker; no server has them together"
    if room < job.min_workers:
        return f"needs {say_count(job.min_workers, 'worker')} at least; the whole cluster holds {room}"
    if ActiveJob(job).largest_ring == 0:
        paid = math.floor(job.worker_slots * SLACK)
        ring = say_count(job.min_workers, "worker")
        return f"its budget pays for {say_count(paid, 'worker-slot')}; its smallest ring has {ring}"
    return ""


def _number(number: float) -> str:
    if math.isinf(number):
        return "∞"
    return f"{number:,.0f}" if abs(number) >= 100 or number == int(number) else f"{number:.3g}"


def _table(title: str, columns: Sequence[str], rows: Iterable[Sequence[str]], words: int = 1) -> Group:
    """A table whose first columns are of words and whose others are of numbers; nothing in it is markup."""
    table = Table(box=None, pad_edge=False, padding=(0, 3, 0, 0), header_style="dim")
    for place, column in enumerate(columns):
        table.add_column(Text(column), justify="left" if place < words else "right")
    for row in rows:
        table.add_row(*map(Text, row))
    return Group(Text(title, style="bold"), table, Text())


def _render_cluster(summary: Summary) -> Group:
    rows = []
    for kind, count in summary.server_kinds[:MOST_LISTED]:
        rows.append(
            (", ".join(f"{_number(n)} {name}" for name, n in kind.items()) or "nothing", f"{count:,}")
        )
    if rest := summary.server_kinds[MOST_LISTED:]:
        rows.append((say_count(len(rest), "other kind"), f"{sum(count for _, count in rest):,}"))
    shape = "a tree" if summary.is_tree else "no tree"
    title = (
        f"Cluster: {say_count(summary.servers, 'server')}, {say_count(summary.switches, 'switch')}, {shape}"
    )
    return _table(title, ("each server", "servers"), rows)


def _render_links(summary: Summary) -> Group:
    links = [(t.name, f"{t.count:,}", str(t.gbps), _number(t.total_gbps)) for t in summary.link_tiers]
    shown = _table("Links", ("between", "links", "Gbps", "total Gbps"), links)
    if not (rows := [(o.tier, str(o.ratios), o.worst_switch) for o in summary.oversubscription]):
        return shown
    title = "Oversubscription: Gbps below a switch over Gbps above it"
    return Group(shown, _table(title, ("switches", "ratio", "worst"), rows))


def _render_loads(summary: Summary) -> Group:
    rows = []
    for load in summary.loads:
        parts = (load.offered, load.horizon_capacity), (load.peak, load.capacity)
        shares = (f"{part / whole:.0%}" if whole else "–" for part, whole in parts)
        offered, peak = (f"{_number(part)} ({share})" for (part, _), share in zip(parts, shares, strict=True))
        rows.append((load.resource, _number(load.capacity), offered, peak))
    title = f"Load over {say_count(summary.slots, 'slot')} of {_number(summary.slot_seconds)} s"
    return _table(title, ("resource", "capacity", "offered, resource × slots", "all jobs at once"), rows)


def _render_jobs(jobs: JobsSummary) -> Group:
    rows = [
        (
            "arrivals",
            f"slots {jobs.first_arrival:,} – {jobs.last_arrival:,}, {_number(jobs.arrivals_per_slot)} a slot",
        ),
        ("least workers", str(jobs.min_workers)),
        ("most workers", str(jobs.max_workers)),
        *((f"{name} per worker", str(spread)) for name, spread in jobs.per_worker.items()),
        ("Gbps per ring edge", str(jobs.bandwidth_gbps)),
        ("utilities", ", ".join(f"{kind} {count:,}" for kind, count in jobs.utilities.items())),
    ]
    return _table(f"Jobs: {jobs.count:,}", ("", "least … median … most"), rows, words=2)


def _render_largest(jobs: JobsSummary, resource: str) -> Group:
    rows = [
        (j.name, _number(j.offered), f"{j.share:.1%}", f"{j.workers[0]} – {j.workers[1]}", f"{j.arrival:,}")
        for j in jobs.largest
    ]
    return _table("Largest jobs", ("job", f"{resource} × slots", "of all", "workers", "arrival"), rows)


def _render_misfits(misfits: Sequence[tuple[str, str]]) -> Group:
    rows = list(misfits[: 2 * MOST_LISTED])
    if rest := len(misfits) - len(rows):
        rows.append((f"… and {rest:,} more", ""))
    return _table(f"Jobs that can never run: {len(misfits):,}", ("job", "why"), rows, words=2)


@dataclass(frozen=True)
class Usage:
    """What the rings of a slot hold of a cluster; of jobs not known, one unit per worker and no bandwidth."""

    cluster: Cluster
    allocation: Allocation
    jobs: Mapping[str, Job]

    @cached_property
    def resource(self) -> str:
        """The main resource, which all amounts here are of."""
        return find_main_resource(self.cluster)

    @cached_property
    def ranked(self) -> tuple[Ring, ...]:
        """The rings, largest first."""
        return tuple(sorted(self.allocation.rings, key=lambda ring: (-ring.size, -len(set(ring.workers)))))

    @cached_property
    def held(self) -> Mapping[str, Mapping[str, float]]:
        """For each server how much of the resource each job holds."""
        held: dict[str, dict[str, float]] = defaultdict(lambda: defaultdict(float))
        for ring in self.ranked:
            job = self.jobs.get(ring.job)
            each = job.resources.get(self.resource, 0) if job else 1
            for server, workers in ring.workers_by_server().items():
                held[server][ring.job] += each * workers
        return held

    @cached_property
    def crossing(self) -> Mapping[frozenset[str], tuple[Ring, ...]]:
        """The rings over each link, largest first."""
        over: dict[frozenset[str], list[Ring]] = {frozenset(link.ends): [] for link in self.cluster.links}
        for ring in self.ranked:
            for ends in dict.fromkeys(frozenset(hop) for hop in ring.hops()):
                if ends in over:
                    over[ends].append(ring)
        return {ends: tuple(rings) for ends, rings in over.items()}

    @cached_property
    def loads(self) -> Mapping[frozenset[str], float]:
        """The fraction of each link's capacity that is reserved, in its busier direction."""
        reserved: dict[tuple[str, str], float] = defaultdict(float)
        for ring in self.ranked:
            job = self.jobs.get(ring.job)
            for hop in ring.hops():
                reserved[hop] += job.bandwidth_gbps if job else 0
        loads = {}
        for link in self.cluster.links:
            busiest = max(reserved[link.ends], reserved[link.ends[::-1]])
            loads[frozenset(link.ends)] = busiest / link.gbps if link.gbps else math.inf if busiest else 0.0
        return loads

    def units(self, server: str) -> float:
        """How much of the resource a server has."""
        return self.cluster.server_by_name[server].resources.get(self.resource, 0)

    def used(self, servers: Iterable[str]) -> tuple[float, float]:
        """What the servers' workers hold, and what the servers have."""
        amounts = [(sum(self.held.get(server, {}).values()), self.units(server)) for server in servers]
        return sum(used for used, _ in amounts), sum(units for _, units in amounts)
