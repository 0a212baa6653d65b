"""A live service without a clock, an engine or a disk: a fold of real events, as tests tell them."""

import threading
from collections.abc import Mapping, Sequence
from dataclasses import replace

from gadget.backends.backend import RingKey, RingPhase
from gadget.engine.apply import apply
from gadget.engine.decide import decide_slot
from gadget.engine.events import (
    Event,
    JobLeft,
    JobsArrived,
    Seen,
    ServerDrained,
    ServerUndrained,
    SlotObserved,
    SlotServed,
)
from gadget.engine.state import begin
from gadget.errors import BadInput
from gadget.live.view import Mode, RingShown, View
from gadget.model.cluster import Cluster
from gadget.model.decision import Decision
from gadget.model.job import Job
from gadget.model.quantity import MOST_SLOTS
from gadget.model.snapshot import Scenario
from gadget.policies.fifo import Fifo
from gadget.policies.policy import Policy
from gadget.store.journal import Entry
from gadget.store.tokens import Holder, Role

BEGAN = 1_700_000_000.0


class FoldedService:
    """Implements `Service`: what it is asked becomes events, and the state is their fold."""

    def __init__(self, cluster: Cluster, *, slot_seconds: float = 30.0, mode: Mode = Mode.ENFORCE) -> None:
        state = begin(Scenario(cluster, (), MOST_SLOTS, slot_seconds), is_measured=True)
        self._changed = threading.Condition()
        self._entries: list[Entry] = []
        self._view = View(state, 0, BEGAN, mode, "fake", "fifo", BEGAN)
        self.logs: dict[tuple[str, int], str] = {}

    # What the protocol asks for.

    def view(self) -> View:
        return self._view

    def submit(self, jobs: Sequence[Job]) -> None:
        self.happen(JobsArrived(tuple(jobs)))

    def cancel(self, job: str) -> None:
        self.happen(JobLeft(job))

    def drain(self, server: str) -> None:
        self.happen(ServerDrained(server))

    def undrain(self, server: str) -> None:
        self.happen(ServerUndrained(server))

    def read_entries(self, after: int, limit: int) -> Sequence[Entry]:
        with self._changed:
            return self._entries[after : after + limit]

    def wait_for_entries(self, after: int, seconds: float) -> bool:
        with self._changed:
            return self._changed.wait_for(lambda: len(self._entries) > after, seconds)

    def read_log(self, job: str, *, rank: int, lines: int) -> str:
        if (job, rank) not in self.logs:
            raise BadInput(f"rank {rank} of job {job!r} has printed nothing. Name a rank of its ring.")
        return "".join(self.logs[job, rank].splitlines(keepends=True)[-lines:])

    # What tests tell it.

    def happen(self, *events: Event) -> None:
        """Something happened."""
        with self._changed:
            for event in events:
                state = apply(self._view.state, event)
                number = len(self._entries) + 1
                self._entries.append(Entry(number, BEGAN + number, event))
                self._view = replace(self._view, state=state, last_entry=number, at=BEGAN + number)
            self._changed.notify_all()

    def show(self, **fields: object) -> None:
        """Change what the view shows beside the state."""
        self._view = replace(self._view, **fields)  # type: ignore[arg-type]

    def decide(self, policy: Policy | None = None) -> Decision:
        """Decide the present slot; where it only observes, nothing runs."""
        event = decide_slot(self._view.state, policy or Fifo(), 0)
        if self._view.mode is Mode.OBSERVE:
            self.happen(SlotObserved(event.decision))
        else:
            self.happen(event)
            self.show(rings=self._rings(event.decision))
        self.show(decision=event.decision)
        return event.decision

    def serve(self, work: Mapping[str, float] | None = None) -> None:
        """The slot goes by; every ring does the work told of it, or none."""
        state = self._view.state
        done = work or {}
        seen = tuple(Seen(ring.job, done.get(ring.job, 0.0), 0.0) for ring in state.running.rings)
        self.happen(SlotServed(state.slot, seen))

    def _rings(self, decision: Decision) -> dict[str, RingShown]:
        state = self._view.state
        return {
            ring.job: RingShown(
                RingKey(ring.job, state.active[ring.job].ring_since or 0),
                ring,
                RingPhase.RUNNING,
                self._view.at,
            )
            for ring in decision.allocation.rings
        }


class KnownTokens:
    """One token for each role, which is its name."""

    def find_token(self, text: str) -> Holder | None:
        return Holder(f"{text}-holder", Role(text), BEGAN) if text in list(Role) else None
