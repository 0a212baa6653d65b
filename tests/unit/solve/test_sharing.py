"""Rings that share links: a hand-solved case, a slow reference, and the law of max-min fairness."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gadget.solve.sharing import share_links

INF = float("inf")


def share(link_gbps, rings, most=None):
    """Rings as dictionaries from link to how often it is crossed."""
    start = np.cumsum([0, *(len(ring) for ring in rings)])
    links = [link for ring in rings for link in ring]
    times = [count for ring in rings for count in ring.values()]
    wishes = [INF] * len(rings) if most is None else most
    return share_links(
        np.array(link_gbps, float),
        start,
        np.array(links, dtype=np.int64),
        np.array(times, float),
        np.array(wishes),
    )


def test_the_textbook_case():
    # Links of 10 and 6. A crosses both, B the first, C the second twice: on the second A + 2C = 6, so 2 each;
    # then B has what A leaves of the first, 8.
    assert share([10, 6], [{0: 1, 1: 1}, {0: 1}, {1: 2}]) == pytest.approx([2, 8, 2])


def test_who_wants_little_leaves_the_rest_to_others():
    assert share([9], [{0: 1}, {0: 1}, {0: 1}], [1, INF, 5]) == pytest.approx([1, 4, 4])


def test_a_link_that_carries_nothing_and_a_ring_that_crosses_none():
    assert share([0, 5], [{0: 1}, {1: 1}, {}], [INF, INF, 7]) == pytest.approx([0, 5, 7])


def slow_shares(link_gbps, rings, most):
    """Progressive filling in exact fractions, straight from its definition."""
    left = [Fraction(gbps) for gbps in link_gbps]
    rate = [Fraction(0)] * len(rings)
    growing = set(range(len(rings)))
    while growing:
        steps = [Fraction(most[ring]) - rate[ring] for ring in growing if most[ring] < INF]
        for link, free in enumerate(left):
            weight = sum(rings[ring].get(link, 0) for ring in growing)
            if weight:
                steps.append(free / weight)
        if not steps:
            return [INF if ring in growing else rate[ring] for ring in range(len(rings))]
        step = min(steps)
        for ring in growing:
            rate[ring] += step
            for link, times in rings[ring].items():
                left[link] -= times * step
        growing = {
            ring
            for ring in growing
            if rate[ring] < most[ring] and all(left[link] > 0 for link in rings[ring])
        }
    return rate


@st.composite
def networks(draw):
    links = draw(st.lists(st.integers(0, 12), min_size=1, max_size=5))
    ring = st.dictionaries(st.integers(0, len(links) - 1), st.integers(1, 3), min_size=1, max_size=4)
    rings = draw(st.lists(ring, min_size=1, max_size=7))
    most = [draw(st.sampled_from((INF, INF, 1, 2, 5))) for _ in rings]
    return links, rings, most


@settings(max_examples=400)
@given(networks())
def test_shares_are_those_of_progressive_filling(case):
    links, rings, most = case
    assert share(links, rings, most) == pytest.approx([float(one) for one in slow_shares(*case)], abs=1e-9)


@settings(max_examples=200)
@given(networks())
def test_nobody_could_have_more_without_another_that_has_no_more_having_less(case):
    links, rings, most = case
    rates = share(links, rings, most)
    used = [sum(rings[n].get(link, 0) * rates[n] for n in range(len(rings))) for link in range(len(links))]
    assert all(taken <= gbps + 1e-9 for taken, gbps in zip(used, links, strict=True))
    for n, ring in enumerate(rings):
        is_content = rates[n] >= most[n] - 1e-9
        held_up = any(
            used[link] >= links[link] - 1e-9
            and all(rates[m] <= rates[n] + 1e-9 for m in range(len(rings)) if link in rings[m])
            for link in ring
        )
        assert is_content or held_up


def test_a_thousand_rings_at_once():
    rng = np.random.default_rng(0)
    rings = [dict.fromkeys(rng.choice(400, 6, replace=False).tolist(), 1) for _ in range(3000)]
    rates = share(rng.uniform(1, 100, 400), rings)
    assert rates.min() > 0
