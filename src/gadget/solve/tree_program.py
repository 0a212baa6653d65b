"""The exact slot program on a tree: counts by server, one-hot sizes, a link used with workers on both sides.

On a tree the loads of a ring follow from its counts alone (problem.md §3), so that ring positions and flows
are not needed. Variables, in this order:

χ_p        pair p = (i, κ) is chosen
y_{i,u}    workers of job i on server u
w_{i,e}    tree edge e has workers of i on both sides: b_i is reserved there, once in each direction
a_{i,e}    all workers of i are below e

Per job and edge one of three holds: none below (w = a = 0), all below (a = 1), both sides (w = 1).
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

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
    width = pairs + jobs * (servers + 2 * edges)
    count = pairs + np.arange(jobs * servers).reshape(jobs, servers)
    both = pairs + jobs * servers + np.arange(jobs * edges).reshape(jobs, edges)
    inside = both + jobs * edges

    rows = RowFamilies(width)
    add_choice_rows(rows, problem, count)
    add_server_rows(rows, problem, count)
    # (19): both directions of a link carry the same.
    rows.add(
        np.tile(np.arange(edges), jobs),
        both.ravel(),
        np.repeat(problem.gbps, edges),
        height=edges,
        upper=network.link_gbps[link],
    )
    _tie_edges(rows, problem, fits, below, count, both, inside)
    upper = np.ones(width)
    upper[count] = fits
    upper[both] = problem.gbps[:, None] <= network.link_gbps[link] * (1 + 1e-12)
    objective = np.zeros(width)
    objective[:pairs] = problem.pair_gain
    program = rows.program(objective, np.zeros(width), upper, np.ones(width, dtype=bool))
    return TreeProgram(program, problem, parents)


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
