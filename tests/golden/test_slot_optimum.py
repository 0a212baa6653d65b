"""Slots solved by hand. Each is checked with both programs, both solvers, `optimal` and plain enumeration."""

from dataclasses import replace

import numpy as np
import pytest

from gadget import (
    ActiveJob,
    Allocation,
    Cluster,
    Decision,
    Energy,
    Job,
    Linear,
    Link,
    Reason,
    Resources,
    Server,
    Sigmoid,
    Snapshot,
    Sqrt,
    Status,
    Table,
    Utility,
    build_leaf_spine,
    build_ring4,
    find_false_claims,
    find_violations,
)
from gadget.policies.optimal import Optimal
from gadget.policies.policy import ask
from gadget.solve.augmented import build_columns, build_copies
from gadget.solve.exact import Solver, solve_exactly
from gadget.solve.flow import build_flow_program
from gadget.solve.lp import solve
from gadget.solve.packing import build_packing_program
from gadget.solve.sizing import find_size_limits, keep_sizes_up_to
from gadget.solve.slot import SlotProblem, build_slot_problem
from tests.brute_optimum import find_optimum

ONE_EACH = Linear(1)


def job(
    name: str,
    workers: int | tuple[int, int],
    utility: Utility = ONE_EACH,
    *,
    gbps: float = 1,
    needs: dict[str, float] | None = None,
    **more: object,
) -> Job:
    """A job that does one unit of work per worker-slot; `workers` is the most, or (fewest, most)."""
    fewest, most = workers if isinstance(workers, tuple) else (1, workers)
    return Job(
        name=name,
        resources=Resources(needs or {"gpu": 1}),
        min_workers=fewest,
        max_workers=most,
        utility=utility,
        bandwidth_gbps=gbps,
        rate=1,
        **more,  # type: ignore[arg-type]
    )


def servers(**gpus: float) -> tuple[Server, ...]:
    return tuple(Server(name, Resources({"gpu": amount})) for name, amount in gpus.items())


def alone(**offer: float) -> Cluster:
    """One server, no links."""
    return Cluster((Server("s", Resources(offer)),), (), ())


def line(gbps: float, *offers: dict[str, float]) -> Cluster:
    """Servers s0 – s1 – … in a row, each joined to the next."""
    row = tuple(Server(f"s{n}", Resources(offer)) for n, offer in enumerate(offers))
    return Cluster(row, (), tuple(Link((f"s{n}", f"s{n + 1}"), gbps) for n in range(len(offers) - 1)))


def slot(cluster: Cluster, *jobs: Job | ActiveJob, slots: int = 10) -> Snapshot:
    actives = tuple(one if isinstance(one, ActiveJob) else ActiveJob(one) for one in jobs)
    return Snapshot(cluster, actives, slot=0, slots=slots)


def check_optimum(snapshot: Snapshot, objective: float) -> Decision:
    """Everything that finds an optimum finds this one, exactly; gives what `optimal` decides."""
    assert find_optimum(snapshot)[0] == objective
    problem = build_slot_problem(snapshot)
    for tree in (True, False) if snapshot.cluster.is_tree else (False,):
        for solver in Solver:
            answer = solve_exactly(problem, tree=tree, solver=solver)
            assert answer.is_proved
            assert find_violations(snapshot, Allocation(answer.rings)) == []
            assert problem.worth(answer.rings) == objective
            assert answer.bound == pytest.approx(objective, abs=1e-7)
    decision = ask(Optimal(), snapshot, seed=0)
    assert find_violations(snapshot, decision.allocation) == []
    assert find_false_claims(snapshot, decision) == []
    assert decision.status is Status.OPTIMAL
    assert decision.objective == objective
    return decision


def sizes(decision: Decision) -> dict[str, int]:
    return {ring.job: ring.size for ring in decision.allocation.rings}


def reasons(decision: Decision) -> dict[str, str]:
    return {one.job: one.reason for one in decision.waiting}


def lp_values(problem: SlotProblem) -> list[float]:
    """The relaxation of (12)–(19) and the packing LP."""
    programs = (build_flow_program(problem).program.relax(), build_packing_program(problem))
    return [solve(program).objective for program in programs]


# Fig. placement: three workers on the four-server ring 1–2–4–3–1.


def test_three_workers_on_one_server_need_no_link() -> None:
    # (a): s1 holds all three; no link carries anything. 3 workers gain 3.
    cluster = Cluster(servers(s1=3, s2=1, s3=1, s4=1), (), build_ring4(gbps=0).links)
    decision = check_optimum(slot(cluster, job("a", 3)), 3)
    assert decision.allocation.rings[0].workers == ("s1", "s1", "s1")
    assert list(decision.allocation.rings[0].hops()) == []


def test_three_workers_on_two_servers_need_one_link_both_ways() -> None:
    # (b): s1 holds two, s2 one. The ring crosses s1→s2 once and s2→s1 once: 3 with links b wide.
    wide = Cluster(servers(s1=2, s2=1, s3=0, s4=0), (), build_ring4(gbps=1).links)
    decision = check_optimum(slot(wide, job("a", 3)), 3)
    assert sorted(decision.allocation.rings[0].workers) == ["s1", "s1", "s2"]
    # With every link below b no ring leaves its server: two workers on s1 gain 2.
    thin = Cluster(wide.servers, (), build_ring4(gbps=0.9).links)
    check_optimum(slot(thin, job("a", 3)), 2)


def test_a_link_too_thin_is_gone_round_the_other_way() -> None:
    # As (b), but s1–s2 is too thin: the way s1–s3–s4–s2 and back closes the ring all the same, gain 3.
    cables = tuple(Link(link.ends, 0.5 if link.ends == ("s1", "s2") else 1) for link in build_ring4().links)
    decision = check_optimum(slot(Cluster(servers(s1=2, s2=1, s3=0, s4=0), (), cables), job("a", 3)), 3)
    hops = set(decision.allocation.rings[0].hops())
    assert hops == {(a, b) for c in cables[1:] for a, b in (c.ends, c.ends[::-1])}


def test_three_workers_on_three_servers_fit_links_exactly_as_wide_as_b() -> None:
    # (c): one GPU each on s1, s2, s4. Once round, s1→s2→s4→(s3)→s1, or there and back: no directed link is
    # crossed twice, so b = 1 is wide enough. Below b a worker stands alone: 1.
    hosts = servers(s1=1, s2=1, s3=0, s4=1)
    check_optimum(slot(Cluster(hosts, (), build_ring4(gbps=1).links), job("a", 3)), 3)
    check_optimum(slot(Cluster(hosts, (), build_ring4(gbps=0.99).links), job("a", 3)), 1)


def test_two_rings_share_the_cables_by_going_round_in_opposite_directions() -> None:
    # Both jobs have one seat on each of s1, s2, s4 and want all three; eight directed links carry one each.
    # A ring over s1, s2, s4 crosses at least four of them. Going there and back (s1–s2–s4 both ways) takes
    # s2's four links, and leaves s2 unreachable to the other job. Round and round, one clockwise and one
    # anticlockwise, they take four each: 3 + 3 = 6.
    seats = Resources({"a": 1, "b": 1})
    hosts = tuple(Server(f"s{n}", seats if n != 3 else Resources({})) for n in range(1, 5))
    cluster = Cluster(hosts, (), build_ring4(gbps=1).links)
    both = [job(name, 3, needs={name: 1}) for name in "ab"]
    decision = check_optimum(slot(cluster, *both), 6)
    hops = [hop for ring in decision.allocation.rings for hop in ring.hops()]
    assert len(hops) == len(set(hops)) == 8


# What the paper's relaxations cannot see.


def test_the_relaxations_are_blind_to_bandwidth() -> None:
    # s0–s1–s2–s3, links carry one ring. A has a seat on s0 and one on s3, B on s1 and on s2; both run with
    # two workers or not at all and gain 1. A's ring crosses s1–s2 both ways, and so does B's: one of them, 1.
    # Averaged over positions nothing crosses any link: every LP of the paper says 2.
    row = line(1, {"a": 1}, {"b": 1}, {"b": 1}, {"a": 1})
    snapshot = slot(row, *(job(name, (2, 2), Linear(0.5), needs={name: 1}) for name in "ab"))
    check_optimum(snapshot, 1)
    problem = build_slot_problem(snapshot)
    assert lp_values(problem) == pytest.approx([2, 2])
    assert solve(build_copies(problem).program).objective == pytest.approx(2)
    assert solve(build_columns(problem)[0]).objective == pytest.approx(2)
    # With room for two on the middle link both run.
    wide = replace(row, links=(row.links[0], Link(("s1", "s2"), 2), row.links[2]))
    check_optimum(replace(snapshot, cluster=wide), 2)


def test_sizes_up_to_the_relaxed_bound_lose_the_optimum() -> None:
    # One server of 3 GPUs. A: 1 GPU a worker, gain 1 each, N = 3. B: 2 GPUs, one worker at most, gain slope
    # 2.2 to half a worker, 1.7 after. Per GPU: A 1, B 1.1 then 0.85. Relaxed: half of B takes 1 GPU, A the
    # other two, 2 + 1.1 = 3.1. Whole: three A gain 3; one A and one B gain 1 + 1.95 = 2.95.
    table = Table(((0, 0), (0.5, 1.1), (1, 1.95)))
    snapshot = slot(alone(gpu=3), job("a", 3), job("b", 1, table, needs={"gpu": 2}))
    assert sizes(check_optimum(snapshot, 3)) == {"a": 3}
    problem = build_slot_problem(snapshot)
    limits = find_size_limits(problem)
    assert limits == pytest.approx([2, 0.5])
    # Q = {1, 2} × {1}: the ring of three is out of reach, and 2.95 is the best.
    cut = keep_sizes_up_to(problem, limits)
    assert list(zip(cut.pair_job, cut.pair_size, strict=True)) == [(0, 1), (0, 2), (1, 1)]
    assert problem.worth(solve_exactly(cut).rings) == 2.95


def test_a_sigmoid_far_away_gains_nothing_literally_and_its_share_on_the_majorant() -> None:
    # ζ = 50, sensitivity 1, target 1000: σ(50 − 1000) underflows to 0, so the literal gain of a first worker
    # is 0, as if it were worth nothing. After 21 worker-slots, at 1050, the utility is 10 (to e⁻⁵⁰); no point
    # seen from 0 is steeper (20 worker-slots: 5), so that one worker gains 10/21 on the majorant.
    far = replace(job("a", 1, Sigmoid(10, 1, 1000)), rate=50)
    snapshot = slot(alone(gpu=1), far, slots=40)
    assert find_optimum(snapshot)[0] == 0
    assert np.all(build_slot_problem(snapshot, majorant=False).pair_gain == 0)
    blind = ask(Optimal(majorant=False), snapshot, seed=0)
    assert (blind.objective, blind.upper_bound, blind.status) == (0, 0, Status.OPTIMAL)
    assert blind.surrogate is None
    seeing = ask(Optimal(), snapshot, seed=0)
    assert sizes(seeing) == {"a": 1}
    assert seeing.objective == 0
    # Best by the majorant; by the true utility the bound is not reached.
    assert seeing.status is Status.CERTIFIED
    assert seeing.surrogate is not None
    assert seeing.surrogate.objective == pytest.approx(10 / 21, rel=1e-9)
    assert seeing.surrogate.upper_bound == pytest.approx(10 / 21, rel=1e-9)


# Ring sizes.


def test_a_ring_of_one_has_no_edges() -> None:
    # κ = 1 on two servers joined by a dead link: no routes, no bandwidth, gain √9 = 3.
    snapshot = slot(line(0, {"gpu": 1}, {"gpu": 1}), replace(job("a", 1, Sqrt(3)), bandwidth_gbps=5))
    decision = check_optimum(snapshot, 3)
    assert decision.allocation.rings[0].routes == ()


def test_a_ring_of_two_crosses_its_link_once_each_way() -> None:
    # κ = 2 over one link: two directed edges, one each way. b = 4 fits a link of 4, not one of 3.9.
    two = job("a", 2, gbps=4)
    decision = check_optimum(slot(line(4, {"gpu": 1}, {"gpu": 1}), two), 2)
    assert sorted(decision.allocation.rings[0].hops()) == [("s0", "s1"), ("s1", "s0")]
    check_optimum(slot(line(3.9, {"gpu": 1}, {"gpu": 1}), two), 1)


def test_a_ring_on_a_star_crosses_every_spoke_once_each_way() -> None:
    # Three servers of one GPU round a switch: the ring of three goes in and out of each once, so that
    # spokes of b = 2 carry one such job, and spokes of 4 carry two (on two GPUs each): 3, then 6.
    def star(gpus: float, gbps: float) -> Cluster:
        hosts = servers(s0=gpus, s1=gpus, s2=gpus)
        return Cluster(hosts, ("hub",), tuple(Link((host.name, "hub"), gbps) for host in hosts))

    whole = job("a", (3, 3), gbps=2)
    check_optimum(slot(star(1, 2), whole), 3)
    check_optimum(slot(star(1, 1.9), whole), 0)
    # Seats of their own, so that neither can huddle on two servers.
    hosts = tuple(Server(f"s{n}", Resources({"a": 1, "b": 1})) for n in range(3))
    pair = [job(name, (3, 3), gbps=2, needs={name: 1}) for name in "ab"]
    check_optimum(slot(replace(star(1, 4), servers=hosts), *pair), 6)
    check_optimum(slot(replace(star(1, 3), servers=hosts), *pair), 3)


def test_a_smallest_ring_above_one_runs_whole_or_waits() -> None:
    # 3 GPUs; A gains 1 a worker from two workers on, B 2 a worker with exactly two. B first: 4, and the one
    # GPU left is too little for A. Three of A: 3. If A might run alone: 4 + 1 = 5.
    b = job("b", (2, 2), Linear(2))
    decision = check_optimum(slot(alone(gpu=3), job("a", (2, 3)), b), 4)
    assert reasons(decision) == {"a": Reason.CAPACITY}
    check_optimum(slot(alone(gpu=3), job("a", (1, 3)), b), 5)


def test_a_budget_caps_the_ring_by_what_it_still_pays_for() -> None:
    # F = 12 GPU-slots at 2 GPUs a worker pay for 6 worker-slots; 4 are served, so two more workers: 2.
    spent = ActiveJob(job("a", 5, needs={"gpu": 2}, budget=Resources({"gpu": 12})), served=4)
    check_optimum(slot(alone(gpu=16), spent), 2)
    # The fifth leaves one worker-slot, and a smallest ring of two is out.
    paid = replace(spent, job=replace(spent.job, min_workers=2), served=5)
    assert reasons(check_optimum(slot(alone(gpu=16), paid), 0)) == {"a": Reason.BUDGET}


# Resources, paths, objectives.


def test_two_resources_bind_at_once() -> None:
    # 4 GPUs and 10 GiB. A: 1 GPU, 1 GiB, gain 1. B: 1 GPU, 4 GiB, gain 3. Two B (8 GiB) and two A fill both
    # exactly: 6 + 2 = 8. One B and three A: 6. Three B need 12 GiB. Four A: 4.
    jobs = (job("a", 4, needs={"gpu": 1, "gib": 1}), job("b", 3, Linear(3), needs={"gpu": 1, "gib": 4}))
    snapshot = slot(alone(gpu=4, gib=10), *jobs)
    assert sizes(check_optimum(snapshot, 8)) == {"a": 2, "b": 2}
    # By GPUs alone it would be three B and one A, 10; by memory alone still 8 (one B, four A: 7).
    check_optimum(slot(alone(gpu=4, gib=1000), *jobs), 10)
    check_optimum(slot(alone(gpu=1000, gib=10), *jobs), 8)


def test_a_job_that_needs_what_no_server_has_never_runs() -> None:
    snapshot = slot(alone(gpu=2), job("a", 1), job("b", 1, Linear(9), needs={"gpu": 1, "tpu": 1}))
    assert reasons(check_optimum(snapshot, 1)) == {"b": Reason.TOO_LARGE}


def test_parallel_spines_must_share_the_load() -> None:
    # Two leaves, two spines, uplinks of b. A and B each have one seat on both sides; a ring of two goes up
    # and down once each way. One spine carries one of them: 2 + 1 = 3. With both spines each has one: 4.
    seats = Resources({"a": 1, "b": 1})
    both = [job(name, 2, needs={name: 1}) for name in "ab"]
    two = build_leaf_spine(2, 2, 1, resources=seats, server_gbps=2, uplink_gbps=1)
    decision = check_optimum(slot(two, *both), 4)
    assert {node for ring in decision.allocation.rings for hop in ring.hops() for node in hop} >= {
        "spine0",
        "spine1",
    }
    one = build_leaf_spine(2, 1, 1, resources=seats, server_gbps=2, uplink_gbps=1)
    check_optimum(slot(one, *both), 3)


def test_a_wide_ring_takes_the_spine_that_carries_it() -> None:
    # As above, but A is 3 wide, which fills spine0's uplinks and is too much for spine1's. So A takes spine0,
    # and B (b = 1) finds room on spine1 when that carries 1: 4. At 0.5 B stays a single worker: 3.
    seats = Resources({"a": 1, "b": 1})
    wide, thin = job("a", 2, needs={"a": 1}, gbps=3), job("b", 2, needs={"b": 1}, gbps=1)
    base = build_leaf_spine(2, 2, 1, resources=seats, server_gbps=4, uplink_gbps=3)

    def spine1(gbps: float) -> Cluster:
        return replace(
            base, links=tuple(Link(k.ends, gbps if "spine1" in k.ends else k.gbps) for k in base.links)
        )

    check_optimum(slot(spine1(1), wide, thin), 4)
    check_optimum(slot(spine1(0.5), wide, thin), 3)


def test_diminishing_gains_spread_the_workers() -> None:
    # 5 GPUs, μ = √work; A is new, B has done 4. Workers of A add 1, 0.41, 0.32, 0.27; of B √5 − 2 = 0.24,
    # √6 − √5 = 0.21 … So A takes its N = 4 and B the fifth: 2 + √5 − 2 = √5.
    a, b = job("a", 4, Sqrt(1)), ActiveJob(job("b", 5, Sqrt(1)), served=4)
    decision = ask(Optimal(), slot(alone(gpu=5), a, b), seed=0)
    assert sizes(decision) == {"a": 4, "b": 1}
    assert decision.objective == pytest.approx(np.sqrt(5), rel=1e-12)


def test_energy_alone_schedules_nothing() -> None:
    # μ = −work²: every worker costs. The optimum is an empty slot.
    decision = check_optimum(slot(alone(gpu=4), job("a", 3, Energy())), 0)
    assert decision.allocation.rings == ()
    assert reasons(decision) == {"a": Reason.GAIN}


def test_energy_against_progress_stops_at_the_best_size() -> None:
    # 6κ − κ²: 5, 8, 9, 8 … three workers of five gain 9.
    best = check_optimum(slot(alone(gpu=5), job("a", 5, Energy(Linear(6)))), 9)
    assert sizes(best) == {"a": 3}
