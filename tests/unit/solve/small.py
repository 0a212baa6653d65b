"""Small slots to try the programs on."""

from collections.abc import Mapping

import numpy as np
from numpy.typing import ArrayLike
from scipy import sparse

from gadget import ActiveJob, Cluster, Job, Linear, Link, Resources, Server, Snapshot, Utility
from gadget.solve.lp import LinearProgram
from gadget.solve.slot import SlotProblem, build_slot_problem


def job(
    name: str = "a",
    workers: int | tuple[int, int] = 1,
    utility: Utility | None = None,
    *,
    gbps: float = 1,
    needs: Mapping[str, float] | None = None,
    **more: object,
) -> Job:
    """One unit of work per worker-slot, one GPU a worker; `workers` is the most, or (fewest, most)."""
    fewest, most = workers if isinstance(workers, tuple) else (1, workers)
    fields = {"rate": None if "timing" in more else 1, **more}
    return Job(
        name=name,
        resources=Resources(needs or {"gpu": 1}),
        min_workers=fewest,
        max_workers=most,
        utility=utility or Linear(),
        bandwidth_gbps=gbps,
        **fields,  # type: ignore[arg-type]
    )


def alone(**offer: float) -> Cluster:
    """One server, no links."""
    return Cluster((Server("s", Resources(offer)),), (), ())


def line(*gpus: float, gbps: float = 10) -> Cluster:
    """Servers s0 – s1 – … in a row."""
    row = tuple(Server(f"s{n}", Resources({"gpu": amount})) for n, amount in enumerate(gpus))
    return Cluster(row, (), tuple(Link((f"s{n}", f"s{n + 1}"), gbps) for n in range(len(gpus) - 1)))


def islands(*gpus: float) -> Cluster:
    """Servers that no link joins."""
    return Cluster(
        tuple(Server(f"s{n}", Resources({"gpu": amount})) for n, amount in enumerate(gpus)), (), ()
    )


def slot(cluster: Cluster, *jobs: Job | ActiveJob, at: int = 0, slots: int = 10) -> Snapshot:
    actives = tuple(one if isinstance(one, ActiveJob) else ActiveJob(one) for one in jobs)
    return Snapshot(cluster, actives, slot=at, slots=slots)


def problem_of(cluster: Cluster, *jobs: Job | ActiveJob, majorant: bool = True) -> SlotProblem:
    return build_slot_problem(slot(cluster, *jobs), majorant=majorant)


def program_of(
    objective: ArrayLike,
    matrix: ArrayLike,
    upper: ArrayLike,
    *,
    lower: ArrayLike = -np.inf,
    most: ArrayLike = np.inf,
    whole: bool = False,
) -> LinearProgram:
    """Maximise objective·x, lower ≤ matrix·x ≤ upper, 0 ≤ x ≤ most."""
    gains, limits = np.asarray(objective, dtype=float), np.asarray(upper, dtype=float)
    rows = np.asarray(matrix, dtype=float).reshape(len(limits), len(gains))
    return LinearProgram(
        gains,
        sparse.csc_matrix(rows),
        np.broadcast_to(np.asarray(lower, dtype=float), limits.shape),
        limits,
        np.zeros(len(gains)),
        np.broadcast_to(np.asarray(most, dtype=float), gains.shape),
        np.ones(len(gains), dtype=bool) if whole else None,
    )


def hard_program(variables: int = 40) -> LinearProgram:
    """A knapsack with four limits, which takes either solver longer than a millisecond."""
    rng = np.random.default_rng(0)
    weights = rng.integers(1, 100, (4, variables))
    gains = rng.integers(1, 50, variables)
    return program_of(gains, weights, weights.sum(axis=1) // 2, most=1, whole=True)
