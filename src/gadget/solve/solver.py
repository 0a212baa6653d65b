"""The solver of `gadget`: a slot by classes for the bound, on the ground for the rings, until both meet."""

from dataclasses import dataclass

import numpy as np

from gadget.model.prices import Prices
from gadget.model.ring import Ring
from gadget.model.snapshot import Snapshot
from gadget.solve.classes import Classes, find_classes
from gadget.solve.clock import Clock
from gadget.solve.columns import generate_columns
from gadget.solve.common_price import find_common_prices, scale_prices
from gadget.solve.dive import TASTES, Taste, Wishes, Workshop
from gadget.solve.exact import Solver, solve_exactly
from gadget.solve.footprints import find_footprints
from gadget.solve.graph_bound import spread_cuts, tighten
from gadget.solve.ground import Sites, find_sites
from gadget.solve.held_rings import read_rings
from gadget.solve.hierarchy import Hierarchy, build_hierarchy
from gadget.solve.market import Floats, Integers, Orders
from gadget.solve.orders import build_idle_orders, build_orders
from gadget.solve.price_tags import read_prices, spread_prices, write_prices
from gadget.solve.quotes import Quotes, quote
from gadget.solve.relaxed import ClassPrices, RelaxedSlot, Reply
from gadget.solve.rerouting import mend_routes
from gadget.solve.slot import SlotProblem
from gadget.solve.stays import build_stays

# Jobs × servers above which a slot is large: its default gap is wider, and less is tried to close it.
LARGE = 100_000
GAP = 5e-4
LARGE_GAP = 1e-2
# What is tried by default, in steps of the search times places that each looks at.
_SEARCH_WORK = 1_500_000
_COLUMN_WORK = 60_000
_COLUMN_ROUNDS = 60
_GRAPH_ROUNDS = 150
_GRAPH_WORK = 1_000_000
# Rounds of ruin and recreate for each job, and at most.
_ROUNDS_A_JOB = 200
_MOST_ROUNDS = 20_000
_ENDLESS = 10**9
# Job–size–server triples up to which an integer program ends what is still open; with a time limit more, and
# then it takes a share of what is left. Without one its search tree is bounded, which is the same everywhere.
_EXACT_WORK = 4_000
_PATIENT = 50
_SHARE = 0.6
_EXACT_NODES = 400
# Bounds are raised by rounding; what is nearer than this share is proved best.
_PROVED = 1e-9
# Flows on a graph are a far larger program than counts on a tree.
_EXACT_GRAPH_WORK = 400


@dataclass(frozen=True, eq=False)
class SlotSolution:
    """Rings, what is proved of them in terms of the gains decided on, and the prices that prove it."""

    rings: tuple[Ring, ...]
    gain: float
    bound: float
    is_proved: bool
    prices: Prices
    quotes: Quotes
    """What rings would cost the jobs that have none."""


def solve_slot(
    problem: SlotProblem,
    snapshot: Snapshot,
    *,
    seed: int,
    gap: float | None = None,
    time_limit: float | None = None,
) -> SlotSolution:
    """Rings for a slot and a bound on what any rings could gain, apart by no more than `gap` if that can be.

    Without a time limit effort is counted, so the same input gives the same answer. With one, the same is
    done as far as there is time, and then the search goes on until it is over.
    """
    clock = Clock(time_limit)
    search = _Search(problem, snapshot, seed, clock, gap)
    search.start()
    for step in (search.dive, search.stir, search.generate, search.search, search.finish, search.go_on):
        if search.is_done():
            break
        step()
    return search.answer()


class _Search:
    """One slot under way: the best bound and the best rings so far."""

    def __init__(
        self, problem: SlotProblem, snapshot: Snapshot, seed: int, clock: Clock, gap: float | None
    ) -> None:
        self._snapshot, self._seed, self._clock = snapshot, seed, clock
        network = problem.network
        self._footprints = find_footprints(network)
        self._footprints.begin_slot()
        self._problem = problem = mend_routes(problem, self._footprints)
        self._hierarchy: Hierarchy = build_hierarchy(network)
        self._classes: Classes = find_classes(self._hierarchy)
        self._sites: Sites = find_sites(network)
        self._orders: Orders = build_orders(problem)
        on_ground, by_class = build_stays(
            problem, self._footprints, self._sites, self._hierarchy, self._classes
        )
        self._slot = RelaxedSlot(self._classes, self._orders, by_class)
        self._workshop = Workshop(network, self._sites, self._orders, on_ground)
        self._gap = gap if gap is not None else find_usual_gap(len(problem.jobs), network.servers)
        self._may_go_on = bool((on_ground.gain > 0).any())
        self._given: dict[int, Ring] = {}
        self._prices: ClassPrices
        self._bound = self._alone()
        self._wishes: Wishes

    def start(self) -> None:
        """Prices of the slot before, or one price a resource; the first bound and the first rings."""
        known = read_prices(self._snapshot, self._hierarchy, self._classes)
        if known is not None:
            self._take_prices(known, self._slot.ask(known))
            self._first_rings()
        if known is None or not self.is_done():
            # A bound that can fall by a small part of the gap asked for is good enough to begin with.
            enough = max(1e-5, self._gap / 20)
            if known is None:
                self._take_prices(*find_common_prices(self._slot, enough))
            else:
                self._take_prices(*scale_prices(self._slot, known, enough))
            self._first_rings()

    def _take_prices(self, prices: ClassPrices, reply: Reply) -> None:
        self._prices, self._wishes = prices, _wish(self._orders, reply)
        self._bound = min(self._bound, reply.bound)

    def _first_rings(self) -> None:
        if self._may_go_on:
            self._workshop.go_on(self._wishes, *self._bend(TASTES[0]), enough=self._goal())
        if not self._may_go_on or not self.is_done():
            self._dive(TASTES[0])

    def is_done(self) -> bool:
        """True when the gap is closed as far as asked for, or time is up."""
        return self._workshop.gain >= self._goal() or self._clock.is_over()

    def dive(self) -> None:
        """Round again with other tastes."""
        for taste in TASTES[1:]:
            self._dive(taste)
            if self.is_done():
                return

    def stir(self) -> None:
        """A short search: often enough, and cheaper than better prices."""
        self._improve(_SEARCH_WORK // 10)

    def generate(self) -> None:
        """Better prices and a better bound by column generation, then round at these."""
        work = len(self._problem.jobs) * len(self._classes.width)
        if work > _COLUMN_WORK and not self._clock.is_limited:
            return
        found = generate_columns(
            self._slot,
            self._prices,
            bound=self._bound,
            rounds=_COLUMN_ROUNDS,
            goal=self._reach(),
            clock=self._clock,
        )
        if found.bound < self._bound:
            self._bound, self._prices = found.bound, found.prices
        if not self._hierarchy.is_exact and not self.is_done():
            self._tighten()
        if not self.is_done():
            self._dive(TASTES[0])

    def _tighten(self) -> None:
        """On a graph rings have distances that cuts do not see: price them on the graph itself."""
        network = self._problem.network
        unit, link = spread_cuts(self._hierarchy, self._classes, self._prices)
        self._bound, _, _ = tighten(
            self._problem,
            self._orders,
            self._slot.stays.gain,
            unit,
            link,
            bound=self._bound,
            goal=self._reach(),
            rounds=max(10, min(_GRAPH_ROUNDS, _GRAPH_WORK // (len(self._problem.jobs) * network.servers))),
            out_of_time=self._clock.is_over,
        )

    def search(self) -> None:
        """Ruin and recreate, so many rounds."""
        self._improve(_SEARCH_WORK)

    def finish(self) -> None:
        """Solve small slots as an integer program: it moves the bound too."""
        work = len(self._problem.pair_job) * self._problem.network.servers
        most = _EXACT_WORK if self._hierarchy.is_exact else _EXACT_GRAPH_WORK
        if work > (most if not self._clock.is_limited else most * _PATIENT):
            return
        if not self._hierarchy.is_exact and any(active.job.loses_by_restart for active in self._problem.jobs):
            return  # on graphs it knows no rings that stay
        left = self._clock.left()
        answer = solve_exactly(
            self._problem.worthwhile(),
            time_limit=None if left is None else left * _SHARE,
            node_limit=_EXACT_NODES if left is None else None,
            gap=self._gap / 2,
            solver=Solver.HIGHS,
        )
        self._bound = min(self._bound, answer.bound)
        if self._problem.worth(answer.rings) > self._workshop.gain:
            self._adopt(answer.rings)

    def go_on(self) -> None:
        """Ruin and recreate for as long as there is time, if that was given."""
        if self._clock.is_limited:
            self._improve(_SEARCH_WORK, endless=True)

    def answer(self) -> SlotSolution:
        """The rings as routes, with what is left free given to jobs that lose nothing by it."""
        gain = self._workshop.gain
        idle = build_idle_orders(self._problem, self._orders)
        held = self._workshop.fill_idle(idle)
        rings = read_rings(self._problem, self._sites, self._footprints, held, self._given)
        bound = max(self._bound, gain)
        return SlotSolution(
            rings,
            gain,
            bound,
            gain >= bound * (1 - _PROVED),
            write_prices(self._snapshot, self._hierarchy, self._classes, self._prices),
            quote(self._slot, self._prices, self._workshop, self._hierarchy, self._smallest()),
        )

    def _adopt(self, rings: tuple[Ring, ...]) -> None:
        """Go on with rings that an integer program found."""
        problem = self._problem
        found = {}
        for ring in rings:
            job, rows = problem.number_of[ring.job], self._footprints.of(ring)
            assert rows is not None  # they were made on this network
            found[job] = rows, problem.worth((ring,))
        # A ring may be too long to be held: then what is there stays, and the bound is what was won.
        if self._workshop.adopt(found):
            self._given = {problem.number_of[ring.job]: ring for ring in rings}

    def _goal(self) -> float:
        """The gain at which the gap is closed as far as asked for."""
        return _find_goal(self._bound, self._gap)

    def _reach(self) -> float:
        """The bound at which the gap is closed as far as asked for."""
        return self._workshop.gain / (1 - self._gap) if self._gap < 1 else np.inf

    def _dive(self, taste: Taste) -> None:
        self._workshop.dive(self._wishes, *self._bend(taste), enough=self._goal())

    def _smallest(self) -> Integers:
        """The smallest ring of each job."""
        return np.array([active.job.min_workers for active in self._problem.jobs], dtype=np.int64)

    def _improve(self, work: int, *, endless: bool = False) -> None:
        places = self._sites.ground.parent.size
        few = min(_MOST_ROUNDS, _ROUNDS_A_JOB * len(self._problem.jobs)) * work // _SEARCH_WORK
        rounds = max(50, min(few, work // (places + 20)))
        self._workshop.improve(
            *self._bend(TASTES[0]),
            rounds=_ENDLESS if endless else rounds,
            margin=2e-4,
            goal=self._goal(),
            seed=self._seed,
            out_of_time=self._clock.is_over,
        )

    def _alone(self) -> float:
        """What all jobs would gain if each were alone."""
        best = np.zeros(len(self._problem.jobs))
        np.maximum.at(best, self._problem.pair_job, self._problem.pair_gain)
        return float(np.maximum(best, self._slot.stays.gain).sum())

    def _bend(self, taste: Taste) -> tuple[Floats, Floats]:
        """Prices on the ground, bent by a taste."""
        unit, link = spread_prices(self._hierarchy, self._classes, self._prices)
        network, sites = self._problem.network, self._sites
        widest = np.zeros(network.servers)
        ends = network.ends
        np.maximum.at(
            widest, ends[0][ends[0] < network.servers], network.link_gbps[ends[0] < network.servers]
        )
        most = float(self._orders.gbps.max(initial=0.0))
        share = np.minimum(widest, most) / most if most > 0 else np.zeros_like(widest)
        whole = (unit * network.capacity).sum(axis=1)
        extra = np.zeros(len(link))
        at_server = ends[0] < network.servers
        with np.errstate(divide="ignore", invalid="ignore"):
            own = whole[ends[0][at_server]] / network.link_gbps[at_server]
        np.maximum.at(extra, np.flatnonzero(at_server) // 2, np.where(np.isfinite(own), own, 0.0))
        ground_unit = np.zeros((sites.places, unit.shape[1]))
        ground_edge = np.zeros(sites.places)
        ground_unit[sites.place_of_server] = unit * (taste.level * (1 + taste.width * share))[:, None]
        ground_edge[sites.place_of_link] = link * taste.level + taste.crossing * extra
        return ground_unit, ground_edge


def find_usual_gap(jobs: int, servers: int) -> float:
    """The relative gap at which the search ends if none is asked for."""
    return LARGE_GAP if jobs * servers > LARGE else GAP


def is_closed(gain: float, bound: float, gap: float) -> bool:
    """True when the search would look no further."""
    return gain >= _find_goal(bound, gap)


def _find_goal(bound: float, gap: float) -> float:
    return bound * (1 - max(gap, _PROVED))


def _wish(orders: Orders, reply: Reply) -> Wishes:
    """Jobs by the share of their gain that is left after paying, those that would take nothing last."""
    gain = np.zeros(len(orders.most))
    takes = reply.size > 0
    gain[takes] = orders.gain[(orders.gain_start[:-1] + np.minimum(reply.size, orders.most))[takes]]
    with np.errstate(divide="ignore", invalid="ignore"):
        share = np.where(takes & (gain > 0), reply.value / gain, 0.0)
    return Wishes(np.argsort(-share, kind="stable"), np.minimum(reply.size, orders.most))
