"""The worker's side of the contract (docs/reference/worker.md), to import or to copy: standard library alone.

Nothing here starts a thread: what a worker says comes from its training loop, so silence means that it hangs.
"""

import contextlib
import hashlib
import json
import os
import re
import signal
import socket
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NoReturn, cast

LEFT = 75  # the exit code of a worker that was asked to leave, and has left its work in a checkpoint
_PAUSE_SECONDS, _RETRY_SECONDS, _FAREWELL_SECONDS, _MOST_WAITING = 0.5, 1.0, 2.0, 16


def join(environ: Mapping[str, str] = os.environ) -> "Worker":
    """Be the worker that the environment says; alone, and heard by nobody, where it says nothing."""
    return Worker(environ)


class Worker:
    """One rank of a ring. Only rank 0's numbers count; every rank's words show that it lives."""

    def __init__(self, environ: Mapping[str, str]) -> None:
        self.rank, self.size = int(environ.get("RANK", "0")), int(environ.get("WORLD_SIZE", "1"))
        self.job, self.ring = environ.get("GADGET_JOB", ""), int(environ.get("GADGET_RING", "0"))
        places = ("GADGET_LISTEN", "GADGET_NEXT", "GADGET_PREVIOUS")
        self.listen, self.next, self.previous = (_endpoint(environ.get(name, ":0")) for name in places)
        self.should_leave = False  # once true: agree on it with the other ranks, save, and leave()
        self._folder = Path(folder) if (folder := environ.get("GADGET_CHECKPOINT_DIR")) else None
        self._unusable: set[Path] = set()
        self._told_at, self._began_at, self._began_step = 0.0, 0.0, -1
        signal.signal(signal.SIGTERM, lambda *_: setattr(self, "should_leave", True))
        # A forked child, a loader of data say, ends as it would without us.
        os.register_at_fork(after_in_child=lambda: signal.signal(signal.SIGTERM, signal.SIG_DFL))
        hello = {"job": self.job, "ring": self.ring, "rank": self.rank, "token": environ.get("GADGET_TOKEN")}
        self._voice = _Voice(environ.get("GADGET_REPORT", ""), _line(kind="hello", **hello))

    def load(self) -> tuple[bytes, float] | None:
        """The newest checkpoint that can be read, and its work; those that cannot are told of and skipped."""
        found = None
        for path in reversed(self._find_checkpoints()):
            try:
                digest, _, body = path.read_bytes().partition(b"\n")
                if hashlib.sha256(body).hexdigest().encode() != digest:
                    raise ValueError("its checksum is wrong")
                head, _, payload = body.partition(b"\n")
                found = payload, float(json.loads(head)["work"])
                break
            except (OSError, ValueError) as error:
                self._unusable.add(path)
                self.note(f"checkpoint {path.name} cannot be used ({error}); trying the one before it")
        self._voice.say("resumed", work=found[1] if found else 0.0)
        return found

    def save(self, payload: bytes, work: float) -> None:
        """Keep the ring's state after `work`, whole or not at all. Ranks other than 0 keep none."""
        if self._folder is None or self.rank != 0:
            return
        began = time.monotonic()
        try:
            self._write_checkpoint(self._folder, payload, float(work))
        except OSError as error:
            self.note(f"a checkpoint could not be written ({error.strerror})")
            raise
        self._voice.say("checkpoint", work=float(work))
        self._began_at += time.monotonic() - began  # saving is no part of a step's time

    def progress(self, work: float, step: int) -> None:
        """All work of the job up to this step. Call it before the first step too: times count from there."""
        now = time.monotonic()
        if self._began_step < 0:
            self._began_at, self._began_step = now, step
        if now - self._told_at >= _PAUSE_SECONDS:
            steps = step - self._began_step
            timing = {"step_seconds": (now - self._began_at) / steps} if steps > 0 else {}
            self._told_at, self._began_at, self._began_step = now, now, step
            self._voice.say("progress", work=float(work), step=int(step), **timing)

    def alive(self) -> None:
        """Busy with something that is no step: waiting for neighbours, say."""
        if (now := time.monotonic()) - self._told_at >= _PAUSE_SECONDS:
            self._told_at = now
            self._voice.say("alive")

    def note(self, text: str) -> None:
        """Tell people something, here and at the service."""
        with contextlib.suppress(OSError):
            print(text, file=sys.stderr, flush=True)
        self._voice.say("note", text=text[:2000])

    def done(self, work: float) -> None:
        """All work is done: end with exit code 0 now."""
        self._voice.say("done", work=float(work))
        self._voice.finish()

    def leave(self) -> NoReturn:
        """End as asked to, after rank 0 has saved."""
        self._voice.finish()
        sys.exit(LEFT)

    def _find_checkpoints(self) -> list[Path]:
        # By name, oldest first: a ring with a larger number is newer, whatever an older one still writes.
        found = self._folder.iterdir() if self._folder is not None and self._folder.exists() else ()
        return sorted(path for path in found if re.fullmatch(r"\d{12}-\d{12}\.checkpoint", path.name))

    def _write_checkpoint(self, folder: Path, payload: bytes, work: float) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        number = 1 + max((int(path.name[13:25]) for path in self._find_checkpoints()), default=0)
        path = folder / f"{self.ring:012}-{number:012}.checkpoint"
        part, head = path.with_suffix(".part"), _line(work=work)
        digest = hashlib.sha256(head)
        digest.update(payload)
        try:
            with part.open("wb") as file:
                file.writelines((digest.hexdigest().encode(), b"\n", head, payload))
                file.flush()
                os.fsync(file.fileno())
            part.replace(path)
        finally:
            for left in folder.glob("*.part"):  # also by writers that were killed, not by newer rings
                left.unlink(missing_ok=True) if left <= part else None
        os.fsync(entry := os.open(folder, os.O_RDONLY))
        os.close(entry)
        for old in {*sorted({*self._find_checkpoints()} - self._unusable)[:-2], *self._unusable}:
            with contextlib.suppress(OSError):  # the new one is safe all the same
                old.unlink()


class _Voice:
    """What is said to the service. It never blocks and never fails: what is not taken now is said later."""

    def __init__(self, report: str, hello: bytes) -> None:
        self._family, self._address = socket.AF_UNIX, cast(Any, report.removeprefix("unix:"))
        if report.startswith("tcp:"):  # a name is looked up here and never again: that can take its time
            self._family, _, _, _, self._address = socket.getaddrinfo(*_endpoint(report[4:]))[0]
        self._socket = socket.socket()
        self._socket.close()
        self._hello, self._rest, self._retry_at = hello, b"", 0.0
        # What waits to be said; what is said anew on every connection, because it holds all that came before.
        self._waiting, self._newest = dict[str, bytes](), dict[str, bytes]()
        self._speak()

    def say(self, kind: str, **fields: object) -> None:
        name, line = f"{kind} {fields.get('text', '')}", _line(kind=kind, **fields)
        if kind not in ("note", "alive"):
            self._newest[name] = line
        if kind != "note" or len(self._waiting) < _MOST_WAITING:
            self._waiting[name] = line
        self._speak()

    def finish(self) -> None:
        until = time.monotonic() + _FAREWELL_SECONDS
        while self._address and not self._speak() and time.monotonic() < until:
            time.sleep(0.02)
        self._socket.close()

    def _speak(self) -> bool:
        """Hand on what is taken at once; True when nothing is left to say."""
        try:
            if self._socket.fileno() < 0:  # closed
                self._connect()
            with contextlib.suppress(BlockingIOError):
                if not self._socket.recv(4096):  # the service says nothing, so this is its end
                    raise ConnectionResetError
            while self._rest or self._waiting:
                if not self._rest:
                    self._rest, self._waiting = b"".join(self._waiting.values()), {}
                self._rest = self._rest[self._socket.send(self._rest) :]
        except OSError as error:
            if not isinstance(error, BlockingIOError):
                self._socket.close()
            return False
        return True

    def _connect(self) -> None:
        if not self._address or time.monotonic() < self._retry_at:
            raise BlockingIOError
        self._retry_at = time.monotonic() + _RETRY_SECONDS
        self._rest, self._waiting = self._hello, {**self._newest, **self._waiting}
        self._socket = socket.socket(self._family)
        self._socket.setblocking(False)
        self._socket.connect(self._address)


def _endpoint(text: str) -> tuple[str, int]:
    host, _, port = text.rpartition(":")
    return host.strip("[]"), int(port)


def _line(**fields: object) -> bytes:
    return json.dumps(fields).encode() + b"\n"
