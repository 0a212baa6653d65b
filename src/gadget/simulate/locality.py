"""How rings lie on the cluster: what they leave free in pieces, and how many of their edges leave a rack."""

from collections import defaultdict
from collections.abc import Mapping
from math import fsum

from gadget.model.cluster import Cluster
from gadget.model.ring import Allocation, Ring

GPU = "gpu"
_MOST_LINKS_IN_RACK = 2


def counted_resource(cluster: Cluster) -> str | None:
    """The resource whose free amounts are looked at: GPUs, or the cluster's first where it has none."""
    names = cluster.resource_names
    return GPU if GPU in names else next(iter(names), None)


def find_fragmentation(
    cluster: Cluster, resource: str | None, total: float, allocation: Allocation, takes: Mapping[str, float]
) -> float | None:
    """Share of the free GPUs that lie on servers which host a worker already; None where none is free.

    0 when all that is free lies on empty servers, 1 when no empty server has any: the servers that are
    neither full nor empty are those on which Jeon et al. (ATC 2019) see large jobs fail to fit. Unlike Weng
    et al.'s measure (ATC 2023) it asks nothing about the jobs to come. `total` is what the cluster has
    and `takes` what a worker takes, by job.
    """
    used: defaultdict[str, float] = defaultdict(float)
    for ring in allocation.rings:
        amount = takes[ring.job]
        for server in ring.workers:
            used[server] += amount
    known = cluster.server_by_name
    held = {name: known[name].resources.get(resource or "", 0.0) for name in used if name in known}
    beside = fsum(max(0.0, has - used[name]) for name, has in held.items())
    free = max(0.0, total - fsum(held.values())) + beside
    # What is left of sums of fractions is no GPU.
    return min(1.0, beside / free) if free > 1e-9 * total else None


def count_cross_rack(ring: Ring) -> int:
    """Ring edges whose route leaves the rack: it passes more than one switch, or more than two links.

    Two servers under one switch are two links apart, so that more links than two tell both.
    """
    return sum(len(route) - 1 > _MOST_LINKS_IN_RACK for route in ring.routes)
