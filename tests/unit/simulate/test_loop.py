"""The slot loop on a horizon worked out by hand, and its laws."""

from hypothesis import given, settings

from gadget.model.cluster import Cluster, Server
from gadget.model.job import Job
from gadget.model.referee import find_violations
from gadget.model.resources import Resources
from gadget.model.snapshot import Scenario
from gadget.model.timing import Timing
from gadget.model.utility import Linear
from gadget.policies.registry import build_policy
from gadget.simulate.loop import run_slots
from tests.strategies import scenarios

CLUSTER = Cluster((Server("s", Resources({"gpu": 2})),), (), ())


def job(name: str, **fields: object) -> Job:
    usual = {
        "resources": Resources({"gpu": 1}),
        "max_workers": 2,
        "bandwidth_gbps": 1,
        "rate": 5,
        "utility": Linear(),
    }
    return Job(name=name, **{**usual, **fields})  # type: ignore[arg-type]


def test_a_budget_of_three_runs_two_then_one_and_the_next_job_follows() -> None:
    first, second = job("x", budget=Resources({"gpu": 3})), job("y", arrival=1)
    seen = [
        {ring.job: ring.size for ring in decision.allocation.rings}
        for _, decision in run_slots(Scenario(CLUSTER, (first, second), 4), build_policy("fifo"))
    ]
    assert seen == [{"x": 2}, {"x": 1}, {"y": 2}, {"y": 2}]


def test_work_of_a_timing_job_adds_up_at_the_rate_of_its_ring() -> None:
    # Compute 1 s, all-reduce of d = 125 MB = 1 Gb: d(w−1)/w·(2/1 + 1/1) = 1.5 s at w = 2, so τ = 2.5 s.
    timing = Timing(gradient_mb=125, reduce_gbps=1, forward_ms_per_sample=1000, batch=1, backward_ms=0)
    scenario = Scenario(CLUSTER, (job("x", rate=None, timing=timing),), 3, slot_seconds=10)
    works = [snapshot.jobs[0].work(10) for snapshot, _ in run_slots(scenario, build_policy("fifo"))]
    # Two workers do 2 · 10 / 2.5 = 8 worker-iterations a slot.
    assert works == [0, 8, 16]


@settings(max_examples=40, deadline=None)
@given(scenario=scenarios())
def test_no_slot_breaks_a_constraint_and_nothing_is_served_past_a_budget(scenario: Scenario) -> None:
    served = dict.fromkeys((one.name for one in scenario.jobs), 0)
    for snapshot, decision in run_slots(scenario, build_policy("fifo:backfill=true")):
        assert find_violations(snapshot, decision.allocation) == []
        assert {a.job.name: a.served for a in snapshot.jobs}.items() <= served.items()
        for ring in decision.allocation.rings:
            served[ring.job] += ring.size
        if snapshot.slot > 20:
            break
    for one in scenario.jobs:
        assert served[one.name] <= one.worker_slots * (1 + 1e-9)
