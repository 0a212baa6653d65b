"""The referee agrees with the definitions, on thousands of tiny slots and on every ring of one cluster."""

import random
from collections import Counter
from itertools import product

from hypothesis import given, settings
from hypothesis import strategies as st

from gadget import (
    ActiveJob,
    Allocation,
    Cluster,
    Job,
    Link,
    Resources,
    Ring,
    Server,
    Snapshot,
    Sqrt,
    find_violations,
)
from tests.brute_force import is_feasible
from tests.judged_cases import BREAKS, HARMLESS, RARELY_HARMFUL, draw_case
from tests.strategies import allocations, snapshots


@settings(max_examples=300)
@given(st.randoms(use_true_random=False))
def test_it_accepts_what_the_definitions_accept(rng):
    _, snapshot, allocation = draw_case(rng)
    assert (find_violations(snapshot, allocation) == []) == is_feasible(snapshot, allocation)


@given(snapshots(), st.data())
def test_it_has_an_answer_to_any_rings(snapshot, data):
    jobs = [active.job.name for active in snapshot.jobs] or ["nobody"]
    of = {"job": st.sampled_from(jobs), "nodes": st.sampled_from((*snapshot.cluster.nodes, "nowhere"))}
    allocation = data.draw(allocations(**of))
    assert (find_violations(snapshot, allocation) == []) == is_feasible(snapshot, allocation)


def test_both_verdicts_are_frequent_and_right():
    feasible, broken, constraints = Counter(), Counter(), Counter()
    for seed in range(4000):
        how, snapshot, allocation = draw_case(random.Random(seed))
        found = find_violations(snapshot, allocation)
        assert (found == []) == is_feasible(snapshot, allocation), (seed, how, found)
        (broken if found else feasible)[how] += 1
        constraints.update({violation.constraint for violation in found})
    assert feasible.total() >= 800
    assert broken.total() >= 800
    assert all(broken[how] == 0 for how in HARMLESS)
    assert all(broken[how] >= 20 for how in BREAKS if how not in (*HARMLESS, *RARELY_HARMFUL)), broken
    assert all(
        constraints[constraint] >= 40
        for constraint in (
            "(2) ring size",
            "(4) server capacity",
            "(6) arrival",
            "(7) route",
            "(9) one ring",
            "(11) budget",
            "(19) link capacity",
            "unknown name",
        )
    ), constraints


def test_every_ring_on_a_line_of_three_servers():
    """s0–s1–s2 with room for 2, 1 and 1 workers: 22 rings of up to three workers can be closed.

    One worker: 3. Two: s0 s0, and 6 ordered pairs of different servers. Three: 6 orders of all
    servers, and two on s0 with one on s1 or s2, in 3 turns each. On a tree the routes follow.
    """
    cluster = Cluster(
        tuple(Server(f"s{n}", Resources({"gpu": room})) for n, room in enumerate((2, 1, 1))),
        (),
        (Link(("s0", "s1"), 1), Link(("s1", "s2"), 1)),
    )
    job = Job(
        name="j", resources=Resources({"gpu": 1}), max_workers=3, utility=Sqrt(), bandwidth_gbps=1, rate=1
    )
    snapshot = Snapshot(cluster, (ActiveJob(job),), slot=0, slots=1)
    nodes = ("s0", "s1", "s2")
    paths = [(a,) for a in nodes] + [("s0", "s1"), ("s1", "s0"), ("s1", "s2"), ("s2", "s1")]
    paths += [("s0", "s1", "s2"), ("s2", "s1", "s0")]
    accepted = set()
    for size in (1, 2, 3):
        for workers in product(nodes, repeat=size):
            for routes in product(paths, repeat=size if size > 1 else 0):
                allocation = Allocation((Ring("j", workers, routes),))
                verdict = find_violations(snapshot, allocation) == []
                assert verdict == is_feasible(snapshot, allocation), (workers, routes)
                if verdict:
                    accepted.add((workers, routes))
    assert len(accepted) == 3 + 7 + 12
