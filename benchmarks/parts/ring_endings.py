"""Rings that are run to their end: who launched them waits here."""

import threading
from collections.abc import Sequence

from gadget.backends.backend import Report, RingKey, RingMoved, RingPhase


class Endings:
    """Takes the reports of an engine."""

    def __init__(self) -> None:
        self._over: dict[RingKey, RingMoved] = {}
        self._news = threading.Condition()

    def take(self, report: Report) -> None:
        """What an engine reports."""
        if isinstance(report, RingMoved) and report.phase.is_over:
            with self._news:
                self._over[report.key] = report
                self._news.notify_all()

    def has_any(self, keys: Sequence[RingKey]) -> bool:
        """True when one of them is over."""
        return any(key in self._over for key in keys)

    def wait(self, keys: Sequence[RingKey], seconds: float) -> None:
        """Until all of them have finished; RuntimeError if one did otherwise, or did not in time."""
        with self._news:
            in_time = self._news.wait_for(lambda: all(key in self._over for key in keys), seconds)
        if not in_time:
            raise RuntimeError(f"not all of {list(map(str, keys))} ended within {seconds:g} s")
        if bad := [self._over[key] for key in keys if self._over[key].phase is not RingPhase.FINISHED]:
            raise RuntimeError(f"did not finish: {bad}")
