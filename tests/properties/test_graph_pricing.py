"""Pricing on graphs equals brute force, and the bound it proves is above every optimum."""

from itertools import combinations, pairwise, permutations, product

import networkx as nx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gadget import Cluster, Link, Resources, Server, Snapshot
from gadget.solve.graph_bound import tighten
from gadget.solve.hierarchy import build_hierarchy
from gadget.solve.market import SLACK, Market, build_scratch
from gadget.solve.network import Network, compile_network
from gadget.solve.orders import build_orders
from gadget.solve.pricing_graph import GraphQuote, quote_on_graph
from gadget.solve.pricing_tree import find_best_ring
from gadget.solve.slot import build_slot_problem
from tests.brute_optimum import find_optimum
from tests.tiny_slots import contended_slots, tiny_slots

INF = np.inf
near = pytest.approx


def links_of_ring(servers, rng):
    return [], [*pairwise(servers), *([(servers[-1], servers[0])] if len(servers) > 2 else [])]


def links_of_torus(servers, rng):
    """Two rows; a last server without a partner hangs on the first."""
    half = len(servers) // 2
    rows = [servers[:half], servers[half : 2 * half]]
    links = list(zip(*rows, strict=True))
    for row in rows:
        links += links_of_ring(row, rng)[1]
    return [], links + [(servers[0], last) for last in servers[2 * half :]]


def links_of_leaves(servers, rng):
    leaves = [f"leaf{n}" for n in range(int(rng.integers(1, 4)))]
    spines = [f"spine{n}" for n in range(int(rng.integers(2, 4)))]
    links = [(server, leaves[n % len(leaves)]) for n, server in enumerate(servers)]
    return leaves + spines, links + list(product(leaves, spines))


def links_of_tree(servers, rng):
    switches = [f"w{n}" for n in range(int(rng.integers(0, 4)))]
    nodes = rng.permutation(servers + switches).tolist()
    return switches, [(node, nodes[int(rng.integers(n))]) for n, node in enumerate(nodes) if n]


def links_of_any(servers, rng):
    switches, links = links_of_tree(servers, rng)
    known = {frozenset(link) for link in links}
    missing = [pair for pair in combinations(servers + switches, 2) if frozenset(pair) not in known]
    more = rng.permutation(len(missing))[: int(rng.integers(0, 5))]
    return switches, links + [missing[n] for n in more]


GRAPHS = {
    "ring": links_of_ring,
    "torus": links_of_torus,
    "leaf-spine": links_of_leaves,
    "tree": links_of_tree,
    "any": links_of_any,
}


class Case:
    """A network of up to six servers, a job of up to five workers, and prices, many of them equal or 0."""

    def __init__(self, shape: str, seed: int) -> None:
        rng = np.random.default_rng(seed)
        servers = [f"s{n}" for n in range(int(rng.integers(2, 7)))]
        switches, links = GRAPHS[shape](servers, rng)
        resources = [f"r{n}" for n in range(int(rng.integers(1, 4)))]
        offers = [{r: int(rng.choice((0, 1, 1, 2, 3, 5))) for r in resources} for _ in servers]
        self.network: Network = compile_network(
            Cluster(
                tuple(Server(*pair) for pair in zip(servers, map(Resources, offers), strict=True)),
                tuple(switches),
                tuple(Link(pair, float(rng.choice((0.5, 1, 2, 2, 3)))) for pair in links),
            )
        )
        self.demand = rng.choice((0, 0.5, 1, 1, 2), len(resources))
        self.demand[0] = max(self.demand[0], 0.5)
        self.gbps = float(rng.choice((0, 0.5, 1, 1, 2)))
        most = int(rng.integers(1, 6))
        self.gain = np.concatenate([[-INF], np.cumsum(3 * rng.random(most))])
        self.gain[1:][rng.random(most) < 0.2] = -INF
        coarse = rng.choice((1, 4, 1000))  # steps that prices come in: coarse ones make ties
        self.unit = np.round(coarse * rng.random((len(servers), len(resources)))) / coarse
        self.unit *= rng.choice((0, 0.2, 1))
        self.link = (
            np.round(coarse * rng.random(len(self.network.link_gbps))) / coarse * rng.choice((0, 0.1, 1))
        )

    def quote(self, **more) -> GraphQuote:
        return quote_on_graph(
            self.network, self.demand, self.gbps, self.gain, unit=self.unit, link=self.link, **more
        )

    def fit(self, server: int) -> int:
        fits = [int(c / d) for c, d in zip(self.network.capacity[server], self.demand, strict=True) if d]
        return min([len(self.gain) - 1, *fits])

    def cost(self, servers, workers, hops) -> float:
        """Of workers on servers, beside these prices of a Gbps between them."""
        seats = sum(n * (self.unit[s] @ self.demand) for s, n in zip(servers, workers, strict=True))
        return seats + self.gbps * sum(hops)

    def open_graph(self) -> nx.DiGraph:
        graph = nx.DiGraph()
        graph.add_nodes_from(range(len(self.network.nodes)))
        for link, (here, there) in enumerate(zip(*self.network.ends, strict=True)):
            if self.network.link_gbps[link] >= self.gbps:
                graph.add_edge(int(here), int(there), weight=self.link[link], link=link)
        return graph

    def try_all(self) -> float:
        """The best value over all sets of servers, orders and counts."""
        away = dict(nx.all_pairs_dijkstra_path_length(self.open_graph()))
        able = [server for server in range(self.network.servers) if self.fit(server)]
        best = -INF
        for stops in range(1, len(self.gain)):
            for chosen in combinations(able, stops):
                orders = [(chosen[0], *rest) for rest in permutations(chosen[1:])] if stops > 1 else []
                rounds = [
                    [away[a].get(b, INF) for a, b in zip(o, (*o[1:], o[0]), strict=True)] for o in orders
                ]
                hops = min(rounds, key=sum, default=[])
                for workers in product(*(range(1, self.fit(server) + 1) for server in chosen)):
                    if sum(workers) < len(self.gain) and self.gain[sum(workers)] > -INF:
                        best = max(best, self.gain[sum(workers)] - self.cost(chosen, workers, hops))
        return best


def check_ring(case: Case, quote: GraphQuote) -> None:
    """The ring is one, costs what its value says, and is feasible if that is said."""
    if not quote.servers:
        assert quote.value == -INF
        return
    assert len(set(quote.servers)) == len(quote.servers) == len(quote.workers)
    assert all(0 < n <= case.fit(s) for s, n in zip(quote.servers, quote.workers, strict=True))
    assert len(quote.paths) == (len(quote.servers) if len(quote.servers) > 1 else 0)
    tail, head = case.network.ends
    after = (*quote.servers[1:], quote.servers[0])
    for here, there, path in zip(quote.servers, after, quote.paths, strict=False):
        assert [tail[path[0]], head[path[-1]]] == [here, there]
        assert all(head[a] == tail[b] for a, b in pairwise(path))
        assert all(case.network.link_gbps[link] >= case.gbps for link in path)
    cost = case.cost(quote.servers, quote.workers, [case.link[list(path)].sum() for path in quote.paths])
    assert quote.value == near(case.gain[quote.size] - cost, abs=1e-9)
    crossed = np.bincount([link for path in quote.paths for link in path], minlength=len(case.link))
    assert quote.is_feasible == bool((crossed * case.gbps <= case.network.link_gbps).all())


@pytest.mark.parametrize("shape", GRAPHS)
def test_the_best_ring_is_that_of_trying_all(shape: str) -> None:
    for seed in range(500):
        case = Case(shape, seed)
        best, quote = case.try_all(), case.quote()
        assert quote.is_exact
        assert quote.value == near(best, abs=1e-9), seed
        assert quote.value <= quote.bound <= quote.value + 1e-8 or best == -INF
        check_ring(case, quote)


@settings(max_examples=200)
@given(shape=st.sampled_from(sorted(GRAPHS)), seed=st.integers(0, 2**32), limit=st.integers(0, 6))
def test_who_gives_up_says_so_and_the_bound_holds(shape: str, seed: int, limit: int) -> None:
    case = Case(shape, seed)
    best, quote = case.try_all(), case.quote(node_limit=limit)
    check_ring(case, quote)
    assert quote.value - 1e-9 <= best <= quote.bound + 1e-9
    if quote.is_exact:
        assert quote.value == near(best, abs=1e-9)


@settings(max_examples=200)
@given(shape=st.sampled_from(sorted(GRAPHS)), seed=st.integers(0, 2**32), floor=st.floats(0, 8))
def test_below_the_floor_there_is_no_ring(shape: str, seed: int, floor: float) -> None:
    case = Case(shape, seed)
    best, quote = case.try_all(), case.quote(floor=floor)
    assert quote.value == near(max(best, floor), abs=1e-9)
    assert quote.bound >= quote.value
    assert bool(quote.servers) == (quote.value > floor)


def price_on_tree(case: Case) -> float:
    """What the pricing of trees finds."""
    hierarchy = build_hierarchy(case.network)
    nodes, resources = hierarchy.capacity.shape
    unit, edge = np.zeros((nodes, resources)), np.zeros(nodes)
    unit[hierarchy.node_of_server] = case.unit
    owner = np.repeat(np.arange(nodes), np.diff(hierarchy.cut_start))
    edge[owner] = case.link[hierarchy.cut_links] + case.link[hierarchy.cut_links ^ 1]
    endless = np.full((nodes, resources), INF)
    market = Market(
        hierarchy.capacity * (1 + SLACK),
        hierarchy.width * (1 + SLACK),
        unit,
        edge,
        np.zeros(nodes + 1, np.int64),
        np.zeros(0, np.int64),
        np.zeros(0),
        hierarchy.width,
        endless,
        endless,
        np.zeros(nodes, np.bool_),
    )
    most = len(case.gain) - 1
    scratch = build_scratch(hierarchy.tree, most)
    return find_best_ring(
        hierarchy.tree, market, case.demand, case.gbps, most, case.gain, -INF, -1, 0, scratch
    )[0]


@settings(max_examples=300)
@given(seed=st.integers(0, 2**32))
def test_on_trees_it_is_the_answer_of_the_tree(seed: int) -> None:
    case = Case("tree", seed)
    assert case.quote().value == near(price_on_tree(case), rel=1e-8, abs=1e-9)


@settings(max_examples=60)
@given(
    snapshot=tiny_slots(loops=True) | contended_slots(loops=True),
    seed=st.integers(0, 2**32),
    rounds=st.integers(1, 40),
)
def test_no_prices_prove_less_than_the_optimum(snapshot: Snapshot, seed: int, rounds: int) -> None:
    best, _ = find_optimum(snapshot)
    problem = build_slot_problem(snapshot)
    rng = np.random.default_rng(seed)
    level = rng.choice((0, 0.1, 1))
    bound, unit, link = tighten(
        problem,
        build_orders(problem),
        np.full(len(problem.jobs), -INF),
        level * rng.random(problem.network.capacity.shape),
        level * rng.random(len(problem.network.link_gbps)),
        bound=INF,
        goal=rng.choice((-INF, 0.0, best)),
        rounds=rounds,
        out_of_time=lambda: False,
    )
    assert bound >= best - 1e-9
    assert (unit >= 0).all()
    assert (link >= 0).all()
