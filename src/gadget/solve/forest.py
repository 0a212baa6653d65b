"""Ordered sets of numbered things with weights, as machine code: all steps take the logarithm of their size.

Each set is a treap, a search tree by key that is a heap by random rank. A thing stands in one set at most, so
that all sets share their arrays. Ties in the key go by the thing's number.
"""

from typing import NamedTuple

import numpy as np

from gadget.solve.compiled import compiled
from gadget.solve.market import Integers

NOTHING = -1


class Forest(NamedTuple):
    """Arrays by thing, and the root of each tree."""

    key: Integers
    weight: Integers
    total: Integers
    """The weight of the thing and of all below it."""
    left: Integers
    right: Integers
    rank: Integers
    """Never below those of the things under it."""
    root: Integers
    path: Integers
    """Scratch."""


def build_forest(things: int, trees: int) -> Forest:
    """Empty sets for things 0 … things−1."""
    # Ranks need only look random; the same ones in every run make the same trees.
    ranks = np.random.default_rng(0).integers(0, 2**62, things)
    blank = [np.zeros(things, np.int64) for _ in range(5)]
    key, weight, total, left, right = blank
    return Forest(
        key, weight, total, left, right, ranks, np.full(trees, NOTHING), np.zeros(things + 1, np.int64)
    )


@compiled
def insert(forest: Forest, tree: int, thing: int, key: int, weight: int) -> None:
    """Put a thing that is in no set into one."""
    left, right, total = forest.left, forest.right, forest.total
    forest.key[thing], forest.weight[thing] = key, weight
    left[thing], right[thing] = NOTHING, NOTHING
    above, is_left = NOTHING, False
    here = forest.root[tree]
    while here != NOTHING and forest.rank[here] >= forest.rank[thing]:
        total[here] += weight
        above, is_left = here, _precedes(forest, key, thing, here)
        here = left[here] if is_left else right[here]
    _attach(forest, tree, above, is_left, thing)
    # What stood here is cut into what is before the thing and what is behind it.
    lower, higher, depth = thing, thing, 0
    while here != NOTHING:
        forest.path[depth] = here
        depth += 1
        if _precedes(forest, key, thing, here):
            if higher == thing:
                right[thing] = here
            else:
                left[higher] = here
            higher, here = here, left[here]
        else:
            if lower == thing:
                left[thing] = here
            else:
                right[lower] = here
            lower, here = here, right[here]
    if lower != thing:
        right[lower] = NOTHING
    if higher != thing:
        left[higher] = NOTHING
    for step in range(depth - 1, -1, -1):
        _add_up(forest, forest.path[step])
    _add_up(forest, thing)


@compiled
def remove(forest: Forest, tree: int, thing: int) -> None:
    """Take a thing out of the set that it is in."""
    left, right, total, rank = forest.left, forest.right, forest.total, forest.rank
    key, weight = forest.key[thing], forest.weight[thing]
    above, is_left = NOTHING, False
    here = forest.root[tree]
    while here != thing:
        total[here] -= weight
        above, is_left = here, _precedes(forest, key, thing, here)
        here = left[here] if is_left else right[here]
    lower, higher = left[thing], right[thing]
    while lower >= 0 and higher >= 0:
        if rank[lower] >= rank[higher]:
            total[lower] += total[higher]
            _attach(forest, tree, above, is_left, lower)
            above, is_left, lower = lower, False, right[lower]
        else:
            total[higher] += total[lower]
            _attach(forest, tree, above, is_left, higher)
            above, is_left, higher = higher, True, left[higher]
    _attach(forest, tree, above, is_left, higher if lower == NOTHING else lower)


@compiled
def find_first(forest: Forest, tree: int) -> int:
    """The thing with the least key, or NOTHING."""
    here: int = forest.root[tree]
    if here != NOTHING:
        while forest.left[here] != NOTHING:
            here = forest.left[here]
    return here


@compiled
def find_last(forest: Forest, tree: int) -> int:
    """The thing with the greatest key, or NOTHING."""
    here: int = forest.root[tree]
    if here != NOTHING:
        while forest.right[here] != NOTHING:
            here = forest.right[here]
    return here


@compiled
def weigh_before(forest: Forest, tree: int, key: int, thing: int) -> int:
    """The weight of all in the set that come before a key, where ties go by number."""
    before = 0
    here = forest.root[tree]
    while here != NOTHING:
        if forest.key[here] < key or (forest.key[here] == key and here < thing):
            before += forest.weight[here]
            if forest.left[here] != NOTHING:
                before += forest.total[forest.left[here]]
            here = forest.right[here]
        else:
            here = forest.left[here]
    return before


@compiled
def _precedes(forest: Forest, key: int, thing: int, other: int) -> bool:
    return key < forest.key[other] or (key == forest.key[other] and thing < other)


@compiled
def _attach(forest: Forest, tree: int, above: int, is_left: bool, thing: int) -> None:
    if above == NOTHING:
        forest.root[tree] = thing
    elif is_left:
        forest.left[above] = thing
    else:
        forest.right[above] = thing


@compiled
def _add_up(forest: Forest, thing: int) -> None:
    total = forest.weight[thing]
    if forest.left[thing] != NOTHING:
        total += forest.total[forest.left[thing]]
    if forest.right[thing] != NOTHING:
        total += forest.total[forest.right[thing]]
    forest.total[thing] = total
