"""Several policies and seeds over one scenario, side by side on the cores.

Every run has a process of its own, so one run cannot disturb another and the results do not depend on how
many run at a time. A process tells of its progress and its result through a pipe.
"""

import multiprocessing
import os
import pickle
import signal
import time
import traceback
from collections import deque
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from multiprocessing.connection import Connection, wait
from multiprocessing.context import SpawnProcess
from multiprocessing.synchronize import Event as StopFlag
from pathlib import Path

from gadget.errors import BadOption, GadgetError
from gadget.model.snapshot import Scenario
from gadget.policies.policy import Policy
from gadget.simulate.loop import Planned, run_slots
from gadget.simulate.measure import Meter
from gadget.simulate.network import NetworkMode
from gadget.simulate.part import PartFile
from gadget.simulate.result import RunResult
from gadget.simulate.signals import Notice, noticing_signals

GRACE_SECONDS = 5.0
"""How long a run may take to end its slot after an interruption; then its process is stopped."""
_PAUSE_SECONDS = 0.1


@dataclass(frozen=True)
class Task:
    """One run to be done. With a part file it is written down slot by slot and goes on from what is there."""

    scenario: Scenario
    policy: Policy
    label: str
    seed: int
    planned: tuple[Planned, ...] = ()
    part: Path | None = None
    allow_violations: bool | None = None
    network: NetworkMode = NetworkMode.RESERVED


@dataclass(frozen=True, slots=True)
class Progress:
    """How far a run is."""

    task: int
    """Its number among the tasks."""
    policy: str
    seed: int
    slots_done: int
    slots: int
    active: int
    utility: float


@dataclass(frozen=True, slots=True)
class Sweep:
    """The runs in the order of their tasks. After an interruption by a signal they may be incomplete."""

    runs: tuple[RunResult, ...]
    signal: int | None = None


@dataclass(frozen=True, slots=True)
class _Failed:
    error: GadgetError | None
    trace: str


OnProgress = Callable[[Progress], None]


def run_sweep(tasks: Sequence[Task], *, processes: int = 0, on_progress: OnProgress | None = None) -> Sweep:
    """Do all tasks: at most `processes` at a time in processes of their own, or with 0 one by one in this.

    Ctrl-C and SIGTERM end it early, and in good order: the runs as far as they came are returned.
    """
    report = on_progress or _say_nothing
    with noticing_signals() as notice:
        if processes <= 0:
            runs = [
                run_task(task, number, stop=lambda: notice.number is not None, on_progress=report)
                for number, task in enumerate(tasks)
            ]
        else:
            runs = _Crew(tasks, processes, report, notice).work()
        return Sweep(tuple(runs), notice.number)


def run_task(task: Task, number: int = 0, *, stop: Callable[[], bool], on_progress: OnProgress) -> RunResult:
    """One run, to the end of the horizon or until `stop`; what its part file knows is always replayed."""
    meter = Meter(task.scenario, task.label, task.seed)
    with nullcontext() if task.part is None else PartFile(task.part, task.label, task.seed) as part:
        steps = run_slots(
            task.scenario,
            task.policy,
            seed=task.seed,
            label=task.label,
            planned=task.planned,
            replay=() if part is None else part.replay(),
            recall=None if part is None else part.recall,
            allow_violations=task.allow_violations,
            network=task.network,
        )
        for done in range(1, task.scenario.slots + 1):
            known = part is not None and part.has_more
            if not known and stop():
                break
            step = next(steps)
            slot = meter.add(step)
            if part is not None and not known:
                part.append(step.decision)
            on_progress(
                Progress(number, task.label, task.seed, done, task.scenario.slots, slot.active, slot.utility)
            )
    return meter.result()


class _Crew:
    """The processes at work, and what they have brought back."""

    def __init__(
        self, tasks: Sequence[Task], processes: int, on_progress: OnProgress, notice: Notice
    ) -> None:
        for task in tasks:
            _check_portable(task)
        self._tasks = tasks
        self._most = processes
        self._on_progress = on_progress
        self._notice = notice
        # Spawned, not forked: solvers and the progress bar have threads, which a fork would break.
        self._context = multiprocessing.get_context("spawn")
        self._stop = self._context.Event()
        self._queue = deque(range(len(tasks)))
        self._at_work: dict[Connection, tuple[int, SpawnProcess]] = {}
        self._done: dict[int, RunResult] = {}

    def work(self) -> list[RunResult]:
        """All results, in the order of the tasks."""
        try:
            while (self._queue or self._at_work) and self._notice.number is None:
                while self._queue and len(self._at_work) < self._most:
                    self._start(self._queue.popleft())
                self._listen()
            if self._notice.number is not None:
                self._wind_up()
        finally:
            self._dismiss()
        # Of what was interrupted and did not answer, its part file knows all that it had decided.
        for number, task in enumerate(self._tasks):
            if number not in self._done:
                self._done[number] = run_task(task, number, stop=lambda: True, on_progress=_say_nothing)
        return [self._done[number] for number in range(len(self._tasks))]

    def _start(self, number: int) -> None:
        ours, theirs = self._context.Pipe(duplex=False)
        process = self._context.Process(
            target=_run_in_process, args=(self._tasks[number], number, self._stop, theirs), daemon=True
        )
        # Ctrl-C reaches every process of the terminal; this one alone decides what it means. A process
        # inherits what is blocked when it starts, so there is no moment in which it could be struck.
        kept = signal.pthread_sigmask(signal.SIG_BLOCK, (signal.SIGINT, signal.SIGTERM))
        try:
            process.start()
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, kept)
        theirs.close()
        self._at_work[ours] = number, process

    def _listen(self) -> None:
        # Woken now and then, to see whether a signal has come.
        for ready in wait(list(self._at_work), timeout=_PAUSE_SECONDS):
            assert isinstance(ready, Connection)
            number, process = self._at_work[ready]
            try:
                message = ready.recv()
            except EOFError:
                self._part_with(ready)
                if self._notice.number is None:
                    raise _loss(self._tasks[number], process.exitcode) from None
                continue
            match message:
                case Progress():
                    self._on_progress(message)
                case RunResult():
                    self._done[number] = message
                    self._part_with(ready)
                case _Failed():
                    raise _blame(self._tasks[number], message)

    def _wind_up(self) -> None:
        """Let every run end its slot; those that take too long are stopped."""
        self._stop.set()
        deadline = time.monotonic() + GRACE_SECONDS
        while self._at_work and time.monotonic() < deadline:
            self._listen()

    def _part_with(self, connection: Connection) -> None:
        _, process = self._at_work.pop(connection)
        connection.close()
        process.join()

    def _dismiss(self) -> None:
        for connection, (_, process) in list(self._at_work.items()):
            process.kill()
            self._part_with(connection)


def _run_in_process(task: Task, number: int, stop: StopFlag, pipe: Connection) -> None:
    last_told = 0.0

    def tell(progress: Progress) -> None:
        nonlocal last_told
        now = time.monotonic()
        if now - last_told >= _PAUSE_SECONDS or progress.slots_done == progress.slots:
            last_told = now
            pipe.send(progress)

    try:
        pipe.send(run_task(task, number, stop=stop.is_set, on_progress=tell))
    except BrokenPipeError:
        os._exit(1)  # nobody is left to hear of it
    except Exception as error:
        told = error if isinstance(error, GadgetError) else None
        pipe.send(_Failed(told, traceback.format_exc()))


def _blame(task: Task, failure: _Failed) -> Exception:
    if failure.error is not None:
        return failure.error
    return RuntimeError(f"policy {task.label!r} with seed {task.seed} failed:\n{failure.trace}")


def _loss(task: Task, code: int | None) -> GadgetError:
    kept = "" if task.part is None else " What it had decided is kept: --resume goes on from there."
    return GadgetError(
        f"the process of policy {task.label!r}, seed {task.seed} ended with code {code}, perhaps for want of "
        f"memory.{kept} Try fewer --processes."
    )


def _check_portable(task: Task) -> None:
    try:
        pickle.dumps(task.policy)
    except Exception:  # whatever a class of the user's may raise
        raise BadOption(
            f"policy {task.label!r} cannot be sent to another process. Define its class in a module of its "
            "own, or run it with processes=0."
        ) from None


def _say_nothing(_: Progress) -> None:
    pass
