"""Why jobs wait, where the policy was not shown all there is: rings set aside, servers drained or down."""

from collections.abc import Collection
from dataclasses import replace

from gadget.engine.state import State
from gadget.model.decision import Decision, Reason, Waiting
from gadget.model.snapshot import Snapshot
from gadget.model.wording import say_count
from gadget.policies.waiting import find_obstacle
from gadget.solve.network import compile_network

HELD = "held"
DRAINED = "drained"


def correct_reasons(decision: Decision, state: State, shown: Snapshot, held: Collection[str]) -> Decision:
    """The decision, in which no job is too large for the cluster that only is for what was left of it."""
    if not any(one.reason == Reason.TOO_LARGE for one in decision.waiting):
        return decision
    waiting = tuple(
        _correct(one, state, shown, held) if one.reason == Reason.TOO_LARGE else one
        for one in decision.waiting
    )
    return replace(decision, waiting=waiting)


def _correct(one: Waiting, state: State, shown: Snapshot, held: Collection[str]) -> Waiting:
    if held and _could_run(one.job, shown):
        names = ", ".join(sorted(held)[:3])
        more = ", …" if len(held) > 3 else ""
        text = (
            f"its room is taken by {say_count(len(held), 'ring')} that may not be changed yet: {names}{more}"
        )
        return Waiting(one.job, HELD, text)
    gone = [
        *(f"{name} (drained)" for name in sorted(state.drained)),
        *(f"{name} (down)" for name in sorted(state.down)),
    ]
    if gone and _could_run(one.job, replace(shown, cluster=state.cluster)):
        more = ", …" if len(gone) > 5 else ""
        return Waiting(one.job, DRAINED, f"it could run if these were there: {', '.join(gone[:5])}{more}")
    return one


def _could_run(job: str, snapshot: Snapshot) -> bool:
    return find_obstacle(snapshot, compile_network(snapshot.cluster), snapshot.job_by_name[job]) is None
