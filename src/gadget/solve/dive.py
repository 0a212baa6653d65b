"""Price-directed rounding: jobs in order of what they are worth take their best rings in what is left.

Prices of the relaxation leave many rings equally good: any rack, any server, any number of crossings where
links cost nothing. What is left for later jobs is not equal, so among equals rings go where they do least
harm: on servers with the narrowest link that will do, and on few servers. Then prices fall, and jobs grow
into what is still free.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from gadget.solve.filling import fill, keep_running, place, scaled
from gadget.solve.ground import Sites
from gadget.solve.held import GIVEN, Held, build_held, copy_all, occupy_all
from gadget.solve.lagrangian import Stays
from gadget.solve.market import SLACK, Floats, Integers, Market, Orders, Scratch, build_scratch, find_height
from gadget.solve.network import Network
from gadget.solve.ruin import ruin_and_recreate

# Prices of the later passes, as shares of the first.
FALLING = (0.9, 0.6, 0.0)


@dataclass(frozen=True)
class Taste:
    """How prices are bent before rings are placed at them."""

    level: float
    """Factor on all prices."""
    width: float
    """Extra price of a worker on the server with the widest link, as a share."""
    crossing: float
    """Extra price of a whole server link, as a share of the whole server's."""


TASTES = (
    Taste(0.98, 0.10, 0.02),
    Taste(1.00, 0.02, 0.02),
    Taste(0.95, 0.30, 0.05),
    Taste(1.00, 0.00, 0.10),
    Taste(0.90, 0.10, 0.20),
)


@dataclass(frozen=True, eq=False)
class Wishes:
    """Who comes first, and what each job would take if it had the cluster to itself at the prices."""

    order: Integers
    size: Integers


class Workshop:
    """One slot on the ground: the rings held at present, the best seen, and the space to work in."""

    def __init__(self, network: Network, sites: Sites, orders: Orders, stays: Stays) -> None:
        self.network, self.sites, self.orders = network, sites, orders
        self.stays = stays._replace(gain=np.where(stays.gain > 0, stays.gain, -np.inf))
        self._idle_stays = stays._replace(gain=np.where(stays.gain == 0, 0.0, -np.inf))
        first = sites.ground
        self._scratch = _build_scratch(sites, int(orders.most.max(initial=1)))
        height = find_height(first.parent)
        running = np.diff(stays.start)
        stores = (build_held(orders, height, running) for _ in range(4))
        self.best, self._held, self._kept, self._spare = stores
        nodes = first.parent.shape[1]
        self._view = _bare_market(np.zeros((nodes, network.capacity.shape[1])), np.zeros(nodes))
        self._hopeful = np.flatnonzero(orders.most > 0)
        self._more = np.full(len(orders.most), -1, dtype=np.int64)
        self.gain = 0.0
        """Of the best rings so far."""

    def market(self, unit: Floats, edge: Floats) -> Market:
        """The empty ground at these prices."""
        sites, network = self.sites, self.network
        free = np.zeros((sites.places, network.capacity.shape[1]))
        free[sites.place_of_server] = network.capacity * (1 + SLACK)
        width = np.full(sites.places, -1.0)
        width[sites.place_of_link] = network.link_gbps[::2] * (1 + SLACK)
        pristine = np.full(sites.places, sites.is_one)
        return _bare_market(free, width)._replace(
            unit=unit, edge=edge, plenty=self._plenty(free), pristine=pristine
        )

    def _plenty(self, free: Floats) -> Floats:
        """What is free below each node in all."""
        if not self.sites.is_one:
            return free.copy()
        total = np.vstack([np.zeros((1, free.shape[1])), np.cumsum(free, axis=0)])
        return np.asarray(total[self.sites.ground.end[0]] - total[:-1])

    def go_on(self, wishes: "Wishes", unit: Floats, edge: Floats, *, enough: float) -> None:
        """Keep the rings that run, place the other jobs, then let all grow and move at falling prices."""
        market = self._begin(unit, edge)
        keep_running(self.sites.ground, self.sites.is_one, market, self.orders, self.stays, self._held)
        self._place_waiting(market, wishes)
        self._fill(scaled(market, 0.0), wishes.order)
        self._note()
        if self.gain < enough:
            # Who has more than it would buy now makes room for who has less.
            self._fill(market, wishes.order, wishes.size)
            self._place_waiting(market, wishes)
            self._settle(market, wishes, enough)

    def dive(self, wishes: "Wishes", unit: Floats, edge: Floats, *, enough: float) -> None:
        """From nothing: all jobs at the prices, then at falling ones until the gain is `enough`."""
        market = self._begin(unit, edge)
        self._place(market, wishes, wishes.order)
        self._settle(market, wishes, enough)

    def _settle(self, market: Market, wishes: "Wishes", enough: float) -> None:
        """Nothing stands idle that somebody can use; more passes while the gain is not `enough`."""
        for level in (0.0, *FALLING):
            self._fill(scaled(market, level), wishes.order)
            self._note()
            if self.gain >= enough:
                return

    def improve(
        self,
        unit: Floats,
        edge: Floats,
        *,
        rounds: int,
        margin: float,
        goal: float,
        seed: int,
        out_of_time: Callable[[], bool],
        batch: int = 500,
    ) -> None:
        """Ruin and recreate from the best rings so far."""
        done = 0
        while done < rounds and self.gain < goal and len(self._hopeful) and not out_of_time():
            market = self._begin(unit, edge)
            copy_all(self.best, self._held)
            occupy_all(self.sites.ground, self.sites.is_one, market, self.orders, self._held)
            levels = (scaled(market, 0.0), scaled(market, 0.5), scaled(market, 0.95))
            ruin_and_recreate(
                self.sites.ground,
                self.sites.is_one,
                levels,
                self._view,
                self.orders,
                self.stays,
                self._held,
                self._kept,
                self._spare,
                self.best,
                self._hopeful,
                seed + done,
                min(batch, rounds - done),
                margin,
                goal,
                self._scratch,
            )
            self.gain = float(self.best.gain.sum())
            done += batch

    def adopt(self, rings: dict[int, tuple[Integers, float]]) -> bool:
        """Take rings found elsewhere as the best: footprint and gain by job; False if there is no space."""
        best = self.best
        if any(len(rows) > best.start[job + 1] - best.start[job] for job, (rows, _) in rings.items()):
            return False
        best.count[:], best.size[:], best.gain[:] = 0, 0, 0.0
        for job, (rows, gain) in rings.items():
            entries = slice(int(best.start[job]), int(best.start[job]) + len(rows))
            best.place[entries], best.workers[entries], best.crossings[entries] = rows.T
            best.count[job], best.size[job] = len(rows), rows[:, 1].sum()
            best.gain[job], best.tree[job] = gain, GIVEN
        self.gain = float(best.gain.sum())
        return True

    def fill_idle(self, idle: Orders) -> Held:
        """The best rings, and in what they leave free those of jobs that gain nothing but lose nothing.

        Those of them that run go on before others look for a place.
        """
        sites = self.sites
        zero = np.zeros((sites.places, self.network.capacity.shape[1]))
        market = self.market(zero, np.zeros(sites.places))
        occupy_all(self.sites.ground, self.sites.is_one, market, self.orders, self.best)
        able = np.flatnonzero(np.maximum.reduceat(np.append(idle.gain, -np.inf), idle.gain_start[:-1]) == 0.0)
        jobs = able[self.best.count[able] == 0]
        jobs = np.concatenate(
            [jobs[self._idle_stays.gain[jobs] == 0], jobs[self._idle_stays.gain[jobs] != 0]]
        )
        place(
            sites.ground,
            sites.is_one,
            market,
            self._view,
            idle,
            self._idle_stays,
            self.best,
            jobs,
            self._more,
            -1e-300,
            self._scratch,
        )
        return self.best

    def _begin(self, unit: Floats, edge: Floats) -> Market:
        self._held.count[:] = 0
        self._held.size[:] = 0
        self._held.gain[:] = 0.0
        return self.market(unit, edge)

    def _place_waiting(self, market: Market, wishes: "Wishes") -> None:
        self._place(market, wishes, wishes.order[self._held.count[wishes.order] == 0])

    def _place(self, market: Market, wishes: "Wishes", jobs: Integers) -> None:
        place(
            self.sites.ground,
            self.sites.is_one,
            market,
            self._view,
            self.orders,
            self.stays,
            self._held,
            jobs,
            wishes.size,
            0.0,
            self._scratch,
        )

    def _fill(self, market: Market, order: Integers, wishes: Integers | None = None) -> None:
        fill(
            self.sites.ground,
            self.sites.is_one,
            market,
            self._view,
            self.orders,
            self.stays,
            self._held,
            self._spare,
            order,
            self._more if wishes is None else wishes,
            self._scratch,
        )

    def _note(self) -> None:
        """Keep the present rings if they are the best so far."""
        gain = float(self._held.gain.sum())
        if gain > self.gain * (1 + 1e-12):
            copy_all(self._held, self.best)
            self.gain = gain


def _bare_market(free: Floats, width: Floats) -> Market:
    nodes = len(width)
    return Market(
        free,
        width,
        np.zeros_like(free),
        np.zeros(nodes),
        np.zeros(nodes + 1, np.int64),
        np.zeros(0, np.int64),
        np.zeros(0),
        width.copy(),
        np.full_like(free, np.inf),
        np.full_like(free, np.inf),
        np.zeros(nodes, np.bool_),
    )


def _build_scratch(sites: Sites, most: int) -> Scratch:
    """Space enough for every tree of the ground: needs grow with the widest node and the depth."""
    found = [build_scratch(sites.tree(row), most) for row in range(len(sites.ground.parent))]
    widest = {
        name: max((getattr(scratch, name) for scratch in found), key=lambda array: array.size)
        for name in Scratch._fields
    }
    return Scratch(**widest)
