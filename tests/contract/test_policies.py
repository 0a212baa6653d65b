"""One suite over every policy: what leaves a policy is feasible, explained, and the same every time."""

from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gadget.model.claims import find_false_claims
from gadget.model.codec import format_json
from gadget.model.decision import Decision
from gadget.model.referee import find_violations
from gadget.model.ring import Allocation, Ring
from gadget.model.snapshot import Snapshot
from gadget.policies.policy import ask
from gadget.policies.registry import POLICIES, build_policy
from tests.strategies import snapshots

PLACED = ["fifo", "drf", "las", "srtf", "gittins", "themis", "optimus", "sjf-bco"]

# Every policy, and every option that changes its course.
VARIANTS = [
    *POLICIES,
    "gadget:gap=0.01",
    "gadget:majorant=false",
    "gadget:objective=completion",
    "gadget:objective=deadline",
    "gadget:objective=fairness",
    "gadget:objective=energy,energy_weight=0.3",
    "fifo:workers=1",
    "fifo:workers=3,backfill=true",
    "fifo:draw=3",
    "las:draw=3",
    "las:queues=0.5/3/20",
    "las:queues=0.5/3/20,running_first=true,promote=0.5",
    "srtf:draw=3,measure=service",
    "srtf:preemptive=false",
    "gittins:history=0.5/3/20",
    "gittins:queues=0.5/3",
    "themis:fairness=0",
    "sjf-bco:draw=3,spread=2",
    "sjf-bco:placement=greedy",
    *(f"{name}:placement=gadget" for name in PLACED),
    "fifo:backfill=true,placement=gadget",
    "gadget-paper:majorant=false,refill=false",
    "gadget-paper:written_out=true,rounds=2",
    "optimal:majorant=false,solver=highs",
    "sia:fairness=0.5,waiting=0.2",
]

policy = pytest.mark.parametrize("text", VARIANTS)


def make_rigid(snapshot: Snapshot) -> Snapshot:
    """The same jobs with rings of their largest size or none."""
    jobs = tuple(
        replace(active, job=replace(active.job, min_workers=active.job.max_workers))
        for active in snapshot.jobs
    )
    return replace(snapshot, jobs=jobs)


def decide(text: str, snapshot: Snapshot, seed: int = 0) -> Decision:
    return ask(build_policy(text), snapshot, seed)


@policy
@settings(max_examples=100, deadline=None)
@given(snapshot=snapshots())
def test_decisions_are_feasible_claim_what_is_true_and_give_every_job_a_ring_or_a_reason(
    text: str, snapshot: Snapshot
) -> None:
    decision = decide(text, snapshot)
    assert find_violations(snapshot, decision.allocation) == []
    assert find_false_claims(snapshot, decision) == []
    served = [ring.job for ring in decision.allocation.rings]
    waiting = [one.job for one in decision.waiting]
    assert sorted(served + waiting) == sorted(active.job.name for active in snapshot.jobs)
    assert all(one.reason and one.detail for one in decision.waiting)


@policy
@settings(max_examples=40, deadline=None)
@given(snapshot=snapshots(), seed=st.integers(0, 2**32))
def test_the_same_input_and_seed_give_the_same_bytes(text: str, snapshot: Snapshot, seed: int) -> None:
    once, again = (replace(decide(text, snapshot, seed), seconds=0.0) for _ in range(2))
    assert format_json(once) == format_json(again)
    assert once.seed == seed


@policy
@settings(max_examples=40, deadline=None)
@given(snapshot=snapshots(), data=st.data())
def test_nonsense_in_running_never_spoils_a_decision(
    text: str, snapshot: Snapshot, data: st.DataObject
) -> None:
    names = st.sampled_from([*snapshot.cluster.nodes, *(a.job.name for a in snapshot.jobs), "nowhere"])
    path = st.lists(names, max_size=4).map(tuple)
    rings = st.builds(Ring, names, path, st.lists(path, max_size=4).map(tuple))
    running = Allocation(tuple(data.draw(st.lists(rings, max_size=4))))
    shown = replace(snapshot, running=running)
    assert find_violations(shown, decide(text, shown).allocation) == []


@policy
@settings(max_examples=15, deadline=None)
@given(snapshot=snapshots())
def test_with_every_server_down_everybody_waits(text: str, snapshot: Snapshot) -> None:
    gone = replace(snapshot, cluster=snapshot.cluster.without(snapshot.cluster.server_by_name))
    decision = decide(text, gone)
    assert decision.allocation.rings == ()
    assert len(decision.waiting) == len(snapshot.jobs)


@policy
@settings(max_examples=40, deadline=None)
@given(snapshot=snapshots())
def test_rigid_jobs_have_all_their_workers_or_none(text: str, snapshot: Snapshot) -> None:
    rigid = make_rigid(snapshot)
    allocation = decide(text, rigid).allocation
    assert find_violations(rigid, allocation) == []
    for ring in allocation.rings:
        assert ring.size == rigid.job_by_name[ring.job].job.max_workers


@policy
@settings(max_examples=30, deadline=None)
@given(snapshot=snapshots())
def test_a_job_with_all_its_work_done_gets_no_ring(text: str, snapshot: Snapshot) -> None:
    done = tuple(replace(active, work_done=active.job.work or active.work_done) for active in snapshot.jobs)
    decision = decide(text, replace(snapshot, jobs=done))
    assert not any(done_job.job.work for done_job in done if done_job.job.name in decision.allocation.ring_of)
