"""Rings of the slot before that may go on: what they load on the ground, and on the classes."""

import numpy as np

from gadget.solve.classes import Classes
from gadget.solve.footprints import Footprints
from gadget.solve.ground import Sites
from gadget.solve.hierarchy import Hierarchy
from gadget.solve.lagrangian import Stays
from gadget.solve.market import Floats, Integers
from gadget.solve.slot import SlotProblem

_NOTHING = np.zeros((0, 3), dtype=np.int64)


def build_stays(
    problem: SlotProblem, footprints: Footprints, sites: Sites, hierarchy: Hierarchy, classes: Classes
) -> tuple[Stays, Stays]:
    """The rings that may go on, with gains above 0: as they lie on the ground, and by classes.

    By classes a ring crosses each cut that parts its servers once, the least that any ring can do: a bound
    must not ask for more. On a tree that is what it does, unless another program placed it.
    """
    gain = np.full(len(problem.jobs), -np.inf)
    rows: list[Integers] = []
    for job, ring in enumerate(problem.running):
        found = footprints.of(ring) if ring is not None and problem.stay_gain[job] > 0 else None
        if found is not None:
            gain[job] = problem.stay_gain[job]
        rows.append(_NOTHING if found is None else found)
    if sites.is_one:
        flat = np.concatenate([_NOTHING, *rows])
        by_class = np.column_stack([classes.class_of[flat[:, 0]], flat[:, 1], np.minimum(flat[:, 2], 1)])
        return _stack(gain, rows, flat), _stack(gain, rows, by_class)
    crossed = [_cross(hierarchy, classes, own) for own in rows]
    return (
        _stack(gain, rows, np.concatenate([_NOTHING, *rows])),
        _stack(gain, crossed, np.concatenate([_NOTHING, *crossed])),
    )


def _cross(hierarchy: Hierarchy, classes: Classes, rows: Integers) -> Integers:
    """Rows by classes: workers where they are, a crossing of every cut that has servers on both sides."""
    parent, class_of = hierarchy.tree.parent, classes.class_of
    below: dict[int, int] = {}
    entries = []
    # On a graph the ground places of servers are their numbers.
    for server, count, _ in rows[rows[:, 1] > 0].tolist():
        node = int(hierarchy.node_of_server[server])
        entries.append((int(class_of[node]), count, 0))
        while node >= 0:
            below[node] = below.get(node, 0) + count
            node = int(parent[node])
    size = int(rows[:, 1].sum())
    entries += [(int(class_of[node]), 0, 1) for node, count in below.items() if count < size]
    return np.array(entries, dtype=np.int64).reshape(-1, 3)


def _stack(gain: Floats, rows: list[Integers], flat: Integers) -> Stays:
    start = np.concatenate([[0], np.cumsum([len(own) for own in rows])]).astype(np.int64)
    return Stays(gain, start, flat[:, 0].copy(), flat[:, 1].copy(), flat[:, 2].copy())
