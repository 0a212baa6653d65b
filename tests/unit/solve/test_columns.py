"""Column generation against the linear program over all rings, written out."""

import numpy as np
import pytest

from gadget import ActiveJob, Cluster, Job, Linear, Link, Resources, Server, Snapshot
from gadget.solve.classes import find_classes
from gadget.solve.clock import Clock
from gadget.solve.columns import generate_columns
from gadget.solve.common_price import find_common_prices
from gadget.solve.footprints import find_footprints
from gadget.solve.ground import find_sites
from gadget.solve.hierarchy import build_hierarchy
from gadget.solve.orders import build_orders
from gadget.solve.relaxed import RelaxedSlot
from gadget.solve.slot import build_slot_problem
from gadget.solve.stays import build_stays


def relax(cluster, jobs):
    problem = build_slot_problem(Snapshot(cluster, tuple(map(ActiveJob, jobs)), 0, 5))
    hierarchy = build_hierarchy(problem.network)
    classes = find_classes(hierarchy)
    footprints = find_footprints(problem.network)
    _, stays = build_stays(problem, footprints, find_sites(problem.network), hierarchy, classes)
    return RelaxedSlot(classes, build_orders(problem), stays)


def star(gpus, gbps):
    servers = tuple(Server(f"s{n}", Resources({"gpu": count})) for n, count in enumerate(gpus))
    return Cluster(
        servers, ("w",), tuple(Link((one.name, "w"), width) for one, width in zip(servers, gbps, strict=True))
    )


def job(name, size, gbps, gain=1.0):
    return Job(
        name=name,
        resources=Resources({"gpu": 1}),
        min_workers=size,
        max_workers=size,
        utility=Linear(gain / size),
        bandwidth_gbps=gbps,
        rate=1,
    )


def bound_of(cluster, jobs):
    slot = relax(cluster, jobs)
    prices, reply = find_common_prices(slot, 1e-6)
    found = generate_columns(slot, prices, bound=reply.bound, rounds=60, goal=0.0, clock=Clock(None))
    return reply.bound, found


def test_share_cuts_know_that_rings_are_whole():
    # Rings of 7 over servers of 6 cross both links. By GPUs 12/7 of them fit, by Gbps 3/2, by the cut one:
    # of rings wider than half a link, no more than one crosses it.
    one_price, found = bound_of(star([6, 6], [3, 3]), [job(name, 7, 2) for name in "xyz"])
    assert one_price == pytest.approx(12 / 7, rel=1e-6)
    assert found.bound == pytest.approx(1, rel=1e-6)
    assert found.prices.edge.max() > 0


def test_the_bound_is_that_of_the_knapsack_where_links_are_wide():
    # Three rings of 2 into 4 GPUs on one server: fractions reach 2 of 3, so do rings.
    _, found = bound_of(
        star([4], [9]), [job(name, 2, 1, gain) for name, gain in zip("xyz", (3, 2, 1), strict=True)]
    )
    assert found.bound == pytest.approx(5, rel=1e-6)
    assert np.isfinite(found.prices.unit).all()
