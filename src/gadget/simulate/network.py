"""What a ring really does in a slot: where it lies, and what others leave of the links it crosses."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from enum import StrEnum

import numpy as np
from numpy.typing import NDArray

from gadget.engine.events import Seen
from gadget.model.cluster import Cluster, Link
from gadget.model.job import Job
from gadget.model.quantity import LARGEST
from gadget.model.ring import Ring
from gadget.model.snapshot import Scenario, Snapshot
from gadget.model.timing_table import TimingTable
from gadget.solve.lifetime import once_in_a_life
from gadget.solve.network import Network, compile_network
from gadget.solve.sharing import share_links

Floats = NDArray[np.float64]


class NetworkMode(StrEnum):
    """How rings get their bandwidth."""

    RESERVED = "reserved"
    """b is held on every link that a ring edge crosses, as in the paper; a ring that finds none waits."""
    SHARED = "shared"
    """Nothing is held: all rings share the links, and each runs at the rate that its share allows."""


@once_in_a_life
def without_limits(cluster: Cluster) -> Cluster:
    """The cluster as a policy sees it that does not look at links: they never refuse a ring."""
    return replace(cluster, links=tuple(Link(link.ends, LARGEST) for link in cluster.links))


def is_measured(scenario: Scenario, mode: NetworkMode) -> bool:
    """True when what rings do depends on more than the jobs say of themselves."""
    return mode is not NetworkMode.RESERVED or any(
        job.timing is not None and job.timing.local_gbps is not None for job in scenario.jobs
    )


def make_optimistic(scenario: Scenario, mode: NetworkMode) -> Scenario:
    """The scenario with no ring slower than it can ever be, for bounds on any schedule."""
    if not is_measured(scenario, mode):
        return scenario
    widest = max((link.gbps for link in scenario.cluster.links), default=0.0)
    shared = mode is NetworkMode.SHARED
    jobs = tuple(_make_fast(job, widest if shared else 0.0) for job in scenario.jobs)
    # A ring that is faster than b still has to find its b where that is held.
    return replace(scenario, jobs=jobs, cluster=without_limits(scenario.cluster))


def _make_fast(job: Job, widest: float) -> Job:
    if job.timing is None:
        return job
    fastest = max(job.bandwidth_gbps, job.timing.local_gbps or 0.0, widest)
    return replace(job, bandwidth_gbps=fastest)


def find_work(
    snapshot: Snapshot, rings: Sequence[Ring], mode: NetworkMode, restarting: frozenset[str]
) -> tuple[Seen, ...]:
    """The work of each ring's job in this slot, and what a restart took of it.

    A ring with `timing` runs at Eq. (1) for its size and its slowest edge: `local_gbps` inside one server,
    the job's own b on links where that is held, its fair share where nothing is. A job with a fixed `rate`
    loses the part of it that its share falls short of b.
    """
    jobs = [snapshot.job_by_name[ring.job].job for ring in rings]
    own = np.array([job.bandwidth_gbps for job in jobs], dtype=np.float64)
    is_local = np.array([len(set(ring.workers)) == 1 for ring in rings], dtype=np.bool_)
    gbps = own
    if mode is NetworkMode.SHARED:
        gbps = np.where(is_local, own, _find_shares(compile_network(snapshot.cluster), jobs, rings))
    sizes = np.array([ring.size for ring in rings], dtype=np.float64)
    rate = np.array([job.rate for job in jobs], dtype=np.float64)  # NaN with timing
    part = np.divide(gbps, own, out=np.ones_like(own), where=(own > 0) & ~is_local)
    whole = sizes * rate * np.minimum(part, 1.0)
    timed = np.flatnonzero(np.isnan(rate))
    table = TimingTable.from_timings([timing for job in jobs if (timing := job.timing) is not None])
    seconds = table.iteration_seconds(sizes[timed], gbps[timed], is_local[timed])
    whole[timed] = sizes[timed] * snapshot.slot_seconds / seconds
    found = []
    for job, done in zip(jobs, whole.tolist(), strict=True):
        lost = job.work_lost(done, snapshot.slot_seconds) if job.name in restarting else 0.0
        found.append(Seen(job.name, done - lost, lost))
    return tuple(found)


def _find_shares(network: Network, jobs: Sequence[Job], rings: Sequence[Ring]) -> Floats:
    """What each ring gets on its slowest edge. More than b helps only a ring with `timing`."""
    number, between = network.node_number, network.link_between
    start, links, times = [0], list[int](), list[int]()
    for ring in rings:
        crossed = Counter(between[number[here], number[there]] for here, there in ring.hops())
        links += crossed
        times += crossed.values()
        start.append(len(links))
    most = np.array([job.bandwidth_gbps if job.timing is None else np.inf for job in jobs])
    return share_links(
        network.link_gbps, np.array(start), np.array(links, dtype=np.int64), np.array(times, float), most
    )
