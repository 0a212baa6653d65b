"""First in, first out, on schedules worked out by hand."""

from gadget.model.cluster import Cluster, Link, Server
from gadget.model.decision import Decision, Reason
from gadget.model.job import ActiveJob, Job
from gadget.model.resources import Resources
from gadget.model.ring import Allocation, Ring
from gadget.model.snapshot import Snapshot
from gadget.model.utility import Linear
from gadget.policies.policy import ask
from gadget.policies.registry import build_policy

# Two servers of two GPUs behind one switch, 10 Gbps each.
CLUSTER = Cluster(
    tuple(Server(name, Resources({"gpu": 2})) for name in ("a", "b")),
    ("sw",),
    (Link(("a", "sw"), 10), Link(("b", "sw"), 10)),
)


def job(name: str, workers: int, *, arrival: int = 0, gbps: float = 1, least: int = 1, **more: object) -> Job:
    fields = {"resources": Resources({"gpu": 1}), **more}
    return Job(
        name=name,
        arrival=arrival,
        min_workers=least,
        max_workers=workers,
        bandwidth_gbps=gbps,
        rate=1,
        utility=Linear(),
        **fields,  # type: ignore[arg-type]
    )


def decide(*jobs: Job, policy: str = "fifo", running: tuple[Ring, ...] = (), slot: int = 5) -> Decision:
    snapshot = Snapshot(CLUSTER, tuple(map(ActiveJob, jobs)), slot, 10, running=Allocation(running))
    return ask(build_policy(policy), snapshot, 0)


def sizes(decision: Decision) -> dict[str, int]:
    return {ring.job: ring.size for ring in decision.allocation.rings}


def reasons(decision: Decision) -> dict[str, str]:
    return {one.job: one.reason for one in decision.waiting}


def test_earlier_arrivals_go_first_and_a_blocked_one_holds_up_the_rest() -> None:
    decision = decide(job("late", 1, arrival=3), job("big", 4, arrival=2), job("first", 2, arrival=1))
    assert sizes(decision) == {"first": 2}
    assert reasons(decision) == {"big": Reason.CAPACITY, "late": Reason.QUEUE}


def test_backfill_lets_later_ones_pass() -> None:
    decision = decide(
        job("late", 1, arrival=3),
        job("big", 4, arrival=2),
        job("first", 2, arrival=1),
        policy="fifo:backfill=true",
    )
    assert sizes(decision) == {"late": 1, "first": 2}


def test_the_fixed_number_of_workers_is_clipped_to_the_job() -> None:
    decision = decide(job("x", 1), job("y", 3, least=3), policy="fifo:workers=2,backfill=yes")
    assert sizes(decision) == {"x": 1, "y": 3}


def test_a_ring_larger_than_the_cluster_is_clipped_to_it() -> None:
    assert sizes(decide(job("x", 9))) == {"x": 4}


def test_the_last_slot_of_a_budget_takes_what_is_left() -> None:
    snapshot = Snapshot(CLUSTER, (ActiveJob(job("x", 3, budget=Resources({"gpu": 7})), served=5),), 0, 1)
    assert sizes(ask(build_policy("fifo"), snapshot, 0)) == {"x": 2}


def test_a_running_ring_stays_where_it_is_even_when_another_place_is_nearer() -> None:
    kept = Ring("old", ("b", "a"), (("b", "sw", "a"), ("a", "sw", "b")))
    decision = decide(job("new", 1, arrival=0), job("old", 2, arrival=4), running=(kept,))
    assert decision.allocation.ring_of["old"] == kept
    assert sizes(decision) == {"new": 1, "old": 2}


def test_what_is_merely_sad_waits_with_its_reason_and_blocks_nobody() -> None:
    decision = decide(
        job("fat", 1, resources=Resources({"gpu": 3})),
        job("exotic", 1, resources=Resources({"tpu": 1})),
        job("crowd", 9, least=5),
        job("broke", 2, budget=Resources({"gpu": 0.5})),
        job("early", 1, arrival=7),
        job("thirsty", 4, least=3, gbps=11),
        job("fine", 4),
    )
    assert sizes(decision) == {"fine": 4}
    assert reasons(decision) == {
        "fat": Reason.TOO_LARGE,
        "exotic": Reason.TOO_LARGE,
        "crowd": Reason.TOO_LARGE,
        "broke": Reason.BUDGET,
        "early": Reason.NOT_ARRIVED,
        "thirsty": Reason.TOO_LARGE,
    }
    detail = {one.job: one.detail for one in decision.waiting}
    assert detail["fat"] == "needs 3 gpu a worker; the largest server has 2"
    assert detail["exotic"] == "no server has tpu"
    assert "the empty cluster holds 4" in detail["crowd"]
    assert "pays for 0 more worker-slots" in detail["broke"]
    assert "joined by 11 Gbps" in detail["thirsty"]


def test_a_ring_held_up_by_links_says_so() -> None:
    # p and q leave one GPU on each server; w could use both but for p's and q's bandwidth.
    p = Ring("p", ("a", "b"), (("a", "sw", "b"), ("b", "sw", "a")))
    decision = decide(job("p", 2, gbps=9), job("w", 2, least=2, gbps=2, arrival=1), running=(p,))
    assert sizes(decision) == {"p": 2}
    assert reasons(decision) == {"w": Reason.BANDWIDTH}


def test_no_jobs_give_an_empty_decision() -> None:
    decision = decide()
    assert decision.allocation.rings == ()
    assert decision.waiting == ()
    assert decision.objective == 0


def test_drawn_numbers_hold_from_slot_to_slot_and_are_clipped_to_the_job() -> None:
    # With seed 0, job-0 draws 7, job-1 4, job-5 1 and job-13 2.
    jobs = [job(f"job-{n}", 3) for n in (0, 1, 5)]
    for slot in (0, 5):
        decision = decide(*jobs, policy="fifo:draw=0,backfill=true", slot=slot)
        assert sizes(decision) == {"job-0": 3, "job-5": 1}
    decision = decide(job("job-13", 3), job("job-5", 3, least=2), policy="fifo:draw=0")
    assert sizes(decision) == {"job-13": 2, "job-5": 2}
