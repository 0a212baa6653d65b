"""The simple heuristic of Sec. VI: put workers on the nearest servers with room where a ring can be closed.

On the links with enough bandwidth free in both directions, a tree is grown from the roomiest server;
servers are taken nearest first and visited in the tree's depth-first order, with routes along it. Then
every tree edge is crossed at most once in each direction (problem.md §3), so the ring always fits, and
it is found whenever any set of servers joined by two-way open links holds all workers.
"""

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from gadget.model.job import Job
from gadget.model.ring import Ring
from gadget.solve.closing import close_ring
from gadget.solve.network import Network
from gadget.solve.room import Room


def place_greedily(room: Room, job: Job, workers: int) -> Ring | None:
    """A ring of that many workers that fits into the room, or None if the heuristic finds none."""
    space = room.space(job)
    fits = np.clip(space, 0, min(workers, job.max_workers)).astype(np.int64)
    if int(fits.sum()) < workers:
        return None
    whole = np.flatnonzero(fits >= workers)
    if len(whole):
        # The fullest server that holds the whole ring, so that roomy ones stay roomy.
        tightest = whole[np.argmin(space[whole])]
        return close_ring(room.network, job, {int(tightest): workers}, {int(tightest): int(tightest)})
    open_links = room.open_links(job)
    seen: set[int] = set()
    for start in np.argsort(-fits, kind="stable"):
        if int(start) in seen or not fits[start]:
            continue
        parent = {int(start): int(start)}
        for node in _spread(room.network, int(start), open_links, parent):
            seen.add(node)
        if chosen := _choose(parent, fits, workers):
            return close_ring(room.network, job, chosen, parent)
    return None


def largest_ring(network: Network, job: Job) -> int:
    """The most workers that a ring of this job can have when nothing else runs."""
    room = Room(network)
    fits = room.fits(job)
    best, seen = int(fits.max(initial=0)), set[int]()
    open_links = room.open_links(job)
    if network.is_connected and open_links.all():
        return int(min(fits.sum(), job.max_workers))
    for start in range(network.servers):
        if start not in seen:
            parent = {start: start}
            component = list(_spread(network, start, open_links, parent))
            seen.update(component)
            best = max(best, int(sum(fits[node] for node in component if node < network.servers)))
    return min(best, job.max_workers)


def _spread(
    network: Network, start: int, open_links: NDArray[np.bool_], parent: dict[int, int]
) -> Iterator[int]:
    """Nodes by distance from `start` over links open both ways; `parent` becomes their tree."""
    frontier = [start]
    while frontier:
        yield from frontier
        after = []
        for node in frontier:
            for beside, link in network.around[node]:
                # Link numbers 2k and 2k+1 are the two directions of one cable.
                if beside not in parent and open_links[link] and open_links[link ^ 1]:
                    parent[beside] = node
                    after.append(beside)
        frontier = after


def _choose(parent: dict[int, int], fits: NDArray[np.int64], workers: int) -> dict[int, int] | None:
    """Workers by server: nearest servers first, roomier ones first among equals."""
    servers = [node for node in parent if node < len(fits) and fits[node]]
    depth = {next(iter(parent)): 0}
    for node, above in parent.items():
        depth[node] = depth[above] + (node != above)
    chosen: dict[int, int] = {}
    left = workers
    for server in sorted(servers, key=lambda node: (depth[node], -fits[node])):
        chosen[server] = min(left, int(fits[server]))
        left -= chosen[server]
        if not left:
            return chosen
    return None


def place_on(room: Room, job: Job, chosen: dict[int, int]) -> Ring | None:
    """The ring with so many workers on each of these servers; None if they do not fit or are not joined."""
    fits = room.fits(job)
    if any(workers > fits[server] for server, workers in chosen.items()):
        return None
    start = next(iter(chosen))
    parent = {start: start}
    if len(chosen) > 1:
        for _ in _spread(room.network, start, room.open_links(job), parent):
            pass
    if not chosen.keys() <= parent.keys():
        return None
    return close_ring(room.network, job, chosen, parent)
