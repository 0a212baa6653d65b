"""The slot by classes: its rows, its jobs, and the bound that any prices prove."""

from dataclasses import dataclass

import numpy as np

from gadget.solve.classes import Classes
from gadget.solve.lagrangian import Answers, Stays, answer_all, answer_at_one_price
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
    left_over: float
    """What is not taken of all there is, at the prices: how the bound changes as they all rise alike."""


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

    def ask(self, prices: ClassPrices) -> Reply:
        """Price all jobs; those for whom no ring is worth anything take none."""
        price = self._one_price(prices)
        if price is None:
            return self.ask_for_rings(prices)[0]
        answers = self._space(len(self._all), 0)
        answer_at_one_price(self.orders, self.stays, self._all, price, 0.0, answers)
        return self._reply(prices, NO_CUTS, answers)

    def ask_for_rings(self, prices: ClassPrices, cuts: Cuts = NO_CUTS) -> tuple[Reply, Answers]:
        """Price all jobs, and tell the rings that they take."""
        answers = self._answer(self.market(prices, cuts), self._all, 0.0)
        return self._reply(prices, cuts, answers), answers

    def quote(self, prices: ClassPrices, jobs: Integers) -> Answers:
        """The best ring of each of these jobs, even where it is not worth its price."""
        return self._answer(self.market(prices), jobs, -np.inf)

    def quote_at_one_price(self, prices: ClassPrices, jobs: Integers) -> tuple[Floats, Answers] | None:
        """The same without the places, and the price of each resource; None where prices differ by place."""
        price = self._one_price(prices)
        if price is None:
            return None
        answers = self._space(len(jobs), 0)
        answer_at_one_price(self.orders, self.stays, jobs, price, -np.inf, answers)
        return price, answers

    def _one_price(self, prices: ClassPrices) -> Floats | None:
        """The price of each resource if it is the same wherever there is any, and links cost nothing."""
        if prices.edge.any() or prices.cut.any():
            return None
        price: Floats = prices.unit.max(axis=0, initial=0.0)
        same = (prices.unit == price) | (self.server_limit == 0)
        return price if same.all() else None

    def _reply(self, prices: ClassPrices, cuts: Cuts, answers: Answers) -> Reply:
        orders = self.orders
        gain = orders.gain[orders.gain_start[:-1] + np.minimum(answers.size, orders.most)]
        gain = np.where(answers.stays, self.stays.gain, np.where(answers.size > 0, gain, 0.0))
        sold = (self.server_limit * prices.unit).sum() + (self.edge_limit * prices.edge).sum()
        sold += cuts.limit @ prices.cut
        bound = float(sold + answers.value.sum())
        bound += ROUNDING * abs(bound)
        return Reply(bound, answers.value, answers.size, float(sold - (gain - answers.value).sum()))

    def _answer(self, market: Market, jobs: Integers, least: float) -> Answers:
        tree, scratch = self.classes.tree, self._scratch
        while True:
            answers = self._space(len(jobs), self._entries)
            if answer_all(tree, market, self.orders, self.stays, jobs, least, scratch, answers):
                return answers
            self._entries *= 4

    def common(self, prices: Floats) -> ClassPrices:
        """One price a resource wherever it is, links free of charge."""
        nodes = len(self.classes.width)
        unit = np.where(self.server_limit > 0, prices[None, :], 0.0)
        return ClassPrices(unit, np.zeros(nodes), np.zeros(0))

    @staticmethod
    def _space(jobs: int, entries: int) -> Answers:
        return Answers(
            np.zeros(jobs),
            np.zeros(jobs, np.int64),
            np.zeros(jobs, np.bool_),
            np.zeros(jobs + 1, np.int64),
            np.zeros(entries, np.int64),
            np.zeros(entries, np.int64),
            np.zeros(entries, np.int64),
        )
