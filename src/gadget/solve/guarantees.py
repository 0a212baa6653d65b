"""What is proved about a run: the ratios of the paper, the certified one, and how far rounding strays."""

import math
from collections.abc import Iterable

import numpy as np
from numpy.typing import ArrayLike, NDArray

from gadget.model.decision import Decision
from gadget.model.job import Job
from gadget.solve.rounding import Targets
from gadget.solve.slot import SlotProblem

Floats = NDArray[np.float64]

# α of Thm 8: the share of the LP's value that a draw must reach.
ROUNDING_RATIO = 1 / 3

# What an LP solver leaves of a zero.
_DUST = 1e-9


def find_gamma(size_limits: ArrayLike) -> int:
    """Γ = max_i ⌈q_i⌉ of Lemma 7, from the relaxed sizes q_i of all jobs; at least 1."""
    largest = np.max(np.asarray(size_limits, dtype=np.float64), initial=1.0)
    return math.ceil(float(largest) - _DUST)


def selection_ratio(gamma: int) -> float:
    """Lemma 7: choosing one ring size a job by LP keeps at least 1/Γ of the optimum."""
    return 1 / gamma


def paper_ratio(gamma: int) -> float:
    """Thm 10: GADGET reaches at least 1/(3Γ + 1) of the best schedule (with violations as in Thm 8)."""
    return 1 / (3 * gamma + 1)


def slot_ratio(decision: Decision) -> float | None:
    """α_t: objective over upper bound, by the gains that were decided on; None without a bound.

    Where nothing can be gained, nothing is all: 0/0 is 1. A bound that holds for the surrogate alone (that
    of another objective) proves nothing of the utilities.
    """
    shown = decision if decision.surrogate is None else decision.surrogate
    if decision.upper_bound is None or shown.upper_bound is None:
        return None
    if shown.objective >= shown.upper_bound:
        return 1.0
    return max(0.0, shown.objective) / shown.upper_bound if shown.upper_bound > 0 else 0.0


def certified_ratio(alphas: Iterable[float | None], jobs: Iterable[Job] = ()) -> float | None:
    """Thm 6: the run gains at least α/(α + 1) of what any schedule gains, where α = min_t α_t.

    Gains are over μ(0); where that is not below 0, the ratio holds for the utilities themselves too.
    None when it is not proved: a slot without a bound, no slot at all, or one of `jobs` that
    `admits_certificate` rules out (leave them out if that is known already).
    """
    slots = list(alphas)
    known = [alpha for alpha in slots if alpha is not None]
    if not slots or len(known) < len(slots) or not all(map(admits_certificate, jobs)):
        return None
    worst = min(known)
    return worst / (worst + 1)


def admits_certificate(job: Job) -> bool:
    """True when Thm 6 covers the job: μ is concave and non-decreasing, and its budget does not couple slots.

    A budget (3) is harmless when μ(min(z, cap)) can stand in for μ: then a ring that is too large for what
    is left is worth as much as the smaller one that fits. That takes work in proportion to worker-slots,
    so no `timing`, and rings down to a single worker.
    """
    uncoupled = math.isinf(job.worker_slots) or (job.timing is None and job.min_workers == 1)
    return job.worth.admits_guarantee and uncoupled


def node_violation_factor(demand: ArrayLike, allocation: ArrayLike, capacity: ArrayLike) -> float:
    """β^r of Thm 8 for one resource: 1 + ε·√(2·Δ^r(V)·ln|V|).

    `demand[i, u]` is d^r_max(i, u), what one worker of job i takes on node u, 0 where none can stand;
    `allocation[i, u]` is C^r_max(i, u), what a whole mapping of the job can take there; `capacity[u]` is
    g^{u,r}, and |V| the number of nodes given. From these
    Δ^r(V) = max_u Σ_{i: d_max > 0} (C_max / d_max)², and ε, which the paper does not define, is the largest
    demand/capacity over nodes and jobs, ≤ 1 when every worker fits alone.

    Then, as loads of different jobs are independent, at most C_max(i, u) ≤ (C_max/d_max)·ε·g each and at
    most g together in the mean, Hoeffding gives
    P{A ≥ β·g} ≤ exp(−2·(β−1)²·g² / Σ_i C_max²) ≤ exp(−4·ln|V|) = |V|^−4.
    """
    return _violation_factor(demand, allocation, capacity)


def edge_violation_factor(demand: ArrayLike, allocation: ArrayLike, capacity: ArrayLike) -> float:
    """γ of Thm 8: 1 + ε·√(2·Δ(E)·ln|E|), as `node_violation_factor` with directed links for nodes.

    `demand[i, e]` is d_max(i, u, v), the bandwidth of one ring edge, 0 where it cannot cross;
    `allocation[i, e]` is C_max(i, u, v), what all edges of a mapping can reserve there together.
    """
    return _violation_factor(demand, allocation, capacity)


def violation_chance(places: int, slots: int = 1) -> float:
    """Thm 8 and 10: an upper bound on the chance that rounding ever overloads a given place by its factor.

    |V|^−4 in one slot, 1 − (1 − |V|^−4)^T over T slots; with |E| for links.
    """
    if places <= 1:
        return 1.0
    return -math.expm1(slots * math.log1p(-(float(places) ** -4)))


def find_targets(problem: SlotProblem, value: float) -> Targets:
    """α, β^r and γ of Thm 8 for rings of the sizes that the problem lists (the largest of each job).

    `value` is that of the LP. A mapping may put all κ workers of a ring on any server that holds one of
    them, and send all its edges over any link that carries one: C_max is κ·d_max.
    """
    network, sizes = problem.network, problem.most_workers().astype(np.float64)[:, None]
    stands = (problem.fits > 0) & (sizes > 0)
    crosses = (sizes > 1) & (problem.gbps[:, None] <= network.link_gbps)
    node_factors = []
    for resource in range(len(network.resource_number)):
        demand = np.where(stands, problem.demand[:, [resource]], 0.0)
        node_factors.append(node_violation_factor(demand, sizes * demand, network.capacity[:, resource]))
    reserved = np.where(crosses, problem.gbps[:, None], 0.0)
    return Targets(
        objective=ROUNDING_RATIO * value,
        node_factor=np.array(node_factors),
        link_factor=edge_violation_factor(reserved, sizes * reserved, network.link_gbps),
    )


def _violation_factor(demand: ArrayLike, allocation: ArrayLike, capacity: ArrayLike) -> float:
    one, whole = np.asarray(demand, dtype=np.float64), np.asarray(allocation, dtype=np.float64)
    limit = np.broadcast_to(np.asarray(capacity, dtype=np.float64), one.shape)
    counts = one > 0
    ratio = np.divide(whole, one, out=np.zeros_like(one), where=counts)
    delta = (ratio**2).sum(axis=0).max(initial=0.0)
    epsilon = np.divide(one, limit, out=np.zeros_like(one), where=counts).max(initial=0.0)
    return 1 + float(epsilon * math.sqrt(2 * delta * math.log(max(one.shape[1], 1))))
