"""The service's end of the line to Ray: a driver process (`ray_driver`), started anew when it falls silent.

Ray is away when the driver has ended, or has said nothing for some seconds: its beat needs an answer of the
head. Whoever subscribed for a namespace is told, and told again when a new driver has found the head.
"""

import contextlib
import importlib.util
import json
import logging
import os
import queue
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future
from pathlib import Path
from typing import Any

from gadget.backends.backend import EngineAway
from gadget.errors import MissingPackage

_log = logging.getLogger(__name__)

CONNECT_SECONDS = 60.0
"""How long a driver may take to find the head."""
SILENCE_SECONDS = 10.0
_PAUSE_SECONDS = 1.0
_ANSWER_SECONDS = 30.0
_END_SECONDS = 5.0

News = Mapping[str, Any]
Listener = Callable[[News], None]


class RayLink:
    """A line to one Ray cluster; several backends may share it."""

    def __init__(
        self,
        address: str,
        *,
        runtime_env: Mapping[str, Any] | None = None,
        enter: Sequence[str] = (),
        log: Path | None = None,
        silence_seconds: float = SILENCE_SECONDS,
        connect_seconds: float = CONNECT_SECONDS,
    ) -> None:
        """`enter` is put before the driver's command: to run it in another network namespace, say.

        What the driver says beside its answers goes to `log`.
        """
        self.address = address
        self.has_runtime_env = bool(runtime_env)
        self.has_runtime_dir = bool((runtime_env or {}).get("working_dir"))
        self._hello = {"address": address, "runtime_env": dict(runtime_env or {})}
        self._command = [*enter, sys.executable, "-m", "gadget.backends.ray_driver"]
        self._log = log
        self._silence, self._patience = silence_seconds, connect_seconds
        self._listeners: dict[str, Listener] = {}
        self._lock = threading.Lock()
        self._process: subprocess.Popen[str] | None = None
        self._answers: dict[int, Future[Any]] = {}
        self._next = 0
        self._is_up = threading.Event()
        self._has_heard = threading.Event()
        """Set once the first driver has found Ray, or has told why it does not."""
        self._ending = threading.Event()
        self._keeper: threading.Thread | None = None
        self.nodes: Sequence[Mapping[str, Any]] = ()
        """As last told."""
        self.trouble = ""
        self.is_refused = False
        """True when Ray answers and will not have us: waiting does not help."""

    def open(self) -> None:
        """Start the driver; returns at once."""
        if importlib.util.find_spec("ray") is None:
            raise MissingPackage(
                "the Ray engine needs Ray, which is not installed. "
                "Install it: pip install 'gadget-scheduler[ray]', or in a checkout pip install -e '.[ray]'"
            )
        self._keeper = threading.Thread(target=self._keep, name="gadget-ray-link", daemon=True)
        self._keeper.start()

    def wait_until_up(self, seconds: float) -> bool:
        """Wait until Ray answers, or until a first try has failed; at most this long."""
        self._has_heard.wait(seconds)
        return self._is_up.is_set()

    def close(self) -> None:
        """End the driver; actors go on."""
        self._ending.set()
        self._end_process()
        if self._keeper is not None:
            self._keeper.join(_END_SECONDS)

    def subscribe(self, space: str, listener: Listener) -> None:
        """Hear the news of one namespace, those of nodes, and {"news": "away" | "back"}."""
        with self._lock:
            self._listeners[space] = listener

    def unsubscribe(self, space: str) -> None:
        """Hear no more."""
        with self._lock:
            self._listeners.pop(space, None)

    def ask(self, do: str, **given: Any) -> Any:
        """Have the driver do something; EngineAway if it does not answer, RuntimeError if Ray says no."""
        if not self._is_up.is_set():
            raise EngineAway(self.trouble or f"Ray does not answer at {self.address}")
        answer: Future[Any] = Future()
        with self._lock:
            self._next += 1
            number = self._next
            self._answers[number] = answer
            process = self._process
        try:
            if process is None or process.stdin is None or not self._is_up.is_set():
                raise TimeoutError
            process.stdin.write(json.dumps({"id": number, "do": do, **given}) + "\n")
            process.stdin.flush()
            return answer.result(_ANSWER_SECONDS)
        except (OSError, ValueError, TimeoutError):
            raise EngineAway(self.trouble or f"Ray does not answer at {self.address}") from None
        finally:
            with self._lock:
                self._answers.pop(number, None)

    def _keep(self) -> None:
        """One driver after another."""
        while not self._ending.is_set():
            lines: queue.SimpleQueue[str | None] = queue.SimpleQueue()
            try:
                process = self._start(lines)
            except OSError as error:
                self.trouble = f"the driver for Ray cannot be started: {error}"
                self._ending.wait(_PAUSE_SECONDS)
                continue
            why = self._listen(process, lines)
            self._end_process()
            if not self._ending.is_set():
                self._fall(why)
                self._ending.wait(_PAUSE_SECONDS)

    def _start(self, lines: "queue.SimpleQueue[str | None]") -> "subprocess.Popen[str]":
        with Path(self._log or os.devnull).open("ab") as log:
            process = subprocess.Popen(
                self._command,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=log,
                text=True,
                start_new_session=True,
            )
        assert process.stdin is not None
        with self._lock:
            self._process = process
        process.stdin.write(json.dumps(self._hello) + "\n")
        process.stdin.flush()
        threading.Thread(target=_read, args=(process, lines), name="gadget-ray-lines", daemon=True).start()
        return process

    def _listen(self, process: "subprocess.Popen[str]", lines: "queue.SimpleQueue[str | None]") -> str:
        """Hand on what the driver says until it falls silent; tells why that is."""
        began = heard = time.monotonic()
        while not self._ending.is_set():
            try:
                line = lines.get(timeout=0.25)
            except queue.Empty:
                now = time.monotonic()
                if not self._is_up.is_set() and now - began > self._patience:
                    return f"no Ray cluster answers at {self.address}"
                if self._is_up.is_set() and now - heard > self._silence:
                    return f"Ray at {self.address} has not answered for {self._silence:g} s"
                continue
            if line is None:
                return f"the connection to Ray at {self.address} broke (exit code {process.wait()})"
            said = json.loads(line)
            if said.get("news") == "failed":
                self.is_refused = said["refused"]
                return f"Ray at {self.address} cannot be used: {said['why']}"
            if said.get("news") == "nodes":
                heard = time.monotonic()
            self._take(said)
        return ""

    def _take(self, said: News) -> None:
        if "id" in said:
            with self._lock:
                answer = self._answers.get(said["id"])
            if answer is not None and not answer.done():
                if "error" in said:
                    answer.set_exception(RuntimeError(said["error"]))
                else:
                    answer.set_result(said["answer"])
            return
        if said["news"] == "nodes":
            self.nodes = said["nodes"]
            if not self._is_up.is_set():
                self.trouble, self.is_refused = "", False
                self._is_up.set()
                self._has_heard.set()
                self._tell_all({"news": "back"})
            self._tell_all(said)
            return
        with self._lock:
            listener = self._listeners.get(said["space"])
        if listener is not None:
            listener(said)

    def _fall(self, why: str) -> None:
        self.trouble = why
        was_up = self._is_up.is_set()
        self._is_up.clear()
        self._has_heard.set()
        with self._lock:
            waiting = list(self._answers.values())
        for answer in waiting:
            if not answer.done():
                answer.set_exception(TimeoutError())
        if was_up:
            _log.warning("%s", why)
            self._tell_all({"news": "away", "why": why})

    def _tell_all(self, news: News) -> None:
        with self._lock:
            listeners = list(self._listeners.values())
        for listener in listeners:
            listener(news)

    def _end_process(self) -> None:
        with self._lock:
            process, self._process = self._process, None
        if process is not None:
            process.kill()
            process.wait()
            assert process.stdin is not None
            with contextlib.suppress(OSError):  # what was not sent yet goes nowhere
                process.stdin.close()


def _read(process: "subprocess.Popen[str]", lines: "queue.SimpleQueue[str | None]") -> None:
    assert process.stdout is not None
    with process.stdout:
        for line in process.stdout:
            lines.put(line)
    lines.put(None)
