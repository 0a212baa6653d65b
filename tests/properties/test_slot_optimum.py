"""Laws of the slot optimum: it is that of plain enumeration, above every policy, below every bound."""

from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gadget import (
    Allocation,
    Cluster,
    Link,
    Resources,
    Server,
    Sigmoid,
    Snapshot,
    Status,
    Table,
    find_false_claims,
    find_violations,
)
from gadget.model.codec import format_json
from gadget.policies.optimal import Optimal
from gadget.policies.policy import ask
from gadget.policies.registry import POLICIES, build_policy
from gadget.solve.exact import ExactAnswer, Solver, solve_exactly
from gadget.solve.flow import build_flow_program
from gadget.solve.lp import solve
from gadget.solve.packing import build_packing_program
from gadget.solve.slot import SlotProblem, build_slot_problem
from tests.brute_force import is_feasible
from tests.brute_optimum import find_optimum
from tests.tiny_slots import contended_slots, tiny_slots

trees = tiny_slots(tree=True) | contended_slots(tree=True)
graphs = tiny_slots(loops=True) | contended_slots(loops=True)
slots = tiny_slots() | contended_slots()


def near(value: float) -> object:
    return pytest.approx(value, rel=1e-6, abs=1e-7)


def solve_slot(snapshot: Snapshot, **how: object) -> tuple[SlotProblem, ExactAnswer]:
    """The proven optimum; its rings are judged by the referee."""
    problem = build_slot_problem(snapshot)
    answer = solve_exactly(problem, **{"solver": Solver.HIGHS, **how})  # type: ignore[arg-type]
    assert answer.is_proved
    assert find_violations(snapshot, Allocation(answer.rings)) == []
    assert answer.bound == near(problem.worth(answer.rings))
    return problem, answer


def optimum(snapshot: Snapshot, **how: object) -> float:
    problem, answer = solve_slot(snapshot, **how)
    return problem.worth(answer.rings)


@settings(max_examples=100)
@given(snapshot=trees)
def test_on_trees_both_programs_find_what_enumeration_finds(snapshot: Snapshot) -> None:
    value, allocation = find_optimum(snapshot)
    assert is_feasible(snapshot, allocation)
    assert snapshot.objective(allocation) == near(value)
    assert optimum(snapshot, tree=True) == near(value)
    assert optimum(snapshot, tree=False) == near(value)


@settings(max_examples=120)
@given(snapshot=graphs)
def test_on_graphs_the_program_finds_what_enumeration_finds(snapshot: Snapshot) -> None:
    value, allocation = find_optimum(snapshot)
    assert is_feasible(snapshot, allocation)
    assert optimum(snapshot) == near(value)


@settings(max_examples=60)
@given(snapshot=slots, data=st.data(), forwarding=st.booleans())
def test_clusters_that_fell_apart_are_solved_like_any(
    snapshot: Snapshot, data: st.DataObject, forwarding: bool
) -> None:
    names = [server.name for server in snapshot.cluster.servers]
    lost = data.draw(st.lists(st.sampled_from(names), unique=True))
    left = replace(snapshot, cluster=snapshot.cluster.without(lost, forwarding=forwarding))
    assert optimum(left) == near(find_optimum(left)[0])


@settings(max_examples=60)
@given(snapshot=slots)
def test_gurobi_and_highs_agree(snapshot: Snapshot) -> None:
    assert optimum(snapshot, solver=Solver.GUROBI) == near(optimum(snapshot, solver=Solver.HIGHS))


@settings(max_examples=60)
@given(snapshot=slots)
def test_no_relaxation_is_below_the_optimum(snapshot: Snapshot) -> None:
    problem, answer = solve_slot(snapshot)
    best = problem.worth(answer.rings)
    flow = solve(build_flow_program(problem).program.relax())
    assert flow.bound >= best - 1e-6
    assert solve(build_packing_program(problem)).bound >= best - 1e-6


# Utilities that a majorant stands in for, beside those of the tiny slots.
curved = st.sampled_from(
    (
        Sigmoid(10, 0.5, 8),
        Sigmoid(5, 3, 3),
        Table(((0, 0), (3, 0), (4, 6), (9, 7))),
        Table(((0, 1), (2, 0), (6, 4))),
    )
)


@st.composite
def curved_slots(draw: st.DrawFn) -> Snapshot:
    """Tiny slots in which some utilities are not concave."""
    snapshot = draw(slots)
    actives = tuple(
        replace(active, job=replace(active.job, utility=draw(curved))) if draw(st.booleans()) else active
        for active in snapshot.jobs
    )
    return replace(snapshot, jobs=actives)


@settings(max_examples=40)
@given(snapshot=curved_slots(), seed=st.integers(0, 9))
def test_bounds_are_above_the_optimum_and_the_optimum_above_every_policy(
    snapshot: Snapshot, seed: int
) -> None:
    problem = build_slot_problem(snapshot)
    gains = {
        (a.job.name, int(n)): problem.gain(k, int(n)) for k, a in enumerate(problem.jobs) for n in (1, 2, 3)
    }
    best, _ = find_optimum(snapshot, lambda active, size: gains.get((active.job.name, size), 0.0))
    true_best, _ = find_optimum(snapshot)
    # The majorant is nowhere below the utility.
    assert best >= true_best - 1e-9
    for name in POLICIES:
        decision = ask(build_policy(name), snapshot, seed)
        assert problem.worth(decision.allocation.rings) <= best + 1e-9
        assert decision.objective <= true_best + 1e-9
        if decision.upper_bound is not None:
            assert decision.upper_bound >= best - 1e-6
        assert find_violations(snapshot, decision.allocation) == []
        assert find_false_claims(snapshot, decision) == []


@settings(max_examples=50)
@given(snapshot=slots, majorant=st.booleans())
def test_optimal_says_that_it_is(snapshot: Snapshot, majorant: bool) -> None:
    decision = ask(Optimal(majorant=majorant), snapshot, seed=0)
    assert decision.status is Status.OPTIMAL
    assert decision.objective == near(find_optimum(snapshot)[0])
    assert decision.upper_bound == near(decision.objective)


@settings(max_examples=50)
@given(snapshot=slots, data=st.data())
def test_more_capacity_never_lowers_the_optimum(snapshot: Snapshot, data: st.DataObject) -> None:
    more = st.sampled_from((0, 0, 1, 0.5))
    old = snapshot.cluster
    servers = tuple(
        Server(s.name, Resources({r: amount + data.draw(more) for r, amount in s.resources.items()}))
        for s in old.servers
    )
    links = tuple(Link(link.ends, link.gbps + data.draw(more)) for link in old.links)
    grown = replace(snapshot, cluster=Cluster(servers, old.switches, links))
    assert optimum(grown) >= optimum(snapshot) - 1e-6


@settings(max_examples=50)
@given(snapshot=slots, data=st.data())
def test_names_and_orders_change_no_optimum(snapshot: Snapshot, data: st.DataObject) -> None:
    old = snapshot.cluster
    label = dict(zip(old.nodes, data.draw(st.permutations(old.nodes)), strict=True))
    servers = [Server(label[s.name], s.resources) for s in old.servers]
    links = [Link(data.draw(st.permutations([label[end] for end in k.ends])), k.gbps) for k in old.links]
    cluster = Cluster(
        tuple(data.draw(st.permutations(servers))),
        tuple(data.draw(st.permutations([label[name] for name in old.switches]))),
        tuple(data.draw(st.permutations(links))),
    )
    shuffled = replace(snapshot, cluster=cluster, jobs=tuple(data.draw(st.permutations(snapshot.jobs))))
    assert optimum(shuffled) == near(optimum(snapshot))


@settings(max_examples=25)
@given(
    snapshot=slots, seed=st.integers(0, 2**32), name=st.sampled_from(("gadget", "optimal", "gadget-paper"))
)
def test_the_same_seed_gives_the_same_bytes(snapshot: Snapshot, seed: int, name: str) -> None:
    # The cluster is built anew, so that nothing remembered about it can matter.
    again = replace(snapshot, cluster=replace(snapshot.cluster))
    texts = [
        format_json(replace(ask(build_policy(name), one, seed), seconds=0.0)) for one in (snapshot, again)
    ]
    assert texts[0] == texts[1]


@settings(max_examples=30)
@given(snapshot=slots, limit=st.sampled_from((0.0, 0.001)), solver=st.sampled_from(Solver))
def test_out_of_time_is_still_feasible_and_its_bound_holds(
    snapshot: Snapshot, limit: float, solver: Solver
) -> None:
    best, _ = find_optimum(snapshot)
    decision = ask(Optimal(time_limit=limit, solver=solver), snapshot, seed=0)
    assert find_violations(snapshot, decision.allocation) == []
    assert find_false_claims(snapshot, decision) == []
    assert decision.upper_bound is not None
    assert decision.objective - 1e-9 <= best <= decision.upper_bound + 1e-6
    if decision.status is Status.OPTIMAL:
        assert decision.objective == near(best)
