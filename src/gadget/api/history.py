"""Decisions of the past, found in the journal."""

from collections.abc import Iterator

from gadget.api.schemas import DecisionBrief, Decisions
from gadget.engine.events import SlotDecided, SlotObserved, SlotServed
from gadget.live.service import Service
from gadget.model.decision import Decision
from gadget.store.journal import Entry

# Entries that are read at a time; one page of decisions looks at no more than so many of these.
_CHUNK = 500
_MOST_CHUNKS = 40


def list_decisions(service: Service, before: int | None, limit: int) -> Decisions:
    """Decisions with entries below `before`, the newest first. A page may be short and not the last."""
    end = service.view().last_entry + 1 if before is None else before
    found: list[DecisionBrief] = []
    for _ in range(_MOST_CHUNKS):
        start = max(1, end - _CHUNK)
        chunk = [entry for entry in service.read_entries(start - 1, end - start) if entry.number < end]
        for entry in reversed(chunk):
            if isinstance(entry.event, SlotDecided | SlotObserved):
                found.append(_sum_up(entry, entry.event))
                if len(found) == limit:
                    return Decisions(decisions=found, before=entry.number if entry.number > 1 else None)
        end = start
        if end <= 1 or not chunk:  # the beginning, or what the journal still has of it
            return Decisions(decisions=found, before=None)
    return Decisions(decisions=found, before=end)


def find_decision(service: Service, slot: int) -> Decision | None:
    """The newest decision on a slot; None where the journal has none (any more)."""
    view = service.view()
    if view.decision is not None and view.decision.slot == slot:
        return view.decision
    # Slots only rise along the journal: halve until what may hold it is short.
    low, high = 0, view.last_entry
    while high - low > _CHUNK:
        middle = (low + high) // 2
        reached = next(_list_slots(service, middle, high), None)
        if reached is not None and reached < slot:
            low = middle
        else:
            high = middle
    found = None
    for entry in _read(service, low, view.last_entry):
        match entry.event:
            case SlotDecided(decision) | SlotObserved(decision) if decision.slot == slot:
                found = decision
            case SlotDecided(decision) | SlotObserved(decision) if decision.slot > slot:
                break
            case _:
                pass
    return found


def _list_slots(service: Service, after: int, upto: int) -> Iterator[int]:
    """The slots that entries from there on are about."""
    for entry in _read(service, after, upto):
        match entry.event:
            case SlotDecided(decision) | SlotObserved(decision):
                yield decision.slot
            case SlotServed(slot=slot):
                yield slot
            case _:
                pass


def _read(service: Service, after: int, upto: int) -> Iterator[Entry]:
    while after < upto:
        chunk = service.read_entries(after, min(_CHUNK, upto - after))
        if not chunk:
            return
        yield from chunk
        after = chunk[-1].number


def _sum_up(entry: Entry, event: SlotDecided | SlotObserved) -> DecisionBrief:
    decision = event.decision
    return DecisionBrief(
        entry=entry.number,
        at=entry.at,
        slot=decision.slot,
        carried_out=isinstance(event, SlotDecided),
        policy=decision.policy,
        status=decision.status,
        objective=decision.objective,
        upper_bound=decision.upper_bound,
        seconds=decision.seconds,
        rings=len(decision.allocation.rings),
        waiting=len(decision.waiting),
    )
