"""The controller's thread: whoever was answered sees what came of it."""

import time
from types import SimpleNamespace
from typing import Any, cast

from gadget.live.runtime import LiveService
from gadget.model.job import Job


class SlowController:
    """Takes jobs at once, and then needs a while for its tick."""

    def __init__(self) -> None:
        self.taken = 0
        self.faults = SimpleNamespace(begin=lambda *_: None, end=lambda *_: None)

    def open(self, deliver: object) -> None:
        """Nothing to find."""

    def submit(self, jobs: tuple[Job, ...]) -> None:
        self.taken += 1

    def tick(self) -> None:
        time.sleep(0.1)

    def seconds_to_next_tick(self) -> float:
        return 1.0

    def view(self) -> int:
        return self.taken


def test_a_command_that_was_answered_shows_in_the_view() -> None:
    backend = SimpleNamespace(close=lambda **_: None)
    service = LiveService(cast(Any, SlowController()), cast(Any, None), cast(Any, backend))
    service.start()
    try:
        for count in range(1, 4):
            service.submit(())
            assert cast(int, service.view()) == count
    finally:
        service.stop(keep_rings=True)
