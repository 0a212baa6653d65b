"""The decision when nobody could decide: everything stays as it is."""

from gadget.engine.decide import snapshot_of
from gadget.engine.state import State
from gadget.model.decision import Decision, Status, Waiting
from gadget.model.ring import Allocation


def keep_rings(state: State, *, policy: str, seed: int, reason: str, detail: str) -> Decision:
    """The rings that run go on, those whose budget is used up aside; all others wait, for this reason."""
    kept = tuple(
        ring for ring in state.running.rings if ring.size <= state.active[ring.job].active.largest_ring
    )
    allocation = Allocation(kept)
    return Decision(
        slot=state.slot,
        policy=policy,
        allocation=allocation,
        waiting=tuple(Waiting(job, reason, detail) for job in state.active if job not in allocation.ring_of),
        objective=snapshot_of(state).objective(allocation),
        upper_bound=None,
        status=Status.HEURISTIC,
        seed=seed,
    )
