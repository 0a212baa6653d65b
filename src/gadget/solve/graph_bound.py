"""A bound on the slot that knows distances: Lagrangian prices on servers and directed links of any graph.

For any prices ≥ 0 no allocation gains more than capacity · prices + Σ_i max(0, best value of job i). Rings
are priced on the graph itself (`pricing_graph`), not on a tree of cuts. Prices of nested cuts, each link at
the sum over the cuts that it lies in (`spread_cuts`), give a bound no worse than the cuts do: whoever crosses
a cut pays for it here too. From there the prices go down along subgradients: what is oversold becomes dearer.
"""

from collections.abc import Callable

import numpy as np

from gadget.solve.classes import Classes
from gadget.solve.compiled import compiled
from gadget.solve.hierarchy import Hierarchy
from gadget.solve.market import SLACK, Booleans, Floats, Integers, Orders
from gadget.solve.network import Network
from gadget.solve.pricing_graph import find_ring
from gadget.solve.relaxed import ROUNDING, ClassPrices
from gadget.solve.slot import SlotProblem
from gadget.solve.ways import Ways, Wires, find_ways, find_wires

# Branches after which the pricing of a job gives up: its bound counts then, so a weak one costs little.
_NODE_LIMIT = 5_000
# The first step aims at a bound lower by this share. A step that lowers the bound makes the next ones longer,
# so many that do not make them shorter. Where less than the last share is promised, nothing is left to gain.
_AIM = 0.02
_LONGER, _SHORTER, _PATIENCE = 1.5, 0.7, 2
_ENOUGH = 1e-9
_MIX_STEPS = 20
_GOLDEN = (5**0.5 - 1) / 2
# Ways that differ by rounding alone are equally cheap.
_TIE = 1e-12


def tighten(
    problem: SlotProblem,
    orders: Orders,
    stays_gain: Floats,
    unit: Floats,
    link: Floats,
    *,
    bound: float,
    goal: float,
    rounds: int,
    out_of_time: Callable[[], bool],
) -> tuple[float, Floats, Floats]:
    """The least bound found from these prices on, at most `bound`, and the prices that prove it.

    `unit` prices each resource on each server, (servers × resources), `link` a Gbps on each directed link.
    `stays_gain` is what each job gains by going on with the ring it has, −∞ where it may not. Ends when the
    bound meets `goal`, after so many rounds, or out of time; the prices given come back if none proved less
    than `bound`.
    """
    slot = _GraphSlot(problem, orders, stays_gain)
    best, best_unit, best_link = bound, unit, link
    if rounds <= 0 or best <= goal or out_of_time():
        return best, best_unit, best_link
    # Slopes are taken in prices of a whole server, a whole link, so that units do not matter.
    at = slot.limits * np.concatenate([np.ravel(unit), link])
    found, slope = slot.ask(at, out_of_time)
    if not np.isfinite(found):
        return best, best_unit, best_link
    best = min(best, found)
    path = _Path(at, found, slope, goal)
    for _ in range(rounds - 1):
        if best <= goal or path.is_at_end():
            break
        at = path.step()
        found, slope = slot.ask(at, out_of_time)
        if found < best:
            best = found
            best_unit, best_link = slot.split(at)
        if out_of_time():
            break
        path.learn(at, found, slope)
    return best, best_unit, best_link


class _Path:
    """Prices on their way down: projected subgradient steps from the best prices, along a mixture of slopes.

    A slope on its own points from one spine to its neighbour and back. The mixture of the newest slope and
    all before it, each held against what it misses at the best prices, is what a bundle method with two cuts
    goes along; its first step is Polyak's.
    """

    def __init__(self, at: Floats, found: float, slope: Floats, goal: float) -> None:
        self._best, self._least = at, found
        self._slope, self._miss = slope, 0.0
        down = np.where((at <= 0) & (slope > 0), 0.0, slope)
        length = float(down @ down)
        aim = min(_AIM * abs(found), found - goal)
        self._step = aim / length if length > 0 else 0.0
        self._failed = 0

    def is_at_end(self) -> bool:
        """True when no prices are known to promise less."""
        if self._step <= 0:
            return True
        return -_promise(self._slope, self._miss, self._best, self._step) <= _ENOUGH * abs(self._least)

    def step(self) -> Floats:
        """The prices to ask for next."""
        return np.maximum(self._best - self._step * self._slope, 0.0)

    def learn(self, at: Floats, found: float, slope: Floats) -> None:
        """Take in what was found there."""
        if found < self._least:
            miss = 0.0
            self._miss = max(0.0, self._miss + found - self._least - float(self._slope @ (at - self._best)))
            self._best, self._least = at, found
            self._step *= _LONGER
            self._failed = 0
        else:
            miss = max(0.0, self._least - found - float(slope @ (self._best - at)))
            self._failed += 1
            if self._failed == _PATIENCE:
                self._step *= _SHORTER
                self._failed = 0
        share = self._mix(slope, miss)
        self._slope = share * slope + (1 - share) * self._slope
        self._miss = share * miss + (1 - share) * self._miss

    def _mix(self, slope: Floats, miss: float) -> float:
        """The share of the new slope in the mixture that promises least, by golden section: it is concave."""

        def promise(share: float) -> float:
            mixed = share * slope + (1 - share) * self._slope
            return _promise(mixed, share * miss + (1 - share) * self._miss, self._best, self._step)

        low, high = 0.0, 1.0
        left, right = high - _GOLDEN, low + _GOLDEN
        at_left, at_right = promise(left), promise(right)
        for _ in range(_MIX_STEPS):
            if at_left < at_right:
                low, left, at_left = left, right, at_right
                right = low + _GOLDEN * (high - low)
                at_right = promise(right)
            else:
                high, right, at_right = right, left, at_left
                left = high - _GOLDEN * (high - low)
                at_left = promise(left)
        return (low + high) / 2


def _promise(slope: Floats, miss: float, best: Floats, step: float) -> float:
    """How the bound would change by a step along the slope, its length counted against it."""
    move = np.maximum(best - step * slope, 0.0) - best
    return float(slope @ move + move @ move / (2 * step)) - miss


def spread_cuts(hierarchy: Hierarchy, classes: Classes, prices: ClassPrices) -> tuple[Floats, Floats]:
    """Prices on servers and directed links that prove at least what these prices of nested cuts prove.

    Half the price of a cut on every link out of it, half on every link into it, summed over cuts: together
    they sell for as much, and no ring pays less. Prices of shares are left out.
    """
    unit = prices.unit[classes.class_of[hierarchy.node_of_server]]
    owner = np.repeat(np.arange(len(hierarchy.gbps)), np.diff(hierarchy.cut_start))
    half = prices.edge[classes.class_of[owner]] / 2
    link = np.zeros(2 * hierarchy.links)
    np.add.at(link, hierarchy.cut_links, half)
    np.add.at(link, hierarchy.cut_links ^ 1, half)
    return unit, link


class _GraphSlot:
    """Jobs and network of one slot; asked at prices it answers with a bound and what is oversold."""

    def __init__(self, problem: SlotProblem, orders: Orders, stays_gain: Floats) -> None:
        network = problem.network
        self._network, self._orders, self._fits = network, orders, problem.fits
        self.limits = np.concatenate([network.capacity.ravel(), network.link_gbps])
        # Jobs for which the same links are open have the same ways.
        self._widths = np.append(np.unique(network.link_gbps), np.inf)
        self._level = np.searchsorted(self._widths * (1 + SLACK), orders.gbps).tolist()
        self._stays = [
            _read_stay(network, problem, job) if stays_gain[job] > 0 else None
            for job in range(len(problem.jobs))
        ]
        self._stay_gain = stays_gain
        most = int(orders.most.max(initial=0)) + 1
        self._server, self._workers = np.zeros(most, np.int64), np.zeros(most, np.int64)

    def split(self, whole: Floats) -> tuple[Floats, Floats]:
        """Prices of units and of Gbps, from prices of whole servers and links."""
        each = np.divide(whole, self.limits, out=np.zeros_like(whole), where=self.limits > 0)
        servers = self._network.capacity.size
        return each[:servers].reshape(self._network.capacity.shape), each[servers:]

    def ask(self, whole: Floats, out_of_time: Callable[[], bool]) -> tuple[float, Floats]:
        """The bound at these prices of whole servers and links, and its slope: what is left of each.

        Out of time it is ∞: a bound needs every job.
        """
        network, orders = self._network, self._orders
        unit, link = self.split(whole)
        ways: dict[int, Ways] = {}
        sent: dict[int, Floats] = {}
        load = np.zeros_like(unit)
        worker = unit @ orders.demand.T
        total = float(whole.sum())
        for job, level in enumerate(self._level):
            if out_of_time():
                return np.inf, np.zeros_like(whole)
            gbps = float(orders.gbps[job])
            if level not in ways:
                ways[level] = find_ways(network, gbps, link)
                sent[level] = np.zeros((network.servers, network.servers))
            own = np.ascontiguousarray(worker[:, job])
            floor, stay = 0.0, self._stays[job]
            if stay is not None:
                worth = self._stay_gain[job] - own[stay].sum() - gbps * _sum_tolls(ways[level], stay)
                floor, stay = (float(worth), stay) if worth > 0 else (0.0, None)
            first = orders.gain_start[job]
            _, bound, stops, _ = find_ring(
                own,
                self._fits[job],
                ways[level].cost,
                gbps,
                orders.gain[first : first + orders.most[job] + 1],
                floor,
                _NODE_LIMIT,
                job,
                self._server,
                self._workers,
            )
            total += bound
            if stops:
                around = self._server[:stops]
                load[around] += self._workers[:stops, None] * orders.demand[job]
            elif stay is not None:
                around = stay
                np.add.at(load, stay, orders.demand[job])
            else:
                continue
            np.add.at(sent[level], (around, np.roll(around, -1)), gbps)
        crossed = np.zeros(len(link))
        for level, demand in sent.items():
            is_open = network.link_gbps >= self._widths[level]
            _route(find_wires(network), link, is_open, ways[level], demand, crossed)
        taken = np.concatenate([load.ravel(), crossed])
        slope = np.where(self.limits > 0, 1 - taken / np.where(self.limits > 0, self.limits, 1.0), 0.0)
        return total + ROUNDING * abs(total), slope


def _read_stay(network: Network, problem: SlotProblem, job: int) -> Integers | None:
    """The servers of the workers that may go on, in their order; None if one is gone.

    A ring goes on with the same workers whatever its routes, so for a bound they count as the cheapest ones.
    """
    ring = problem.running[job]
    if ring is None:
        return None
    places = [network.node_number.get(name, network.servers) for name in ring.workers]
    return np.array(places, dtype=np.int64) if max(places) < network.servers else None


def _sum_tolls(ways: Ways, around: Integers) -> float:
    """Price of a Gbps around a ring."""
    return float(ways.cost[around, np.roll(around, -1)].sum())


@compiled
def _route(  # noqa: PLR0917 - a kernel takes arrays, not objects
    wires: Wires, price: Floats, is_open: Booleans, ways: Ways, demand: Floats, crossed: Floats
) -> None:
    """Add what flows between servers to the links of the cheapest ways; equally cheap ones share it.

    Any mixture of best answers is a subgradient, and one that shares swings less between parallel links.
    """
    servers, nodes = ways.cost.shape
    flow = np.zeros(nodes)
    for source in range(servers):
        cost, hops = ways.cost[source], ways.hops[source]
        flow[:] = 0.0
        busy = False
        for there in range(servers):
            if there != source and demand[source, there] > 0.0:
                flow[there] = demand[source, there]
                busy = True
        if not busy:
            continue
        order = np.argsort(hops, kind="mergesort")
        for place in range(nodes - 1, -1, -1):
            node = order[place]
            if flow[node] <= 0.0 or node == source:
                continue
            ties = 0
            for turn in range(2):
                share = flow[node] / max(ties, 1)
                for entry in range(wires.start[node], wires.start[node + 1]):
                    there, link = wires.there[entry], wires.link[entry] ^ 1  # the way in
                    tight = is_open[link] and cost[there] + price[link] <= cost[node] * (1 + _TIE)
                    if (tight and hops[there] + 1 == hops[node]) or link == ways.via[source, node]:
                        if turn == 0:
                            ties += 1
                        else:
                            crossed[link] += share
                            flow[there] += share
            flow[node] = 0.0
