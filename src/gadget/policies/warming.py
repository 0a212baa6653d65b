"""Compile the kernels of policies ahead of time: `python -m gadget.policies.warming`, once when installed."""

from dataclasses import replace

import numpy as np

from gadget.model.builders import build_paper_cluster, build_ring4
from gadget.model.cluster import Cluster
from gadget.model.job import ActiveJob, Job
from gadget.model.resources import Resources
from gadget.model.snapshot import Snapshot
from gadget.model.utility import Sqrt
from gadget.policies.gadget import Gadget
from gadget.policies.policy import ask
from gadget.policies.sjf_bco import SjfBco
from gadget.solve.queueing import FIFO_BLOCKING, build_pool, run_pool
from gadget.solve.sharing import share_links


def compile_kernels() -> None:
    """Decide small slots that need them, on a tree and on a graph, and run those that simulations need."""
    tree = build_paper_cluster(np.random.default_rng(0), servers=6)
    for cluster in (tree, build_ring4(gbps=1.5)):
        first = _build_slot(cluster)
        decision = ask(Gadget(gap=0), first, 0)
        after = replace(first, slot=1, running=decision.allocation, prices=decision.prices)
        ask(Gadget(gap=0), after, 0)
        ask(SjfBco(), first, 0)
    one = np.ones(1, dtype=np.int64)
    run_pool(build_pool(one, one, one, capacity=1, rule=FIFO_BLOCKING, limits=one[:0]))
    share_links(np.ones(1), np.array([0, 1]), np.zeros(1, dtype=np.int64), np.ones(1), np.ones(1))


def _build_slot(cluster: Cluster) -> Snapshot:
    """More jobs than fit, some of them too wide for links that are shared."""
    jobs = (
        Job(
            name=f"job-{n}",
            resources=Resources({"gpu": 1 + n % 3}),
            min_workers=1 + 2 * (n % 2),
            max_workers=6,
            utility=Sqrt(1 + n),
            bandwidth_gbps=0.7 + n % 3,
            rate=10,
        )
        for n in range(12)
    )
    return Snapshot(cluster, tuple(ActiveJob(job, served=n) for n, job in enumerate(jobs)), 0, 10)


if __name__ == "__main__":
    compile_kernels()
