"""Each constraint on its own: what breaks it, what just keeps it, and the numbers in the message."""

from dataclasses import replace

import pytest

from gadget import (
    ActiveJob,
    Allocation,
    Cluster,
    Decision,
    Job,
    Linear,
    Link,
    Resources,
    Ring,
    Server,
    Snapshot,
    Status,
    Surrogate,
    Violation,
    find_false_claims,
    find_violations,
)

# s0 and s1 hang below one rack, s2 behind s1.
CLUSTER = Cluster(
    (
        Server("s0", Resources({"gpu": 2, "memory_gib": 0.3})),
        Server("s1", Resources({"gpu": 2})),
        Server("s2", Resources({"gpu": 1})),
    ),
    ("rack",),
    (Link(("s0", "rack"), 1), Link(("rack", "s1"), 0.3), Link(("s1", "s2"), 5)),
)
JOB = Job(
    name="j", resources=Resources({"gpu": 1}), max_workers=3, utility=Linear(2), bandwidth_gbps=0.3, rate=10
)
HOME = ("s0",)
OVER = ("s0", "rack", "s1")
BACK = ("s1", "rack", "s0")


def judge(*rings, job=JOB, others=(), cluster=CLUSTER, slot=4, served=0):
    actives = (ActiveJob(job, served), *(ActiveJob(other) for other in others))
    found = find_violations(Snapshot(cluster, actives, slot=slot, slots=9), Allocation(rings))
    return [str(violation) for violation in found]


def test_nothing_at_all_is_feasible():
    assert judge() == []


@pytest.mark.parametrize(
    ("workers", "routes"),
    [
        (("s0",), ()),
        (("s0", "s0"), (HOME, HOME)),
        (("s0", "s1"), (OVER, BACK)),
        (("s0", "s0", "s1"), (HOME, OVER, BACK)),
        (("s0", "s1", "s0"), (OVER, BACK, HOME)),
        (("s1", "s0", "s0"), (BACK, HOME, OVER)),
        (("s0", "s1", "s2"), (OVER, ("s1", "s2"), ("s2", "s1", "rack", "s0"))),
    ],
    ids=["one worker", "two at home", "two apart", "2+1", "2+1 around the end", "1+2", "through a server"],
)
def test_rings_that_are_closed(workers, routes):
    assert judge(Ring("j", workers, routes)) == []


def test_each_violation_is_a_value_that_reads_as_one_line():
    snapshot = Snapshot(CLUSTER, (), slot=0, slots=1)
    found = find_violations(snapshot, Allocation((Ring("j", HOME, ()),)))
    assert found == [Violation("unknown name", "job 'j'", "is not in the snapshot")]
    assert str(found[0]) == "unknown name job 'j': is not in the snapshot"


def test_ring_size_below_min_and_above_max():
    two = replace(JOB, min_workers=2, max_workers=2)
    assert judge(Ring("j", HOME, ()), job=two) == ["(2) ring size job 'j': has 1 workers, allowed are 2 to 2"]
    roomy = replace(CLUSTER, servers=(Server("s0", Resources({"gpu": 3})), *CLUSTER.servers[1:]))
    assert judge(Ring("j", HOME * 3, (HOME,) * 3), job=two, cluster=roomy) == [
        "(2) ring size job 'j': has 3 workers, allowed are 2 to 2"
    ]


def test_a_ring_of_no_workers_is_too_small():
    assert judge(Ring("j", (), ())) == ["(2) ring size job 'j': has 0 workers, allowed are 1 to 3"]


def test_server_capacity_is_shared_by_all_rings():
    other = replace(JOB, name="k")
    two = Ring("j", HOME * 2, (HOME, HOME))
    assert judge(two, Ring("k", HOME, ()), others=[other]) == [
        "(4) server capacity server 's0': its workers take 3 gpu, it has 2"
    ]


def test_a_resource_that_the_server_does_not_have_counts_as_none_of_it():
    demand = Resources({"gpu": 1, "memory_gib": 0.1})
    assert judge(Ring("j", ("s1",), ()), job=replace(JOB, resources=demand)) == [
        "(4) server capacity server 's1': its workers take 0.1 memory_gib, it has 0"
    ]
    no_need = Resources({"gpu": 1, "memory_gib": 0})
    assert judge(Ring("j", ("s1",), ()), job=replace(JOB, resources=no_need)) == []


def test_decimal_fractions_fit_on_a_server():
    """0.1 + 0.2 is 0.30000000000000004 in binary; 0.31 is too much in any base."""
    third = replace(JOB, resources=Resources({"memory_gib": 0.1}))
    other = replace(JOB, name="k", resources=Resources({"memory_gib": 0.2}))
    rings = Ring("j", HOME, ()), Ring("k", HOME, ())
    assert judge(*rings, job=third, others=[other]) == []
    more = replace(other, resources=Resources({"memory_gib": 0.21}))
    assert judge(*rings, job=third, others=[more]) == [
        "(4) server capacity server 's0': its workers take 0.31 memory_gib, it has 0.3"
    ]


def test_arrival():
    assert judge(Ring("j", HOME, ()), job=replace(JOB, arrival=4)) == []
    assert judge(Ring("j", HOME, ()), job=replace(JOB, arrival=5)) == [
        "(6) arrival job 'j': runs in slot 4, arrives in slot 5"
    ]


def test_budget_counts_what_was_served():
    """12 gpu·slots pay for 12 worker-slots: after 10, two workers may run, after 11 only one."""
    paid = replace(JOB, budget=Resources({"gpu": 12}))
    two = Ring("j", ("s0", "s0"), (HOME, HOME))
    assert judge(two, job=paid, served=10) == []
    assert judge(two, job=paid, served=11) == [
        "(11) budget job 'j': 11 of 12 gpu·slots are spent, the ring takes 2 more"
    ]


def test_budget_in_decimals_and_in_resources_that_cost_nothing():
    tenth = replace(JOB, resources=Resources({"gpu": 0.1}), budget=Resources({"gpu": 0.3, "tpu": 0}))
    three = Ring("j", HOME * 3, (HOME,) * 3)
    assert judge(three, job=tenth) == []
    assert judge(three, job=tenth, served=0.5) == [
        "(11) budget job 'j': 0.05 of 0.3 gpu·slots are spent, the ring takes 0.3 more"
    ]


def test_link_capacity_holds_in_each_direction_on_its_own():
    """0.3 Gbps each way on a link of 0.3 is allowed; 0.6 one way is not."""
    assert judge(Ring("j", ("s0", "s1"), (OVER, BACK))) == []
    other = replace(JOB, name="k")
    rings = Ring("j", ("s0", "s1"), (OVER, BACK)), Ring("k", ("s1", "s0"), (BACK, OVER))
    assert judge(*rings, others=[other]) == [
        "(19) link capacity link 'rack' → 's1': its rings reserve 0.6 Gbps, it carries 0.3",
        "(19) link capacity link 's1' → 'rack': its rings reserve 0.6 Gbps, it carries 0.3",
    ]


def test_only_the_overloaded_direction_is_named():
    """On a triangle a ring can go round: a→b→c→a. Two such rings, b=0.2 each, overload a→b alone."""
    triangle = Cluster(
        tuple(Server(name, Resources({"gpu": 2})) for name in "abc"),
        (),
        (Link(("a", "b"), 0.3), Link(("b", "c"), 9), Link(("c", "a"), 9)),
    )
    thin, other = replace(JOB, bandwidth_gbps=0.2), replace(JOB, name="k", bandwidth_gbps=0.2)
    round_trip = ("a", "b", "c"), (("a", "b"), ("b", "c"), ("c", "a"))
    assert judge(
        Ring("j", *round_trip), Ring("k", *round_trip), job=thin, others=[other], cluster=triangle
    ) == ["(19) link capacity link 'a' → 'b': its rings reserve 0.4 Gbps, it carries 0.3"]
    the_other_way = ("a", "c", "b"), (("a", "c"), ("c", "b"), ("b", "a"))
    assert (
        judge(Ring("j", *round_trip), Ring("k", *the_other_way), job=thin, others=[other], cluster=triangle)
        == []
    )


def test_decimal_fractions_fit_on_a_link():
    """0.1 + 0.2 Gbps on 0.3."""
    a, b = replace(JOB, bandwidth_gbps=0.1), replace(JOB, name="k", bandwidth_gbps=0.2)
    rings = Ring("j", ("s0", "s1"), (OVER, BACK)), Ring("k", ("s0", "s1"), (OVER, BACK))
    assert judge(*rings, job=a, others=[b]) == []


def test_an_edge_inside_a_server_uses_no_link():
    cut = replace(CLUSTER, links=tuple(replace(link, gbps=0) for link in CLUSTER.links))
    assert judge(Ring("j", ("s0", "s0"), (HOME, HOME)), cluster=cut) == []
    assert len(judge(Ring("j", ("s0", "s1"), (OVER, BACK)), cluster=cut)) == 4


@pytest.mark.parametrize(
    ("route", "problem"),
    [
        ((), "should lead from 's0' to 's1', but is nothing"),
        (BACK, "should lead from 's0' to 's1', but is s1 → rack → s0"),
        (("s0", "rack"), "should lead from 's0' to 's1', but is s0 → rack"),
        (("s0", "s1"), "no link joins 's0' and 's1'"),
        (("s0", "rack", "s0", "rack", "s1"), "passes a node twice: s0 → rack → s0 → rack → s1"),
    ],
)
def test_routes_lead_from_worker_to_worker(route, problem):
    thin = replace(JOB, bandwidth_gbps=0.1)
    assert judge(Ring("j", ("s0", "s1"), (route, BACK)), job=thin) == [f"(7) route job 'j' edge 0: {problem}"]


def test_a_route_over_a_node_that_is_not_there():
    assert judge(Ring("j", ("s0", "s1"), (OVER, ("s1", "rock", "s0")))) == [
        "unknown name job 'j' edge 1: passes 'rock', which is no node"
    ]


def test_a_route_that_leaves_home_and_comes_back():
    loop = ("s0", "rack", "s0")
    assert judge(Ring("j", ("s0", "s0"), (HOME, loop))) == [
        "(7) route job 'j' edge 1: passes a node twice: s0 → rack → s0"
    ]


@pytest.mark.parametrize(
    ("workers", "routes", "needed"),
    [
        (("s0",), (HOME,), "has 1 routes, 1 workers need 0"),
        (("s0", "s1"), (OVER,), "has 1 routes, 2 workers need 2"),
        (("s0", "s0"), (), "has 0 routes, 2 workers need 2"),
    ],
)
def test_as_many_routes_as_edges(workers, routes, needed):
    assert judge(Ring("j", workers, routes)) == [f"(9) one ring job 'j': {needed}"]


def test_a_server_is_visited_once():
    four = replace(JOB, max_workers=4, bandwidth_gbps=0.1)
    ring = Ring("j", ("s0", "s1", "s0", "s1"), (OVER, BACK, OVER, BACK))
    assert judge(ring, job=four) == [
        "(9) one ring job 'j': enters server 's1' 2 times; once is allowed",
        "(9) one ring job 'j': enters server 's0' 2 times; once is allowed",
    ]


def test_a_job_has_one_ring():
    ring = Ring("j", ("s0",), ())
    assert judge(ring, ring) == ["(9) one ring job 'j': has 2 rings; a job has at most one"]


@pytest.mark.parametrize("node", ["rack", "s9"])
def test_workers_stand_on_servers(node):
    assert judge(Ring("j", (node,), ())) == [
        f"unknown name job 'j': places a worker on {node!r}, which is no server"
    ]


def test_every_violation_is_told_not_only_the_first():
    late = replace(JOB, arrival=9, max_workers=1, budget=Resources({"gpu": 1}))
    ring = Ring("j", ("s2", "s2", "s0"), (("s2",), ("s2", "s0")))
    assert [said.split(" job ")[0].split(" server ")[0] for said in judge(ring, job=late)] == [
        "(6) arrival",
        "(2) ring size",
        "(11) budget",
        "(9) one ring",
        "(4)",
    ]


# Two workers of JOB do 2·10 work in a slot, worth 2·20 = 40.
SNAPSHOT = Snapshot(CLUSTER, (ActiveJob(JOB),), slot=4, slots=9)
HONEST = Decision(
    slot=4,
    policy="p",
    seed=0,
    allocation=Allocation((Ring("j", ("s0", "s0"), (HOME, HOME)),)),
    waiting=(),
    objective=40.0,
    upper_bound=40.0,
    status=Status.OPTIMAL,
    seconds=0.0,
)


@pytest.mark.parametrize(
    "changes",
    [
        {},
        {"upper_bound": 60.0, "status": Status.CERTIFIED},
        {"upper_bound": None, "status": Status.HEURISTIC},
        {"upper_bound": None, "status": Status.CERTIFIED, "surrogate": Surrogate(41.0, 42.0)},
        {"objective": 40.00003},
    ],
    ids=["optimal", "certified", "heuristic", "certified on a surrogate", "rounded"],
)
def test_true_claims(changes):
    assert find_false_claims(SNAPSHOT, replace(HONEST, **changes)) == []


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"slot": 5}, "claim slot: the decision is for slot 5, the snapshot shows slot 4"),
        ({"objective": 41.0}, "claim objective: 41 is claimed, the rings gain 40"),
        ({"objective": float("nan")}, "claim objective: nan is claimed, the rings gain 40"),
        ({"upper_bound": 39.0}, "claim upper_bound: 39.0 is below the 40 that the rings gain"),
        ({"upper_bound": None}, "claim status: optimal is claimed without an upper_bound"),
        (
            {"upper_bound": None, "status": Status.CERTIFIED},
            "claim status: certified is claimed without an upper_bound",
        ),
    ],
)
def test_false_claims(changes, said):
    assert list(map(str, find_false_claims(SNAPSHOT, replace(HONEST, **changes)))) == [said]


def test_every_false_claim_is_told():
    false = replace(HONEST, slot=0, objective=1.0, upper_bound=1.0)
    assert [claim.where for claim in find_false_claims(SNAPSHOT, false)] == [
        "slot",
        "objective",
        "upper_bound",
    ]
