"""When a search has to stop."""

import time


class Clock:
    """Runs from its making until the time limit, if there is one."""

    def __init__(self, time_limit: float | None) -> None:
        self._end = None if time_limit is None else time.perf_counter() + time_limit
        self.is_limited = time_limit is not None

    def is_over(self) -> bool:
        """True when time is up."""
        return self._end is not None and time.perf_counter() >= self._end

    def left(self) -> float | None:
        """Seconds that are left; None without a limit."""
        return None if self._end is None else max(0.0, self._end - time.perf_counter())
