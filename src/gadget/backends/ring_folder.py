"""What an engine keeps on disk, so that a later life of the service finds every ring again.

rings/JOB@NUMBER/   record.json (before the first worker starts), the shepherds' files, over.json
fences/JOB          the largest number that was launched
jobs/JOB/           checkpoints, work, logs/NUMBER.RANK.log; these stay
"""

import fcntl
import hashlib
import os
import shutil
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import TypeVar
from urllib.parse import quote

import msgspec

from gadget.backends.backend import RingKey, RingPhase
from gadget.backends.worker_environment import Seat
from gadget.errors import BadFile, BadOption
from gadget.files import write_whole
from gadget.model.ring import Ring

T = TypeVar("T")

# File names have at most 255 bytes; the number of a ring and suffixes come on top.
_LONGEST = 180
_LOCK_TRIES = 20
# More is never read of a log.
MOST_LOG_BYTES = 1 << 20
# And more is not kept of the log of one rank.
MOST_KEPT_BYTES = 64 << 20


class Record(msgspec.Struct, frozen=True, kw_only=True):
    """A ring that was ordered."""

    instance: str
    boot: str
    job: str
    number: int
    workers: tuple[str, ...]
    routes: tuple[tuple[str, ...], ...]
    seats: tuple[Seat, ...]
    master_port: int
    gpu_per_worker: float
    amounts: dict[str, float] = {}
    """What the engine has set aside for each worker, where it keeps books of its own."""

    @property
    def key(self) -> RingKey:
        """Which ring it is."""
        return RingKey(self.job, self.number)

    @property
    def ring(self) -> Ring:
        """The ring that was ordered."""
        return Ring(self.job, self.workers, self.routes)


class Ending(msgspec.Struct, frozen=True):
    """How a ring ended."""

    phase: RingPhase
    reason: str


class Leaving(msgspec.Struct, frozen=True):
    """That a ring was asked to leave, by when on the clock that its engine goes by."""

    deadline: float
    reason: str


class RingFolder:
    """The folder of one service."""

    def __init__(self, path: Path) -> None:
        self.path = path.resolve()
        self._lock: int | None = None

    def open(self) -> None:
        """Make what is missing, and keep any other service out."""
        try:
            for part in ("rings", "fences", "jobs"):
                (self.path / part).mkdir(parents=True, exist_ok=True)
            lock = os.open(self.path / "lock", os.O_RDWR | os.O_CREAT, 0o600)
        except OSError as error:
            raise BadFile(f"{self.path}: cannot be used ({error.strerror}). Choose another folder.") from None
        if not _take_lock(lock):
            os.close(lock)
            raise BadOption(
                f"{self.path}: another service runs rings from this folder. End it, or choose another folder."
            )
        self._lock = lock

    def close(self) -> None:
        """Let another service in."""
        if self._lock is not None:
            os.close(self._lock)
            self._lock = None

    def ring(self, key: RingKey) -> Path:
        """The folder of one ring."""
        return self.path / "rings" / f"{safe_name(key.job)}@{key.number}"

    def checkpoints(self, job: str) -> Path:
        """The job's own folder for checkpoints, the same for all its rings."""
        return self._job(job) / "checkpoints"

    def work(self, job: str) -> Path:
        """Where its workers start if the job does not say."""
        return self._job(job) / "work"

    def log(self, key: RingKey, rank: int) -> Path:
        """What one rank prints."""
        return self._job(key.job) / "logs" / f"{key.number}.{rank}.log"

    def prepare(self, record: Record) -> None:
        """Write a ring down before anything of it starts."""
        key = record.key
        for part in (
            self.checkpoints(key.job),
            self.work(key.job),
            self.log(key, 0).parent,
            self.ring(key),
        ):
            part.mkdir(parents=True, exist_ok=True)
        # The token of the ring is in the environment of its workers only; still this is nobody's business.
        self.ring(key).chmod(0o700)
        write_whole(self.ring(key) / "record.json", msgspec.json.encode(record))

    def former_instances(self, instance: str) -> set[str]:
        """Other services that had this folder, before their journal was moved away."""
        known = self.noted("instances")
        names = {str(name) for name in known} if isinstance(known, list) else set()
        return names - {instance}

    def records(self, instance: str) -> Iterator[Record]:
        """Every ring of the instance that was written down; what cannot be read never began, and goes."""
        for folder in sorted((self.path / "rings").iterdir()):
            found = _read(folder / "record.json", Record)
            if found is None:
                shutil.rmtree(folder, ignore_errors=True)
            elif found.instance == instance:
                yield found

    def end(self, key: RingKey, ending: Ending) -> None:
        """Write down how a ring ended."""
        write_whole(self.ring(key) / "over.json", msgspec.json.encode(ending))

    def ending(self, key: RingKey) -> Ending | None:
        """How a ring ended, if it has."""
        return _read(self.ring(key) / "over.json", Ending)

    def ask_to_leave(self, key: RingKey, leaving: Leaving) -> None:
        """Write down that a ring was asked to leave."""
        write_whole(self.ring(key) / "leaving.json", msgspec.json.encode(leaving))

    def leaving(self, key: RingKey) -> Leaving | None:
        """Whether a ring was asked to leave."""
        return _read(self.ring(key) / "leaving.json", Leaving)

    def drop(self, key: RingKey) -> None:
        """Keep nothing of a ring but its logs and checkpoints."""
        shutil.rmtree(self.ring(key), ignore_errors=True)

    def fence(self, job: str, instance: str) -> int:
        """The largest number that was launched for the job, −1 if none."""
        found = _read(self.path / "fences" / safe_name(job), tuple[str, int])
        return found[1] if found is not None and found[0] == instance else -1

    def raise_fence(self, key: RingKey, instance: str) -> None:
        """Refuse this number and smaller ones from now on."""
        write_whole(self.path / "fences" / safe_name(key.job), msgspec.json.encode((instance, key.number)))

    def note(self, name: str, value: object) -> None:
        """Keep a fact about the whole engine."""
        write_whole(self.path / f"{name}.json", msgspec.json.encode(value))

    def noted(self, name: str) -> object:
        """A fact that was noted, None if there is none."""
        return _read(self.path / f"{name}.json", object)

    def erase(self, name: str) -> None:
        """Keep a fact no longer."""
        (self.path / f"{name}.json").unlink(missing_ok=True)

    def trim_logs(self, key: RingKey, ranks: int) -> None:
        """Keep the end of logs that have grown beyond all measure; workers append, so they go on after it."""
        for rank in range(ranks):
            path = self.log(key, rank)
            with suppress(OSError):
                if path.stat().st_size > MOST_KEPT_BYTES:
                    tail = read_tail(path, lines=10_000)
                    os.truncate(path, 0)
                    with path.open("ab") as file:
                        file.write(b"(earlier lines were dropped: the log was too long)\n" + tail.encode())

    def read_log(self, job: str, *, rank: int, lines: int) -> str:
        """The last lines of this rank in the job's newest ring; empty without one."""
        logs = self._job(job) / "logs"
        numbers = [int(path.name.split(".", 1)[0]) for path in logs.glob("*.*.log")]
        return read_tail(logs / f"{max(numbers)}.{rank}.log", lines) if numbers else ""

    def _job(self, job: str) -> Path:
        return self.path / "jobs" / safe_name(job)


def safe_name(job: str) -> str:
    """A file name for any name of a job: itself, with %XX for what a path or a pattern could misread.

    `urllib.parse.unquote` gives the job back; only names past 180 bytes are cut and end in their hash.
    """
    # `quote` leaves dots alone, and `.` and `..` are no names for folders.
    found = quote(job, safe="").replace(".", "%2E")
    if len(found) > _LONGEST:
        return f"{found[: _LONGEST - 33]}~{hashlib.sha256(job.encode()).hexdigest()[:32]}"
    return found


def read_tail(path: Path, lines: int) -> str:
    """The last lines of a file, however long it is; empty if it is not there."""
    if lines <= 0:
        return ""
    try:
        with path.open("rb") as file:
            size = file.seek(0, os.SEEK_END)
            start = max(0, size - MOST_LOG_BYTES)
            file.seek(start)
            content = file.read(MOST_LOG_BYTES)
    except OSError:
        return ""
    found = content.decode(errors="replace").splitlines(keepends=True)
    if start and len(found) > 1:
        found = found[1:]  # cut somewhere in its middle
    return "".join(found[-lines:])


def _take_lock(lock: int) -> bool:
    # A worker that was about to start when an earlier life was killed holds the lock until it has started:
    # so none comes up after the look at all processes.
    for _ in range(_LOCK_TRIES):
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            time.sleep(0.05)
        else:
            return True
    return False


def _read(path: Path, kind: type[T]) -> T | None:
    try:
        return msgspec.json.decode(path.read_bytes(), type=kind)
    except (OSError, msgspec.MsgspecError):
        return None
