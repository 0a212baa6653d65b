"""All points in parallel over the cores, kept on disk as they come, so that a run can be resumed."""

import ctypes
import json
import os
import signal
from collections.abc import Callable, Iterable
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from contextlib import suppress
from dataclasses import asdict
from importlib.metadata import version
from multiprocessing import get_context
from pathlib import Path

from gadget.errors import BadFile, BadOption, GadgetError
from gadget.experiments.points import Figure, Measured, Point, list_points, measure
from gadget.experiments.scenario import Floats
from gadget.experiments.settings import Settings
from gadget.files import write_whole
from gadget.workloads.arrivals import find_google_trace, read_google_submissions
from gadget.workloads.paper import BudgetUnit

_PARENT_DEATH_SIGNAL = 1  # PR_SET_PDEATHSIG

SETTINGS_FILE = "settings.json"
POINTS_FILE = "points.jsonl"

Progress = Callable[[int, int], None]
"""Told how many points are done, of how many."""


def run_experiment(
    settings: Settings, folder: Path, *, resume: bool, force: bool, processes: int | None, progress: Progress
) -> list[Measured]:
    """Measure every point that the folder does not hold yet; all of them, in order."""
    trace = find_google_trace()
    _claim(settings, folder, resume=resume, force=force, arrivals="google" if trace else "profile")
    known = {one.point: one for one in read_points(folder)}
    points = list(list_points(settings))
    missing = [point for point in points if point not in known]
    progress(len(points) - len(missing), len(points))
    if missing:
        submissions = read_google_submissions(trace) if trace else None
        count = min(processes or os.cpu_count() or 1, len(missing))
        with (folder / POINTS_FILE).open("a") as file:
            for one in _measure_all(settings, missing, submissions, count):
                file.write(json.dumps(_to_line(one)) + "\n")
                file.flush()
                known[one.point] = one
                progress(len(known), len(points))
    return [known[point] for point in points]


def read_arrivals(folder: Path) -> str:
    """Where the arrivals of a folder's points came from: google or profile."""
    return str(json.loads((folder / SETTINGS_FILE).read_text())["arrivals"])


def read_points(folder: Path) -> list[Measured]:
    """The points that a folder holds; a line cut short by a kill is left out."""
    path = folder / POINTS_FILE
    lines = path.read_text().splitlines() if path.is_file() else []
    found = []
    for place, line in enumerate(lines):
        try:
            found.append(_from_line(json.loads(line)))
        except (ValueError, KeyError, TypeError):
            if place + 1 < len(lines):
                raise BadFile(f"{path}:{place + 1}: is no point. Remove the line, or start anew.") from None
    if len(found) < len(lines):
        write_whole(path, "".join(json.dumps(_to_line(one)) + "\n" for one in found).encode())
    return found


def _claim(settings: Settings, folder: Path, *, resume: bool, force: bool, arrivals: str) -> None:
    """Make the folder ours: new, to be gone on with, or to be made anew."""
    # Points of another release are not ours to go on with.
    release = version("gadget-scheduler")
    mine = json.loads(json.dumps({**asdict(settings), "arrivals": arrivals, "release": release}))
    path = folder / SETTINGS_FILE
    if path.is_file() and not force:
        if not resume:
            raise BadOption(
                f"{folder}: holds results already. Go on with --resume, or start anew with --force."
            )
        try:
            theirs = json.loads(path.read_text())
        except ValueError:
            theirs = None
        if theirs != mine:
            raise BadOption(f"{folder}: was made with other settings. Use those, another folder, or --force.")
        return
    try:
        folder.mkdir(parents=True, exist_ok=True)
        (folder / POINTS_FILE).unlink(missing_ok=True)
    except OSError as error:
        raise BadFile(f"{folder}: cannot be made ({error.strerror}). Choose another folder.") from None
    write_whole(path, (json.dumps(mine, indent=2) + "\n").encode())


def _measure_all(
    settings: Settings, points: Iterable[Point], submissions: Floats | None, processes: int
) -> Iterable[Measured]:
    # Fresh processes: a fork would take over the threads of libraries loaded here.
    with ProcessPoolExecutor(
        processes, mp_context=get_context("spawn"), initializer=_end_with, initargs=(os.getpid(),)
    ) as pool:
        waiting: set[Future[Measured]] = {
            pool.submit(measure, settings, point, submissions) for point in points
        }
        try:
            while waiting:
                done, waiting = wait(waiting, return_when=FIRST_COMPLETED)
                for future in done:
                    yield future.result()
        except BrokenProcessPool:
            raise GadgetError(
                "a process died in the middle of a point, of lack of memory perhaps. What was measured is "
                "kept: go on with --resume, with fewer --processes."
            ) from None
        finally:
            workers = list((pool._processes or {}).values())  # the pool forgets them when it shuts down
            pool.shutdown(wait=False, cancel_futures=True)
            for process in workers:
                process.terminate()


def _end_with(parent: int) -> None:
    """Have this process ended when its parent dies, however it dies (Linux only)."""
    with suppress(OSError, AttributeError):
        ctypes.CDLL(None).prctl(_PARENT_DEATH_SIGNAL, signal.SIGKILL)
    if os.getppid() != parent:  # it died before we asked
        os._exit(1)


def _to_line(one: Measured) -> dict[str, object]:
    return {**asdict(one.point), "numbers": one.numbers}


def _from_line(line: dict[str, object]) -> Measured:
    numbers = line["numbers"]
    if not isinstance(numbers, dict):
        raise TypeError
    point = Point(
        Figure(str(line["figure"])),
        float(str(line["x"])),
        str(line["policy"]),
        BudgetUnit(str(line["budget"])),
        bool(line["rigid"]),
        int(str(line["trial"])),
    )
    return Measured(point, {str(name): float(number) for name, number in numbers.items()})
