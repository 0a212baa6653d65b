"""The best ring at prices: hand-solved cases on small trees."""

import numpy as np
import pytest

from gadget.solve.market import Market, Tree, build_scratch, build_tree
from gadget.solve.pricing_tree import find_best_ring, shares_of
from gadget.solve.recovery import recover_ring

INF = np.inf


def build(parent: list[int], gpus: list[float], **more: list[float]) -> tuple[Tree, Market]:
    """A tree with that many free GPUs on each node, switches −1; links wide and all prices 0 unless given."""
    count = len(parent)
    tree = build_tree(
        np.array(parent), np.array(more.get("copies", [1] * count), np.int64), np.array(gpus) >= 0
    )
    free = np.maximum(np.array(gpus, np.float64), 0.0)[:, None]
    width = np.array(more.get("width", [100] * count), np.float64)
    cuts = more.get("cuts", [0] * count)  # the price of one share of two, on the links that have one
    has_cut = np.array(cuts) > 0
    market = Market(
        free,
        width,
        np.array(more.get("unit", [0] * count), np.float64)[:, None],
        np.array(more.get("edge", [0] * count), np.float64),
        np.concatenate([[0], np.cumsum(has_cut)]).astype(np.int64),
        np.full(has_cut.sum(), 1),
        np.array(cuts, np.float64)[has_cut],
        width.copy(),
        np.full_like(free, INF),
        np.array([free[node : tree.end[node]].sum(axis=0) for node in range(count)]),
        np.zeros(count, np.bool_),
    )
    return tree, market


def ask(goods: tuple[Tree, Market], gain: list[float], *, gbps: float = 1.0, floor: float = 0.0, **more: int):
    """Value and (node, workers, crossings) of the best ring of a job that takes one GPU a worker."""
    tree, market = goods
    most = len(gain) - 1
    scratch = build_scratch(tree, most)
    value, size, top = find_best_ring(
        tree,
        market,
        np.ones(1),
        gbps,
        most,
        np.array(gain, np.float64),
        floor,
        more.get("patience", -1),
        more.get("wish", 0),
        scratch,
    )
    count = recover_ring(tree, size, top, scratch) if size else 0
    totals = np.zeros((len(tree.parent), 2), np.int64)
    np.add.at(totals[:, 0], scratch.out_node[:count], scratch.out_workers[:count])
    np.add.at(totals[:, 1], scratch.out_node[:count], scratch.out_crossings[:count])
    return value, [(node, *totals[node].tolist()) for node in np.flatnonzero(totals.any(axis=1)).tolist()]


RACK = [-1, 0, 0]  # a switch with two servers


def test_a_ring_across_two_servers_pays_both_tolls() -> None:
    goods = build(RACK, [-1, 2, 2], unit=[0, 1, 1], edge=[0, 0.25, 0.5])
    assert ask(goods, [0, 2, 4, 10]) == (10 - 3 - 0.75, [(1, 2, 1), (2, 1, 1)])


def test_a_ring_inside_one_server_pays_none() -> None:
    goods = build(RACK, [-1, 2, 2], unit=[0, 1, 1], edge=[0, 1, 1])
    value, entries = ask(goods, [0, 2, 4, 5])
    assert value == 2
    assert len(entries) == 1
    assert entries[0][1:] == (2, 0)


def test_bandwidth_multiplies_the_toll() -> None:
    goods = build(RACK, [-1, 1, 1], edge=[0, 1, 1])
    assert ask(goods, [0, 0, 10], gbps=3.0)[0] == 4


def test_a_link_that_is_too_narrow_is_closed() -> None:
    goods = build(RACK, [-1, 2, 2], width=[100, 1, 5])
    assert ask(goods, [0, 1, 2, 3], gbps=1.0)[0] == 3
    assert ask(goods, [0, 1, 2, 3], gbps=1.5)[0] == 2


def test_without_a_link_not_even_a_ring_that_needs_no_bandwidth_crosses() -> None:
    goods = build(RACK, [-1, 2, 2], width=[-1, -1, -1])
    assert ask(goods, [0, 1, 2, 3], gbps=0.0)[0] == 2
    zero = build(RACK, [-1, 2, 2], width=[0, 0, 0])
    assert ask(zero, [0, 1, 2, 3], gbps=0.0)[0] == 3


def test_sizes_that_gain_minus_infinity_are_left_out() -> None:
    goods = build(RACK, [-1, 1, 1], unit=[0, 1, 1])
    assert ask(goods, [-INF, -INF, 5]) == (3, [(1, 1, 1), (2, 1, 1)])
    assert ask(build(RACK, [-1, 1, 0]), [-INF, -INF, 5]) == (0, [])


def test_nothing_is_taken_that_is_not_worth_more_than_the_floor() -> None:
    goods = build(RACK, [-1, 1, 1], unit=[0, 3, 3])
    assert ask(goods, [0, 2]) == (0, [])
    assert ask(goods, [0, 2], floor=-INF)[0] == -1
    assert ask(goods, [0, 5], floor=2.0) == (2, [])
    assert ask(goods, [0, 5], floor=1.9)[0] == 2


def test_a_server_inside_the_tree_pays_no_toll_for_its_own_workers() -> None:
    # Server 1 stands between server 0 and server 2.
    goods = build([-1, 0, 1], [1, 1, 1], edge=[0, 1, 2])
    assert ask(goods, [0, 0, 10]) == (9, [(0, 1, 0), (1, 1, 1)])
    assert ask(goods, [0, 0, 0, 10]) == (7, [(0, 1, 0), (1, 1, 1), (2, 1, 1)])


def test_a_link_is_paid_once_however_many_servers_lie_behind_it() -> None:
    # Two racks of two: 1 with 2 and 3, 4 with 5 and 6.
    goods = build([-1, 0, 1, 1, 0, 4, 4], [-1, -1, 1, 1, -1, 1, 1], edge=[0, 1, 0.1, 0.1, 1, 0.1, 0.1])
    assert ask(goods, [0, 0, 9])[0] == pytest.approx(9 - 0.2)
    value, entries = ask(goods, [0, 0, 0, 0, 9])
    assert value == pytest.approx(9 - 2 - 0.4)
    assert entries == [(1, 0, 1), (2, 1, 1), (3, 1, 1), (4, 0, 1), (5, 1, 1), (6, 1, 1)]


def test_where_a_toll_is_nothing_links_are_not_crossed_for_nothing() -> None:
    # A cheap worker in the far rack makes the core look best, but the far link costs more than it saves.
    goods = build(
        [-1, 0, 1, 1, 0, 4], [-1, -1, 2, 2, -1, 1], unit=[0, 0, 1, 1, 0, 0], edge=[0, 0, 0, 0, 5, 0]
    )
    value, entries = ask(goods, [-INF, -INF, -INF, 9])
    assert value == 6
    assert [(node, crossings) for node, _, crossings in entries] == [(2, 1), (3, 1)]


def test_copies_are_filled_one_after_the_other() -> None:
    goods = build([-1, 0], [-1, 2], copies=[1, 3], unit=[0, 1], edge=[0, 1])
    assert ask(goods, [0] * 5 + [20]) == (20 - 5 - 3, [(1, 5, 3)])
    assert ask(goods, [0] * 7 + [20]) == (0, [])


def test_copies_of_a_rack_are_entered_one_by_one() -> None:
    # Two alike racks of two servers of one GPU.
    goods = build([-1, 0, 1], [-1, -1, 1], copies=[1, 2, 2], edge=[0, 1, 0.5])
    assert ask(goods, [0, 0, 9])[0] == 8
    value, entries = ask(goods, [0, 0, 0, 9])
    assert value == 9 - 2 - 1.5
    assert sum(workers for _, workers, _ in entries) == 3
    assert sum(crossings for node, _, crossings in entries if node == 1) == 2
    assert sum(crossings for node, _, crossings in entries if node == 2) == 3


def test_share_cuts_add_to_the_toll_of_wide_rings_only() -> None:
    # One share: at most one ring wider than half the link crosses it.
    goods = build(RACK, [-1, 1, 1], width=[9, 4, 4], cuts=[0, 1, 1])
    assert ask(goods, [0, 0, 9], gbps=2.0)[0] == 9
    assert ask(goods, [0, 0, 9], gbps=2.5)[0] == 7


@pytest.mark.parametrize(
    ("gbps", "width", "shares", "taken"),
    [
        (1, 2, 1, 0),  # two of them fit
        (1.01, 2, 1, 1),
        (2, 2, 1, 1),
        (1, 3, 2, 0),
        (1.5, 3, 2, 1),
        (3, 3, 2, 2),
        (0.1, 0.3, 2, 0),  # rounding makes no third
        (0, 5, 3, 0),
        (0, 0, 3, 0),
        (1, -1, 3, 0),
    ],
)
def test_shares(gbps: float, width: float, shares: int, taken: int) -> None:
    assert shares_of(float(gbps), float(width), shares) == taken


def test_without_patience_only_single_servers_are_tried() -> None:
    goods = build(RACK, [-1, 2, 2])
    assert ask(goods, [0, 1, 2, 3, 4], patience=0)[0] == 2
    assert ask(goods, [0, 1, 2, 3, 4], patience=1)[0] == 4


def test_a_wish_leaves_racks_out_that_are_too_full_for_it() -> None:
    goods = build([-1, 0, 1, 1, 0, 4, 4], [-1, -1, 1, 1, -1, 2, 2])
    assert ask(goods, [0, 1, 2, 3, 4], wish=3)[1] == [(5, 2, 1), (6, 2, 1)]
    assert ask(goods, [0, 1, 2, 3, 4], wish=7) == (0, [])


def test_of_equally_good_servers_the_fullest_is_taken() -> None:
    goods = build([-1, 0, 0, 0], [-1, 4, 2, 3])
    assert ask(goods, [0, 1, 2])[1] == [(2, 2, 0)]


def test_a_tie_goes_to_the_smaller_ring() -> None:
    goods = build([-1], [4], unit=[1])
    assert ask(goods, [0, 2, 3, 4])[1] == [(0, 1, 0)]


def test_a_tree_without_servers_has_no_ring() -> None:
    assert ask(build([-1, 0], [-1, -1]), [0, 5]) == (0, [])


def test_fractions_of_a_gpu_fit_as_decimals_do() -> None:
    tree, market = build([-1], [0.3 * (1 + 2.5e-10)])
    scratch = build_scratch(tree, 4)
    gain = np.array([0.0, 1, 2, 3, 4])
    value, size, _ = find_best_ring(tree, market, np.array([0.1]), 1.0, 4, gain, 0.0, -1, 0, scratch)
    assert (value, size) == (3, 3)


def test_what_was_seen_full_is_seen_again_once_it_is_free() -> None:
    tree, market = build([-1, 0, 1, 1], [-1, -1, 0, 0])
    assert ask((tree, market), [0, 1, 2]) == (0, [])
    market.free[2] = 1.0
    market.roomiest[:2] = 1.0  # as `release` does
    assert ask((tree, market), [0, 1, 2])[0] == 1
