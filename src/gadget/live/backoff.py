"""Jobs whose rings break again and again are left to rest, longer each time."""

from collections.abc import Iterable, Mapping

from gadget.engine.events import Cause, Event, RingFailed
from gadget.engine.state import State

_LONGEST_SECONDS = 300.0


class Backoff:
    """When each job that failed may be tried again, in steady seconds."""

    def __init__(self, spacing_seconds: float) -> None:
        self._spacing = spacing_seconds
        self._until: dict[str, float] = {}
        self._taken: dict[str, tuple[float, int]] = {}
        """Of jobs whose rings the engine took: how far they were, and how often in a row."""

    def note(self, state: State, events: Iterable[Event], steady: float) -> None:
        """Rings broke: the first failure is tried again at once, the next after twice as long each time."""
        for event in events:
            if not isinstance(event, RingFailed) or (record := state.active.get(event.job)) is None:
                continue
            is_taken = event.cause is Cause.ENGINE
            count = self._count_taken(event.job, record.broke_at) if is_taken else record.fruitless
            if count > 1:
                rest = min(self._spacing * 2 ** (count - 1), _LONGEST_SECONDS)
                self._until[record.job.name] = steady + rest

    def find_resting(self, state: State, steady: float) -> Mapping[str, float]:
        """Jobs that shall not run yet, with the seconds that are left."""
        self._until = {
            job: until for job, until in self._until.items() if until > steady and job in state.active
        }
        self._taken = {job: one for job, one in self._taken.items() if job in state.active}
        return {job: until - steady for job, until in self._until.items()}

    def _count_taken(self, job: str, work: float) -> int:
        """Once more; from the beginning if the job came further meanwhile."""
        before, count = self._taken.get(job, (work, 0))
        self._taken[job] = (work, count + 1 if work <= before else 1)
        return self._taken[job][1]
