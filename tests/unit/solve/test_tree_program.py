"""The smaller program for trees: its variables, and what its solutions mean."""

from dataclasses import replace

import pytest

from gadget import Cluster, Link, Resources, Server, build_leaf_spine
from gadget.solve.lp import solve
from gadget.solve.network import compile_network
from gadget.solve.tree_program import TreeProgram, build_tree_program, find_parents
from tests.unit.solve.small import alone, job, line, problem_of


def solve_counts(built: TreeProgram) -> list[list[int]]:
    found = solve(built.program)
    assert found.values is not None
    return built.counts(found.values).tolist()


def test_parents_come_before_their_children() -> None:
    network = compile_network(build_leaf_spine(2, 1, 2))
    parents = find_parents(network, len(network.nodes) - 1)
    assert len(parents) == len(network.nodes)
    seen = set()
    for node, above in parents.items():
        seen.add(node)
        assert above in seen
    assert [node for node, above in parents.items() if node == above] == [len(network.nodes) - 1]


def test_its_size_follows_from_pairs_servers_and_edges() -> None:
    # Four servers, three switches: six edges; two jobs with 2 + 3 sizes.
    built = build_tree_program(problem_of(build_leaf_spine(2, 1, 2), job("a", 2), job("b", 3)))
    assert len(built.program.objective) == 5 + 2 * (4 + 2 * 6)
    assert built.program.matrix.shape[0] == 2 + 2 + 4 + 6 + 3 * 2 * 6


def test_workers_on_one_server_use_no_link() -> None:
    built = build_tree_program(problem_of(line(3, 1, 1, gbps=0), job("a", (3, 3))))
    assert solve_counts(built) == [[3, 0, 0]]


@pytest.mark.parametrize(("thin", "runs"), [(0, True), (1, False), (2, False), (3, True)])
def test_the_edges_between_two_workers_are_used_and_no_other(thin: int, runs: bool) -> None:
    # s0 … s4 in a row, places on s1 and s3 only: a ring of two needs the links between, 1 and 2.
    cluster = line(0, 1, 0, 1, 0, gbps=1)
    links = tuple(Link(k.ends, 0.9 if n == thin else 1) for n, k in enumerate(cluster.links))
    built = build_tree_program(problem_of(replace(cluster, links=links), job("a", 2)))
    assert solve(built.program).objective == pytest.approx(2 if runs else 1)


def test_jobs_share_an_edge_up_to_what_it_carries() -> None:
    seats = tuple(Server(f"s{n}", Resources({"a": 1, "b": 1})) for n in range(2))
    pair = [job(name, (2, 2), needs={name: 1}, gbps=1.5) for name in "ab"]
    for gbps, best in ((3, 4), (2.9, 2), (1.5, 2), (1.4, 0)):
        cluster = Cluster(seats, (), (Link(("s0", "s1"), gbps),))
        assert solve(build_tree_program(problem_of(cluster, *pair)).program).objective == pytest.approx(best)


def test_one_server_alone_is_a_tree() -> None:
    built = build_tree_program(problem_of(alone(gpu=2), job("a", 3)))
    assert solve_counts(built) == [[2]]


def test_servers_may_stand_inside_the_tree() -> None:
    # The ring over both ends passes s1, which may host a worker of it as well.
    built = build_tree_program(problem_of(line(1, 1, 1, gbps=1), job("a", 3)))
    assert solve_counts(built) == [[1, 1, 1]]


def test_its_relaxation_is_not_below_its_optimum() -> None:
    built = build_tree_program(problem_of(line(1, 1, 1, gbps=1), *(job(name, (2, 2)) for name in "ab")))
    assert solve(built.program.relax()).objective >= solve(built.program).objective == pytest.approx(2)
