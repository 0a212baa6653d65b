"""Slots to solve: snapshots that follow from a seed and sizes alone, with concave utilities.

Every kind can be made small (six to ten servers, as many jobs), so that the policy `optimal` proves it, and
large. All jobs have a rate, and about three in four have been served before.
"""

import math
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from gadget.model.builders import build_fat_tree, build_leaf_spine, build_paper_cluster, build_torus
from gadget.model.cluster import Cluster, Link, Server
from gadget.model.job import ActiveJob, Job
from gadget.model.resources import Resources
from gadget.model.ring import Allocation
from gadget.model.snapshot import Snapshot
from gadget.model.utility import Log, Sqrt
from gadget.workloads.paper import UtilityFamily, build_paper_jobs

SLOT, SLOTS = 100, 1000
SHAPES = ("leaf-spine", "fat-tree", "torus", "ring")
RACKS_PER_POD = 8


def paper_sized(seed: int, jobs: int, servers: int = 50) -> Snapshot:
    """The cluster and the jobs of Sec. VI (N ≤ 5, one GPU a worker), with square-root utility."""
    rng = np.random.default_rng([1, seed, servers, jobs])
    cluster = build_paper_cluster(rng, servers=servers)
    return _snapshot(rng, cluster, _paper_jobs(rng, jobs))


def starved(seed: int, servers: int, jobs: int, share: float) -> Snapshot:
    """`paper_sized` of the same seed with `share` of every link; at 0.02 to 0.10, links are what is short."""
    plenty = paper_sized(seed, jobs, servers)
    return replace(plenty, cluster=_scale_links(plenty.cluster, share))


def two_resources(seed: int, servers: int, jobs: int, share: float = 1.0) -> Snapshot:
    """GPUs and memory, either of which may run out first; links at `share`.

    Servers have 2, 4 or 8 GPUs with 16, 32 or 64 GiB each; workers take 1 or 2 GPUs and 2 to 32 GiB, so that
    every worker fits on every server that is empty.
    """
    rng = np.random.default_rng([2, seed, servers, jobs])
    paper = _scale_links(build_paper_cluster(rng, servers=servers, gpus=(2, 4, 8)), share)
    per_gpu = rng.choice((16, 32, 64), servers)
    hosts = tuple(
        Server(one.name, Resources({**one.resources, "memory_gib": one.resources["gpu"] * int(gib)}))
        for one, gib in zip(paper.servers, per_gpu, strict=True)
    )
    cluster = Cluster(hosts, paper.switches, paper.links)
    gpus, memory = rng.integers(1, 3, jobs), rng.choice((2, 8, 16, 24, 32), jobs)
    wanted = tuple(
        replace(job, resources=Resources({"gpu": int(gpus[n]), "memory_gib": int(memory[n])}))
        for n, job in enumerate(_paper_jobs(rng, jobs))
    )
    return _snapshot(rng, cluster, wanted)


def on_graph(seed: int, servers: int, jobs: int, share: float) -> Snapshot:
    """Paper jobs on a graph that is no tree; the seed walks through SHAPES in turn.

    Servers have 1, 2 or 4 GPUs, so that many rings need several; links carry 50, 100 or 150 Gbps, those to
    servers below switches a quarter of it, all at `share`. There are `servers` servers; on leaf-spine and
    torus about so many.
    """
    rng = np.random.default_rng([3, seed, servers, jobs])
    bare = _build_shape(rng, SHAPES[seed % len(SHAPES)], servers)
    gpus = rng.choice((1, 2, 4), len(bare.servers))
    factor = rng.choice((0.5, 1.0, 1.5), len(bare.links)) * share
    cluster = Cluster(
        tuple(
            Server(one.name, Resources({"gpu": int(n)})) for one, n in zip(bare.servers, gpus, strict=True)
        ),
        bare.switches,
        tuple(Link(one.ends, one.gbps * float(by)) for one, by in zip(bare.links, factor, strict=True)),
    )
    return _snapshot(rng, cluster, _paper_jobs(rng, jobs))


def racks(
    seed: int,
    racks: int,
    per_rack: int,
    jobs: int,
    *,
    gpus: int = 8,
    max_workers: int = 64,
    mixed: bool = False,
    levels: int = 2,
    server_gbps: float = 4,
    rack_gbps: float = 6,
    pod_gbps: float = 12,
    gbps: tuple[float, float] = (0.1, 5.0),
    memory: bool = False,
) -> Snapshot:
    """The large case: a tree of racks × per_rack servers, and jobs that want more than there is.

    N is uniform in 1 … max_workers for half of the jobs and a power of two up to that for the others; one
    GPU a worker, b in `gbps`. Rings laid end to end, two cross the link of a server or of a rack, so
    that links of twice the largest b cannot bind: 10 Gbps to servers and 20 to racks cost nothing in eight of
    eight small slots. The default 4 and 6 do: one job in five is too heavy to leave its server, two average
    rings are too much for a server's link, and few cross between racks. On two slots of 32
    servers and 40 jobs that cost 3 and 8% of the optimum.

    `mixed`: servers have `gpus`, a half or a quarter of them (8, 4, 2), in shares that differ from rack to
    rack, and links of half, once or twice `server_gbps`. Racks are filled until they have as many GPUs as
    they would have otherwise, so that there are more servers (1.3 times).
    `levels` = 3: eight racks form a pod; racks hang below pod switches, pods below the core.
    `memory`: 32 GiB for each GPU, and workers take 4 to 96 GiB, so that using up both takes two rings or more
    on a server.
    """
    rng = np.random.default_rng([4, seed, racks, per_rack, jobs])
    hosts: list[Server] = []
    links: list[Link] = []
    for rack in range(racks):
        counts = _mix(rng, per_rack * gpus, gpus) if mixed else [gpus] * per_rack
        speeds = rng.choice((0.5, 1.0, 2.0), len(counts)) if mixed else np.ones(len(counts))
        names = [f"s{rack}-{n}" for n in range(len(counts))]
        hosts += [Server(name, Resources({"gpu": n})) for name, n in zip(names, counts, strict=True)]
        links += [
            Link((name, f"rack{rack}"), server_gbps * float(by))
            for name, by in zip(names, speeds, strict=True)
        ]
        above = f"pod{rack // RACKS_PER_POD}" if levels == 3 else "core"
        links.append(Link((f"rack{rack}", above), rack_gbps))
    pods = [f"pod{n}" for n in range(math.ceil(racks / RACKS_PER_POD))] if levels == 3 else []
    links += [Link((pod, "core"), pod_gbps) for pod in pods]
    switches = (*(f"rack{n}" for n in range(racks)), *pods, "core")
    made = _snapshot(
        rng, Cluster(tuple(hosts), switches, tuple(links)), _rack_jobs(rng, jobs, max_workers, gbps)
    )
    return _add_memory(rng, made) if memory else made


def next_slot(snapshot: Snapshot, allocation: Allocation, seed: int, share: float = 0.02) -> Snapshot:
    """The slot after `snapshot` (one made here) when `allocation` was served in it.

    Jobs whose budget is spent, and `share` of all jobs (rounded up), drawn at random, make place for as many
    that arrive now; the others keep their rings as `running`. A job that arrives has the size and utility of
    one job of this slot, the rate of a second and the bandwidth of a third. The cluster is the same object.
    """
    slot, count = snapshot.slot + 1, len(snapshot.jobs)
    rng = np.random.default_rng([5, seed, slot])
    gone = math.ceil(round(share * count, 9))
    leaving = set(rng.permutation(count)[:gone].tolist())
    jobs = []
    for place, active in enumerate(snapshot.jobs):
        ring = allocation.ring_of.get(active.job.name)
        served = replace(active, served=active.served + (ring.size if ring else 0))
        if place in leaving or not served.largest_ring:
            like, pace, talk = (snapshot.jobs[n].job for n in rng.integers(0, count, 3))
            served = ActiveJob(
                replace(
                    like,
                    name=f"new-{slot}-{place}",
                    arrival=slot,
                    rate=pace.rate,
                    bandwidth_gbps=talk.bandwidth_gbps,
                )
            )
        jobs.append(served)
    stay = {active.job.name for active in jobs}
    running = Allocation(tuple(ring for ring in allocation.rings if ring.job in stay))
    slots = max(snapshot.slots, slot + 1)
    return replace(snapshot, jobs=tuple(jobs), slot=slot, slots=slots, running=running)


def _snapshot(rng: np.random.Generator, cluster: Cluster, jobs: tuple[Job, ...]) -> Snapshot:
    """The jobs under way: one in four is new, the others had up to N workers in every slot so far."""
    progress = rng.random(len(jobs)) * (rng.random(len(jobs)) >= 0.25)
    active = tuple(
        ActiveJob(job, math.floor(part * min(SLOT * job.max_workers, 0.99 * job.worker_slots)))
        for job, part in zip(jobs, progress.tolist(), strict=True)
    )
    return Snapshot(cluster, active, SLOT, SLOTS)


def _paper_jobs(rng: np.random.Generator, count: int) -> tuple[Job, ...]:
    return build_paper_jobs(rng, np.zeros(count, dtype=np.int64), utility=UtilityFamily.SQRT)


def _add_memory(rng: np.random.Generator, snapshot: Snapshot) -> Snapshot:
    cluster = snapshot.cluster
    hosts = tuple(
        Server(one.name, Resources({**one.resources, "memory_gib": 32 * one.resources["gpu"]}))
        for one in cluster.servers
    )
    gib = rng.choice((4, 8, 16, 64, 96), len(snapshot.jobs)).tolist()
    jobs = tuple(
        replace(active, job=replace(active.job, resources=Resources({"gpu": 1, "memory_gib": n})))
        for active, n in zip(snapshot.jobs, gib, strict=True)
    )
    return replace(snapshot, cluster=replace(cluster, servers=hosts), jobs=jobs)


def _rack_jobs(
    rng: np.random.Generator, count: int, max_workers: int, gbps: tuple[float, float]
) -> tuple[Job, ...]:
    """Sizes as `racks` tells; a budget for 50 to 400 slots of the whole ring; √ or log, one half each.

    Log is scaled up tenfold, which makes its gains as large as those of √.
    """
    powers = 2 ** np.arange(max_workers.bit_length())
    sizes = np.where(
        rng.random(count) < 0.5, rng.integers(1, max_workers + 1, count), rng.choice(powers, count)
    )
    rounds = rng.integers(50, 401, count)
    rates = rng.integers(50, 501, count)
    megabits = rng.integers(round(1000 * gbps[0]), round(1000 * gbps[1]) + 1, count)
    scales = rng.integers(1, 101, count)
    is_log = rng.random(count) < 0.5
    return tuple(
        Job(
            name=f"job-{n}",
            max_workers=int(sizes[n]),
            resources=Resources({"gpu": 1}),
            budget=Resources({"gpu": int(sizes[n] * rounds[n])}),
            bandwidth_gbps=int(megabits[n]) / 1000,
            rate=int(rates[n]),
            utility=Log(int(10 * scales[n])) if is_log[n] else Sqrt(int(scales[n])),
        )
        for n in range(count)
    )


def _mix(rng: np.random.Generator, total: int, gpus: int) -> list[int]:
    """GPU counts of one rack's servers: they sum to `total`, in shares that are the rack's own."""
    kinds: NDArray[np.int64] = np.array([max(1, gpus // 4), max(1, gpus // 2), gpus])
    shares = rng.dirichlet((1, 1, 4))
    counts: list[int] = []
    while (left := total - sum(counts)) > 0:
        drawn = int(rng.choice(kinds, p=shares))
        # Towards the end, the largest that still has place; a remainder below the smallest is one server.
        counts.append(drawn if drawn <= left else int(kinds[kinds <= left].max(initial=min(left, kinds[0]))))
    return counts


def _build_shape(rng: np.random.Generator, shape: str, servers: int) -> Cluster:
    side = max(2, round(math.sqrt(servers)))
    match shape:
        case "leaf-spine":
            spines = int(rng.integers(2, 5))
            return build_leaf_spine(
                side, spines, max(1, round(servers / side)), server_gbps=25, uplink_gbps=100
            )
        case "fat-tree":
            # The smallest k that has enough servers; those too many go, anywhere.
            k = next(k for k in range(2, 129, 2) if k**3 // 4 >= servers)
            whole = build_fat_tree(k, server_gbps=25, fabric_gbps=100)
            extra = rng.permutation(len(whole.servers))[servers:]
            return whole.without(whole.servers[n].name for n in extra)
        case "torus":
            return build_torus((side, max(2, round(servers / side))), gbps=100)
        case _:
            return build_torus((servers,), gbps=100)


def _scale_links(cluster: Cluster, share: float) -> Cluster:
    links = tuple(Link(link.ends, link.gbps * share) for link in cluster.links)
    return Cluster(cluster.servers, cluster.switches, links)
