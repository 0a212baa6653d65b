"""The slot problem as the paper writes it, (12)–(19): ring sizes, node mappings and edge flows.

Built by arrays, one block a constraint family. Variables, in this order:

χ_p         pair p = (i, κ) is chosen
ϱ_{x,u}     ring position x (all positions of all pairs in a row) stands on server u
θ_{y,e}     the ring edge y that leaves a position of a pair with κ ≥ 2 crosses directed link e

κ = 1 has no edges; κ = 2 has two, one each way (problem.md §2).
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from gadget.solve.lp import LinearProgram
from gadget.solve.rows import RowFamilies
from gadget.solve.slot import SlotProblem

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class FlowProgram:
    """The program with the numbering that its solutions are read by."""

    program: LinearProgram
    problem: SlotProblem
    position_pair: Integers
    """Pair of each position."""
    edge_position: Integers
    """Position that each ring edge leaves."""
    edge_next: Integers
    """Position that each ring edge enters."""

    def chosen(self, values: Floats) -> Floats:
        """χ of a solution, by pair."""
        return values[: len(self.problem.pair_job)]

    def mapping(self, values: Floats) -> Floats:
        """ϱ of a solution, (positions × servers)."""
        start = len(self.problem.pair_job)
        shape = (len(self.position_pair), self.problem.network.servers)
        return values[start : start + shape[0] * shape[1]].reshape(shape)

    def flow(self, values: Floats) -> Floats:
        """θ of a solution, (ring edges × directed links)."""
        links = len(self.problem.network.link_gbps)
        edges = len(self.edge_position)
        return values[len(values) - edges * links :].reshape(edges, links)


def build_flow_program(problem: SlotProblem) -> FlowProgram:
    """(12)–(19) for any graph and any number of resources, with whole numbers; relax() gives the LP."""
    network = problem.network
    pairs, servers, nodes = len(problem.pair_job), network.servers, len(network.nodes)
    links = len(network.link_gbps)
    position_pair = np.repeat(np.arange(pairs), problem.pair_size)
    start = np.cumsum(problem.pair_size) - problem.pair_size
    rank = np.arange(len(position_pair)) - start[position_pair]
    following = start[position_pair] + np.mod(rank + 1, problem.pair_size[position_pair])
    has_edge = problem.pair_size[position_pair] >= 2
    edge_position, edge_next = np.flatnonzero(has_edge), following[has_edge]
    positions, edges = len(position_pair), len(edge_position)
    first_node, first_flow = pairs, pairs + positions * servers
    node_var = first_node + np.arange(positions * servers).reshape(positions, servers)
    flow_var = first_flow + np.arange(edges * links).reshape(edges, links)
    position_job = problem.pair_job[position_pair]
    edge_job = position_job[edge_position]
    width = first_flow + edges * links

    rows = RowFamilies(width)
    # (13): at most one size a job.
    rows.add(problem.pair_job, np.arange(pairs), 1.0, height=len(problem.jobs), upper=1.0)
    # (14): a chosen pair puts each of its positions on one server.
    every = np.arange(positions)
    rows.add(
        np.concatenate([np.repeat(every, servers), every]),
        np.concatenate([node_var.ravel(), position_pair]),
        np.concatenate([np.ones(positions * servers), -np.ones(positions)]),
        height=positions,
        lower=0.0,
        upper=0.0,
    )
    # (15): each ring edge carries a unit flow from where it starts to where it ends.
    tail, head = problem.network.ends
    base = np.repeat(np.arange(edges) * nodes, links)
    place = (np.arange(edges) * nodes)[:, None] + np.arange(servers)
    rows.add(
        np.concatenate(
            [base + np.tile(tail, edges), base + np.tile(head, edges), place.ravel(), place.ravel()]
        ),
        np.concatenate(
            [flow_var.ravel(), flow_var.ravel(), node_var[edge_position].ravel(), node_var[edge_next].ravel()]
        ),
        np.concatenate(
            [
                np.ones(edges * links),
                -np.ones(edges * links),
                -np.ones(edges * servers),
                np.ones(edges * servers),
            ]
        ),
        height=edges * nodes,
        lower=0.0,
        upper=0.0,
    )
    # (16)(18): every resource of every server.
    for resource in range(len(network.resource_number)):
        weight = np.repeat(problem.demand[position_job, resource], servers)
        server_row = np.tile(np.arange(servers), positions)
        rows.add(server_row, node_var.ravel(), weight, height=servers, upper=network.capacity[:, resource])
    # (17)(19): every directed link.
    weight = np.repeat(problem.gbps[edge_job], links)
    link_row = np.tile(np.arange(links), edges)
    rows.add(link_row, flow_var.ravel(), weight, height=links, upper=network.link_gbps)

    upper = np.ones(width)
    # A worker stands only where it fits, an edge crosses only a link that is wide enough.
    upper[node_var] = (problem.fits[position_job] >= 1).astype(float)
    slack = network.link_gbps * (1 + 1e-12)
    upper[flow_var] = (problem.gbps[edge_job][:, None] <= slack).astype(float)
    objective = np.zeros(width)
    objective[:pairs] = problem.pair_gain
    program = rows.program(objective, np.zeros(width), upper, np.ones(width, dtype=bool))
    return FlowProgram(program, problem, position_pair, edge_position, edge_next)
