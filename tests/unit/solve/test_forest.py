"""Ordered sets with weights do what sorted lists do."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from gadget.solve.forest import NOTHING, build_forest, find_first, find_last, insert, remove, weigh_before

THINGS = 12
STEPS = st.lists(
    st.tuples(st.integers(0, THINGS - 1), st.integers(-4, 4), st.integers(0, 5), st.integers(0, 1)),
    max_size=60,
)


@given(STEPS)
def test_trees_do_what_sorted_lists_do(steps):
    """Each step puts a thing into one of two sets, or takes it out of the one that it is in."""
    forest = build_forest(THINGS, 2)
    where, key_of, weight_of = {}, {}, {}
    for thing, key, weight, tree in steps:
        if thing in where:
            remove(forest, where.pop(thing), thing)
        else:
            insert(forest, tree, thing, key, weight)
            where[thing], key_of[thing], weight_of[thing] = tree, key, weight
        for one in (0, 1):
            held = sorted((key_of[other], other) for other, place in where.items() if place == one)
            assert find_first(forest, one) == (held[0][1] if held else NOTHING)
            assert find_last(forest, one) == (held[-1][1] if held else NOTHING)
            for asked in (-5, *range(-4, 5), 5):
                before = sum(weight_of[other] for entry, other in held if (entry, other) < (asked, thing))
                assert weigh_before(forest, one, asked, thing) == before


def test_trees_stay_flat_when_keys_come_in_order():
    forest = build_forest(10_000, 1)
    for thing in range(10_000):
        insert(forest, 0, thing, thing, 1)
    depth = np.zeros(10_000, np.int64)
    below = [int(forest.root[0])]
    while below:
        here = below.pop()
        for child in (int(forest.left[here]), int(forest.right[here])):
            if child != NOTHING:
                depth[child] = depth[here] + 1
                below.append(child)
    # A line would be 10,000 deep, a random search tree is some 2 ln n ≈ 18 on average.
    assert depth.mean() < 30
    assert depth.max() < 60
