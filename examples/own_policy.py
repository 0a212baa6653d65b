"""A policy of one's own, compared with two that come with the package.

It serves jobs by the gain of a single worker, one worker each. Run it:  python examples/own_policy.py
"""

from dataclasses import dataclass

import numpy as np

import gadget
from gadget.model.decision import Reason
from gadget.solve.greedy import place_greedily
from gadget.solve.network import compile_network
from gadget.solve.room import Room
from gadget.workloads.arrivals import draw_profile_arrivals
from gadget.workloads.paper import UtilityFamily, build_paper_jobs


@dataclass(frozen=True)
class OneEach:
    """One worker for each job, those first that gain most from it."""

    def decide(self, snapshot: gadget.Snapshot, _: np.random.Generator) -> gadget.Decision:
        """The rings of this slot."""
        room = Room(compile_network(snapshot.cluster))
        rings, waiting = [], []
        for active in sorted(snapshot.jobs, key=lambda active: -snapshot.gains(active, 1)):
            ring = place_greedily(room, active.job, 1) if active.job.min_workers == 1 else None
            if ring is None:
                waiting.append(gadget.Waiting(active.job.name, Reason.CAPACITY, "no server has room for it"))
            else:
                room.take(active.job, ring)
                rings.append(ring)
        allocation = gadget.Allocation(tuple(rings))
        return gadget.Decision(
            slot=snapshot.slot,
            policy="one-each",
            allocation=allocation,
            waiting=tuple(waiting),
            objective=snapshot.objective(allocation),
            upper_bound=None,
            status=gadget.Status.HEURISTIC,
        )


def main() -> None:
    """Compare the policies on one random scenario."""
    rng = np.random.default_rng(7)
    cluster = gadget.build_paper_cluster(rng, servers=6)
    jobs = build_paper_jobs(rng, draw_profile_arrivals(rng, 30, 20, 60.0), utility=UtilityFamily.SQRT)
    scenario = gadget.Scenario(cluster, jobs, slots=20)
    policies = {
        "one-each": OneEach(),
        "fifo": gadget.build_policy("fifo"),
        "gadget-paper": gadget.build_policy("gadget-paper"),
    }
    result = gadget.simulate(scenario, policies, progress=False)
    for name, summary in result.summaries.items():
        print(f"{name:12} {summary.mean.total_utility:9.1f}  {summary.mean.measured_ratio:.3f} of the bound")


if __name__ == "__main__":
    main()
