"""The paper's LP with ring sizes fixed: one copy of (12)–(19) for every place of the ring's first position.

In copy u, position 0 stands on server u, so that the ring is known to close there, and a solution falls apart
into mappings (decompose.py). Written out, a job takes servers × (1 + (κ−1)·servers + κ·links) variables. By
columns it has one variable for each mapping that can matter, and the same value: at any prices ≥ 0 the
cheapest closed walk over κ positions stays on the cheapest server (each position costs at least that, and
every crossing costs ≥ 0), so that rings on one server are all the columns pricing can ever bring. That is how
this LP ignores bandwidth, and what a server holds, for identical workers (problem.md §3).
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from gadget.solve.lp import LinearProgram
from gadget.solve.mapping import Mapping
from gadget.solve.rows import RowFamilies
from gadget.solve.slot import SlotProblem

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Copies:
    """The written-out program of one slot, and where each job's variables are in it.

    For job i: f_u first, then ϱ (copies × positions 1 … κ−1 × servers), then θ (copies × edges × links).
    """

    program: LinearProgram
    problem: SlotProblem
    pair_start: Integers
    """First variable of each pair."""

    def of_pair(self, values: Floats, pair: int) -> tuple[Floats, Floats, Floats]:
        """f, ϱ and θ of one pair in a solution."""
        network, size = self.problem.network, int(self.problem.pair_size[pair])
        servers, links = network.servers, len(network.link_gbps)
        start = int(self.pair_start[pair])
        nodes = servers * (size - 1) * servers
        flows = servers * (size if size > 1 else 0) * links
        root = values[start : start + servers]
        middle = values[start + servers : start + servers + nodes]
        rest = values[start + servers + nodes : start + servers + nodes + flows]
        return (
            root,
            middle.reshape(servers, size - 1, servers),
            rest.reshape(servers, size if size > 1 else 0, links),
        )


def build_copies(problem: SlotProblem) -> Copies:
    """The augmented LP written out. Every job has at most one pair."""
    network = problem.network
    servers, links, nodes = network.servers, len(network.link_gbps), len(network.nodes)
    sizes = problem.pair_size
    edges = np.where(sizes > 1, sizes, 0)
    widths = servers * (1 + (sizes - 1) * servers + edges * links)
    starts = np.cumsum(widths) - widths
    width = int(widths.sum())
    rows = RowFamilies(width)
    objective, upper = np.zeros(width), np.ones(width)
    tail, head = problem.network.ends
    capacity = _Loads()
    for pair, size in enumerate(sizes):
        start, job = int(starts[pair]), int(problem.pair_job[pair])
        root = start + np.arange(servers)
        node = start + servers + np.arange(servers * (size - 1) * servers).reshape(servers, size - 1, servers)
        after = start + servers + node.size
        flow = after + np.arange(servers * edges[pair] * links).reshape(servers, edges[pair], links)
        objective[root] = problem.pair_gain[pair]
        fits = problem.fits[job] >= 1
        upper[root[~fits]] = 0.0
        upper[node[:, :, ~fits]] = 0.0
        upper[flow[:, :, problem.gbps[job] > network.link_gbps * (1 + 1e-12)]] = 0.0
        # At most one ring a job, over all its copies.
        rows.add(np.zeros(servers, dtype=np.int64), root, 1.0, height=1, upper=1.0)
        # Copy u places every other position as often as it places the first.
        family = np.arange(servers * (size - 1)).reshape(servers, size - 1)
        rows.add(
            np.concatenate([np.repeat(family, servers), family.ravel()]),
            np.concatenate([node.ravel(), np.repeat(root, size - 1)]),
            np.concatenate([np.ones(node.size), -np.ones(family.size)]),
            height=family.size,
            lower=0.0,
            upper=0.0,
        )
        _add_flows(rows, (root, node, flow), (tail, head), nodes)
        capacity.add_nodes(problem.demand[job], root, node)
        capacity.add_links(problem.gbps[job], flow)
    capacity.close(rows, problem)
    program = rows.program(objective, np.zeros(width), upper, None)
    return Copies(program, problem, starts)


def build_columns(problem: SlotProblem) -> tuple[LinearProgram, list[Mapping]]:
    """The same LP by columns, each a ring on one server; its value is that of the written-out program."""
    network, jobs = problem.network, len(problem.jobs)
    pair, server = np.nonzero(problem.fits[problem.pair_job] >= 1)
    job, size = problem.pair_job[pair], problem.pair_size[pair]
    rows = RowFamilies(len(pair))
    every = np.arange(len(pair))
    rows.add(job, every, 1.0, height=jobs, upper=1.0)
    for resource in range(len(network.resource_number)):
        weight = size * problem.demand[job, resource]
        rows.add(server, every, weight, height=network.servers, upper=network.capacity[:, resource])
    program = rows.program(problem.pair_gain[pair], np.zeros(len(pair)), np.ones(len(pair)), None)
    mappings = [
        Mapping(int(j), 0.0, (int(s),) * int(k), ((int(s),),) * int(k) if k > 1 else ())
        for j, s, k in zip(job, server, size, strict=True)
    ]
    return program, mappings


def _add_flows(
    rows: RowFamilies,
    variables: tuple[Integers, Integers, Integers],
    ends: tuple[Integers, Integers],
    nodes: int,
) -> None:
    """(15) in every copy: edge a leads from position a to a+1; the ring starts and ends at the root."""
    root, node, flow = variables
    tail, head = ends
    servers, edges, links = flow.shape
    if not edges:
        return
    family = (np.arange(servers * edges) * nodes).reshape(servers, edges)
    flow_rows = np.repeat(family, links)
    # Position a as a sender stands at edge a, as a receiver at edge a−1.
    sends = family[:, 1:, None] + np.arange(servers)
    receives = family[:, :-1, None] + np.arange(servers)
    rows.add(
        np.concatenate(
            [
                flow_rows + np.tile(tail, servers * edges),
                flow_rows + np.tile(head, servers * edges),
                sends.ravel(),
                receives.ravel(),
                family[:, 0] + np.arange(servers),
                family[:, -1] + np.arange(servers),
            ]
        ),
        np.concatenate([flow.ravel(), flow.ravel(), node.ravel(), node.ravel(), root, root]),
        np.concatenate(
            [
                np.ones(flow.size),
                -np.ones(flow.size),
                -np.ones(node.size),
                np.ones(node.size),
                -np.ones(servers),
                np.ones(servers),
            ]
        ),
        height=servers * edges * nodes,
        lower=0.0,
        upper=0.0,
    )


class _Loads:
    """Entries of (18) and (19), gathered job by job."""

    def __init__(self) -> None:
        self._node: list[tuple[Integers, Integers, Floats]] = []
        self._link: list[tuple[Integers, Integers, Floats]] = []

    def add_nodes(self, demand: Floats, root: Integers, node: Integers) -> None:
        servers = len(root)
        place = np.concatenate([np.arange(servers), np.tile(np.arange(servers), node.size // servers)])
        variable = np.concatenate([root, node.ravel()])
        for resource, amount in enumerate(demand):
            self._node.append((place + resource * servers, variable, np.full(len(place), amount)))

    def add_links(self, gbps: float, flow: Integers) -> None:
        links = flow.shape[2]
        place = np.tile(np.arange(links), flow.shape[0] * flow.shape[1])
        self._link.append((place, flow.ravel(), np.full(flow.size, gbps)))

    def close(self, rows: RowFamilies, problem: SlotProblem) -> None:
        network = problem.network
        for entries, limit in ((self._node, network.capacity.T.ravel()), (self._link, network.link_gbps)):
            if entries:
                row, column, weight = (np.concatenate(parts) for parts in zip(*entries, strict=True))
                rows.add(row, column, weight, height=len(limit), upper=limit)
