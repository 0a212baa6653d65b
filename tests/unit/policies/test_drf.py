"""Dominant resource fairness, on shares worked out by hand."""

import numpy as np
import pytest

from gadget.errors import BadOption
from gadget.model.cluster import Cluster, Link, Server
from gadget.model.decision import Decision, Reason
from gadget.model.job import ActiveJob, Job
from gadget.model.resources import Resources
from gadget.model.ring import Allocation, Ring
from gadget.model.snapshot import Snapshot
from gadget.model.utility import Linear
from gadget.policies.growing import count_workers
from gadget.policies.policy import ask
from gadget.policies.registry import build_policy


def star(*gpus: int, gbps: float = 10) -> Cluster:
    names = "abcdefgh"[: len(gpus)]
    return Cluster(
        tuple(Server(name, Resources({"gpu": n})) for name, n in zip(names, gpus, strict=True)),
        ("sw",),
        tuple(Link((name, "sw"), gbps) for name in names),
    )


def job(name: str, most: int, *, least: int = 1, arrival: int = 0, gbps: float = 1, **more: object) -> Job:
    fields = {"resources": Resources({"gpu": 1}), **more}
    return Job(
        name=name,
        arrival=arrival,
        min_workers=least,
        max_workers=most,
        bandwidth_gbps=gbps,
        rate=1,
        utility=Linear(),
        **fields,  # type: ignore[arg-type]
    )


def decide(cluster: Cluster, *jobs: Job | ActiveJob, running: tuple[Ring, ...] = ()) -> Decision:
    actives = tuple(one if isinstance(one, ActiveJob) else ActiveJob(one) for one in jobs)
    return ask(build_policy("drf"), Snapshot(cluster, actives, 5, 10, running=Allocation(running)), 0)


def sizes(decision: Decision) -> dict[str, int]:
    return {ring.job: ring.size for ring in decision.allocation.rings}


def reasons(decision: Decision) -> dict[str, str]:
    return {one.job: one.reason for one in decision.waiting}


def test_the_example_of_ghodsi() -> None:
    # 9 CPUs, 18 GB; A takes 1 CPU and 4 GB a task, B 3 CPUs and 1 GB: 3 and 2 tasks, both 2/3 of their
    # dominant resource.
    cluster = Cluster((Server("a", Resources({"cpu": 9, "memory_gib": 18})),), (), ())
    decision = decide(
        cluster,
        job("A", 9, resources=Resources({"cpu": 1, "memory_gib": 4})),
        job("B", 9, resources=Resources({"cpu": 3, "memory_gib": 1})),
    )
    assert sizes(decision) == {"A": 3, "B": 2}


def test_alike_jobs_share_alike_and_the_odd_worker_goes_to_the_earliest() -> None:
    decision = decide(star(4, 4), job("z", 8, arrival=2), job("y", 8, arrival=1), job("x", 8, arrival=0))
    assert sizes(decision) == {"x": 3, "y": 3, "z": 2}


def test_what_a_small_job_leaves_goes_to_the_others() -> None:
    assert sizes(decide(star(4, 4), job("x", 8), job("small", 1), job("y", 8))) == {
        "x": 4,
        "small": 1,
        "y": 3,
    }


def test_the_first_grant_is_the_smallest_ring() -> None:
    # p has 1 when q takes its 4 at once; then p catches up to 3. With 4 GPUs there is no room for q by then.
    assert sizes(decide(star(7), job("p", 9), job("q", 9, least=4))) == {"p": 3, "q": 4}
    decision = decide(star(4), job("p", 9), job("q", 9, least=4))
    assert sizes(decision) == {"p": 4}
    assert reasons(decision) == {"q": Reason.CAPACITY}


def test_a_worker_with_more_gpus_counts_for_more() -> None:
    decision = decide(star(8), job("thin", 8), job("fat", 8, resources=Resources({"gpu": 2})))
    assert sizes(decision) == {"thin": 4, "fat": 2}


def test_filling_goes_on_without_those_whose_resource_is_used_up() -> None:
    cluster = Cluster((Server("a", Resources({"gpu": 2, "cpu": 8})),), (), ())
    decision = decide(cluster, job("g", 8), job("c", 8, resources=Resources({"cpu": 1})))
    assert sizes(decision) == {"g": 2, "c": 8}


def test_a_budget_ends_growth() -> None:
    spent = ActiveJob(job("x", 8, budget=Resources({"gpu": 7})), served=5)
    assert sizes(decide(star(8), spent, job("y", 8))) == {"x": 2, "y": 6}


def test_a_ring_that_finds_no_place_shrinks() -> None:
    # By numbers 2 and 2; but links are too thin to join servers, and p leaves one GPU on each.
    decision = decide(star(3, 1), job("p", 2, gbps=20), job("q", 2, gbps=20))
    assert sizes(decision) == {"p": 2, "q": 1}


def test_what_placing_leaves_over_is_filled_up() -> None:
    # By numbers 2 and 2; q cannot have less and finds no two GPUs together, so p gets one more.
    decision = decide(star(3, 1), job("p", 4, gbps=20), job("q", 2, least=2, gbps=20))
    assert sizes(decision) == {"p": 3}
    assert reasons(decision) == {"q": Reason.CAPACITY}


def test_a_job_held_up_by_links_says_so() -> None:
    decision = decide(star(2, 2), job("p", 3, gbps=9, least=3), job("q", 1), job("r", 2, gbps=2, least=2))
    assert sizes(decision) == {"p": 3, "q": 1}
    assert reasons(decision) == {"r": Reason.CAPACITY}
    decision = decide(star(2, 2, 1), job("p", 3, gbps=9, least=3), job("r", 2, gbps=2, least=2))
    assert reasons(decision) == {"r": Reason.BANDWIDTH}


def test_a_ring_whose_size_stays_stays_where_it_is() -> None:
    kept = Ring("old", ("b", "a"), (("b", "sw", "a"), ("a", "sw", "b")))
    decision = decide(star(2, 2), job("new", 2), job("old", 2), running=(kept,))
    assert decision.allocation.ring_of["old"] == kept
    assert sizes(decision) == {"new": 2, "old": 2}


def test_a_later_ring_yields_to_an_earlier_job_that_fits_nowhere_else() -> None:
    # old stands where first, which cannot cross links, finds its only two GPUs.
    old = Ring("old", ("a",), ())
    decision = decide(star(2, 1), job("first", 2, least=2, gbps=20), job("old", 1, arrival=1), running=(old,))
    assert decision.allocation.ring_of["first"].workers == ("a", "a")
    assert decision.allocation.ring_of["old"].workers == ("b",)


def test_a_shrunk_ring_does_not_move_from_slot_to_slot() -> None:
    jobs = (job("p", 2, gbps=20), job("q", 2, gbps=20))
    once = decide(star(3, 1), *jobs)
    assert decide(star(3, 1), *jobs, running=once.allocation.rings).allocation == once.allocation


def test_drf_has_no_fixed_number_of_workers() -> None:
    with pytest.raises(BadOption, match="drf has no option 'workers'"):
        build_policy("drf:workers=2")


def share_first(job: int, workers: int) -> float:
    return workers / 3


def test_filling_by_numbers_keeps_to_the_tolerance_of_decimals() -> None:
    assert count_workers(np.array([[0.1]]), np.array([0.3]), [1], [9], share_first) == [3]


def test_filling_nobody_gives_nothing() -> None:
    assert count_workers(np.zeros((0, 1)), np.array([4.0]), [], [], share_first) == []
