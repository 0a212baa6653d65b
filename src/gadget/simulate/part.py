"""The decisions of a run on disk while it goes on, one JSON line a slot, so that it can be taken up again."""

import fcntl
from collections.abc import Iterator
from pathlib import Path
from types import TracebackType
from typing import BinaryIO, Self

from gadget.errors import BadFile
from gadget.model.codec import format_json, parse_decision
from gadget.model.decision import Decision


class PartFile:
    """Reads what an earlier process decided, then takes down what this one does.

    A process that was killed may have left its last line unfinished; that line is dropped. The file is
    locked: a process that outlives its parent by a moment cannot write between our lines.
    """

    def __init__(self, path: Path, policy: str, seed: int) -> None:
        self._path = path
        self._policy = policy
        self._seed = seed
        self._file: BinaryIO
        self._read_slots = 0
        self._read_bytes = 0
        self._ahead: Decision | None = None

    def __enter__(self) -> Self:
        try:
            self._file = self._path.open("a+b")
            fcntl.flock(self._file, fcntl.LOCK_EX)
        except OSError as error:
            raise BadFile(
                f"{self._path}: cannot be opened ({error.strerror}). Choose another folder."
            ) from None
        self._file.seek(0)
        self._ahead = self._advance()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._file.close()

    @property
    def has_more(self) -> bool:
        """True while `replay` has something to give."""
        return self._ahead is not None

    def replay(self) -> Iterator[Decision]:
        """The decisions taken down earlier."""
        while self._ahead is not None:
            decision, self._ahead = self._ahead, self._advance()
            yield decision

    def append(self, decision: Decision) -> None:
        """Take down one more; it is out of our hands before the next slot begins."""
        try:
            self._file.write(format_json(decision, indent=None).encode())
            self._file.flush()
        except OSError as error:
            raise BadFile(
                f"{self._path}: cannot be written ({error.strerror}). Make room and resume."
            ) from None

    def _advance(self) -> Decision | None:
        """The next decision of the file; at its end what is unfinished is cut off."""
        line = self._file.readline()
        if not line.endswith(b"\n"):
            self._file.truncate(self._read_bytes)
            return None
        slot = self._read_slots
        self._read_slots += 1
        self._read_bytes += len(line)
        try:
            decision = parse_decision(line)
        except ValueError as error:
            raise BadFile(
                f"{self._path}:{slot + 1}: is no decision ({error}). Start over with --force."
            ) from None
        if (decision.slot, decision.policy, decision.seed) != (slot, self._policy, self._seed):
            raise BadFile(
                f"{self._path}:{slot + 1}: is not the decision of {self._policy!r}, seed {self._seed}, on "
                f"slot {slot}. Start over with --force."
            )
        return decision


def finished_lines(path: Path) -> Iterator[bytes]:
    """The finished lines of a part file, as they are; none if there is no file."""
    if path.exists():
        with path.open("rb") as file:
            yield from (line for line in file if line.endswith(b"\n"))
