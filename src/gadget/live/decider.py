"""Who decides: a policy in a process of its own, which may be late, fail or die without harm."""

import contextlib
import io
import multiprocessing
import os
import pickle
import signal
import threading
import time
from collections.abc import Iterator
from multiprocessing.connection import Connection
from typing import Any, Protocol

from gadget.errors import GadgetError
from gadget.model.cluster import Cluster
from gadget.model.decision import Decision
from gadget.model.job import Job
from gadget.model.snapshot import Snapshot
from gadget.policies.policy import Policy, ask
from gadget.policies.registry import build_policy
from gadget.policies.warming import compile_kernels

_READY_SECONDS = 300.0
"""A first start may have to compile the solver's kernels: a minute, and more on a busy machine."""

_PATIENCE_SECONDS = 2.0
"""How long one decision waits for a process that is not ready: commands wait meanwhile."""


class DecisionFailed(GadgetError):
    """No decision came: late, a fault of the policy, or its process died."""


class Decider(Protocol):
    """Decides slots under a time limit."""

    def decide(self, snapshot: Snapshot) -> Decision:
        """The decision on this snapshot; DecisionFailed if there is none in time."""
        ...

    def close(self) -> None:
        """End what was started."""
        ...


class Here:
    """The policy in this process: for tests, and where there is nothing to protect."""

    def __init__(self, policy: Policy, seed: int) -> None:
        self._policy, self._seed = policy, seed

    def decide(self, snapshot: Snapshot) -> Decision:
        """The decision on this snapshot."""
        return ask(self._policy, snapshot, self._seed)

    def close(self) -> None:
        """Nothing to end."""


class Apart:
    """The policy in a process of its own; one that is late is ended, and another one takes its place."""

    def __init__(self, policy: str, seed: int, limit_seconds: float) -> None:
        build_policy(policy)  # complains here and now, not there and later
        self._policy, self._seed, self._limit = policy, seed, limit_seconds
        self._process: _Process | None = None
        self.start()

    def start(self) -> None:
        """Have a process ready; called beforehand, no decision waits for its start."""
        if self._process is None:
            self._process = _Process(self._policy, self._seed)

    @property
    def process_id(self) -> int | None:
        """The process that decides, if there is one."""
        return None if self._process is None else self._process.id

    def decide(self, snapshot: Snapshot) -> Decision:
        """The decision on this snapshot; DecisionFailed if there is none in time."""
        self.start()
        process = self._process
        assert process is not None  # it was just started
        try:
            return process.ask(snapshot, self._limit)
        except DecisionFailed:
            if process.is_lost:
                self._process = None
                process.end()
                self.start()
            raise

    def close(self) -> None:
        """End the process."""
        if self._process is not None:
            self._process.end()
            self._process = None


class _Process:
    def __init__(self, policy: str, seed: int) -> None:
        context = multiprocessing.get_context("spawn")
        self._pipe, theirs = context.Pipe()
        self._process = context.Process(
            target=_serve, args=(theirs, policy, seed, os.getpid()), name="gadget-solver", daemon=True
        )
        self._process.start()
        theirs.close()
        self._sent = _Sent()
        self._is_ready = False
        self._began = time.monotonic()
        self.is_lost = False
        """True from the moment when it did not answer as it should."""

    @property
    def id(self) -> int | None:
        return self._process.pid

    def ask(self, snapshot: Snapshot, limit: float) -> Decision:
        try:
            self._wait_until_ready(limit)
            with self._killing_after(limit):
                self._pipe.send_bytes(self._sent.pack(snapshot))
                answer = self._sent.unpack(self._pipe.recv_bytes())
        except (EOFError, OSError) as error:
            self.is_lost = True
            self._process.join(1)
            code = self._process.exitcode
            raise DecisionFailed(
                f"the solver process died{f' of signal {-code}' if code is not None and code < 0 else ''}"
            ) from error
        if isinstance(answer, Decision):
            return answer
        raise DecisionFailed(str(answer))

    def _wait_until_ready(self, limit: float) -> None:
        """A process that is being made ready is not late: it has its own time, not that of a decision."""
        if self._is_ready:
            return
        if not self._pipe.poll(min(limit, _PATIENCE_SECONDS)):
            self.is_lost = time.monotonic() - self._began > _READY_SECONDS
            raise DecisionFailed("the solver is being made ready, which takes a minute after an update")
        self._pipe.recv_bytes()
        self._is_ready = True

    @contextlib.contextmanager
    def _killing_after(self, limit: float) -> Iterator[None]:
        """One that hangs in the middle of reading or writing would block us: only its end helps."""
        late = threading.Event()

        def end() -> None:
            late.set()
            self._process.kill()

        timer = threading.Timer(limit, end)
        timer.daemon = True
        timer.start()
        try:
            yield
        except (EOFError, OSError):
            if not late.is_set():
                raise
            self.is_lost = True
            raise DecisionFailed(f"the solver took longer than {limit:g} s") from None
        finally:
            timer.cancel()

    def end(self) -> None:
        self.is_lost = True
        self._pipe.close()
        if self._process.is_alive():
            self._process.kill()
        self._process.join(5)


class _Sent:
    """What the other side has: jobs and clusters go over once, so that the solver's caches hold there too."""

    def __init__(self) -> None:
        self._numbers: dict[int, int] = {}
        self._kept: dict[int, object] = {}
        self._next = 0

    def pack(self, snapshot: Snapshot) -> bytes:
        current = (snapshot.cluster, *(active.job for active in snapshot.jobs))
        known, self._kept = self._kept, {id(one): one for one in current}
        gone = [self._numbers.pop(one) for one in known if one not in self._kept]
        fresh = {}
        for one in current:
            if id(one) not in self._numbers:
                self._numbers[id(one)] = self._next
                fresh[self._next] = one
                self._next += 1
        return pickle.dumps((gone, fresh, _pack(snapshot, self._numbers)), protocol=5)

    def unpack(self, answer: bytes) -> Any:
        """What our own process wrote, with our own jobs and cluster in it."""
        return _unpack(answer, {number: self._kept[one] for one, number in self._numbers.items()})


def _pack(value: object, numbers: dict[int, int]) -> bytes:
    buffer = io.BytesIO()
    _Pickler(buffer, numbers).dump(value)
    return buffer.getvalue()


def _unpack(content: bytes, known: dict[int, object]) -> Any:
    return _Unpickler(io.BytesIO(content), known).load()


class _Pickler(pickle.Pickler):
    def __init__(self, file: io.BytesIO, numbers: dict[int, int]) -> None:
        super().__init__(file, protocol=5)
        self._numbers = numbers

    def persistent_id(self, obj: Any) -> int | None:
        return self._numbers.get(id(obj)) if isinstance(obj, Cluster | Job) else None


class _Unpickler(pickle.Unpickler):
    def __init__(self, file: io.BytesIO, known: dict[int, object]) -> None:
        super().__init__(file)
        self._known = known

    def persistent_load(self, pid: Any) -> object:
        return self._known[pid]


def _serve(pipe: Connection, policy_text: str, seed: int, parent: int) -> None:
    """The other side: decide what comes, until nobody asks any more."""
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.SIG_IGN)
    _end_with(parent)
    policy = build_policy(policy_text)
    compile_kernels()
    known: dict[int, object] = {}
    with contextlib.suppress(EOFError, BrokenPipeError, OSError):
        pipe.send_bytes(pickle.dumps("ready"))
        while True:
            gone, fresh, body = pickle.loads(pipe.recv_bytes())
            for number in gone:
                known.pop(number, None)
            known.update(fresh)
            try:
                answer: Decision | str = ask(policy, _unpack(body, known), seed)
            except Exception as error:
                answer = f"{type(error).__name__}: {error}"
            pipe.send_bytes(_pack(answer, {id(one): number for number, one in known.items()}))


def _end_with(parent: int) -> None:
    """Do not outlive the service, not even one that was killed in the middle of a decision."""

    def watch() -> None:
        while os.getppid() == parent:
            stop.wait(0.5)
        os._exit(1)

    stop = threading.Event()
    threading.Thread(target=watch, daemon=True).start()
