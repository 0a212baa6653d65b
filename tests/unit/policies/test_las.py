"""Least attained service, on schedules worked out by hand."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gadget.errors import BadOption
from gadget.model.cluster import Cluster, Link, Server
from gadget.model.decision import Decision, Reason
from gadget.model.job import ActiveJob, Job
from gadget.model.resources import Resources
from gadget.model.ring import Allocation, Ring
from gadget.model.snapshot import Snapshot
from gadget.model.utility import Linear
from gadget.policies.las import Las, find_service
from gadget.policies.policy import ask
from gadget.policies.registry import build_policy
from gadget.solve.greedy import place_greedily
from gadget.solve.network import compile_network
from gadget.solve.room import Room

# Two servers of two GPUs behind one switch, 10 Gbps each.
CLUSTER = Cluster(
    tuple(Server(name, Resources({"gpu": 2, "memory_gib": 8})) for name in ("a", "b")),
    ("sw",),
    (Link(("a", "sw"), 10), Link(("b", "sw"), 10)),
)


def job(
    name: str, workers: int, served: float = 0, *, arrival: int = 0, gbps: float = 1, **more: object
) -> ActiveJob:
    fields = {"resources": Resources({"gpu": 1}), **more}
    made = Job(
        name=name,
        arrival=arrival,
        max_workers=workers,
        bandwidth_gbps=gbps,
        rate=1,
        utility=Linear(),
        **fields,  # type: ignore[arg-type]
    )
    return ActiveJob(made, served)


def decide(*jobs: ActiveJob, policy: str = "las", running: tuple[Ring, ...] = ()) -> Decision:
    return ask(build_policy(policy), Snapshot(CLUSTER, jobs, 5, 10, running=Allocation(running)), 0)


def sizes(decision: Decision) -> dict[str, int]:
    return {ring.job: ring.size for ring in decision.allocation.rings}


def reasons(decision: Decision) -> dict[str, str]:
    return {one.job: one.reason for one in decision.waiting}


def test_least_served_go_first_and_among_equals_the_earliest() -> None:
    decision = decide(job("old", 2, 9), job("late", 2, 3, arrival=1), job("early", 2, 3), job("mid", 2, 5))
    assert sizes(decision) == {"late": 2, "early": 2}
    assert reasons(decision) == {"old": Reason.CAPACITY, "mid": Reason.CAPACITY}


def test_service_has_two_dimensions_time_and_gpus() -> None:
    # x has had 4 GPU-slots in 4 worker-slots, y 6 in 3.
    two = Resources({"gpu": 2})
    decision = decide(job("x", 4, 4), job("y", 2, 3, resources=two))
    assert sizes(decision) == {"x": 4}


def test_one_that_does_not_fit_is_skipped() -> None:
    decision = decide(job("first", 2, 0), job("big", 4, 1), job("small", 1, 2))
    assert sizes(decision) == {"first": 2, "small": 1}
    assert reasons(decision) == {"big": Reason.CAPACITY}


def test_running_rings_yield_to_those_with_less_service() -> None:
    hog = Ring("hog", ("a", "a", "b", "b"), (("a",), ("a", "sw", "b"), ("b",), ("b", "sw", "a")))
    decision = decide(job("hog", 4, 8), job("new", 1, 0, arrival=4), running=(hog,))
    assert sizes(decision) == {"new": 1}
    assert reasons(decision) == {"hog": Reason.CAPACITY}


def test_running_rings_stay_while_there_is_room_elsewhere() -> None:
    # Greedily `new` would go to server a, where `old` stands.
    old = Ring("old", ("a", "a"), (("a",), ("a",)))
    decision = decide(job("old", 2, 8), job("new", 2, 0), running=(old,))
    assert decision.allocation.ring_of["old"] == old
    assert decision.allocation.ring_of["new"].workers == ("b", "b")


def test_only_the_least_deserving_yields() -> None:
    kept, gone = Ring("kept", ("a", "a"), (("a",), ("a",))), Ring("gone", ("b", "b"), (("b",), ("b",)))
    decision = decide(job("gone", 2, 9), job("kept", 2, 8), job("new", 2, 0), running=(kept, gone))
    assert decision.allocation.ring_of.keys() == {"kept", "new"}
    assert decision.allocation.ring_of["kept"] == kept


def test_one_that_yielded_in_vain_gets_its_place_back() -> None:
    # new needs two GPUs on one server: b's last one yields first, which is not enough, then a's.
    on_a, on_b = Ring("on-a", ("a",), ()), Ring("on-b", ("b",), ())
    thin = Cluster(CLUSTER.servers, ("sw",), (Link(("a", "sw"), 1), Link(("b", "sw"), 1)))
    jobs = (job("new", 2, gbps=2), job("other", 1, 1), job("on-a", 1, 7), job("on-b", 1, 8))
    snapshot = Snapshot(thin, jobs, 5, 10, running=Allocation((on_a, on_b)))
    decision = ask(Las(), snapshot, 0)
    assert sizes(decision) == {"new": 2, "other": 1, "on-a": 1}


def test_the_fixed_number_of_workers_is_clipped_to_the_job() -> None:
    assert sizes(decide(job("x", 1), job("y", 4), policy="las:workers=2")) == {"x": 1, "y": 2}


def test_queues_hold_jobs_of_about_the_same_service_and_go_by_arrival_inside() -> None:
    jobs = (job("x", 2, 9, arrival=0), job("y", 2, 2, arrival=2), job("z", 2, 1, arrival=3))
    assert sizes(decide(*jobs)) == {"y": 2, "z": 2}
    assert sizes(decide(*jobs, policy="las:queues=10/100")) == {"x": 2, "y": 2}
    # A limit reached is a limit passed.
    assert sizes(decide(*jobs, policy="las:queues=1.5/9")) == {"y": 2, "z": 2}


def test_running_jobs_may_go_before_others_of_their_queue() -> None:
    # All in the first queue. b runs, c has run before, a never has.
    jobs = (job("a", 2, 0, arrival=0), job("b", 2, 4, arrival=2), job("c", 2, 5, arrival=3))
    ring = Ring("b", ("a", "a"), (("a",), ("a",)))
    assert sizes(decide(*jobs, policy="las:queues=10", running=(ring,))) == {"a": 2, "b": 2}
    decision = decide(*jobs, policy="las:queues=10,running_first=true", running=(ring,))
    assert sizes(decision) == {"b": 2, "c": 2}
    # Queues still go first.
    decision = decide(*jobs, policy="las:queues=4,running_first=true", running=(ring,))
    assert sizes(decision) == {"a": 2, "b": 2}


def test_who_has_waited_long_for_what_it_has_run_is_promoted() -> None:
    # Slot 5. x has run 2 of 5 slots with its two workers, so it has waited 3; y has run 1 of 1.
    jobs = (job("x", 2, 4), job("y", 2, 2, arrival=4), job("z", 2, 3, arrival=3))
    assert sizes(decide(*jobs)) == {"y": 2, "z": 2}
    # 3 ≥ 1.5 · 2: x counts as new. y has not waited, z has waited 0.5 for 1.5 run.
    assert sizes(decide(*jobs, policy="las:promote=1.5")) == {"x": 2, "y": 2}
    assert sizes(decide(*jobs, policy="las:promote=1.6")) == {"y": 2, "z": 2}


@pytest.mark.parametrize("promote", ["0", "-1", "inf", "nan"])
def test_a_knob_that_turns_nothing_is_refused(promote: str) -> None:
    with pytest.raises(BadOption, match="las: promote is"):
        build_policy(f"las:promote={promote}")


def test_jobs_without_gpus_count_with_their_dominant_share() -> None:
    # 4 GiB of 16 is a quarter: one GPU of four.
    assert find_service(CLUSTER, job("m", 1, resources=Resources({"memory_gib": 4})).job) == 1
    assert find_service(CLUSTER, job("g", 1, resources=Resources({"gpu": 2, "memory_gib": 8})).job) == 2
    without = Cluster((Server("s", Resources({"cpu": 8})),), (), ())
    assert find_service(without, job("c", 1, resources=Resources({"cpu": 2})).job) == 0.25


@pytest.mark.parametrize("queues", ["0/5", "5/5", "7/3", "nan", "inf", "-1"])
def test_queues_that_do_not_rise_are_refused(queues: str) -> None:
    with pytest.raises(BadOption, match="Give rising numbers above 0"):
        build_policy(f"las:queues={queues}")


def test_queues_are_numbers_joined_by_slashes() -> None:
    assert build_policy("las:queues=3250/7200,workers=2") == Las(workers=2, queues=(3250.0, 7200.0))
    assert build_policy("las:queues=5") == Las(queues=(5.0,))
    with pytest.raises(BadOption, match="Give numbers, joined by '/'"):
        build_policy("las:queues=many")


@st.composite
def crowds(draw: st.DrawFn) -> Snapshot:
    """More jobs than fit, some of them running where an earlier slot put them."""
    jobs = tuple(
        job(f"j{n}", draw(st.integers(1, 3)), draw(st.integers(0, 9)), gbps=draw(st.sampled_from((1, 6))))
        for n in range(draw(st.integers(1, 7)))
    )
    earlier = tuple(one for one in jobs if draw(st.booleans()))
    running = decide(*earlier).allocation
    return Snapshot(CLUSTER, jobs, 5, 10, running=running)


@given(snapshot=crowds())
def test_who_waits_fits_nowhere_beside_those_who_go_before(snapshot: Snapshot) -> None:
    decision = ask(Las(), snapshot, 0)
    rings = decision.allocation.ring_of
    order = sorted(snapshot.jobs, key=lambda one: one.served)
    for waiting in decision.waiting:
        active = snapshot.job_by_name[waiting.job]
        room = Room(compile_network(snapshot.cluster))
        for one in order[: order.index(active)]:
            if one.job.name in rings:
                room.take(one.job, rings[one.job.name])
        assert place_greedily(room, active.job, active.largest_ring) is None


@given(snapshot=crowds())
def test_what_runs_with_the_most_right_to_stays(snapshot: Snapshot) -> None:
    first = min(snapshot.jobs, key=lambda one: one.served)
    ring = snapshot.running.ring_of.get(first.job.name)
    if ring is not None:
        assert ask(Las(), snapshot, 0).allocation.ring_of[first.job.name] == ring
