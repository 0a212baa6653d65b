"""A decision on the present state: what may change is shown to the policy, and what it answers is judged."""

from collections.abc import Mapping
from dataclasses import replace

from gadget.backends.backend import RingKey
from gadget.engine.decide import snapshot_of
from gadget.engine.standing import Standing
from gadget.engine.state import State
from gadget.errors import BrokenConstraint
from gadget.live.decider import Decider
from gadget.live.fleet import Fleet
from gadget.live.holding import bring_back, set_aside
from gadget.live.reasons import correct_reasons
from gadget.live.room import Room
from gadget.model.claims import find_false_claims
from gadget.model.decision import Decision, Waiting
from gadget.model.referee import find_violations
from gadget.model.ring import Allocation
from gadget.model.snapshot import Snapshot


def decide(
    state: State,
    decider: Decider,
    last: Standing,
    *,
    fleet: Fleet,
    resting: Mapping[str, float],
    steady: float,
) -> Decision:
    """What the present slot gets; BrokenConstraint if the policy broke its promise.

    As in the simulator, nobody is asked while the last decision stands.
    """
    shown = _without_resting(snapshot_of(state), resting)
    held = _find_held(state, shown, fleet, steady)
    if held:
        decision = bring_back(shown, decider.decide(set_aside(shown, held)), held)
        _judge(shown, decision)
    elif (standing := last.find(state, shown)) is not None:
        decision = standing
    else:
        decision = decider.decide(shown)
        _judge(shown, decision)
        last.note(shown, decision)
    decision = correct_reasons(decision, state, shown, held)
    if not resting:
        return decision
    return replace(decision, waiting=(*decision.waiting, *(_explain(state, *one) for one in resting.items())))


def _without_resting(snapshot: Snapshot, resting: Mapping[str, float]) -> Snapshot:
    if not resting:
        return snapshot
    return replace(
        snapshot,
        jobs=tuple(active for active in snapshot.jobs if active.job.name not in resting),
        running=Allocation(tuple(ring for ring in snapshot.running.rings if ring.job not in resting)),
    )


def _explain(state: State, job: str, seconds: float) -> Waiting:
    record = state.active[job]
    times = f"{record.fruitless} times in a row"
    return Waiting(
        job, "backoff", f"its ring broke {times} ({record.last_failure}); next try in {seconds:.0f} s"
    )


def _find_held(state: State, shown: Snapshot, fleet: Fleet, steady: float) -> frozenset[str]:
    """Jobs whose rings have not run for their `min_runtime_seconds` yet."""
    held = set()
    room = Room(shown.cluster)
    for ring in shown.running.rings:
        active = shown.job_by_name[ring.job]
        number = state.active[ring.job].ring_since
        if not active.job.min_runtime_seconds or number is None or ring.size > active.largest_ring:
            continue
        one = fleet.rings.get(RingKey(ring.job, number))
        is_young = one is not None and (one.up is None or steady - one.up < active.job.min_runtime_seconds)
        # The cluster may have shrunk since.
        if is_young and room.fits(ring, active.job):
            room.take(ring, active.job)
            held.add(ring.job)
    return frozenset(held)


def _judge(snapshot: Snapshot, decision: Decision) -> None:
    violations = find_violations(snapshot, decision.allocation)
    if found := [*violations, *find_false_claims(snapshot, decision)]:
        raise BrokenConstraint(
            f"the decision breaks {len(found)} rules, first: {found[0]}. This is a fault of the policy."
        )
