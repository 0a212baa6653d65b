"""From a state to the event that decides its slot."""

from dataclasses import replace

from gadget.engine.events import SlotDecided
from gadget.engine.state import State
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
        state.running,
        state.prices,
    )


def decide_slot(
    state: State, policy: Policy, seed: int, *, label: str | None = None, shown: Snapshot | None = None
) -> SlotDecided:
    """Ask the policy about the present slot.

    `label` is what the decision calls it, options and all; `shown` is what it sees instead of all there is.
    """
    decision = ask(policy, snapshot_of(state) if shown is None else shown, seed)
    return SlotDecided(decision if label is None else replace(decision, policy=label))
