"""What an engine turns out to have, against what should run: after a crash, or after it was away."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from gadget.backends.backend import RingFound, RingKey
from gadget.engine.apply import apply
from gadget.engine.events import Event, Noted, Seen, SlotDecided, SlotServed
from gadget.engine.state import State
from gadget.live.fleet import Fleet, Presence
from gadget.live.keeping import keep_rings
from gadget.live.orders import find_wanted


@dataclass(slots=True)
class Stock:
    """What was found."""

    rings: dict[RingKey, Presence]
    adopted: int = 0
    """Rings of an earlier life that go on."""
    strays: int = 0
    """Rings that should not be."""
    notes: list[Event] = field(default_factory=list)


def take_stock(
    state: State, before: Fleet, found: Sequence[RingFound], *, wall: float, steady: float
) -> Stock:
    """All rings that were found; of those known before, with what they have told since."""
    wanted, fleet = find_wanted(state), Fleet()
    stock = Stock(fleet.rings)
    for one in found:
        record = state.active.get(one.key.job) or state.ended.get(one.key.job)
        fleet.add(one, None if record is None else record.job, wall, steady, was_found=True)
        known = before.rings.get(one.key)
        if known is not None:
            fleet.rings[one.key] = replace(known, phase=one.phase, reason=one.reason)
        elif one.key in wanted and not one.phase.is_over:
            stock.adopted += 1
            stock.notes.append(Noted("ring", f"{one.key} was found {one.phase}; it goes on"))
        elif not one.phase.is_over:
            stock.strays += 1
            text = f"{one.key} was found {one.phase} and should not be; it is stopped"
            stock.notes.append(Noted("ring", text))
    return stock


def find_missing_slots(state: State, found: Sequence[RingFound], *, policy: str, seed: int) -> list[Event]:
    """Slots that the journal has lost its entries of, if rings of such slots are there.

    A ring's number is its slot, and no two rings of a job may share one; so slots go on above all of them.
    """
    newest = max((one.key.number for one in found), default=-1)
    if newest < state.slot + state.decided:
        return []
    text = (
        f"rings of slot {newest} were found, but the journal ends in slot {state.slot}: it has lost its end"
    )
    events: list[Event] = [Noted("service", text)]
    while state.slot <= newest:
        if not state.decided:
            kept = keep_rings(state, policy=policy, seed=seed, reason="service", detail="the slot is unknown")
            events.append(SlotDecided(kept))
            state = apply(state, events[-1])
        seen = tuple(Seen(ring.job, 0.0, 0.0) for ring in state.running.rings)
        events.append(SlotServed(state.slot, seen, 0.0))
        state = apply(state, events[-1])
    return events
