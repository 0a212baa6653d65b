"""Jobs whose rings break again and again are left to rest, longer each time."""

from collections.abc import Iterable, Mapping

from gadget.engine.events import Event, RingFailed
from gadget.engine.state import State

_LONGEST_SECONDS = 300.0


class Backoff:
    """When each job that failed may be tried again, in steady seconds."""

    def __init__(self, spacing_seconds: float) -> None:
        self._spacing = spacing_seconds
        self._until: dict[str, float] = {}

    def note(self, state: State, events: Iterable[Event], steady: float) -> None:
        """Rings broke: the first failure is tried again at once, the next after twice as long each time."""
        for event in events:
            record = state.active.get(event.job) if isinstance(event, RingFailed) else None
            if record is not None and record.fruitless > 1:
                rest = min(self._spacing * 2 ** (record.fruitless - 1), _LONGEST_SECONDS)
                self._until[record.job.name] = steady + rest

    def find_resting(self, state: State, steady: float) -> Mapping[str, float]:
        """Jobs that shall not run yet, with the seconds that are left."""
        self._until = {
            job: until for job, until in self._until.items() if until > steady and job in state.active
        }
        return {job: until - steady for job, until in self._until.items()}
