"""The only place that asks for the time."""

import time
from typing import Protocol


class Clock(Protocol):
    """Two times: one to tell people, one to measure by."""

    def wall(self) -> float:
        """Seconds since 1970; may jump in either direction."""
        ...

    def steady(self) -> float:
        """Seconds since some moment; never goes back."""
        ...


class SystemClock:
    """The clocks of this machine."""

    def wall(self) -> float:
        """Seconds since 1970."""
        return time.time()

    def steady(self) -> float:
        """Seconds since the machine started."""
        return time.monotonic()
