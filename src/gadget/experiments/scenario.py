"""The random clusters and workloads of the paper's experiment."""

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from gadget.experiments.settings import Settings
from gadget.model.builders import build_paper_cluster
from gadget.model.cluster import Cluster, Link, Server
from gadget.model.resources import Resources
from gadget.model.snapshot import Scenario
from gadget.policies.workers import raise_limits
from gadget.workloads.arrivals import draw_google_arrivals, draw_profile_arrivals
from gadget.workloads.paper import BudgetUnit, build_paper_jobs

GPUS_PER_UNIT = 100
GBPS_PER_UNIT = 200

Floats = NDArray[np.float64]


def build_trial(
    settings: Settings,
    trial: int,
    jobs: int,
    *,
    budget: BudgetUnit = BudgetUnit.WORKER_SLOTS,
    rigid: bool = False,
    submissions: Floats | None = None,
    node_units: float | None = None,
    link_units: float | None = None,
) -> Scenario:
    """One trial: cluster and jobs follow from seed, trial and number of jobs alone, whatever else varies.

    `submissions` are the arrival times of the Google trace; without them our own profile is used.
    """
    cluster = build_paper_cluster(np.random.default_rng([settings.seed, trial]), servers=settings.servers)
    if node_units is not None:
        cluster = _with_gpus(cluster, round(node_units * GPUS_PER_UNIT))
    if link_units is not None:
        cluster = _with_gbps(cluster, link_units * GBPS_PER_UNIT)
    rng = np.random.default_rng([settings.seed, trial, jobs])
    if submissions is None:
        arrivals = draw_profile_arrivals(rng, jobs, settings.slots, settings.slot_seconds)
    else:
        arrivals = draw_google_arrivals(rng, submissions, jobs, settings.slots, settings.slot_seconds)
    made = build_paper_jobs(rng, arrivals, budget_unit=budget)
    if not settings.clipped:
        made = raise_limits(made, trial)
    if rigid:
        made = tuple(replace(job, min_workers=job.max_workers) for job in made)
    return Scenario(cluster, made, settings.slots, settings.slot_seconds)


def _with_gpus(cluster: Cluster, total: int) -> Cluster:
    """The cluster with this many GPUs in all, shared out by largest remainders, at least one a server."""
    had = np.array([server.resources["gpu"] for server in cluster.servers])
    share = had / had.sum() * max(total, len(had))
    gpus = np.maximum(np.floor(share).astype(int), 1)
    order = np.argsort(np.floor(share) - share, kind="stable")
    place = 0
    while gpus.sum() < total:
        gpus[order[place % len(order)]] += 1
        place += 1
    while gpus.sum() > max(total, len(gpus)):
        gpus[int(np.argmax(gpus))] -= 1
    servers = zip(cluster.servers, gpus, strict=True)
    return replace(
        cluster,
        servers=tuple(Server(server.name, Resources({"gpu": int(count)})) for server, count in servers),
    )


def _with_gbps(cluster: Cluster, total: float) -> Cluster:
    """The cluster with all links scaled alike, so that the server links have this much in all."""
    hosts = cluster.server_by_name
    had = sum(link.gbps for link in cluster.links if link.ends[0] in hosts)
    return replace(cluster, links=tuple(Link(link.ends, link.gbps * total / had) for link in cluster.links))
