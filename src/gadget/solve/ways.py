"""Cheapest ways from servers to all nodes of a graph, at prices on its links."""

import heapq
from typing import NamedTuple

import numpy as np

from gadget.solve.compiled import compiled
from gadget.solve.lifetime import once_in_a_life
from gadget.solve.market import SLACK, Booleans, Floats, Integers
from gadget.solve.network import Network


class Wires(NamedTuple):
    """The network as rows of neighbours."""

    start: Integers
    """Where the neighbours of each node begin in the two arrays below, and where the last ones end."""
    there: Integers
    link: Integers


class Ways(NamedTuple):
    """Cheapest ways from each server to each node over open links, those of fewer hops among equals."""

    cost: Floats
    """Price of a Gbps, (servers × nodes); ∞ where there is no way."""
    hops: Integers
    via: Integers
    """The directed link by which each node is entered; −1 where there is none."""


@once_in_a_life
def find_wires(network: Network) -> Wires:
    """The rows of a network."""
    flat = np.array([pair for beside in network.around for pair in beside], dtype=np.int64).reshape(-1, 2)
    start = np.concatenate([[0], np.cumsum([len(beside) for beside in network.around])]).astype(np.int64)
    return Wires(start, flat[:, 0].copy(), flat[:, 1].copy())


def find_ways(network: Network, gbps: float, link: Floats) -> Ways:
    """The cheapest ways for a job of this bandwidth at these prices of a Gbps on each directed link."""
    is_open = network.link_gbps * (1 + SLACK) >= gbps
    shape = (network.servers, len(network.nodes))
    ways = Ways(np.full(shape, np.inf), np.zeros(shape, np.int64), np.full(shape, -1, np.int64))
    _find_ways(find_wires(network), np.ascontiguousarray(link, dtype=np.float64), is_open, ways)
    return ways


def read_path(network: Network, ways: Ways, here: int, there: int) -> tuple[int, ...]:
    """The directed links of a way from a server to a node."""
    tail, path = network.ends[0], []
    while there != here:
        link = int(ways.via[here, there])
        path.append(link)
        there = int(tail[link])
    return tuple(reversed(path))


@compiled
def _find_ways(wires: Wires, price: Floats, is_open: Booleans, ways: Ways) -> None:
    """Dijkstra's algorithm from every server."""
    for source in range(ways.cost.shape[0]):
        cost, hops, via = ways.cost[source], ways.hops[source], ways.via[source]
        cost[source] = 0.0
        heap = [(0.0, 0, source)]
        while len(heap) > 0:
            paid, steps, node = heapq.heappop(heap)
            if paid > cost[node] or (paid == cost[node] and steps > hops[node]):
                continue
            for place in range(wires.start[node], wires.start[node + 1]):
                link, there = wires.link[place], wires.there[place]
                if not is_open[link]:
                    continue
                total = paid + price[link]
                if total < cost[there] or (total == cost[there] and steps + 1 < hops[there]):
                    cost[there], hops[there], via[there] = total, steps + 1, link
                    heapq.heappush(heap, (total, steps + 1, there))
