"""Column generation: the linear program over all feasible rings, solved with the few that matter.

Master: max Σ π φ over rings, Σ_ω φ_{iω} ≤ 1 per job, capacity per class of servers and resource, Gbps per
class of links, and cuts. Its prices tell each job its best ring; rings that the master does not have yet join
it. The Lagrangian bound of every round is valid, and at the end equals the master's value. Prices are asked
for between the best so far and the master's, which swing less than the master's alone.
"""

from dataclasses import dataclass

import numpy as np
from scipy import sparse

from gadget.solve.clock import Clock
from gadget.solve.lagrangian import Answers
from gadget.solve.lp import Master
from gadget.solve.market import Floats, Integers
from gadget.solve.pricing_tree import shares_of
from gadget.solve.relaxed import NO_CUTS, ClassPrices, Cuts, RelaxedSlot

# How far from the best prices towards the master's the next question is put.
_STEP = 0.7
# Share cuts of a link are looked for up to this many shares.
_MOST_SHARES = 4
_CUT_ROUNDS = 4


@dataclass(frozen=True, eq=False)
class Relaxation:
    """The best bound, and its prices with those of cuts made part of the links'."""

    bound: float
    prices: ClassPrices


def generate_columns(
    slot: RelaxedSlot, start: ClassPrices, *, bound: float, rounds: int, goal: float, clock: Clock
) -> Relaxation:
    """Improve a bound by column generation until it meets `goal` or nothing changes any more."""
    pool = _Pool(slot)
    best, best_bound = start, bound
    asked = start
    cut_rounds = 0
    for _ in range(rounds):
        reply, answers = slot.ask_for_rings(asked, pool.cuts)
        if reply.bound < best_bound:
            best, best_bound = asked, reply.bound
        fresh = pool.add(answers)
        if best_bound <= goal or clock.is_over():
            break
        solved = pool.solve(clock.left())
        if solved is not None and solved.value >= best_bound * (1 - 1e-7):
            known = pool.cuts
            if cut_rounds == _CUT_ROUNDS or not pool.add_cuts():
                break
            best = _with_new_cuts(best, known, pool.cuts)
            cut_rounds += 1
            solved = pool.solve(clock.left())
        if solved is None:
            break
        # Where even the mixed prices bring nothing new, only the master's own can.
        asked = _between(best, solved.prices, _STEP) if fresh else solved.prices
    return Relaxation(best_bound, _fold_in(slot, best, pool.cuts))


@dataclass(frozen=True, eq=False)
class _Solved:
    """The master's value and its prices."""

    value: float
    prices: ClassPrices


class _Pool:
    """The columns found so far, and the master over them."""

    def __init__(self, slot: RelaxedSlot) -> None:
        self.slot = slot
        self.cuts: Cuts = NO_CUTS
        self._jobs = len(slot.orders.most)
        self._nodes, self._resources = slot.server_limit.shape
        limits = np.concatenate([np.ones(self._jobs), slot.server_limit.ravel(), slot.edge_limit])
        finite = slot.orders.gain[np.isfinite(slot.orders.gain)]
        self._master = Master(limits, float(finite.max(initial=0.0)))
        self._seen: set[bytes] = set()
        self._job_of: list[int] = []
        self._gains: list[Floats] = []
        self._columns: list[sparse.csc_matrix] = []
        self._crossings: list[sparse.csc_matrix] = []
        self._values = np.zeros(0)

    def add(self, answers: Answers) -> int:
        """Add the rings that are new; how many there were."""
        slot, fresh = self.slot, []
        jobs = np.flatnonzero(answers.size > 0)
        for job in jobs.tolist():
            first, last = answers.start[job], answers.start[job + 1]
            key = (
                job.to_bytes(4, "little")
                + answers.node[first:last].tobytes()
                + answers.workers[first:last].tobytes()
                + answers.crossings[first:last].tobytes()
                + answers.stays[job].tobytes()
            )
            if key not in self._seen:
                self._seen.add(key)
                fresh.append(job)
        if not fresh:
            return 0
        orders = slot.orders
        picked = np.array(fresh, dtype=np.int64)
        gains = np.where(
            answers.stays[picked],
            slot.stays.gain[picked],
            orders.gain[orders.gain_start[picked] + answers.size[picked]],
        )
        counts = answers.start[picked + 1] - answers.start[picked]
        entries = np.concatenate([np.arange(answers.start[j], answers.start[j + 1]) for j in fresh])
        column = np.repeat(np.arange(len(fresh)), counts)
        owner = picked[column]
        node, workers, crossings = answers.node[entries], answers.workers[entries], answers.crossings[entries]
        resource = np.arange(self._resources)
        server_rows = self._jobs + node[:, None] * self._resources + resource[None, :]
        loads = workers[:, None] * orders.demand[owner]
        edge_rows = self._jobs + self._nodes * self._resources + node
        crossed = sparse.csc_matrix(
            (crossings.astype(float), (node, column)), shape=(self._nodes, len(fresh))
        )
        cut_rows, cut_columns, cut_values = self._cut_entries(crossed, picked)
        rows = np.concatenate([picked, server_rows.ravel(), edge_rows, cut_rows])
        columns = np.concatenate(
            [np.arange(len(fresh)), np.repeat(column, self._resources), column, cut_columns]
        )
        values = np.concatenate(
            [np.ones(len(fresh)), loads.ravel(), crossings * orders.gbps[owner], cut_values]
        )
        height = self._jobs + self._nodes * (self._resources + 1) + len(self.cuts.node)
        matrix = sparse.csc_matrix((values, (rows, columns)), shape=(height, len(fresh)))
        matrix.eliminate_zeros()
        self._master.add_columns(gains, matrix)
        self._job_of += fresh
        self._crossings.append(crossed)
        self._gains.append(gains)
        self._columns.append(matrix)
        return len(fresh)

    def solve(self, time_limit: float | None) -> _Solved | None:
        """Solve the master; None if time is up."""
        found = self._master.solve(time_limit)
        if found is None:
            return None
        value, self._values, prices = found
        prices = prices[self._jobs :]
        servers = self._nodes * self._resources
        unit = prices[:servers].reshape(self._nodes, self._resources)
        edge, cut = prices[servers : servers + self._nodes], prices[servers + self._nodes :]
        return _Solved(value, ClassPrices(unit, edge, cut))

    def add_cuts(self) -> bool:
        """Add the share cuts that the master's point breaks; False if there are none."""
        classes, orders = self.slot.classes, self.slot.orders
        crossed = sparse.hstack(self._crossings, format="coo")
        job = np.array(self._job_of, dtype=np.int64)[crossed.col]
        width = classes.width[crossed.row]
        known = set(zip(self.cuts.node.tolist(), self.cuts.shares.tolist(), strict=True))
        found = []
        for shares in range(1, _MOST_SHARES + 1):
            taken = _count_shares(orders.gbps[job], width, shares) * crossed.data * self._values[crossed.col]
            used = np.bincount(crossed.row, weights=taken, minlength=self._nodes)
            limit = classes.members * classes.lanes * shares
            broken = np.flatnonzero(
                (used > limit * (1 + 1e-6) + 1e-9) & (classes.lanes > 0) & (classes.width > 0)
            )
            found += [
                (int(node), shares, float(limit[node])) for node in broken if (int(node), shares) not in known
            ]
        if not found:
            return False
        # The master is built anew: cuts come seldom, and rows must stay in order of their nodes.
        everything = sorted(
            [
                *zip(
                    self.cuts.node.tolist(), self.cuts.shares.tolist(), self.cuts.limit.tolist(), strict=True
                ),
                *found,
            ]
        )
        node, shares_, limit_ = zip(*everything, strict=True)
        self.cuts = Cuts(np.array(node, np.int64), np.array(shares_, np.int64), np.array(limit_, np.float64))
        slot = self.slot
        limits = np.concatenate(
            [np.ones(self._jobs), slot.server_limit.ravel(), slot.edge_limit, self.cuts.limit]
        )
        gains = np.concatenate(self._gains)
        self._master = Master(limits, float(gains.max(initial=0.0)))
        height = self._jobs + self._nodes * (self._resources + 1)
        plain = sparse.hstack([matrix[:height] for matrix in self._columns], format="csc")
        all_crossed = sparse.hstack(self._crossings, format="csc")
        rows, columns, values = self._cut_entries(all_crossed, np.array(self._job_of, dtype=np.int64))
        extra = sparse.csc_matrix(
            (values, (rows - height, columns)), shape=(len(self.cuts.node), plain.shape[1])
        )
        self._columns = [sparse.csc_matrix(sparse.vstack([plain, extra], format="csc"))]
        self._crossings, self._gains = [all_crossed], [gains]
        self._master.add_columns(gains, self._columns[0])
        return True

    def _cut_entries(self, crossed: sparse.csc_matrix, jobs: Integers) -> tuple[Integers, Integers, Floats]:
        """Rows, columns and values of what these columns take of the cuts."""
        if not len(self.cuts.node):
            return np.zeros(0, np.int64), np.zeros(0, np.int64), np.zeros(0)
        rows, columns, values = [], [], []
        by_node = crossed.tocsr()
        width = self.slot.classes.width
        base = self._jobs + self._nodes * (self._resources + 1)
        for cut, (node, shares) in enumerate(zip(self.cuts.node, self.cuts.shares, strict=True)):
            row = by_node[[int(node)]].tocoo()
            taken = _count_shares(self.slot.orders.gbps[jobs[row.col]], width[node], int(shares)) * row.data
            rows.append(np.full(len(row.col), base + cut, dtype=np.int64))
            columns.append(row.col.astype(np.int64))
            values.append(taken)
        return np.concatenate(rows), np.concatenate(columns), np.concatenate(values)


def _count_shares(gbps: Floats, width: Floats | float, shares: int) -> Floats:
    widths = np.broadcast_to(np.asarray(width, dtype=np.float64), gbps.shape)
    return np.array([shares_of(b, w, shares) for b, w in zip(gbps, widths, strict=True)], dtype=np.float64)


def _between(one: ClassPrices, other: ClassPrices, step: float) -> ClassPrices:
    return ClassPrices(
        one.unit + step * (other.unit - one.unit),
        one.edge + step * (other.edge - one.edge),
        one.cut + step * (other.cut - one.cut),
    )


def _fold_in(slot: RelaxedSlot, prices: ClassPrices, cuts: Cuts) -> ClassPrices:
    """Prices without cuts: a ring as wide as a link takes all its shares, a Gbps its part of them."""
    edge = prices.edge.copy()
    if len(cuts.node):
        np.add.at(edge, cuts.node, prices.cut * cuts.shares / slot.classes.width[cuts.node])
    return ClassPrices(prices.unit, edge, np.zeros(0))


def _with_new_cuts(prices: ClassPrices, known: Cuts, cuts: Cuts) -> ClassPrices:
    """The prices with a price of 0 for cuts that are new; a bound at them holds with or without."""
    old = dict(zip(zip(known.node.tolist(), known.shares.tolist(), strict=True), prices.cut, strict=True))
    named = zip(cuts.node.tolist(), cuts.shares.tolist(), strict=True)
    return ClassPrices(prices.unit, prices.edge, np.array([old.get(cut, 0.0) for cut in named]))
