"""Rings out of solutions of (12)–(19): positions on servers, flows on links, cut to first visits."""

import numpy as np
from numpy.typing import NDArray

from gadget.model.ring import Ring
from gadget.solve.network import Network

Floats = NDArray[np.float64]


def unfold_ring(network: Network, job: str, stops: list[int], flows: Floats) -> Ring:
    """The ring of one job from its positions' servers and its edges' flows.

    A ring that comes to a server again is cut to first visits: all its workers there move to the first
    visit, and the route to the next new server runs through. Node loads stay, link loads do not grow.
    """
    if len(stops) == 1:
        return Ring(job, (network.nodes[stops[0]],), ())
    legs = [
        _follow(network, here, there, flows[edge] > 0.5)
        for edge, (here, there) in enumerate(zip(stops, [*stops[1:], stops[0]], strict=True))
    ]
    return join_legs(network, job, stops, legs)


def join_legs(network: Network, job: str, stops: list[int], legs: list[list[int]]) -> Ring:
    """A ring over `stops` along `legs` (leg k leads from stop k to the next), each server visited once."""
    firsts = list(dict.fromkeys(stops))
    if len(firsts) == 1:
        name = network.nodes[firsts[0]]
        return Ring(job, (name,) * len(stops), ((name,),) * len(stops) if len(stops) > 1 else ())
    routes: list[list[int]] = []
    seen = {stops[0]}
    way = [stops[0]]
    for place, leg in enumerate(legs):
        way = _without_loops([*way, *leg[1:]])
        there = stops[(place + 1) % len(stops)]
        if there not in seen:
            seen.add(there)
            routes.append(way)
            way = [there]
    routes.append(way)
    workers: list[int] = []
    paths: list[list[int]] = []
    for server, route in zip(firsts, routes, strict=True):
        held = stops.count(server)
        workers += [server] * held
        paths += [[server]] * (held - 1) + [route]
    names = network.nodes
    return Ring(job, tuple(names[w] for w in workers), tuple(tuple(names[n] for n in path) for path in paths))


def _without_loops(way: list[int]) -> list[int]:
    """The way with every detour that comes back to a node cut out."""
    kept: list[int] = []
    for node in way:
        if node in kept:
            del kept[kept.index(node) + 1 :]
        else:
            kept.append(node)
    return kept


def _follow(network: Network, start: int, end: int, used: NDArray[np.bool_]) -> list[int]:
    """A path from `start` to `end` over the used links."""
    came: dict[int, int] = {start: start}
    frontier = [start]
    while frontier and end not in came:
        node = frontier.pop(0)
        for beside, link in network.around[node]:
            if used[link] and beside not in came:
                came[beside] = node
                frontier.append(beside)
    path = [end]
    while path[-1] != start:
        path.append(came[path[-1]])
    return path[::-1]
