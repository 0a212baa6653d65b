"""What a decision says about itself: is it so? The rings are the referee's business."""

from collections.abc import Iterator

from gadget.model.decision import Decision, Status
from gadget.model.referee import Violation
from gadget.model.snapshot import Snapshot

# By how much a number may be off, relative to its size, and where it is tiny: solvers round.
_ROUGHLY = 1e-6
_TINY = 1e-9


def find_false_claims(snapshot: Snapshot, decision: Decision) -> list[Violation]:
    """Claims that do not hold: slot, objective, bound, status, and who waits."""
    return [Violation("claim", what, problem) for what, problem in _find(snapshot, decision)]


def _find(snapshot: Snapshot, decision: Decision) -> Iterator[tuple[str, str]]:
    if decision.slot != snapshot.slot:
        yield "slot", f"the decision is for slot {decision.slot}, the snapshot shows slot {snapshot.slot}"
    objective = snapshot.objective(decision.allocation)
    if not _alike(decision.objective, objective):
        yield "objective", f"{decision.objective:g} is claimed, the rings gain {objective:g}"
    bound = decision.upper_bound
    if bound is not None and bound < objective and not _alike(bound, objective):
        yield "upper_bound", f"{bound} is below the {objective:g} that the rings gain"
    # Where there is a surrogate, what is proved is proved of it.
    reached, limit = objective, bound
    if decision.surrogate is not None:
        reached, limit = decision.surrogate.objective, decision.surrogate.upper_bound
        if limit is not None and limit < reached and not _alike(limit, reached):
            yield "surrogate", f"its bound {limit} is below its objective {reached:g}"
    if limit is None and decision.status is not Status.HEURISTIC:
        yield "status", f"{decision.status} is claimed without an upper_bound"
    if (
        limit is not None
        and decision.status is Status.OPTIMAL
        and limit > reached
        and not _alike(limit, reached)
    ):
        yield "status", f"optimal is claimed at {reached:g} with a bound of {limit:g}"
    names = {active.job.name for active in snapshot.jobs}
    for one in decision.waiting:
        if one.job in decision.allocation.ring_of:
            yield "waiting", f"job {one.job!r} has a ring and waits"
        elif one.job not in names:
            yield "waiting", f"job {one.job!r} is not in the snapshot"


def _alike(one: float, other: float) -> bool:
    return abs(one - other) <= max(_ROUGHLY * max(abs(one), abs(other)), _TINY)
