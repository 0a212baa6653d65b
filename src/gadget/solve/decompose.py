"""A solution of the augmented LP as weighted mappings, exact up to tolerance.

Copy by copy: start at the root, follow positive flow from position to position, which must lead back to the
root because nothing else takes it in; take the smallest amount met on the way as the mapping's weight and
subtract. Each step empties a variable, so it ends. Weights sum to Σ f_u, and the summed load of the mappings
never exceeds the LP's: every unit they use was there.
"""

import numpy as np
from numpy.typing import NDArray

from gadget.solve.augmented import Copies
from gadget.solve.mapping import Mapping
from gadget.solve.network import Network

Floats = NDArray[np.float64]

# Amounts below this are what an LP solver leaves of a zero.
DUST = 1e-7


def decompose(copies: Copies, values: Floats) -> list[Mapping]:
    """All mappings of all jobs."""
    network = copies.problem.network
    found: list[Mapping] = []
    for pair in range(len(copies.problem.pair_job)):
        job = int(copies.problem.pair_job[pair])
        root, node, flow = (part.copy() for part in copies.of_pair(values, pair))
        for start in np.flatnonzero(root > DUST):
            left = float(root[start])
            while left > DUST:
                mapping = _extract(network, (job, int(start)), node[start], flow[start], left)
                if mapping is None:
                    break
                found.append(mapping)
                left -= mapping.weight
    return found


def _extract(
    network: Network, of: tuple[int, int], node: Floats, flow: Floats, most: float
) -> Mapping | None:
    """The next mapping of one copy, taken out of `node` and `flow`; None when only dust is left."""
    job, start = of
    stops, legs = [start], []
    weight = most
    crossed: list[tuple[int, int]] = []
    for edge in range(len(flow)):
        goal = np.full(network.servers, 0.0)
        if edge + 1 < len(flow):
            goal = node[edge]
        else:
            goal[start] = most
        step = _walk(network, stops[-1], flow[edge], goal)
        if step is None:
            return None
        leg, links = step
        legs.append(tuple(leg))
        crossed += [(edge, link) for link in links]
        weight = min([weight, *(flow[edge, link] for link in links)])
        if edge + 1 < len(flow):
            weight = min(weight, node[edge, leg[-1]])
            stops.append(leg[-1])
    for edge, link in crossed:
        flow[edge, link] -= weight
    for position, stop in enumerate(stops[1:]):
        node[position, stop] -= weight
    return Mapping(job, float(weight), tuple(stops), tuple(legs))


def _walk(network: Network, start: int, flow: Floats, goal: Floats) -> tuple[list[int], list[int]] | None:
    """The way over positive flow to the nearest server where the next position still stands."""
    came: dict[int, tuple[int, int]] = {start: (start, -1)}
    frontier = [start]
    for here in frontier:
        if here < network.servers and goal[here] > DUST / 10:
            return _trace(came, start, here)
        for beside, link in network.around[here]:
            if beside not in came and flow[link] > DUST / 10:
                came[beside] = (here, link)
                frontier.append(beside)
    return None


def _trace(came: dict[int, tuple[int, int]], start: int, end: int) -> tuple[list[int], list[int]]:
    nodes, links = [end], []
    while nodes[-1] != start:
        before, link = came[nodes[-1]]
        nodes.append(before)
        links.append(link)
    return nodes[::-1], links[::-1]
