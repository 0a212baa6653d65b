"""Pricing equals brute force: the kernel finds what trying all rings finds, on trees and trees of classes."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gadget.model.cluster import Cluster, Link, Server
from gadget.model.resources import Resources
from gadget.solve.classes import find_classes
from gadget.solve.hierarchy import build_hierarchy
from gadget.solve.market import SLACK, Market, build_scratch
from gadget.solve.network import compile_network
from gadget.solve.pricing_tree import find_best_ring, shares_of
from gadget.solve.recovery import recover_ring
from tests.slow_pricing import (
    Case,
    add_up,
    count_shares,
    draw_case,
    draw_job,
    draw_seeded,
    find_cost,
    find_crossed,
    give_job,
    lay_out,
    try_all_rings,
)

SIZES = 5  # the largest ring that cases ask for


def ask(tree, market, scratch, job, *, floor=0.0, patience=-1, wish=0):
    """Value and size of the best ring, and its entries (node, workers, crossings)."""
    demand, gbps, gain = job
    value, size, top = find_best_ring(
        tree,
        market,
        np.array(demand, np.float64),
        float(gbps),
        len(gain) - 1,
        np.array(gain, np.float64),
        floor,
        patience,
        wish,
        scratch,
    )
    count = recover_ring(tree, size, top, scratch) if size else 0
    found = (scratch.out_node[:count], scratch.out_workers[:count], scratch.out_crossings[:count])
    return value, size, list(zip(*(entries.tolist() for entries in found), strict=True))


def job_of(case: Case):
    return case.demand, case.gbps, case.gain


def check_ring(case: Case, value: float, size: int, entries) -> None:
    """The entries are a ring of that size and value that fits, and cross what it has to cross, once each."""
    counts: dict[int, int] = {}
    for node, workers, _ in entries:
        if workers:
            counts[node] = counts.get(node, 0) + workers
    assert sum(counts.values()) == size
    cost = find_cost(case, counts)
    assert cost is not None
    assert case.gain[size] - cost == pytest.approx(value, rel=1e-9, abs=1e-9)
    crossed = [node for node, _, crossings in entries for _ in range(crossings)]
    assert sorted(crossed) == sorted(find_crossed(case, counts))


def check_books(tree, market) -> None:
    """Where the market says that nobody has room, nobody has."""
    for node in np.flatnonzero(np.diff(tree.kid_start)):
        assert (market.roomiest[node] >= market.free[node : tree.end[node]].max(axis=0)).all()


def check_exact(case: Case, tree, market, scratch) -> float:
    slow = try_all_rings(case)
    for floor in (0.0, -np.inf, slow - 0.5):
        value, size, entries = ask(tree, market, scratch, job_of(case), floor=floor)
        assert value == pytest.approx(max(slow, floor), rel=1e-9, abs=1e-9)
        assert (size > 0) == (slow > floor)
        if size:
            check_ring(case, value, size, entries)
    return slow


def check_modest(case: Case, slow: float, tree, market, scratch, *, patience: int, wish: int) -> None:
    """Short of patience, or with a wish, a ring may be missed but never made up."""
    value, size, entries = ask(
        tree, market, scratch, job_of(case), floor=-np.inf, patience=patience, wish=wish
    )
    assert value <= slow + 1e-9
    if size:
        check_ring(case, value, size, entries)


def try_case(pick) -> None:
    case = draw_case(pick)
    tree, market = lay_out(case)
    scratch = build_scratch(tree, SIZES)
    # Several jobs in turn on one market, which remembers what it saw, in one space, which is never cleaned.
    for _ in range(3):
        slow = check_exact(case, tree, market, scratch)
        check_books(tree, market)
        check_modest(case, slow, tree, market, scratch, patience=pick((0, 1, 2)), wish=pick((0, 1, 2, 4)))
        check_books(tree, market)
        case = give_job(case, pick)


@given(st.data())
def test_the_best_ring_is_the_best_of_all_rings(data) -> None:
    try_case(lambda options: data.draw(st.sampled_from(options)))


@pytest.mark.parametrize("block", range(3))
def test_the_best_ring_is_the_best_of_all_rings_thousands_of_times(block: int) -> None:
    for seed in range(400):
        try_case(draw_seeded((block, seed)))


def test_untouched_nodes_that_are_passed_over_never_make_a_ring_up() -> None:
    for seed in range(500):
        pick = draw_seeded(seed)
        case = draw_case(pick)
        tree, market = lay_out(case)
        market.pristine[:] = [pick((True, True, False)) for _ in case.parent]
        # Even where looks are given at random: needless nodes may be missed, no more.
        looks = np.array([pick(range(len(case.parent))) for _ in case.parent], np.int64)
        scratch = build_scratch(tree, SIZES)
        slow = try_all_rings(case)
        check_modest(case, slow, tree._replace(look=looks), market, scratch, patience=-1, wish=0)
        check_books(tree, market)


_gbps = st.sampled_from((0.0, 0.1, 0.3, 1.0, 2.0, 2.5)) | st.floats(0.001, 100)


@given(_gbps, st.floats(0.01, 100), st.integers(1, 6))
def test_shares_are_slices_beyond_the_first(gbps: float, width: float, shares: int) -> None:
    close = int(_is_close(gbps, width, shares))
    assert shares_of(gbps, width, shares) == pytest.approx(count_shares(gbps, width, shares), abs=close)


@given(st.lists(_gbps, min_size=1, max_size=7), st.just(1.0) | st.floats(1, 2), st.integers(1, 6))
def test_rings_that_fit_a_link_together_take_no_more_shares_than_it_has(rings, more, shares) -> None:
    width = max(0.01, sum(rings) * more)
    assert sum(shares_of(gbps, width, shares) for gbps in rings) <= shares


def _is_close(gbps: float, width: float, shares: int) -> bool:
    """True when rounding decides which slice is the last."""
    slices = gbps / width * (shares + 1)
    return abs(slices - round(slices)) < 1e-6


def draw_alike(pick, *, most: int) -> Cluster:
    """A tree in which much is alike: subtrees come in several copies."""
    servers, switches, links = [], [], []
    kinds = [Resources({"gpu": pick((1, 2, 3)), "cpu": pick((1, 2, 4))}) for _ in range(2)]
    widths = pick(((10,), (1, 2), (0, 0.5, 1, 3)))

    def grow(plan, above: str) -> None:
        for number, (kind, gbps, below) in enumerate(plan):
            name = f"{above}.{number}"
            if kind is None:
                switches.append(name)
            else:
                servers.append(Server(name, kind))
            links.append(Link((name, above), gbps))
            grow(below, name)

    def plan(depth: int):
        found = []
        for _ in range(pick((1, 1, 2))):
            # A leaf is a server; an inner node may be one too.
            below = plan(depth - 1) if depth and pick((0, 1, 1)) else []
            kind = pick(kinds) if not below or pick((0, 0, 1)) else None
            found += [(kind, pick(widths), below)] * pick((1, 2, 3))
        return found

    while True:
        servers.clear(), switches.clear(), links.clear()
        grow(plan(2), "top")
        if len(servers) <= most:
            return Cluster(tuple(servers), (*switches, "top"), tuple(links))


def open_market(tree, capacity, gbps, prices) -> Market:
    """An empty market on the tree; prices are units, edges, and of each node the cuts (shares, price)."""
    unit, edge, cuts = prices
    flat = [cut for own in cuts for cut in own]
    free = capacity * (1 + SLACK)
    return Market(
        free,
        gbps * (1 + SLACK),
        unit,
        edge,
        np.concatenate([[0], np.cumsum([len(own) for own in cuts])]).astype(np.int64),
        np.array([shares for shares, _ in flat], np.int64),
        np.array([price for _, price in flat], np.float64),
        gbps,
        np.full_like(free, np.inf),
        add_up(tree, free),
        np.zeros(len(gbps), np.bool_),
    )


def try_classes(pick, *, most: int, brute: bool) -> None:
    hierarchy = build_hierarchy(compile_network(draw_alike(pick, most=most)))
    classes = find_classes(hierarchy)
    price = pick(((0,), (0, 1), (0, 0.1, 0.37, 0.9)))
    count = len(classes.members)
    unit = np.array([[pick(price), pick(price)] for _ in range(count)], np.float64)
    edge = np.array([pick(price) for _ in range(count)], np.float64)
    cuts = [[(pick((1, 2)), pick(price)) for _ in range(pick((0, 0, 1)))] for _ in range(count)]
    few = open_market(classes.tree, classes.capacity, classes.gbps, (unit, edge, cuts))
    of = classes.class_of
    spread = (unit[of], edge[of], [cuts[c] for c in of])
    many = open_market(hierarchy.tree, hierarchy.capacity, hierarchy.gbps, spread)
    scratch, full_scratch = build_scratch(classes.tree, SIZES), build_scratch(hierarchy.tree, SIZES)
    for _ in range(3):
        job = draw_job(pick, 2)
        value, size, entries = ask(classes.tree, few, scratch, job, floor=-np.inf)
        full, full_size, full_entries = ask(hierarchy.tree, many, full_scratch, job, floor=-np.inf)
        assert value == pytest.approx(full, rel=1e-9, abs=1e-9)
        if brute:
            case = read_case(hierarchy, many, job)
            assert full == pytest.approx(try_all_rings(case), rel=1e-9, abs=1e-9)
            if full_size:
                check_ring(case, full, full_size, full_entries)
        if size:
            check_class_ring(classes, few, job, (value, size, entries))


def check_class_ring(classes, market, job, answer) -> None:
    """Entries by classes add up to the ring's size and value, and fit the members that there are."""
    (demand, gbps, gain), (value, size, entries) = job, answer
    worth = gain[size]
    for node, workers, crossings in entries:
        taken = workers * np.array(demand)
        assert (taken <= classes.members[node] * market.free[node]).all()
        assert crossings <= classes.members[node]
        assert crossings == 0 or gbps <= market.width[node]
        cuts = range(market.cut_start[node], market.cut_start[node + 1])
        shares = sum(
            market.cut_price[cut] * count_shares(gbps, market.cut_width[node], market.cut_shares[cut])
            for cut in cuts
        )
        worth -= taken @ market.unit[node] + crossings * (gbps * market.edge[node] + shares)
    assert sum(workers for _, workers, _ in entries) == size
    assert worth == pytest.approx(value, rel=1e-9, abs=1e-9)


def read_case(hierarchy, market, job) -> Case:
    """The same for the slow pricer."""
    servers = tuple(np.flatnonzero(hierarchy.tree.is_server).tolist())
    starts = market.cut_start
    return Case(
        tuple(hierarchy.tree.parent.tolist()),
        servers,
        {v: tuple(hierarchy.capacity[v].tolist()) for v in servers},
        {v: tuple(market.unit[v].tolist()) for v in servers},
        tuple(hierarchy.gbps.tolist()),
        tuple(market.edge.tolist()),
        tuple(hierarchy.gbps.tolist()),
        tuple(
            tuple(zip(market.cut_shares[a:b].tolist(), market.cut_price[a:b].tolist(), strict=True))
            for a, b in pairwise(starts)
        ),
        *job,
    )


@given(st.data())
def test_a_tree_of_classes_has_the_same_best_ring(data) -> None:
    try_classes(lambda options: data.draw(st.sampled_from(options)), most=6, brute=True)


def test_a_tree_of_classes_has_the_same_best_ring_hundreds_of_times() -> None:
    for seed in range(200):
        try_classes(draw_seeded(seed), most=6, brute=True)
        try_classes(draw_seeded(1000 + seed), most=60, brute=False)
