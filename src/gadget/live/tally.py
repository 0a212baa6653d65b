"""What has happened since the service started, counted."""

from collections.abc import Iterable
from dataclasses import replace

from gadget.engine.events import Event, RingFailed
from gadget.live.view import Counts
from gadget.model.decision import Decision


class Tally:
    """The counts, replaced as they grow."""

    def __init__(self) -> None:
        self.counts = Counts()

    def count_slot(self, decision: Decision, seconds: float) -> None:
        """A slot was decided; this is how long all of it took."""
        now = self.counts
        self.counts = replace(
            now,
            decisions=now.decisions + 1,
            decision_seconds=now.decision_seconds + decision.seconds,
            slot_seconds=now.slot_seconds + seconds,
        )

    def count_failed_decision(self) -> None:
        """The solver did not decide."""
        self.counts = replace(self.counts, failed_decisions=self.counts.failed_decisions + 1)

    def count_launch(self) -> None:
        """A ring was ordered."""
        self.counts = replace(self.counts, launches=self.counts.launches + 1)

    def count_dismissal(self) -> None:
        """A ring was asked to leave."""
        self.counts = replace(self.counts, dismissals=self.counts.dismissals + 1)

    def count_found(self, adopted: int, strays: int) -> None:
        """Rings of an earlier life go on, or should not be."""
        now = self.counts
        self.counts = replace(now, adopted=now.adopted + adopted, strays=now.strays + strays)

    def count_failures(self, events: Iterable[Event]) -> None:
        """Rings broke, by cause."""
        failures = dict(self.counts.ring_failures)
        for event in events:
            if isinstance(event, RingFailed):
                failures[event.cause] = failures.get(event.cause, 0) + 1
        self.counts = replace(self.counts, ring_failures=failures)
