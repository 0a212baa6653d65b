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
    """The rings that may go on: as they lie on the ground, and by classes those that gain something.

    Workers that stay where they are lose nothing, whatever the routes between them: on the ground a ring goes
    on along the routes it has, but the bound must hold for any. So by classes it crosses each cut that parts
    its servers once, the least that any ring can do.
    """
    on_ground = [_NOTHING] * len(problem.jobs)
    by_class = on_ground.copy()
    for job in np.flatnonzero(problem.stay_gain >= 0).tolist():
        ring = problem.running[job]
        assert ring is not None  # who may stay has one
        found = footprints.of(ring)
        if found is not None:
            on_ground[job] = found
        if found is None or not sites.is_one:
            by_class[job] = _cross(problem.network, hierarchy, ring)
        else:
            by_class[job] = found
    hopeful = np.where(problem.stay_gain > 0, problem.stay_gain, -np.inf)
    ground, cuts = _stack(problem.stay_gain, on_ground), _stack(hopeful, by_class)
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
    """Job after job; who has no rows may not stay."""
    flat = np.concatenate([_NOTHING, *rows])
    start = np.zeros(len(rows) + 1, dtype=np.int64)
    np.cumsum([len(own) for own in rows], out=start[1:])
    return Stays(
        np.where(np.diff(start) > 0, gain, -np.inf),
        start,
        flat[:, 0].copy(),
        flat[:, 1].copy(),
        flat[:, 2].copy(),
    )
