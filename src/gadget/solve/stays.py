"""Rings of the slot before that may go on: what they load on the ground, and on the classes."""

import numpy as np

from gadget.solve.classes import Classes
from gadget.solve.ground import Sites
from gadget.solve.hierarchy import Hierarchy
from gadget.solve.lagrangian import Stays
from gadget.solve.orders import read_footprint
from gadget.solve.slot import SlotProblem

_Entry = tuple[int, int, int]


def build_stays(
    problem: SlotProblem, sites: Sites, hierarchy: Hierarchy, classes: Classes
) -> tuple[Stays, Stays]:
    """The rings that may go on, with gains above 0: as they lie on the ground, and by classes.

    A ring that another program placed may cross a link more often one way than the other; the ground counts
    the greater number, so that what fits there fits. By classes it crosses each cut that parts its servers
    once, the least that any ring can do: a bound must not ask for more.
    """
    network = problem.network
    gain = np.full(len(problem.jobs), -np.inf)
    on_ground: list[list[_Entry]] = []
    by_class: list[list[_Entry]] = []
    for job, ring in enumerate(problem.running):
        ground_entries: list[_Entry] = []
        class_entries: list[_Entry] = []
        if ring is not None and problem.stay_gain[job] > 0:
            footprint = read_footprint(network, ring)
            if footprint is not None:
                servers, links = footprint
                gain[job] = problem.stay_gain[job]
                ground_entries = _lay(sites, servers, links)
                class_entries = _cross(hierarchy, classes, servers)
        on_ground.append(ground_entries)
        by_class.append(class_entries)
    return _stack(gain, on_ground), _stack(gain, by_class)


def _lay(sites: Sites, servers: dict[int, int], links: dict[int, int]) -> list[_Entry]:
    """Entries on the ground, every place once."""
    workers = {int(sites.place_of_server[server]): count for server, count in servers.items()}
    crossings: dict[int, int] = {}
    for link, count in links.items():
        place = int(sites.place_of_link[link // 2])
        crossings[place] = max(crossings.get(place, 0), count)
    places = workers.keys() | crossings.keys()
    return [(place, workers.get(place, 0), crossings.get(place, 0)) for place in sorted(places)]


def _cross(hierarchy: Hierarchy, classes: Classes, servers: dict[int, int]) -> list[_Entry]:
    """Entries by classes: workers where they are, a crossing of every cut that has servers on both sides."""
    parent, class_of = hierarchy.tree.parent, classes.class_of
    below: dict[int, int] = {}
    for server, count in servers.items():
        node = int(hierarchy.node_of_server[server])
        while node >= 0:
            below[node] = below.get(node, 0) + count
            node = int(parent[node])
    size = sum(servers.values())
    entries = [
        (int(class_of[hierarchy.node_of_server[server]]), count, 0) for server, count in servers.items()
    ]
    return entries + [(int(class_of[node]), 0, 1) for node, count in below.items() if count < size]


def _stack(gain: np.ndarray, entries: list[list[_Entry]]) -> Stays:
    start = np.concatenate([[0], np.cumsum([len(own) for own in entries])]).astype(np.int64)
    flat = np.array([entry for own in entries for entry in own], dtype=np.int64).reshape(-1, 3)
    return Stays(gain, start, flat[:, 0].copy(), flat[:, 1].copy(), flat[:, 2].copy())
