"""The controller in a thread of its own: whatever comes from outside waits in its inbox."""

import contextlib
import logging
import queue
import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from typing import TypeVar

from gadget.backends.backend import Backend, Report
from gadget.backends.words import Word
from gadget.errors import GadgetError
from gadget.live.controller import Controller
from gadget.live.view import View
from gadget.model.job import Job
from gadget.store.journal import Entry, Journal

Answer = TypeVar("Answer")

_logger = logging.getLogger(__name__)

_MOST_AT_ONCE = 10_000
_PATIENCE_SECONDS = 60.0
"""How long a command may wait for its turn: longer than any decision."""


class ServiceBusy(GadgetError):
    """The service did not come to a command in time; it may still do so."""


class LiveService:
    """A running service; its methods may be called from any thread."""

    def __init__(self, controller: Controller, journal: Journal, backend: Backend) -> None:
        self._controller, self._journal, self._backend = controller, journal, backend
        self._inbox: queue.SimpleQueue[Callable[[], None]] = queue.SimpleQueue()
        self._ending = threading.Event()
        self._news = threading.Condition()
        self._view: View | None = None
        self._thread = threading.Thread(target=self._run, name="gadget-controller", daemon=True)

    def start(self) -> None:
        """Open the engine, take stock, and begin to decide."""
        self._controller.open(self.report)
        self._publish()
        self._thread.start()

    def stop(self, *, keep_rings: bool) -> None:
        """End the thread; with rings left to run for a later life, or stopped in good order, all of them."""
        self._ending.set()
        self._inbox.put(lambda: None)
        if self._thread.is_alive():
            self._thread.join(_PATIENCE_SECONDS)
        try:
            if not keep_rings:
                self._stop_rings()
        finally:  # also when that could not be written down
            self._backend.close(keep_rings=keep_rings)

    def report(self, report: Report) -> None:
        """The engine reported."""
        self._inbox.put(lambda: self._controller.take(report))

    def hear(self, word: Word) -> None:
        """A worker spoke."""
        self._inbox.put(lambda: self._controller.hear(word))

    # The interface for others, see `Service`.

    def view(self) -> View:
        """Where it stands; never waits."""
        assert self._view is not None  # from its start on there is one
        return self._view

    def submit(self, jobs: Sequence[Job]) -> None:
        """Take jobs into the queue, all or none."""
        self._ask(lambda: self._controller.submit(jobs))

    def cancel(self, job: str) -> None:
        """Take a job out, waiting or running."""
        self._ask(lambda: self._controller.cancel(job))

    def drain(self, server: str) -> None:
        """Let a server become empty."""
        self._ask(lambda: self._controller.drain(server))

    def undrain(self, server: str) -> None:
        """Let a server take workers again."""
        self._ask(lambda: self._controller.undrain(server))

    def read_entries(self, after: int, limit: int) -> Sequence[Entry]:
        """Journal entries with numbers above `after`, oldest first."""
        return self._journal.read(after, limit)

    def wait_for_entries(self, after: int, seconds: float) -> bool:
        """Wait until there is an entry above `after`, at most this long; True if there is."""
        with self._news:
            return self._news.wait_for(lambda: self.view().last_entry > after, seconds)

    def read_log(self, job: str, *, rank: int, lines: int) -> str:
        """The last lines that a rank of the job's newest ring has printed."""
        return self._ask(lambda: self._backend.read_log(job, rank=rank, lines=lines))

    def _ask(self, command: Callable[[], Answer]) -> Answer:
        """Have the controller's thread do it, and wait for what comes of it."""
        if self._ending.is_set():
            raise ServiceBusy("the service is stopping. Ask again when it is back.")
        answer: Future[Answer] = Future()

        def do() -> None:
            if not answer.set_running_or_notify_cancel():
                return
            try:
                result = command()
                self._publish()  # whoever asks next must find what was just done
                answer.set_result(result)
            except Exception as error:  # whoever asked must hear of it, whatever it is
                answer.set_exception(error)

        self._inbox.put(do)
        try:
            return answer.result(_PATIENCE_SECONDS)
        except TimeoutError:
            answer.cancel()
            raise ServiceBusy("the service is busy and did not come to it. Try again.") from None

    def _run(self) -> None:
        while not self._ending.is_set():
            self._take_inbox(self._controller.seconds_to_next_tick())
            try:
                self._controller.tick()
                self._controller.faults.end("service")
            except Exception as error:  # a fault of ours: shown, and everything stays as it is
                _logger.exception("a tick of the controller failed")
                self._controller.faults.begin("service", f"{type(error).__name__}: {error}", time.time())
                self._ending.wait(1)
            self._publish()

    def _take_inbox(self, seconds: float) -> None:
        with contextlib.suppress(queue.Empty):
            self._do(self._inbox.get(timeout=max(seconds, 0.001)))
            for _ in range(_MOST_AT_ONCE):
                self._do(self._inbox.get_nowait())

    def _do(self, told: Callable[[], None]) -> None:
        try:
            told()
        except Exception:  # one thing that cannot be taken must not end all the others
            _logger.exception("something that was told could not be taken")

    def _publish(self) -> None:
        with self._news:
            self._view = self._controller.view()
            self._news.notify_all()

    def _stop_rings(self) -> None:
        """Ask every worker to leave with a checkpoint, and wait as long as their graces allow."""
        graces = [
            one.job.program.checkpoint_grace_seconds
            for one in self._controller.fleet
            if one.job is not None and one.job.program is not None
        ]
        self._controller.stop_rings()
        deadline = time.monotonic() + max(graces, default=0.0) + 10
        while time.monotonic() < deadline:
            self._take_inbox(0.1)
            if self._controller.settle():
                break
        self._publish()
