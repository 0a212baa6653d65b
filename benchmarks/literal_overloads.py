"""How far the paper's literal rounding overloads servers, and what feasible repair leaves of it.

Paper-sized slots, square-root utility, all jobs at once; means over seeds. "LP": the relaxation of (12)–(19),
to which everything is relative.
"""

from dataclasses import dataclass, replace

import numpy as np

from gadget.model.builders import build_paper_cluster
from gadget.model.cluster import Cluster, Link
from gadget.model.referee import find_violations
from gadget.model.ring import Allocation
from gadget.model.snapshot import Scenario, Snapshot
from gadget.policies.gadget_paper import embed, find_packing_bound
from gadget.solve.guarantees import find_targets
from gadget.solve.repair import repair
from gadget.solve.slot import build_slot_problem
from gadget.workloads.paper import UtilityFamily, build_paper_jobs

SEEDS = 5
ROUNDS = 10


@dataclass(frozen=True)
class Overload:
    """One slot: overloads of the last draw, and the shares of the LP's value that are left."""

    server: float
    link: float
    servers_over: float
    violations: float
    beta: float
    dropped: float
    repaired: float


def thin(cluster: Cluster, factor: float) -> Cluster:
    return replace(cluster, links=tuple(Link(link.ends, link.gbps * factor) for link in cluster.links))


def measure(snapshot: Snapshot, seed: int) -> Overload:
    problem = build_slot_problem(snapshot).worthwhile()
    value = find_packing_bound(problem)
    chosen, draws = embed(problem, np.random.default_rng(seed), rounds=ROUNDS)
    last = draws[-1]
    rings = Allocation(tuple(mapping.ring(chosen) for mapping in last.mappings))
    used = np.zeros(problem.network.servers)
    for mapping in last.mappings:
        np.add.at(used, list(mapping.stops), problem.demand[mapping.job, 0])
    return Overload(
        server=float(last.node_overload.max()),
        link=last.link_overload,
        servers_over=float(np.mean(used > problem.network.capacity[:, 0] + 1e-9)),
        violations=len(find_violations(snapshot, rings)),
        beta=float(find_targets(chosen, value).node_factor.max()),
        dropped=max(problem.worth(repair(problem, d.mappings, refill=False)) for d in draws) / value,
        repaired=max(problem.worth(repair(problem, d.mappings)) for d in draws) / value,
    )


def main() -> int:
    heads = ("jobs", "links", "worst server", "servers over", "broken", "β allows", "dropped", "repaired")
    print(" ".join(f"{head:>13}" for head in heads))
    for jobs in (60, 100, 200):
        for factor in (1.0, 0.05):
            found = []
            for seed in range(SEEDS):
                rng = np.random.default_rng([jobs, seed])
                cluster = thin(build_paper_cluster(rng), factor)
                made = build_paper_jobs(rng, np.zeros(jobs, dtype=np.int64), utility=UtilityFamily.SQRT)
                found.append(measure(Scenario(cluster, made, 200).snapshot(0), seed))
            mean = {name: float(np.mean([getattr(one, name) for one in found])) for name in vars(found[0])}
            cells = (
                f"{jobs}",
                f"{factor:.0%}",
                f"{mean['server']:.1f} ×",
                f"{mean['servers_over']:.0%}",
                f"{mean['violations']:.0f}",
                f"{mean['beta']:.0f} ×",
                f"{mean['dropped']:.1%}",
                f"{mean['repaired']:.1%}",
            )
            print(" ".join(f"{cell:>13}" for cell in cells))
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
