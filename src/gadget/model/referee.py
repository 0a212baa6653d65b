"""The referee: does an allocation keep every constraint of the slot problem?

Written to be read, not to be fast, and sharing no code with any solver. Constraint numbers are
the paper's, as settled in docs/explanation/problem.md:

(2) ring size · (3)(11) budget left · (4) server capacity · (6) arrival · (7) routes join the
servers of the ring · (8)(19) link capacity per direction · (9) one ring. (5) bounds one server's
workers by N, C/l and F/l; it follows from (2), (4) and (11).
"""

from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise

from gadget.errors import printable
from gadget.model.cluster import Cluster
from gadget.model.job import ActiveJob
from gadget.model.ring import Allocation, Ring
from gadget.model.snapshot import Snapshot

# Relative slack for sums of decimal fractions; the only leniency here.
SLACK = 1e-9


@dataclass(frozen=True, slots=True)
class Violation:
    """One broken constraint: which, where, and the numbers that show it."""

    constraint: str
    where: str
    problem: str

    def __str__(self) -> str:
        return printable(f"{self.constraint} {self.where}: {self.problem}")


def find_violations(snapshot: Snapshot, allocation: Allocation) -> list[Violation]:
    """Every constraint that the allocation breaks; an empty list means it is feasible."""
    found = list(_judge_jobs(snapshot, allocation))
    for ring in allocation.rings:
        found += _judge_shape(snapshot.cluster, ring)
    found += _judge_servers(snapshot, allocation)
    found += _judge_links(snapshot, allocation)
    return found


def _judge_jobs(snapshot: Snapshot, allocation: Allocation) -> Iterator[Violation]:
    """(2), (3)/(11), (6): each ring belongs to one known job that may have it now."""
    for name, times in Counter(ring.job for ring in allocation.rings).items():
        if times > 1:
            yield Violation("(9) one ring", f"job {name!r}", f"has {times} rings; a job has at most one")
    for ring in allocation.rings:
        where = f"job {ring.job!r}"
        active = snapshot.job_by_name.get(ring.job)
        if active is None:
            yield Violation("unknown name", where, "is not in the snapshot")
            continue
        job = active.job
        if snapshot.slot < job.arrival:
            yield Violation(
                "(6) arrival", where, f"runs in slot {snapshot.slot}, arrives in slot {job.arrival}"
            )
        if not job.min_workers <= ring.size <= job.max_workers:
            yield Violation(
                "(2) ring size",
                where,
                f"has {ring.size} workers, allowed are {job.min_workers} to {job.max_workers}",
            )
        yield from _judge_budget(active, ring)


def _judge_budget(active: ActiveJob, ring: Ring) -> Iterator[Violation]:
    for resource, limit in (active.job.budget or {}).items():
        per_worker = active.job.resources.get(resource, 0)
        spent = per_worker * active.served
        needed = per_worker * ring.size
        if spent + needed > limit + SLACK * limit:
            yield Violation(
                "(11) budget",
                f"job {active.job.name!r}",
                f"{spent:g} of {limit:g} {resource}·slots are spent, the ring takes {needed:g} more",
            )


def _judge_shape(cluster: Cluster, ring: Ring) -> Iterator[Violation]:
    """(7), (9): the workers stand on servers, each server is visited once, the routes close the ring."""
    where = f"job {ring.job!r}"
    for server in dict.fromkeys(ring.workers):
        if server not in cluster.server_by_name:
            yield Violation("unknown name", where, f"places a worker on {server!r}, which is no server")
    edges = list(zip(ring.workers, (*ring.workers[1:], *ring.workers[:1]), strict=True))
    entered = Counter(after for before, after in edges if before != after)
    for server, times in entered.items():
        if times > 1:
            yield Violation("(9) one ring", where, f"enters server {server!r} {times} times; once is allowed")
    wanted = 0 if ring.size == 1 else ring.size
    if len(ring.routes) != wanted:
        yield Violation(
            "(9) one ring", where, f"has {len(ring.routes)} routes, {ring.size} workers need {wanted}"
        )
        return
    for rank, ((before, after), route) in enumerate(zip(edges, ring.routes, strict=False)):
        yield from _judge_route(cluster, f"{where} edge {rank}", before, after, route)


def _judge_route(
    cluster: Cluster, where: str, before: str, after: str, route: tuple[str, ...]
) -> Iterator[Violation]:
    shown = " → ".join(route) or "nothing"
    if not route or route[0] != before or route[-1] != after:
        yield Violation("(7) route", where, f"should lead from {before!r} to {after!r}, but is {shown}")
    if len(set(route)) < len(route):
        yield Violation("(7) route", where, f"passes a node twice: {shown}")
    for node in dict.fromkeys(route):
        if node not in cluster.neighbours:
            yield Violation("unknown name", where, f"passes {node!r}, which is no node")
    for here, there in pairwise(route):
        if (
            here in cluster.neighbours
            and there in cluster.neighbours
            and there not in cluster.neighbours[here]
        ):
            yield Violation("(7) route", where, f"no link joins {here!r} and {there!r}")


def _judge_servers(snapshot: Snapshot, allocation: Allocation) -> Iterator[Violation]:
    """(4): on every server, every resource suffices for all its workers together."""
    used: defaultdict[tuple[str, str], float] = defaultdict(float)
    for ring in allocation.rings:
        active = snapshot.job_by_name.get(ring.job)
        for server in ring.workers:
            for resource, amount in active.job.resources.items() if active else ():
                used[server, resource] += amount
    for (name, resource), amount in used.items():
        host = snapshot.cluster.server_by_name.get(name)
        limit = host.resources.get(resource, 0) if host else amount  # no server: complained of already
        if amount > limit + SLACK * limit:
            yield Violation(
                "(4) server capacity",
                f"server {name!r}",
                f"its workers take {amount:g} {resource}, it has {limit:g}",
            )


def _judge_links(snapshot: Snapshot, allocation: Allocation) -> Iterator[Violation]:
    """(8), (19): in each direction of every link, all rings together keep within its capacity."""
    used: defaultdict[tuple[str, str], float] = defaultdict(float)
    for ring in allocation.rings:
        active = snapshot.job_by_name.get(ring.job)
        for hop in ring.hops():
            used[hop] += active.job.bandwidth_gbps if active else 0
    for (here, there), gbps in used.items():
        limit = snapshot.cluster.neighbours.get(here, {}).get(there)
        if limit is not None and gbps > limit + SLACK * limit:
            yield Violation(
                "(19) link capacity",
                f"link {here!r} → {there!r}",
                f"its rings reserve {gbps:g} Gbps, it carries {limit:g}",
            )
