"""Rings that ran along routes that are no more: the same workers in the same order, joined by other links."""

from collections import deque
from dataclasses import replace

import numpy as np

from gadget.model.ring import Ring
from gadget.solve.footprints import Footprints
from gadget.solve.market import SLACK
from gadget.solve.network import Network
from gadget.solve.slot import SlotProblem


def mend_routes(problem: SlotProblem, footprints: Footprints) -> SlotProblem:
    """The problem with new routes for rings that may go on but have lost theirs.

    A change of routes is no restart, so what these jobs gain by going on is still theirs. A ring that cannot
    be joined again is left as it is, and does not go on.
    """
    running = list(problem.running)
    for job in np.flatnonzero(problem.stay_gain >= 0).tolist():
        ring = running[job]
        assert ring is not None  # who may stay has one
        if footprints.of(ring) is None:
            running[job] = _reroute(problem.network, ring, float(problem.gbps[job])) or ring
    return replace(problem, running=tuple(running))


def _reroute(network: Network, ring: Ring, gbps: float) -> Ring | None:
    """Every edge along a way of fewest links that are wide enough; None where there is none."""
    number = network.node_number
    stops = [number.get(name, network.servers) for name in ring.workers]
    if max(stops) >= network.servers or len(stops) == 1:
        return None if max(stops) >= network.servers else Ring(ring.job, ring.workers, ())
    ways = {start: _find_ways(network, start, gbps) for start in dict.fromkeys(stops)}
    routes = []
    for place, start in enumerate(stops):
        node, back = stops[(place + 1) % len(stops)], [ring.workers[(place + 1) % len(stops)]]
        while node != start:
            if node not in ways[start]:
                return None
            node = ways[start][node]
            back.append(network.nodes[node])
        routes.append(tuple(reversed(back)))
    return Ring(ring.job, ring.workers, tuple(routes))


def _find_ways(network: Network, start: int, gbps: float) -> dict[int, int]:
    """For each node that is reached, the one before it on a way of fewest links from `start`."""
    before = {start: start}
    frontier = deque([start])
    while frontier:
        node = frontier.popleft()
        for beside, link in network.around[node]:
            if beside not in before and gbps <= network.link_gbps[link] * (1 + SLACK):
                before[beside] = node
                frontier.append(beside)
    return before
