"""Ctrl-C and SIGTERM as something to ask about, not something that strikes in the middle of a line."""

import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType


class Notice:
    """The first signal that came, if one did."""

    number: int | None = None


@contextmanager
def noticing_signals() -> Iterator[Notice]:
    """Take note of the first signal and let the body end in good order; a second one strikes at once.

    Outside the main thread, which alone is told of signals, nothing is ever noticed.
    """
    notice = Notice()
    if threading.current_thread() is not threading.main_thread():
        yield notice
        return
    before = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}

    def note(number: int, frame: FrameType | None) -> None:
        if notice.number is None:
            notice.number = number
            return
        handler = before[signal.Signals(number)]
        if callable(handler):
            handler(number, frame)
        sys.exit(128 + number)

    for number in before:
        signal.signal(number, note)
    try:
        yield notice
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
