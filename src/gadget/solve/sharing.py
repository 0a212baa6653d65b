"""Bandwidth where nothing is reserved: all rings share the links they cross, max-min fairly.

Every edge of a ring runs at one rate, that of its slowest. Rates grow together; when a link is full, the
rings that cross it keep what they have, and the others go on growing. So no ring could have more without
another that has no more having less.
"""

import numpy as np

from gadget.solve.compiled import compiled
from gadget.solve.market import Floats, Integers


def share_links(
    link_gbps: Floats, ring_start: Integers, links: Integers, times: Floats, most: Floats
) -> Floats:
    """The rate of each ring in Gbps, no ring above its `most` (which may be infinite).

    `links[ring_start[i]:ring_start[i + 1]]` are the directed links that ring i crosses, `times` how often. A
    ring that crosses none has its `most`.
    """
    rate = np.zeros(len(most))
    _fill(
        np.ascontiguousarray(link_gbps, dtype=np.float64),
        np.ascontiguousarray(ring_start, dtype=np.int64),
        np.ascontiguousarray(links, dtype=np.int64),
        np.ascontiguousarray(times, dtype=np.float64),
        np.ascontiguousarray(most, dtype=np.float64),
        rate,
    )
    return rate


@compiled
def _fill(
    link_gbps: Floats, ring_start: Integers, links: Integers, times: Floats, most: Floats, rate: Floats
) -> None:
    """Progressive filling: the level at which the next link or wish is full, then freeze who is there."""
    rings, count = len(most), len(link_gbps)
    left = link_gbps.copy()
    weight = np.zeros(count)
    for entry in range(len(links)):
        weight[links[entry]] += times[entry]
    # Rings of each link, so that those of a full one are found at once.
    begin = np.zeros(count + 1, np.int64)
    for entry in range(len(links)):
        begin[links[entry] + 1] += 1
    for link in range(count):
        begin[link + 1] += begin[link]
    fill, crossing = begin[:-1].copy(), np.zeros(len(links), np.int64)
    for ring in range(rings):
        for entry in range(ring_start[ring], ring_start[ring + 1]):
            crossing[fill[links[entry]]] = ring
            fill[links[entry]] += 1
    open_rings = np.ones(rings, np.bool_)
    by_wish = np.argsort(most)
    next_wish = 0
    remaining = rings
    while remaining > 0:
        # Every open ring has the same rate: `left` is counted as if all frozen ones had been taken off.
        level, full = np.inf, -1
        for link in range(count):
            if weight[link] > 1e-12:
                here = left[link] / weight[link]
                if here < level:
                    level, full = here, link
        while next_wish < rings and not open_rings[by_wish[next_wish]]:
            next_wish += 1
        wish = most[by_wish[next_wish]] if next_wish < rings else np.inf
        first, last = 0, 1
        if wish <= level or full < 0:
            level, full = wish, -1
        else:
            first, last = begin[full], begin[full + 1]
        for place in range(first, last):
            ring = by_wish[next_wish] if full < 0 else crossing[place]
            if not open_rings[ring]:
                continue
            open_rings[ring] = False
            remaining -= 1
            rate[ring] = max(0.0, level)
            for entry in range(ring_start[ring], ring_start[ring + 1]):
                left[links[entry]] -= times[entry] * rate[ring]
                weight[links[entry]] -= times[entry]
        if full >= 0:
            weight[full] = 0.0
