"""Where the jobs that a policy chose go: by the common greedy placement, or by the ring solver of `gadget`.

With the solver, choice of jobs and choice of place come apart. The policy chooses jobs and sizes as if all
servers were one, in its order while they fit, and the solver places just these:

- gains are the shares of the cluster that rings take, twice as much for the first in order as for the last,
  so that it is the largest part that finds a place, and earlier jobs rather than later ones;
- a ring that goes on where it is gains a little more than one that moves;
- a chosen job that the solver left without a ring then takes the place of later ones, the last ones first,
  if it fits beside those before it. So nobody waits for a job that goes after.

What finds no place then waits, and what was not chosen does, even where there is room.
"""

from dataclasses import replace
from enum import StrEnum

import numpy as np

from gadget.model.decision import Reason, Waiting
from gadget.model.quantity import TOLERANCE
from gadget.model.ring import Ring
from gadget.policies.placement import Candidate, Placement, Wanted, serve_in_order
from gadget.solve.slot import SlotProblem, build_slot_problem
from gadget.solve.solver import solve_slot

# What a ring that goes on gains beside one that moves, relative to it.
_STAYING = 0.05
# Relative gap at which the solver ends: what it leaves open is tried once more, one job at a time.
_GAP = 1e-2


class Placer(StrEnum):
    """Who places the jobs that a policy chose."""

    GREEDY = "greedy"
    GADGET = "gadget"


def serve(
    placement: Placement,
    wanted: Wanted,
    placer: Placer,
    rng: np.random.Generator,
    *,
    shrink: bool = False,
) -> None:
    """Give rings of the wanted sizes to as many jobs as go, in order, and tell the others why they wait.

    With `shrink`, a ring that finds no greedy place is made smaller; the solver places sizes as they are.
    """
    if placer is Placer.GREEDY:
        for candidate, size in serve_in_order(placement, wanted, shrink=shrink):
            placement.explain(candidate, size)
        return
    chosen = choose_from_pool(placement, wanted)
    place_chosen(placement, chosen, rng)
    picked = {candidate.name for candidate, _ in chosen}
    for candidate, size in wanted:
        if candidate.name not in picked:
            explain_not_chosen(placement, candidate, size)


def choose_from_pool(placement: Placement, wanted: Wanted, *, may_pass: bool = True) -> Wanted:
    """The jobs that fit, one after the other, if all servers were one; without `may_pass` up to the first."""
    left = (placement.network.capacity.sum(axis=0) * (1 + TOLERANCE / 4)).tolist()
    needs: dict[int, list[tuple[int, float]]] = {}
    chosen = []
    for candidate, size in wanted:
        if candidate.shape not in needs:
            demand = placement.demand_of(candidate).tolist()
            needs[candidate.shape] = [(r, amount) for r, amount in enumerate(demand) if amount]
        own = needs[candidate.shape]
        if all(size * amount <= left[r] for r, amount in own):
            for r, amount in own:
                left[r] -= size * amount
            chosen.append((candidate, size))
        elif not may_pass:
            break
    return chosen


def place_chosen(placement: Placement, chosen: Wanted, rng: np.random.Generator) -> None:
    """Rings of exactly these sizes by the solver, as many as go, and a reason for each of the others."""
    seed = int(rng.integers(2**31))
    if chosen:
        problem = _build_problem(placement, chosen)
        found = solve_slot(problem, replace(placement.snapshot, prices=None), seed=seed, gap=_GAP)
        placement.running = {**placement.running, **{ring.job: ring for ring in found.rings}}
    for candidate, size in serve_in_order(placement, chosen):
        placement.explain(candidate, size)


def explain_not_chosen(placement: Placement, candidate: Candidate, size: int) -> None:
    """Note that the pool was used up before it was this job's turn."""
    detail = f"a ring of {size} does not fit beside those chosen before it, even if all servers were one"
    placement.wait(Waiting(candidate.name, Reason.CAPACITY, detail))


def _build_problem(placement: Placement, chosen: Wanted) -> SlotProblem:
    """The slot problem with one pair for each chosen job."""
    whole = build_slot_problem(placement.snapshot)
    number = np.array([whole.number_of[candidate.name] for candidate, _ in chosen], dtype=np.int64)
    size = np.array([size for _, size in chosen], dtype=np.int64)
    total = placement.network.capacity.sum(axis=0)
    demand = whole.demand[number]
    share = np.divide(demand, total, out=np.zeros_like(demand), where=demand > 0).max(axis=1) * size
    gain = share / share.max() * (2 - np.arange(len(number)) / len(number))
    stay = np.full(len(whole.jobs), -np.inf)
    for job, workers, worth in zip(number.tolist(), size.tolist(), gain.tolist(), strict=True):
        ring: Ring | None = whole.running[job]
        if ring is not None and len(ring.workers) == workers:
            stay[job] = worth * (1 + _STAYING)
    order = np.argsort(number)
    return replace(
        whole,
        pair_job=number[order],
        pair_size=size[order],
        pair_gain=gain[order],
        true_gain=gain[order],
        stay_gain=stay,
        stays_stand_in=False,
    )
