"""Slot after slot: the temporally greedy loop (Algorithm 1)."""

from collections.abc import Iterator

from gadget.model.decision import Decision
from gadget.model.job import ActiveJob
from gadget.model.ring import Allocation
from gadget.model.snapshot import Scenario, Snapshot
from gadget.policies.policy import Policy, decide_slot


def run_slots(scenario: Scenario, policy: Policy, *, seed: int = 0) -> Iterator[tuple[Snapshot, Decision]]:
    """Decide every slot of the scenario in turn; stop asking when you have seen enough."""
    served = dict.fromkeys((job.name for job in scenario.jobs), 0)
    work = dict.fromkeys(served, 0.0)
    running = Allocation()
    for slot in range(scenario.slots):
        arrived = (
            ActiveJob(job, served[job.name], work[job.name] if job.timing is not None else None)
            for job in scenario.jobs
            if job.arrival <= slot
        )
        # I[t]: arrived, and the budget still pays for a ring.
        jobs = tuple(active for active in arrived if active.largest_ring)
        snapshot = Snapshot(scenario.cluster, jobs, slot, scenario.slots, scenario.slot_seconds, running)
        decision = decide_slot(policy, snapshot, seed)
        yield snapshot, decision
        running = decision.allocation
        for ring in running.rings:
            job = snapshot.job_by_name[ring.job].job
            served[ring.job] += ring.size
            work[ring.job] += float(job.work_in_slot(ring.size, scenario.slot_seconds))
