"""Rings put into what is free and taken out again: after any moves the books agree with the rings."""

from dataclasses import dataclass, replace

import numpy as np
import pytest

from gadget.model.builders import build_fat_tree, build_leaf_spine, build_paper_cluster, build_torus
from gadget.model.cluster import Cluster
from gadget.model.resources import Resources
from gadget.solve.filling import fill, insert, keep_running, place, scaled
from gadget.solve.ground import Sites, find_sites
from gadget.solve.held import Held, build_held, copy_all, occupy_all, release
from gadget.solve.lagrangian import Stays
from gadget.solve.market import SLACK, Market, Orders, Scratch, build_scratch
from gadget.solve.network import Network, compile_network
from gadget.solve.ruin import ruin_and_recreate
from tests.unit.solve.small import islands, line

TWO = Resources({"gpu": 2, "cpu": 3})
CLUSTERS = {
    "one spine": build_leaf_spine(3, 1, 3, resources=TWO, server_gbps=3, uplink_gbps=4),
    "large": build_leaf_spine(40, 1, 8, resources=TWO, server_gbps=3, uplink_gbps=4),
    "paper": build_paper_cluster(np.random.default_rng(2), servers=20, server_gbps=(1, 5), rack_gbps=(2, 8)),
    "line": line(2, 1, 3, 2, gbps=2),
    "islands": islands(2, 3),
    "leaf-spine": build_leaf_spine(3, 2, 3, resources=TWO, server_gbps=3, uplink_gbps=2),
    "fat-tree": build_fat_tree(4, resources=TWO, server_gbps=3, fabric_gbps=2),
    "torus": build_torus((3, 3), resources=TWO, gbps=2),
}
JOBS = 30
LARGEST = 5


@dataclass
class Site:
    """A cluster with jobs, on which rings are put and taken."""

    network: Network
    sites: Sites
    orders: Orders
    stays: Stays
    market: Market
    view: Market
    held: Held
    kept: Held
    scratch: Scratch

    @property
    def where(self):
        return self.sites.ground, self.sites.is_one

    def place(self, order, wishes=None) -> None:
        wishes = np.full(JOBS, -1) if wishes is None else wishes
        place(
            *self.where,
            self.market,
            self.view,
            self.orders,
            self.stays,
            self.held,
            order,
            wishes,
            0.0,
            self.scratch,
        )

    def fill(self, order, level: float) -> None:
        fill(
            *self.where,
            scaled(self.market, level),
            self.view,
            self.orders,
            self.stays,
            self.held,
            self.kept,
            order,
            np.full(JOBS, -1),
            self.scratch,
        )

    def insert(self, job: int, floor: float = 0.0) -> float:
        return insert(
            *self.where,
            self.market,
            self.view,
            self.orders,
            self.stays,
            self.held,
            job,
            floor,
            0,
            self.scratch,
        )

    def release(self, job: int) -> None:
        release(*self.where, self.market, self.orders, self.held, job)


def open_market(network: Network, sites: Sites, rng: np.random.Generator) -> Market:
    """All that there is, at random prices."""
    free = np.zeros((sites.places, network.capacity.shape[1]))
    free[sites.place_of_server] = network.capacity * (1 + SLACK)
    width = np.full(sites.places, -1.0)
    width[sites.place_of_link] = network.link_gbps[::2] * (1 + SLACK)
    return Market(
        free,
        width,
        rng.uniform(0, 1, free.shape) * rng.integers(0, 2),
        rng.uniform(0, 1, sites.places) * rng.integers(0, 2),
        np.zeros(sites.places + 1, np.int64),
        np.zeros(0, np.int64),
        np.zeros(0),
        width.copy(),
        np.full_like(free, np.inf),
        sums_below(sites, free),
        np.full(sites.places, sites.is_one),
    )


def sums_below(sites: Sites, free):
    """What is free below each node where there is one tree; on graphs nobody asks."""
    if not sites.is_one:
        return free.copy()
    end = sites.ground.end[0]
    return np.array([free[node : end[node]].sum(axis=0) for node in range(len(end))])


def settle(cluster: Cluster, seed: int) -> Site:
    """A site with random jobs and nothing on it; some jobs have a ring of one worker that may go on."""
    rng = np.random.default_rng(seed)
    network = compile_network(cluster)
    sites = find_sites(network)
    resources = network.capacity.shape[1]
    most = rng.integers(1, LARGEST + 1, JOBS)
    start = np.concatenate([[0], np.cumsum(most + 1)]).astype(np.int64)
    gain = rng.uniform(0.5, 4, start[-1])
    gain[rng.random(len(gain)) < 0.2] = -np.inf
    gain[start[:-1]] = -np.inf
    demand = rng.choice([0.0, 0.5, 0.7, 1.0], (JOBS, resources))
    demand[:, 0] = rng.choice([0.5, 1.0, 1.0, 0.3], JOBS)
    orders = Orders(demand, rng.choice([0.0, 0.5, 1.0, 1.5], JOBS), most.astype(np.int64), start, gain)
    runs = rng.random(JOBS) < 0.3
    at = sites.place_of_server[rng.integers(0, network.servers, JOBS)]
    stays = Stays(
        np.where(runs, rng.uniform(1, 5, JOBS), -np.inf),
        np.concatenate([[0], np.cumsum(runs)]).astype(np.int64),
        at[runs].astype(np.int64),
        np.ones(runs.sum(), np.int64),
        np.zeros(runs.sum(), np.int64),
    )
    nodes = sites.ground.parent.shape[1]
    held, kept = (build_held(orders, nodes, np.diff(stays.start)) for _ in range(2))
    spaces = [build_scratch(sites.tree(row), LARGEST) for row in range(len(sites.ground.parent))]
    scratch = Scratch(*(max(arrays, key=lambda array: array.size) for arrays in zip(*spaces, strict=True)))
    view = Market(
        np.zeros((nodes, resources)),
        np.zeros(nodes),
        np.zeros((nodes, resources)),
        np.zeros(nodes),
        np.zeros(nodes + 1, np.int64),
        np.zeros(0, np.int64),
        np.zeros(0),
        np.zeros(nodes),
        np.full((nodes, resources), np.inf),
        np.full((nodes, resources), np.inf),
        np.zeros(nodes, np.bool_),
    )
    market = open_market(network, sites, rng)
    return Site(network, sites, orders, stays, market, view, held, kept, scratch)


def entries_of(held: Held, job: int) -> list[tuple[int, int, int]]:
    span = slice(held.start[job], held.start[job] + held.count[job])
    return list(
        zip(
            held.place[span].tolist(), held.workers[span].tolist(), held.crossings[span].tolist(), strict=True
        )
    )


def check_books(site: Site) -> None:
    """Recomputed from the rings held: what is free, in all and at most, and where nothing lies."""
    network, sites, orders, held, market = site.network, site.sites, site.orders, site.held, site.market
    free = np.zeros_like(market.free)
    free[sites.place_of_server] = network.capacity * (1 + SLACK)
    width = np.full(sites.places, -1.0)
    width[sites.place_of_link] = network.link_gbps[::2] * (1 + SLACK)
    taken = np.zeros(sites.places, np.bool_)
    for job in range(JOBS):
        entries = entries_of(held, job)
        assert sum(workers for _, workers, _ in entries) == held.size[job]
        assert (held.size[job] > 0) == bool(entries)
        assert held.gain[job] == gain_of(site, job)
        for spot, workers, crossings in entries:
            free[spot] -= workers * orders.demand[job]
            width[spot] -= crossings * orders.gbps[job]
            taken[spot] |= workers > 0 or crossings > 0
    assert market.free == pytest.approx(free, abs=1e-9)
    assert market.width == pytest.approx(width, abs=1e-9)
    # Nothing is given out twice; a place without a link stays closed.
    assert (market.free > -1e-9).all()
    assert (market.width[sites.place_of_link] > -1e-9).all()
    closed = np.setdiff1d(np.arange(sites.places), sites.place_of_link)
    assert (market.width[closed] == -1).all()
    if sites.is_one:
        end = sites.ground.end[0]
        assert market.plenty == pytest.approx(sums_below(sites, free), abs=1e-9)
        for node in range(len(end)):
            if end[node] > node + 1:
                most = market.free[node : end[node]].max(axis=0)
                assert (market.roomiest[node] >= most).all()
            assert not (market.pristine[node] and taken[node : end[node]].any())


def gain_of(site: Site, job: int) -> float:
    held = site.held
    if not held.size[job]:
        return 0.0
    if held.tree[job] < 0:
        return site.stays.gain[job]
    return site.orders.gain[site.orders.gain_start[job] + held.size[job]]


def check_rings(site: Site) -> None:
    """Every ring lies on one tree and crosses what parts its servers, once each."""
    sites, held = site.sites, site.held
    for job in np.flatnonzero(held.count).tolist():
        row = int(held.tree[job])
        if row < 0:
            first, last = site.stays.start[job], site.stays.start[job + 1]
            assert [spot for spot, _, _ in entries_of(held, job)] == site.stays.node[first:last].tolist()
            continue
        parent = sites.ground.parent[row]
        node_at = {int(spot): node for node, spot in enumerate(sites.ground.server_at[row]) if spot >= 0}
        below = np.zeros(len(parent), np.int64)
        for spot, workers, _ in entries_of(held, job):
            node = node_at[spot] if workers else -1
            while node >= 0:
                below[node] += workers
                node = int(parent[node])
        parted = np.flatnonzero((below > 0) & (below < held.size[job]))
        crossed = [spot for spot, _, crossings in entries_of(held, job) for _ in range(crossings)]
        assert sorted(crossed) == sorted(sites.ground.link_at[row, parted].tolist())


def worth_of(site: Site, level: float) -> float:
    """Gains less costs of all rings at the prices."""
    total = float(site.held.gain.sum())
    for job in range(JOBS):
        for spot, workers, crossings in entries_of(site.held, job):
            total -= level * workers * float(site.orders.demand[job] @ site.market.unit[spot])
            total -= level * crossings * float(site.orders.gbps[job] * site.market.edge[spot])
    return total


@pytest.mark.parametrize("name", CLUSTERS)
@pytest.mark.parametrize("seed", range(4))
def test_after_any_moves_the_books_agree_with_the_rings(name: str, seed: int) -> None:
    site = settle(CLUSTERS[name], seed)
    rng = np.random.default_rng(seed)
    for _ in range(25):
        move = rng.integers(0, 6)
        order = rng.permutation(JOBS)[: rng.integers(1, JOBS + 1)]
        idle = order[site.held.count[order] == 0]
        if move == 0:
            site.place(idle)
        elif move == 1:
            site.place(idle, np.minimum(rng.integers(0, 4, JOBS), site.orders.most))
        elif move == 2:
            level = rng.choice([0.0, 0.5, 1.0])
            before = worth_of(site, level)
            site.fill(order, level)
            assert worth_of(site, level) >= before - 1e-9
        elif move == 3:
            for job in order[site.held.count[order] > 0]:
                site.release(job)
        elif move == 4:
            for job in idle:
                value = site.insert(job)
                assert (site.held.count[job] > 0) == (value > 0)
        else:
            keep_running(*site.where, site.market, site.orders, site.stays, site.held)
        check_books(site)
        check_rings(site)


def stir(site: Site, seed: int) -> tuple[float, Held]:
    """Place all jobs, then ruin and recreate; the best gain found, and its rings."""
    site.place(np.arange(JOBS))
    height = len(site.sites.ground.parent[0])
    spare, best = (build_held(site.orders, height, np.diff(site.stays.start)) for _ in range(2))
    copy_all(site.held, best)
    gain = ruin_and_recreate(
        *site.where,
        (scaled(site.market, 0.0), scaled(site.market, 0.5), scaled(site.market, 0.95)),
        site.view,
        site.orders,
        site.stays,
        site.held,
        site.kept,
        spare,
        best,
        np.arange(JOBS),
        seed,
        200,
        1e-3,
        np.inf,
        site.scratch,
    )
    return gain, best


@pytest.mark.parametrize("name", CLUSTERS)
def test_ruin_and_recreate_keeps_the_books_and_never_loses_the_best(name: str) -> None:
    start = settle(CLUSTERS[name], 11)
    start.place(np.arange(JOBS))
    site = settle(CLUSTERS[name], 11)
    gain, best = stir(site, 3)
    check_books(site)
    check_rings(site)
    assert gain >= start.held.gain.sum() - 1e-9
    assert best.gain.sum() == pytest.approx(gain)
    # The best rings fit on the empty cluster.
    again = settle(CLUSTERS[name], 11)
    copy_all(best, again.held)
    occupy_all(*again.where, again.market, again.orders, again.held)
    check_books(again)
    check_rings(again)


def test_the_same_seed_finds_the_same_rings() -> None:
    found = [stir(settle(CLUSTERS["paper"], 4), 9)[1] for _ in range(2)]
    assert [entries_of(found[0], job) for job in range(JOBS)] == [
        entries_of(found[1], job) for job in range(JOBS)
    ]


@pytest.mark.parametrize("name", CLUSTERS)
def test_taking_all_rings_away_leaves_all_free(name: str) -> None:
    site = settle(CLUSTERS[name], 5)
    empty = site.market.free.copy(), site.market.width.copy()
    site.place(np.arange(JOBS))
    assert site.held.count.any()
    for job in range(JOBS):
        site.release(job)
    assert site.market.free == pytest.approx(empty[0])
    assert site.market.width == pytest.approx(empty[1])
    assert not site.held.count.any()


def free_of_charge(site: Site, **changes) -> Site:
    site = replace(site, **changes)
    return replace(site, market=scaled(site.market, 0.0))


def test_a_ring_that_runs_goes_on_unless_another_is_worth_more() -> None:
    site = free_of_charge(settle(CLUSTERS["one spine"], 0))
    for job in range(JOBS):
        site.insert(job)
        begin, most = site.orders.gain_start[job], site.orders.most[job]
        if site.stays.gain[job] > max(0.0, site.orders.gain[begin : begin + most + 1].max()):
            assert site.held.tree[job] == -1
        site.release(job)


def test_a_job_goes_back_to_the_ring_that_ran_when_there_is_room_again() -> None:
    site = settle(islands(1, 1), 0)
    one = np.ones(JOBS, np.int64)
    gains = np.tile([-np.inf, 1.0], JOBS)
    orders = Orders(np.ones((JOBS, 1)), np.zeros(JOBS), one, 2 * np.arange(JOBS + 1), gains)
    gain = np.full(JOBS, -np.inf)
    gain[0] = 3.0  # to move costs job 0 two
    here, there = site.sites.place_of_server[:2]
    starts = np.append(0, one)  # one ring, the first job's
    stays = Stays(gain, starts, np.array([here]), one[:1], np.zeros(1, np.int64))
    held, kept = (build_held(orders, 2, np.diff(stays.start)) for _ in range(2))
    site = free_of_charge(site, orders=orders, stays=stays, held=held, kept=kept)
    site.market.free[:] = 0.0
    site.market.free[there] = 1.0
    site.insert(0)
    assert site.held.gain[0] == 1.0
    site.market.free[here] = 1.0
    site.fill(np.array([0]), 0.0)
    assert site.held.gain[0] == 3.0
    assert site.held.tree[0] == -1
