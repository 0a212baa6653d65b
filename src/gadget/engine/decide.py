"""From a state to the event that decides its slot."""

from dataclasses import replace

from gadget.engine.events import SlotDecided
from gadget.engine.state import State
from gadget.model.ring import Allocation
from gadget.model.snapshot import Snapshot
from gadget.policies.policy import Policy, ask


def snapshot_of(state: State) -> Snapshot:
    """All that a policy may see: what stands of the cluster, the queue, the rings and prices so far."""
    return Snapshot(
        state.available,
        tuple(record.active for record in state.active.values()),
        state.slot,
        state.slots,
        state.slot_seconds,
        _usable(state),
        state.prices,
    )


def _usable(state: State) -> Allocation:
    """The rings that could go on: a policy cannot keep workers on servers that it does not see."""
    if not state.drained:
        return state.running
    standing = state.available.server_by_name
    return Allocation(tuple(ring for ring in state.running.rings if standing.keys() >= set(ring.workers)))


def decide_slot(
    state: State, policy: Policy, seed: int, *, label: str | None = None, shown: Snapshot | None = None
) -> SlotDecided:
    """Ask the policy about the present slot.

    `label` is what the decision calls it, options and all; `shown` is what it sees instead of all there is.
    """
    decision = ask(policy, snapshot_of(state) if shown is None else shown, seed)
    return SlotDecided(decision if label is None else replace(decision, policy=label))
