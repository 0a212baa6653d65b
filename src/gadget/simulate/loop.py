"""Slot after slot: the temporally greedy loop (Algorithm 1) over the engine."""

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from gadget.engine.apply import apply
from gadget.engine.check import check_state
from gadget.engine.decide import decide_slot, snapshot_of
from gadget.engine.effects import Effect, effects_between
from gadget.engine.events import (
    Event,
    JobLeft,
    JobsArrived,
    ServerFailed,
    ServerReturned,
    SlotDecided,
    SlotServed,
)
from gadget.engine.standing import Standing
from gadget.engine.state import State, begin
from gadget.errors import BrokenConstraint
from gadget.model.claims import find_false_claims
from gadget.model.cluster import Cluster
from gadget.model.decision import Decision
from gadget.model.job import Job
from gadget.model.prices import Prices
from gadget.model.referee import Violation, find_violations
from gadget.model.snapshot import Scenario, Snapshot
from gadget.policies.policy import Policy
from gadget.simulate.network import NetworkMode, find_work, is_measured, without_limits


@dataclass(frozen=True, slots=True)
class Planned:
    """Something that will happen at the start of a slot, before it is decided."""

    slot: int
    event: ServerFailed | ServerReturned | JobLeft


@dataclass(frozen=True, slots=True)
class Step:
    """One slot that was decided and served."""

    arrived: tuple[Job, ...]
    """Jobs that came with this slot."""
    snapshot: Snapshot
    """What the policy saw."""
    decision: Decision
    effects: tuple[Effect, ...]
    """What the decision changes in the rings that ran."""
    violations: tuple[Violation, ...]
    """What the decision breaks; empty unless violations are allowed."""
    state: State
    """Where things stand afterwards."""


def run_slots(
    scenario: Scenario,
    policy: Policy,
    *,
    seed: int = 0,
    label: str | None = None,
    planned: Iterable[Planned] = (),
    replay: Iterable[Decision] = (),
    recall: Callable[[Cluster], Prices | None] | None = None,
    allow_violations: bool | None = None,
    network: NetworkMode = NetworkMode.RESERVED,
) -> Iterator[Step]:
    """Decide every slot of the scenario in turn; stop asking when you have seen enough.

    `label` is what decisions call the policy. The slots of `replay` are not decided anew; `recall` tells the
    prices that the decision last taken from it left on the cluster of its slot, where that is written apart.
    A decision that breaks a constraint raises BrokenConstraint, unless violations are allowed: by
    `allow_violations`, or, where that is left open, by a policy whose `may_violate` is true. Where links are
    shared, only a policy that says it `reserves` bandwidth is shown how wide they are.
    """
    lenient = getattr(policy, "may_violate", False) if allow_violations is None else allow_violations
    arrivals, happenings = _by_slot(scenario.jobs), _by_plan(planned)
    known = iter(replay)
    measured = is_measured(scenario, network)
    blind = network is NetworkMode.SHARED and not getattr(policy, "reserves", False)
    last, still = Standing(policy), tuple[Violation, ...]()
    state = sound = begin(scenario, is_measured=measured)
    for slot in range(scenario.slots):
        # I[t]: who is there, on which servers.
        arrived = arrivals.get(slot, ())
        for event in (*happenings.get(slot, ()), *([JobsArrived(arrived)] if arrived else ())):
            state = apply(state, event)
        snapshot = snapshot_of(state)
        shown = replace(snapshot, cluster=without_limits(snapshot.cluster)) if blind else snapshot
        # The slot problem (10), (11), given what was decided before.
        given = next(known, None)
        if given is not None and recall is not None:
            given = replace(given, prices=recall(shown.cluster))
        standing = last.find(state, shown) if given is None else None
        if standing is not None:
            decided, violations = SlotDecided(standing), still
        else:
            decided = (
                decide_slot(state, policy, seed, label=label, shown=shown)
                if given is None
                else SlotDecided(given)
            )
            violations = _judge(shown, decided.decision, lenient)
            # What took no time was no decision of a policy, or one that stood already.
            if given is None or given.seconds:
                last.note(shown, decided.decision)
        still = violations
        running = apply(state, decided)
        effects = effects_between(state, running)
        # z ← z + Σ_s y_is[t].
        served = SlotServed(slot)
        if measured:
            rings = running.running.rings
            served = SlotServed(slot, find_work(snapshot, rings, network, running.restarting))
        state = apply(running, served)
        if not violations and (faults := check_state(state, sound=sound)):
            raise BrokenConstraint(f"after slot {slot} the state is not sound: {'; '.join(faults)}.")
        sound = state
        yield Step(arrived, snapshot, decided.decision, effects, violations, state)


def _judge(snapshot: Snapshot, decision: Decision, lenient: bool) -> tuple[Violation, ...]:
    violations = find_violations(snapshot, decision.allocation)
    if lenient:
        return tuple(violations)
    if found := [*violations, *find_false_claims(snapshot, decision)]:
        more = f" (and {len(found) - 3} more)" if len(found) > 3 else ""
        raise BrokenConstraint(
            f"policy {decision.policy!r} broke its promise in slot {snapshot.slot}: "
            f"{'; '.join(map(str, found[:3]))}{more}. This is a fault of the policy."
        )
    return ()


def _by_slot(jobs: Iterable[Job]) -> Mapping[int, tuple[Job, ...]]:
    arrivals: defaultdict[int, list[Job]] = defaultdict(list)
    for job in jobs:
        arrivals[job.arrival].append(job)
    return {slot: tuple(some) for slot, some in arrivals.items()}


def _by_plan(planned: Iterable[Planned]) -> Mapping[int, Sequence[Event]]:
    happenings: defaultdict[int, list[Event]] = defaultdict(list)
    for one in planned:
        happenings[one.slot].append(one.event)
    return happenings
