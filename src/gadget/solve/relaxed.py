"""The slot by classes: its rows, its jobs, and the bound that any prices prove."""

from dataclasses import dataclass

import numpy as np

from gadget.solve.classes import Classes
from gadget.solve.lagrangian import Answers, Stays, add_loads, answer_all
from gadget.solve.market import SLACK, Floats, Integers, Market, Orders, build_scratch

# Pricing passes over what is better by less than a hair, and sums round: bounds are raised by this share.
ROUNDING = 2e-10


@dataclass(frozen=True, eq=False)
class Cuts:
    """Rows that fractions of rings break and whole rings keep: shares of links, see `shares_of`."""

    node: Integers
    """Rising."""
    shares: Integers
    limit: Floats
    """How many shares all members of the class have together."""


NO_CUTS = Cuts(np.zeros(0, np.int64), np.zeros(0, np.int64), np.zeros(0))


@dataclass(frozen=True, eq=False)
class ClassPrices:
    """A price for each resource on each class of servers, for a Gbps on each class of links, for each cut."""

    unit: Floats
    edge: Floats
    cut: Floats

    def scaled(self, factor: float) -> "ClassPrices":
        """All prices times a factor."""
        return ClassPrices(self.unit * factor, self.edge * factor, self.cut * factor)


@dataclass(frozen=True, eq=False)
class Reply:
    """What the jobs take at some prices, and what that proves."""

    bound: float
    value: Floats
    """Of the best ring of each job, at least 0."""
    size: Integers
    server_load: Floats
    edge_load: Floats


class RelaxedSlot:
    """Jobs and classes of one slot; asked at prices it answers with a bound."""

    def __init__(self, classes: Classes, orders: Orders, stays: Stays) -> None:
        self.classes, self.orders, self.stays = classes, orders, stays
        self.server_limit = classes.capacity * classes.members[:, None]
        self.edge_limit: Floats = np.maximum(classes.gbps, 0.0) * classes.members
        self._free = classes.capacity * (1 + SLACK)
        self._width = classes.width * (1 + SLACK)
        self._scratch = build_scratch(classes.tree, int(orders.most.max(initial=1)))
        self._roomiest = np.full_like(classes.capacity, np.inf)
        self._untouched = np.zeros(len(classes.width), np.bool_)  # every class has to be met
        self._all = np.arange(len(orders.most))
        self._entries = 8 * len(orders.most) + 1024
        self.asked = 0
        """How often jobs were priced."""

    def market(self, prices: ClassPrices, cuts: Cuts = NO_CUTS) -> Market:
        """The empty cluster by classes at these prices."""
        nodes = len(self._width)
        return Market(
            self._free,
            self._width,
            prices.unit,
            prices.edge,
            np.searchsorted(cuts.node, np.arange(nodes + 1)).astype(np.int64),
            cuts.shares,
            prices.cut,
            self.classes.width,
            self._roomiest,
            self._roomiest,  # nobody asks with a wish here
            self._untouched,
        )

    def ask(self, prices: ClassPrices, cuts: Cuts = NO_CUTS) -> tuple[Reply, Answers]:
        """Price all jobs; those for whom no ring is worth anything take none."""
        answers = self._answer(self.market(prices, cuts), self._all, 0.0)
        self.asked += 1
        server_load = np.zeros_like(self.server_limit)
        edge_load = np.zeros(len(self.edge_limit))
        add_loads(self.orders, self._all, answers, server_load, edge_load)
        sold = (self.server_limit * prices.unit).sum() + (self.edge_limit * prices.edge).sum()
        bound = float(sold + cuts.limit @ prices.cut + answers.value.sum())
        bound += ROUNDING * abs(bound)
        return Reply(bound, answers.value, answers.size, server_load, edge_load), answers

    def quote(self, prices: ClassPrices, jobs: Integers) -> Answers:
        """The best ring of each of these jobs, even where it is not worth its price."""
        return self._answer(self.market(prices), jobs, -np.inf)

    def _answer(self, market: Market, jobs: Integers, least: float) -> Answers:
        tree, scratch = self.classes.tree, self._scratch
        while True:
            answers = self._space(len(jobs))
            if answer_all(tree, market, self.orders, self.stays, jobs, least, scratch, answers):
                return answers
            self._entries *= 4

    def common(self, prices: Floats) -> ClassPrices:
        """One price a resource wherever it is, links free of charge."""
        nodes = len(self.classes.width)
        unit = np.where(self.server_limit > 0, prices[None, :], 0.0)
        return ClassPrices(unit, np.zeros(nodes), np.zeros(0))

    def _space(self, jobs: int) -> Answers:
        return Answers(
            np.zeros(jobs),
            np.zeros(jobs, np.int64),
            np.zeros(jobs, np.bool_),
            np.zeros(jobs + 1, np.int64),
            np.zeros(self._entries, np.int64),
            np.zeros(self._entries, np.int64),
            np.zeros(self._entries, np.int64),
        )
