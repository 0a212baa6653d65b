"""The exact slot program on a tree: counts by server, one-hot sizes, a link used with workers on both sides.

On a tree the loads of a ring follow from its counts alone (problem.md §3), so that ring positions and flows
are not needed. Variables, in this order:

χ_p        pair p = (i, κ) is chosen
y_{i,u}    workers of job i on server u
w_{i,e}    tree edge e has workers of i on both sides: b_i is reserved there, once in each direction
a_{i,e}    all workers of i are below e
σ_i        job i goes on with the ring it has, where that gains another than a new ring of its size would

Per job and edge one of three holds: none below (w = a = 0), all below (a = 1), both sides (w = 1).
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from gadget.model.ring import Ring
from gadget.solve.closing import Parents
from gadget.solve.count_rows import add_choice_rows, add_server_rows
from gadget.solve.lp import LinearProgram
from gadget.solve.network import Network
from gadget.solve.rows import RowFamilies
from gadget.solve.slot import SlotProblem

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class TreeProgram:
    """The program with what its solutions are read by."""

    program: LinearProgram
    problem: SlotProblem
    parents: Parents
    stayers: Integers
    """Jobs that have a σ; these variables come last."""

    def stays(self, values: Floats) -> Iterator[Ring]:
        """The rings that go on in a solution."""
        chosen = values[len(values) - len(self.stayers) :] > 0.5
        for job in self.stayers[chosen].tolist():
            ring = self.problem.running[job]
            assert ring is not None  # only such have a σ
            yield ring

    def counts(self, values: Floats) -> Integers:
        """y of a solution, (jobs × servers)."""
        pairs, shape = len(self.problem.pair_job), self.problem.fits.shape
        counts: Integers = (
            np.rint(values[pairs : pairs + shape[0] * shape[1]]).astype(np.int64).reshape(shape)
        )
        return counts


def find_parents(network: Network, root: int) -> Parents:
    """The tree seen from its root."""
    parents: Parents = {root: root}
    frontier = [root]
    while frontier:
        node = frontier.pop()
        for beside, _ in network.around[node]:
            if beside not in parents:
                parents[beside] = node
                frontier.append(beside)
    return parents


def build_tree_program(problem: SlotProblem) -> TreeProgram:
    """The slot problem on a tree as an integer program; its optimum is that of (12)–(19)."""
    network = problem.network
    pairs, jobs, servers = len(problem.pair_job), len(problem.jobs), network.servers
    parents = find_parents(network, len(network.nodes) - 1)
    link, below = _edges(network, parents)
    edges = len(link)
    most = problem.most_workers()
    fits = np.minimum(problem.fits, most[:, None])
    stays = _Stays(problem, network, below, first=pairs + jobs * (servers + 2 * edges))
    width = stays.first + len(stays.jobs)
    count = pairs + np.arange(jobs * servers).reshape(jobs, servers)
    both = pairs + jobs * servers + np.arange(jobs * edges).reshape(jobs, edges)
    inside = both + jobs * edges

    rows = RowFamilies(width)
    add_choice_rows(rows, problem, count, stays.choices())
    add_server_rows(rows, problem, count, stays.workers())
    # (19): both directions of a link carry the same.
    edge, column, weight = stays.crossings()
    rows.add(
        np.concatenate([np.tile(np.arange(edges), jobs), edge]),
        np.concatenate([both.ravel(), column]),
        np.concatenate([np.repeat(problem.gbps, edges), weight]),
        height=edges,
        upper=network.link_gbps[link],
    )
    _tie_edges(rows, problem, fits, below, count, both, inside)
    upper = np.ones(width)
    upper[count] = fits
    upper[both] = problem.gbps[:, None] <= network.link_gbps[link] * (1 + 1e-12)
    objective = np.zeros(width)
    objective[:pairs] = problem.pair_gain
    objective[stays.first :] = problem.stay_gain[stays.jobs]
    program = rows.program(objective, np.zeros(width), upper, np.ones(width, dtype=bool))
    return TreeProgram(program, problem, parents, stays.jobs)


class _Stays:
    """The columns σ: rings as they lie, which no new ring equals because it would have to start."""

    def __init__(
        self, problem: SlotProblem, network: Network, below: NDArray[np.bool_], *, first: int
    ) -> None:
        self.first = first
        self._problem, self._network, self._below = problem, network, below
        self.jobs = np.array(
            [job for job in np.flatnonzero(problem.stay_gain > 0).tolist() if self._differs(job)],
            dtype=np.int64,
        )
        self._column = first + np.arange(len(self.jobs))
        self._counts = np.array([self._count(job) for job in self.jobs.tolist()], dtype=np.int64).reshape(
            len(self.jobs), network.servers
        )

    def _differs(self, job: int) -> bool:
        """True for a ring of this tree that a new one of its size would gain another amount than."""
        ring = self._problem.running[job]
        assert ring is not None  # who may stay has one
        stands = all(
            self._network.node_number.get(name, self._network.servers) < self._network.servers
            for name in ring.workers
        )
        return stands and self._problem.gain(job, ring.size) != self._problem.stay_gain[job]

    def _count(self, job: int) -> Integers:
        ring = self._problem.running[job]
        assert ring is not None  # as above
        counts = np.zeros(self._network.servers, dtype=np.int64)
        for name, workers in ring.workers_by_server().items():
            counts[self._network.node_number[name]] = workers
        return counts

    def choices(self) -> tuple[Integers, Integers]:
        """Jobs and columns: a job has a new ring or the one that ran."""
        return self.jobs, self._column

    def workers(self) -> tuple[Integers, Integers, Integers, Integers]:
        """Servers, columns, jobs and how many workers each holds."""
        row, server = np.nonzero(self._counts)
        return server, self._column[row], self.jobs[row], self._counts[row, server]

    def crossings(self) -> tuple[Integers, Integers, Floats]:
        """Edges with workers on both sides, columns, and what is reserved there."""
        under = self._counts @ self._below.T
        row, edge = np.nonzero((under > 0) & (under < self._counts.sum(axis=1)[:, None]))
        return edge, self._column[row], self._problem.gbps[self.jobs[row]]


def _tie_edges(  # noqa: PLR0917 - the blocks of one program
    rows: RowFamilies,
    problem: SlotProblem,
    fits: Integers,
    below: NDArray[np.bool_],
    count: Integers,
    both: Integers,
    inside: Integers,
) -> None:
    """Workers below an edge only with w or a, elsewhere only without a; w and a only for a job that runs."""
    jobs = len(fits)
    edges = len(below)
    pairs = len(problem.pair_job)
    most = problem.most_workers()
    family = np.arange(jobs * edges).reshape(jobs, edges)
    edge_at, server_at = np.nonzero(below)
    room_below = np.minimum(fits @ below.T, most[:, None]).astype(float)
    room_above = np.minimum(fits @ ~below.T, most[:, None]).astype(float)
    ones = np.ones(jobs * len(edge_at))
    # m_e ≤ room·(w + a)
    rows.add(
        np.concatenate([family[:, edge_at].ravel(), family.ravel(), family.ravel()]),
        np.concatenate([count[:, server_at].ravel(), both.ravel(), inside.ravel()]),
        np.concatenate([ones, -room_below.ravel(), -room_below.ravel()]),
        height=jobs * edges,
        upper=0.0,
    )
    # κ − m_e ≤ room·(ρ − a), with κ − m_e as the workers elsewhere and ρ = Σ χ
    edge_out, server_out = np.nonzero(~below)
    pair_rows = family[problem.pair_job].ravel()
    rows.add(
        np.concatenate([family[:, edge_out].ravel(), family.ravel(), pair_rows]),
        np.concatenate([count[:, server_out].ravel(), inside.ravel(), np.repeat(np.arange(pairs), edges)]),
        np.concatenate(
            [np.ones(jobs * len(edge_out)), room_above.ravel(), -room_above[problem.pair_job].ravel()]
        ),
        height=jobs * edges,
        upper=0.0,
    )
    # w + a ≤ ρ
    rows.add(
        np.concatenate([family.ravel(), family.ravel(), pair_rows]),
        np.concatenate([both.ravel(), inside.ravel(), np.repeat(np.arange(pairs), edges)]),
        np.concatenate([np.ones(2 * jobs * edges), -np.ones(pairs * edges)]),
        height=jobs * edges,
        upper=0.0,
    )


def _edges(network: Network, parents: Parents) -> tuple[Integers, NDArray[np.bool_]]:
    """For every tree edge one of its directed links, and which servers are below it, (edges × servers)."""
    number = {node: place for place, node in enumerate(list(parents)[1:])}
    link = np.zeros(len(number), dtype=np.int64)
    below = np.zeros((len(number), network.servers), dtype=bool)
    for node, place in number.items():
        link[place] = next(found for beside, found in network.around[node] if beside == parents[node])
    for server in range(network.servers):
        node = server
        while node in number:
            below[number[node], server] = True
            node = parents[node]
    return link, below
