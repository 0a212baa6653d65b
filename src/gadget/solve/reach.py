"""The largest ring that each job could have on the empty cluster."""

from collections.abc import Sequence

import numpy as np

from gadget.model.job import Job
from gadget.solve.classes import find_classes
from gadget.solve.compiled import compiled
from gadget.solve.greedy import largest_ring
from gadget.solve.hierarchy import build_hierarchy
from gadget.solve.market import SLACK, Floats, Integers, Tree
from gadget.solve.network import Network


def find_largest_rings(
    network: Network, jobs: Sequence[Job], demands: Sequence[Floats | None] | None = None
) -> list[int]:
    """For each job the most workers, up to its own limit, that one ring can have when nothing else runs.

    `demands` are those of `network.demand`, where they are known already.
    """
    if not network.is_forest:
        return [largest_ring(network, job) for job in jobs]
    classes = find_classes(build_hierarchy(network))
    if demands is None:
        demands = [network.demand(job) for job in jobs]
    nobody = np.full(network.capacity.shape[1], np.inf)
    known = [nobody if demand is None else demand for demand in demands]
    found = np.zeros(len(jobs), dtype=np.int64)
    _find_reaches(
        classes.tree,
        classes.capacity * (1 + SLACK),
        classes.width * (1 + SLACK),
        np.array(known).reshape(len(jobs), network.capacity.shape[1]),
        np.array([job.bandwidth_gbps for job in jobs], dtype=np.float64),
        np.array([job.max_workers for job in jobs], dtype=np.int64),
        found,
    )
    answer: list[int] = found.tolist()
    return answer


@compiled
def _find_reaches(
    tree: Tree, free: Floats, width: Floats, demand: Floats, gbps: Floats, most: Integers, found: Integers
) -> None:
    """Workers that fit below each node over links wide enough, the most at any node."""
    reach = np.zeros(len(tree.parent), np.int64)
    for job in range(len(most)):
        best = 0
        reach[:] = 0
        for node in range(len(tree.parent) - 1, -1, -1):
            if tree.is_server[node]:
                fit = most[job]
                for r in range(demand.shape[1]):
                    if demand[job, r] > 0.0:
                        space = free[node, r] / demand[job, r]
                        if space < fit:
                            fit = max(0, int(space))
                reach[node] += fit
            best = max(best, reach[node])
            if node > 0 and gbps[job] <= width[node]:
                reach[tree.parent[node]] += reach[node] * tree.copies[node]
        found[job] = min(best, most[job])
