"""The best ring at given prices on any graph: exact where the search ends, honest where it gives up.

A ring of κ workers over distinct servers s_1 … s_m costs its workers' prices and b · (cheapest way from each
server to the next, around the cycle); inside one server it costs no links. Links narrower than b are closed.
A ring that crosses a directed link twice needs 2b there. We do not ask for that, so the value is no less than
that of the best ring that is feasible on its own, which is what a bound needs; `is_feasible` tells of the
ring that was found.

Servers are ranked by the least that a worker on them can cost. For each server as the first of its ring,
cheapest closed walks over the servers ranked after it, which may visit a server twice, bound what any ring
can do (a dynamic program over workers, as for routes of vehicles); depth-first search along these bounds
finds rings. A second bound rules out what walks promise by visiting the cheapest servers over and over: every
server is used once, and pays half its cheapest way in and half its cheapest way out.
"""
# Kernels take arrays, not objects, and stay in one loop nest where a call would cost more than it does.
# ruff: noqa: PLR0912, PLR0915, PLR0917

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from gadget.solve.compiled import compiled
from gadget.solve.market import SLACK, Booleans, Floats, Integers
from gadget.solve.network import Network
from gadget.solve.ways import Ways, find_ways, read_path

# Branches of the search after which it gives up, and steps of the dynamic program after which the walks of
# further first servers are not looked at.
NODE_LIMIT = 20_000
WALK_LIMIT = 50_000_000
# A promise that is above the best by rounding alone is not worth a look; `bound` has it.
_HAIR = 1e-10


@dataclass(frozen=True)
class GraphQuote:
    """The best ring found at the prices, and what is proved of all others."""

    value: float
    """Gain less cost of the ring; the floor that was asked for where no ring is worth more."""
    bound: float
    """No ring is worth more than this, and than the floor."""
    is_exact: bool
    """True when the search ended: the bound is the value, up to rounding."""
    is_feasible: bool
    """True when the ring would fit on the empty cluster; False also where there is none."""
    servers: tuple[int, ...]
    """In the order of the ring; none where there is no ring."""
    workers: tuple[int, ...]
    """How many on each of them."""
    paths: tuple[tuple[int, ...], ...]
    """Directed links from each of them to the next; none in a ring of one server."""

    @property
    def size(self) -> int:
        """κ, the number of workers; 0 where there is no ring."""
        return sum(self.workers)


def quote_on_graph(
    network: Network,
    demand: Floats,
    gbps: float,
    gain: Floats,
    *,
    unit: Floats,
    link: Floats,
    floor: float = -np.inf,
    node_limit: int = NODE_LIMIT,
) -> GraphQuote:
    """The best ring of a job on the empty cluster, if worth more than `floor`.

    `gain` is that of sizes 0, 1, …, −∞ for sizes it may not have; `unit` prices each resource on each server,
    (servers × resources), `link` a Gbps on each directed link. No price may be below 0.
    """
    ways = find_ways(network, gbps, link)
    fit = count_fits(network, demand, len(gain) - 1)
    worker = np.asarray(unit @ demand, dtype=np.float64)
    return quote_along(
        network, ways, fit=fit, gbps=gbps, gain=gain, worker=worker, floor=floor, node_limit=node_limit
    )


def count_fits(network: Network, demand: Floats, most: int) -> Integers:
    """How many workers each empty server holds, at most `most`."""
    needed = demand > 0
    space = (network.capacity[:, needed] * (1 + SLACK) / demand[needed]).min(axis=1, initial=most)
    return np.asarray(np.floor(space), dtype=np.int64)


def quote_along(
    network: Network,
    ways: Ways,
    *,
    fit: Integers,
    gbps: float,
    gain: Floats,
    worker: Floats,
    floor: float = -np.inf,
    node_limit: int = NODE_LIMIT,
    turn: int = 0,
) -> GraphQuote:
    """As `quote_on_graph`, with ways known and the price of a worker on each server.

    Servers that are equally good are tried from number `turn` on.
    """
    most = len(gain) - 1
    server, workers = np.zeros(most + 1, np.int64), np.zeros(most + 1, np.int64)
    value, bound, stops, is_exact = find_ring(
        worker, fit, ways.cost, gbps, gain, floor, node_limit, turn, server, workers
    )
    servers = tuple(server[:stops].tolist())
    paths: list[tuple[int, ...]] = []
    if stops > 1:
        paths = [
            read_path(network, ways, here, there)
            for here, there in zip(servers, (*servers[1:], servers[0]), strict=True)
        ]
    crossings = np.bincount([link for path in paths for link in path], minlength=len(network.link_gbps))
    fits = bool((crossings * gbps <= network.link_gbps * (1 + SLACK)).all())
    return GraphQuote(
        value, bound, is_exact, stops > 0 and fits, servers, tuple(workers[:stops].tolist()), tuple(paths)
    )


class _Field(NamedTuple):
    """Servers that a ring of several can use, by rank: the cheapest worker comes first."""

    unit: Floats
    fit: Integers
    toll: Floats
    """What a hop from one to another costs."""
    least_in: Floats
    least_out: Floats
    each: Floats
    """The least that a worker there can cost, with its share of half the cheapest ways in and out."""


@compiled
def find_ring(
    unit: Floats,
    fit: Integers,
    cost: Floats,
    gbps: float,
    gain: Floats,
    floor: float,
    node_limit: int,
    turn: int,
    out_server: Integers,
    out_workers: Integers,
) -> tuple[float, float, int, bool]:
    """The kernel of `quote_along`: value, bound, how many servers (they are in `out_…`), whether exact."""
    most = len(gain) - 1
    best, stops = floor, 0
    scale = 0.0
    for size in range(1, most + 1):
        if gain[size] > -np.inf:
            scale = max(scale, abs(gain[size]))
    hair = _HAIR * scale
    for place in range(len(unit)):
        server = (place + turn) % len(unit)
        for size in range(1, min(most, fit[server]) + 1):
            value = gain[size] - size * unit[server]
            if value > best:
                best, stops = value, 1
                out_server[0], out_workers[0] = server, size
    field, rank = _rank(unit, fit, cost, gbps, turn)
    count = len(rank)
    bound, is_exact = best, True
    nodes, steps = 0, 0
    # Costs of closing a walk with so many workers more, and what that promises.
    rest = np.zeros((most + 1, count))
    fill = np.zeros((most + 1, count))
    hope = np.zeros((most + 1, count))
    path, held = np.zeros(most + 1, np.int64), np.zeros(most + 1, np.int64)
    spent, used = np.zeros(most + 1), np.zeros(most + 1, np.int64)
    last, last_child = np.zeros(most + 1), np.zeros(most + 1, np.int64)
    is_used = np.zeros(count, np.bool_)
    for first in range(count - 1):
        ceiling = _fill_up(field, gain, first, is_used, 0, 0.0)
        if ceiling <= best + hair:  # and those after it promise no more
            bound = max(bound, ceiling)
            break
        steps += most * (count - first) * (count - first)
        if steps > WALK_LIMIT:
            bound, is_exact = max(bound, ceiling), False
            break
        _walk(field, gain, first, rest, fill, hope)
        is_used[first] = True
        path[0] = first
        for workers in range(1, min(field.fit[first], most - 1) + 1):
            paid = workers * field.unit[first]
            promise = min(hope[workers, first] - paid, ceiling)
            if promise <= best + hair:
                bound = max(bound, promise)
                continue
            if nodes >= node_limit:
                bound, is_exact = max(bound, promise), False
                continue
            depth = 0
            held[0], spent[0], used[0] = workers, paid, workers
            last[0], last_child[0] = np.inf, -1
            while depth >= 0:
                here, so_far = path[depth], used[depth]
                after, after_child = last[depth], last_child[depth]
                promise, child = _next_child(
                    field, hope, first, here, so_far, spent[depth], after, after_child, is_used
                )
                if promise <= best + hair:
                    bound = max(bound, promise)
                    if depth > 0:
                        is_used[path[depth]] = False
                    depth -= 1
                    continue
                if nodes >= node_limit:
                    # What is left here, and on the way back to the first server.
                    bound, is_exact = max(bound, promise), False
                    if depth > 0:
                        is_used[path[depth]] = False
                    depth -= 1
                    continue
                nodes += 1
                last[depth], last_child[depth] = promise, child
                server, extra = child // most, child % most + 1
                depth += 1
                path[depth], held[depth] = server, extra
                used[depth] = used[depth - 1] + extra
                spent[depth] = (
                    spent[depth - 1] + field.toll[path[depth - 1], server] + extra * field.unit[server]
                )
                last[depth], last_child[depth] = np.inf, -1
                is_used[server] = True
                value = gain[used[depth]] - spent[depth] - field.toll[server, first]
                if value > best:
                    best, stops = value, depth + 1
                    for place in range(depth + 1):
                        out_server[place], out_workers[place] = rank[path[place]], held[place]
                open_cost = spent[depth] + (field.least_out[server] + field.least_in[first]) / 2
                limit = min(promise, _fill_up(field, gain, first + 1, is_used, used[depth], open_cost))
                if limit <= best + hair:
                    bound = max(bound, limit)
                    is_used[server] = False
                    depth -= 1
        is_used[first] = False
    return best, max(bound, best), stops, is_exact


@compiled
def _rank(unit: Floats, fit: Integers, cost: Floats, gbps: float, turn: int) -> tuple[_Field, Integers]:
    """Servers that can be in a ring with others, the cheapest worker first."""
    servers = len(unit)
    least_in, least_out = np.full(servers, np.inf), np.full(servers, np.inf)
    for here in range(servers):
        if fit[here] <= 0:
            continue
        for there in range(servers):
            if here != there and fit[there] > 0 and cost[here, there] < np.inf:
                toll = gbps * cost[here, there]
                least_out[here] = min(least_out[here], toll)
                least_in[there] = min(least_in[there], toll)
    chosen = np.zeros(servers, np.int64)
    count = 0
    for place in range(servers):
        server = (place + turn) % servers
        if fit[server] > 0 and least_in[server] + least_out[server] < np.inf:
            chosen[count] = server
            count += 1
    chosen = chosen[:count]
    each = np.zeros(count)
    for place in range(count):
        server = chosen[place]
        each[place] = unit[server] + (least_in[server] + least_out[server]) / (2 * fit[server])
    order = np.argsort(each, kind="mergesort")
    rank = chosen[order]
    toll = np.full((count, count), np.inf)
    for here in range(count):
        for there in range(count):
            if here != there and cost[rank[here], rank[there]] < np.inf:
                toll[here, there] = gbps * cost[rank[here], rank[there]]
    return _Field(unit[rank], fit[rank], toll, least_in[rank], least_out[rank], each[order]), rank


@compiled
def _fill_up(field: _Field, gain: Floats, first: int, is_used: Booleans, workers: int, paid: float) -> float:
    """No more is gained by one or more workers beside those paid for, on servers from rank `first` on."""
    best = -np.inf
    size, most = workers, len(gain) - 1
    for server in range(first, len(field.each)):
        if is_used[server]:
            continue
        for _ in range(field.fit[server]):
            size += 1
            if size > most:
                return best
            paid += field.each[server]
            best = max(best, gain[size] - paid)
    return best


@compiled
def _walk(field: _Field, gain: Floats, first: int, rest: Floats, fill: Floats, hope: Floats) -> None:
    """Cheapest closed walks over `first` and servers ranked after it, by the workers that they still place.

    rest[k, t]: from t back to `first` with k workers more, the next of them not on t, none on `first`; a
    server may be met again later on. hope[k, t]: the most that a walk with k workers so far and now at t can
    gain, less what it will still pay.
    """
    count, most = len(field.each), len(gain) - 1
    for here in range(first + 1, count):
        rest[0, here] = field.toll[here, first]
    rest[0, first] = np.inf  # alone in one server: not a walk
    for more in range(1, most):
        for there in range(first + 1, count):
            least = np.inf
            for part in range(1, min(more, field.fit[there]) + 1):
                least = min(least, part * field.unit[there] + rest[more - part, there])
            fill[more, there] = least
        for here in range(first, count):
            least = np.inf
            toll = field.toll[here]
            for there in range(first + 1, count):  # the way from a server to itself costs ∞
                least = min(least, toll[there] + fill[more, there])
            rest[more, here] = least
    for here in range(first, count):
        for size in range(1, most + 1):
            best = -np.inf
            for total in range(size, most + 1):
                best = max(best, gain[total] - rest[total - size, here])
            hope[size, here] = best


@compiled
def _next_child(
    field: _Field,
    hope: Floats,
    first: int,
    here: int,
    used: int,
    spent: float,
    last: float,
    last_child: int,
    is_used: Booleans,
) -> tuple[float, int]:
    """The most promising next server and workers on it after the last one taken; −∞ if none is left."""
    most = hope.shape[0] - 1
    best, child = -np.inf, -1
    for server in range(first + 1, len(field.each)):
        if is_used[server]:
            continue
        paid = spent + field.toll[here, server]
        for extra in range(1, min(field.fit[server], most - used) + 1):
            paid += field.unit[server]
            promise = hope[used + extra, server] - paid
            if promise > best and promise <= last:
                number = server * most + extra - 1
                if promise < last or number > last_child:
                    best, child = promise, number
    return best, child
