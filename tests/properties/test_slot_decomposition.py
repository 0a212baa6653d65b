"""Laws of the decomposition: its mappings carry what the augmented program says, and load no more.

The paper's objective alone rarely sends anything over a link. So the programs are also solved for drawn
objectives, which drive flow over every link, and points between solutions are decomposed too.
"""

from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from gadget import ActiveJob, Job, Linear, Resources, Snapshot, build_ring4
from gadget.solve.augmented import Copies, build_copies
from gadget.solve.decompose import decompose
from gadget.solve.lp import solve
from gadget.solve.mapping import Mapping, link_load, node_load
from gadget.solve.slot import build_slot_problem
from tests.properties.test_slot_relaxations import fix_sizes
from tests.tiny_slots import contended_slots, tiny_slots

Floats = NDArray[np.float64]

# What a solver leaves of a zero, for every variable that a mapping passes.
DUST = 1e-5

slots = tiny_slots() | contended_slots() | contended_slots(tree=True) | tiny_slots(loops=True)


def find_point(copies: Copies, seed: int) -> Floats:
    """A feasible point of the augmented program: between solutions for drawn objectives."""
    rng = np.random.default_rng(seed)
    points = []
    for _ in range(3):
        drawn = rng.normal(0, 1, len(copies.program.objective))
        # Embedding is worth something, so that there is something to decompose.
        objective = np.where(copies.program.objective > 0, np.abs(drawn) * 3, drawn)
        found = solve(replace(copies.program, objective=objective))
        assert found.values is not None
        points.append(np.maximum(found.values, 0.0))
    return np.asarray(rng.dirichlet(np.ones(len(points))) @ np.array(points))


def embedded(copies: Copies, values: Floats, pair: int) -> float:
    return float(copies.of_pair(values, pair)[0].sum())


def lp_loads(copies: Copies, values: Floats) -> tuple[Floats, Floats]:
    """What the point itself puts on servers and on directed links, from its variables alone."""
    problem, network = copies.problem, copies.problem.network
    nodes, links = np.zeros_like(network.capacity), np.zeros_like(network.link_gbps)
    for pair, job in enumerate(problem.pair_job):
        root, middle, flow = copies.of_pair(values, pair)
        workers = root + middle.sum(axis=(0, 1))
        nodes += workers[:, None] * problem.demand[job]
        links += flow.sum(axis=(0, 1)) * problem.gbps[job]
    return nodes, links


def summed_loads(copies: Copies, mappings: list[Mapping]) -> tuple[Floats, Floats]:
    problem, network = copies.problem, copies.problem.network
    nodes, links = np.zeros_like(network.capacity), np.zeros_like(network.link_gbps)
    for mapping in mappings:
        nodes += mapping.weight * node_load(problem, mapping)
        links += mapping.weight * link_load(problem, mapping)
    return nodes, links


def check_decomposition(copies: Copies, values: Floats) -> list[Mapping]:
    problem, network = copies.problem, copies.problem.network
    mappings = decompose(copies, values)
    size_of = dict(zip(problem.pair_job.tolist(), problem.pair_size.tolist(), strict=True))
    for mapping in mappings:
        assert mapping.weight > 0
        assert mapping.is_closed
        assert len(mapping.stops) == size_of[mapping.job]
        assert all(problem.fits[mapping.job, stop] >= 1 for stop in mapping.stops)
        for leg in mapping.legs:
            for here, there in pairwise(leg):
                link = dict(network.around[here])[there]
                assert problem.gbps[mapping.job] <= network.link_gbps[link]
    for pair, job in enumerate(problem.pair_job):
        carried = sum(mapping.weight for mapping in mappings if mapping.job == job)
        assert carried == pytest.approx(embedded(copies, values, pair), abs=DUST)
    nodes, links = summed_loads(copies, mappings)
    own_nodes, own_links = lp_loads(copies, values)
    # Workers are all placed, so node loads are the LP's; link loads lack what went round in circles.
    assert nodes == pytest.approx(own_nodes, abs=DUST)
    assert np.all(links <= own_links + DUST)
    assert np.all(nodes <= network.capacity + DUST)
    assert np.all(links <= network.link_gbps + DUST)
    return mappings


@settings(max_examples=100)
@given(snapshot=slots, data=st.data())
def test_a_solution_falls_apart_into_closed_rings(snapshot: Snapshot, data: st.DataObject) -> None:
    problem = fix_sizes(build_slot_problem(snapshot), data)
    assume(len(problem.pair_job))
    copies = build_copies(problem)
    found = solve(copies.program)
    assert found.values is not None
    mappings = check_decomposition(copies, found.values)
    gain = sum(mapping.weight * problem.gain(mapping.job, len(mapping.stops)) for mapping in mappings)
    assert gain == pytest.approx(found.objective, abs=DUST)


@settings(max_examples=120)
@given(snapshot=slots, data=st.data(), seed=st.integers(0, 2**20))
def test_any_feasible_point_falls_apart_into_closed_rings(
    snapshot: Snapshot, data: st.DataObject, seed: int
) -> None:
    problem = fix_sizes(build_slot_problem(snapshot), data)
    assume(len(problem.pair_job))
    copies = build_copies(problem)
    check_decomposition(copies, find_point(copies, seed))


def test_drawn_points_do_send_rings_over_links() -> None:
    # The law above would be empty if every mapping stayed on one server.
    jobs = [
        Job(
            name=name,
            resources=Resources({"gpu": 1}),
            min_workers=3,
            max_workers=3,
            bandwidth_gbps=1,
            rate=1,
            utility=Linear(),
        )
        for name in "ab"
    ]
    cluster = build_ring4(resources=Resources({"gpu": 2}), gbps=2)
    copies = build_copies(build_slot_problem(Snapshot(cluster, tuple(map(ActiveJob, jobs)), 0, 1)))
    found = [m for seed in range(5) for m in check_decomposition(copies, find_point(copies, seed))]
    servers = [len(set(mapping.stops)) for mapping in found]
    assert len(found) > 20
    assert sum(count > 1 for count in servers) > len(found) / 2
    assert max(servers) == 3
    assert any(len(leg) > 2 for mapping in found for leg in mapping.legs)
