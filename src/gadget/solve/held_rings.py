"""From rings as they are held on the ground to rings with names and routes."""

from itertools import pairwise

import numpy as np

from gadget.model.ring import Ring
from gadget.solve.footprints import Footprints
from gadget.solve.ground import Sites
from gadget.solve.held import GIVEN, Held
from gadget.solve.market import Integers
from gadget.solve.network import Network
from gadget.solve.slot import SlotProblem


def read_rings(
    problem: SlotProblem, sites: Sites, footprints: Footprints, held: Held, given: dict[int, Ring]
) -> tuple[Ring, ...]:
    """All held rings, by job; one that goes on is the one that ran. What new ones load is noted."""
    jobs = np.flatnonzero(held.count)
    placed = jobs[held.tree[jobs] >= 0]
    made = dict(zip(placed.tolist(), _close_all(problem, sites, footprints, held, placed), strict=True))
    rings = []
    for job, row in zip(jobs.tolist(), held.tree[jobs].tolist(), strict=True):
        ring = made[job] if row >= 0 else given[job] if row == GIVEN else problem.running[job]
        assert ring is not None  # only a ring that ran goes on
        rings.append(ring)
    return tuple(rings)


def _close_all(
    problem: SlotProblem, sites: Sites, footprints: Footprints, held: Held, jobs: Integers
) -> list[Ring]:
    """Rings of jobs that were placed, each closed along the tree that it lies on."""
    start, rows = _find_footprints(held, jobs)
    server_of = np.full(sites.places, -1, dtype=np.int64)
    server_of[sites.place_of_server] = np.arange(problem.network.servers)
    hosts = np.flatnonzero(rows[:, 1] > 0)
    first = np.searchsorted(hosts, start).tolist()
    servers, workers = server_of[rows[hosts, 0]].tolist(), rows[hosts, 1].tolist()
    bounds = start.tolist()
    rings = []
    for place, (job, tree) in enumerate(zip(jobs.tolist(), held.tree[jobs].tolist(), strict=True)):
        own = slice(first[place], first[place + 1])
        chosen = list(zip(servers[own], workers[own], strict=True))
        ring = close_along(problem.network, sites, tree, problem.jobs[job].job.name, chosen)
        footprints.note(ring, rows[bounds[place] : bounds[place + 1]])
        rings.append(ring)
    return rings


def _find_footprints(held: Held, jobs: Integers) -> tuple[Integers, Integers]:
    """Rows (place, workers, crossings) of each of the jobs, every place once and rising, and their starts."""
    count = held.count[jobs]
    turn = np.repeat(np.arange(len(jobs)), count)
    offset = np.arange(len(turn)) - np.repeat(np.cumsum(count) - count, count)
    entry = held.start[jobs][turn] + offset
    place = held.place[entry]
    order = np.lexsort((place, turn))
    turn, place, entry = turn[order], place[order], entry[order]
    is_new = np.ones(len(turn), dtype=np.bool_)
    is_new[1:] = (np.diff(turn) != 0) | (np.diff(place) != 0)
    begin = np.flatnonzero(is_new)
    rows = np.zeros((len(begin), 3), dtype=np.int64)
    rows[:, 0] = place[begin]
    if len(begin):
        rows[:, 1] = np.add.reduceat(held.workers[entry], begin)
        rows[:, 2] = np.add.reduceat(held.crossings[entry], begin)
    return np.searchsorted(turn[begin], np.arange(len(jobs) + 1)), rows


def close_along(network: Network, sites: Sites, row: int, job: str, chosen: list[tuple[int, int]]) -> Ring:
    """The ring over servers with so many workers each, on one of the trees of the ground.

    The numbers of a tree's nodes are depth-first, so that in their order each edge is crossed once each way.
    """
    names, parent, node_of = network.nodes, sites.parents[row], sites.nodes[row]
    stops = sorted([(sites.tree_node(row, server), names[server], count) for server, count in chosen])
    workers = tuple([name for _, name, count in stops for name in [name] * count])
    if len(workers) == 1:
        return Ring(job, workers, ())
    routes: list[tuple[str, ...]] = []
    for (node, name, count), (there, following, _) in pairwise([*stops, stops[0]]):
        if count > 1:
            routes += [(name,)] * (count - 1)
        if parent[node] == parent[there] and node != there:  # most often: two servers of one rack
            routes.append((name, names[node_of[parent[node]]], following))
            continue
        up, down = [node], [there]
        # Numbers fall on the way to the root: the greater of the two climbs until both meet.
        while up[-1] != down[-1]:
            if up[-1] > down[-1]:
                up.append(parent[up[-1]])
            else:
                down.append(parent[down[-1]])
        down.pop()
        routes.append(tuple([names[node_of[step]] for step in up + down[::-1]]))
    return Ring(job, workers, tuple(routes))
