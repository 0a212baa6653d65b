"""Rings of the slot before that may go on: what they load on the ground, and on the classes."""

from collections import Counter

import numpy as np

from gadget.model.ring import Ring
from gadget.solve.classes import Classes
from gadget.solve.footprints import Footprints
from gadget.solve.ground import Sites
from gadget.solve.hierarchy import Hierarchy
from gadget.solve.lagrangian import Stays
from gadget.solve.market import Floats, Integers
from gadget.solve.network import Network
from gadget.solve.slot import SlotProblem

_NOTHING = np.zeros((0, 3), dtype=np.int64)


def build_stays(
    problem: SlotProblem, footprints: Footprints, sites: Sites, hierarchy: Hierarchy, classes: Classes
) -> tuple[Stays, Stays]:
    """The rings that may go on, with gains above 0: as they lie on the ground, and by classes.

    Workers that stay where they are lose nothing, whatever the routes between them: on the ground a ring goes
    on along the routes it has, but the bound must hold for any. So by classes it crosses each cut that parts
    its servers once, the least that any ring can do.
    """
    ground_gain = np.full(len(problem.jobs), -np.inf)
    class_gain = ground_gain.copy()
    on_ground: list[Integers] = []
    by_class: list[Integers] = []
    for job, ring in enumerate(problem.running):
        rows, crossed = _NOTHING, _NOTHING
        if ring is not None and problem.stay_gain[job] > 0:
            found = footprints.of(ring)
            if found is not None:
                ground_gain[job], rows = problem.stay_gain[job], found
            known = found is not None and sites.is_one
            crossed = rows if known else _cross(problem.network, hierarchy, ring)
            if len(crossed):
                class_gain[job] = problem.stay_gain[job]
        on_ground.append(rows)
        by_class.append(crossed)
    ground, cuts = _stack(ground_gain, on_ground), _stack(class_gain, by_class)
    return ground, cuts._replace(node=classes.class_of[cuts.node], crossings=np.minimum(cuts.crossings, 1))


def _cross(network: Network, hierarchy: Hierarchy, ring: Ring) -> Integers:
    """Rows on the tree of cuts: workers where they are, a crossing of every cut with servers on both sides.

    No rows if a server is gone.
    """
    parent = hierarchy.tree.parent
    below: dict[int, int] = {}
    entries = []
    for name, count in Counter(ring.workers).items():
        server = network.node_number.get(name, network.servers)
        if server >= network.servers:
            return _NOTHING
        node = int(hierarchy.node_of_server[server])
        entries.append((node, count, 0))
        while node >= 0:
            below[node] = below.get(node, 0) + count
            node = int(parent[node])
    entries += [(node, 0, 1) for node, count in below.items() if count < ring.size]
    return np.array(entries, dtype=np.int64).reshape(-1, 3)


def _stack(gain: Floats, rows: list[Integers]) -> Stays:
    flat = np.concatenate([_NOTHING, *rows])
    start = np.concatenate([[0], np.cumsum([len(own) for own in rows])]).astype(np.int64)
    return Stays(gain, start, flat[:, 0].copy(), flat[:, 1].copy(), flat[:, 2].copy())
