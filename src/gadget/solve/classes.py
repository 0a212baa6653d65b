"""Nodes that cannot be told apart, as one node with a number of copies.

Two subtrees are of one class when they hang alike (same class above, same link) and hold the same servers on
the same links. Swapping them changes nothing, so some best prices are equal on both, and a bound by classes
is as good as one by servers: the average of best prices over all swaps is best too, as the bound is convex in
the prices.
"""

from dataclasses import dataclass

import numpy as np

from gadget.solve.hierarchy import Hierarchy
from gadget.solve.lifetime import once_in_a_life
from gadget.solve.market import Floats, Integers, Tree, build_tree


@dataclass(frozen=True, eq=False)
class Classes:
    """The tree of classes, numbered with parents before children."""

    tree: Tree
    class_of: Integers
    """The class of each node of the hierarchy."""
    members: Integers
    """How many nodes each class has in all."""
    capacity: Floats
    """Of one member."""
    gbps: Floats
    width: Floats
    lanes: Integers


@once_in_a_life
def find_classes(hierarchy: Hierarchy) -> Classes:
    """The classes of a hierarchy."""
    tree = hierarchy.tree
    count = len(tree.parent)
    key = _find_keys(hierarchy)
    class_of = np.zeros(count, dtype=np.int64)
    shown, parents, copies, members = [0], [-1], [1], [1]
    class_by: dict[tuple[int, int], int] = {}
    parent_class = class_of.tolist()
    for node in range(1, count):
        above = parent_class[tree.parent[node]]
        place = (above, key[node])
        known = class_by.get(place)
        if known is None:
            known = class_by[place] = len(shown)
            shown.append(node)
            parents.append(above)
            members.append(0)
        members[known] += 1
        parent_class[node] = known
    class_of = np.array(parent_class, dtype=np.int64)
    copies = [1] + [members[c] // members[parents[c]] for c in range(1, len(shown))]
    parent = np.array(parents, dtype=np.int64)
    representative = np.array(shown, dtype=np.int64)
    return Classes(
        tree=build_tree(parent, np.array(copies, dtype=np.int64), tree.is_server[representative]),
        class_of=class_of,
        members=np.array(members, dtype=np.int64),
        capacity=hierarchy.capacity[representative],
        gbps=hierarchy.gbps[representative],
        width=hierarchy.width[representative],
        lanes=hierarchy.lanes[representative],
    )


def _find_keys(hierarchy: Hierarchy) -> list[int]:
    """A number for each node: equal for nodes that look alike from their parent down."""
    tree = hierarchy.tree
    own = np.column_stack(
        [hierarchy.gbps, hierarchy.width, hierarchy.lanes, tree.is_server, hierarchy.capacity]
    )
    _, looks = np.unique(own, axis=0, return_inverse=True)
    looks_list = looks.ravel().tolist()
    parents = tree.parent.tolist()
    below: dict[int, list[int]] = {}
    number_of: dict[tuple[int, tuple[int, ...]], int] = {}
    key = [0] * len(parents)
    for node in range(len(parents) - 1, -1, -1):
        shape = (looks_list[node], tuple(sorted(below.pop(node, ()))))
        key[node] = number_of.setdefault(shape, len(number_of))
        below.setdefault(parents[node], []).append(key[node])
    return key
