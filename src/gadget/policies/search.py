"""What policies that optimise gains have in common: from rings and a bound to a decision."""

from gadget.model.decision import Decision, Reason, Status, Surrogate, Waiting
from gadget.model.prices import Prices
from gadget.model.ring import Allocation, Ring
from gadget.model.snapshot import Snapshot
from gadget.policies.explaining import explain_by_prices
from gadget.policies.waiting import explain_no_place, find_obstacle
from gadget.solve.greedy import place_greedily
from gadget.solve.network import compile_network
from gadget.solve.quotes import Quotes
from gadget.solve.room import Room
from gadget.solve.slot import SlotProblem


def build_decision(
    name: str,
    snapshot: Snapshot,
    problem: SlotProblem,
    rings: tuple[Ring, ...],
    *,
    bound: float | None,
    worth: float | None = None,
    is_proved: bool = False,
    prices: Prices | None = None,
    quotes: Quotes | None = None,
) -> Decision:
    """A decision with its objective, bound, status, and a reason for every job that waits.

    `bound` is on the gains that were decided on, `worth` their sum where it is known already. A majorant is
    nowhere below the true utility and equal to it at the start, so that a bound on its gains bounds the true
    ones too.
    """
    allocation = Allocation(rings)
    decided = problem.worth(rings) if worth is None else worth
    literal = problem.knows_restarts and not problem.is_surrogate
    objective = decided if literal else snapshot.objective(allocation)
    if bound is not None:
        bound = max(bound, decided)  # the solver's rounding
    surrogate = Surrogate(decided, bound) if problem.is_surrogate else None
    # Best by the surrogate is not best by the true utility, unless that reaches the bound too.
    is_best = is_proved and bound is not None and objective >= bound * (1 - 1e-9)
    proved = Status.OPTIMAL if is_best else Status.CERTIFIED
    return Decision(
        slot=snapshot.slot,
        policy=name,
        allocation=allocation,
        waiting=explain_waiting(snapshot, problem, allocation)
        if quotes is None
        else explain_by_prices(snapshot, problem, allocation, quotes),
        objective=objective,
        upper_bound=bound,
        status=Status.HEURISTIC if bound is None else proved,
        surrogate=surrogate,
        prices=prices,
    )


def explain_waiting(snapshot: Snapshot, problem: SlotProblem, allocation: Allocation) -> tuple[Waiting, ...]:
    """Why each job without a ring waits: an obstacle of its own, no gain, or no room left by the others."""
    network = compile_network(snapshot.cluster)
    room = Room(network)
    for ring in allocation.rings:
        room.take(snapshot.job_by_name[ring.job].job, ring)
    worth = {problem.jobs[job].job.name for job in problem.pair_job}
    found = []
    for active in snapshot.jobs:
        name = active.job.name
        if name in allocation.ring_of:
            continue
        if obstacle := find_obstacle(snapshot, network, active):
            found.append(obstacle)
        elif name not in worth:
            found.append(Waiting(name, Reason.GAIN, "a ring in this slot would lower its utility"))
        elif place_greedily(room, active.job, active.job.min_workers) is not None:
            found.append(Waiting(name, Reason.GAIN, "others were chosen before the search ended"))
        else:
            found.append(explain_no_place(room, active.job, active.job.min_workers))
    return tuple(found)
