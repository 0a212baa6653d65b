"""The journal: events in the order in which they happened, each with its number and time.

It is a SQLite file (docs/reference/journal.md). What `append` has returned is on the disk. A state is the
fold of the entries over the state before them; now and then the folded state is written beside them.
"""

import math
import sqlite3
import zlib
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from threading import Lock
from typing import Any, NamedTuple

from sqlalchemy import Connection, Row, delete, func, insert, select
from sqlalchemy.exc import SQLAlchemyError

from gadget.engine.apply import apply
from gadget.engine.event_documents import build_event, event_document, kind_of
from gadget.engine.events import Event
from gadget.engine.json_text import format_document
from gadget.engine.state import State
from gadget.engine.state_documents import build_state, state_document
from gadget.errors import BadJournal, ImpossibleEvent, InvalidValue, JournalFailed, JournalTaken
from gadget.model.codec import no_garbage_collection
from gadget.store.journal_file import MEND, check_journal, create_journal
from gadget.store.lock import ProcessLock
from gadget.store.sqlite import is_damage, open_reader, open_writer, reason_of
from gadget.store.tables import events, states

DEFAULT_KEEP = 200_000
_AT_ONCE = 10_000


@dataclass(frozen=True, slots=True)
class Entry:
    """An event in the journal."""

    number: int
    """1, 2, 3 … without gaps."""
    at: float
    """Seconds since 1970, by the clock of the service."""
    event: Event


class Recovered(NamedTuple):
    """Where things stood after the last entry."""

    state: State
    last: int


def fold(state: State, entries: Iterable[Entry]) -> State:
    """The state after the entries; ImpossibleEvent if one cannot have happened."""
    for entry in entries:
        state = apply(state, entry.event)
    return state


class Journal:
    """A journal that this process alone writes to. One thread may append while others read."""

    def __init__(self, path: Path, lock: ProcessLock) -> None:
        """Use `Journal.open`."""
        self._path = path
        self._lock = lock
        self._writing = Lock()
        self._writer = open_writer(path)
        self._reader = open_reader(path)
        self._connection: Connection | None = None
        # What appends that failed may have left all the same: a disk that breaks does not tell.
        self._doubtful: list[list[dict[str, Any]]] = []
        self._last = 0
        self._instance = ""

    @classmethod
    def open(cls, path: Path | str, begin: State) -> "Journal":
        """The journal in a file, made if there is none; `begin` is where a new one starts.

        JournalTaken if another process has it, BadJournal if it is damaged or of a newer release,
        JournalFailed if it cannot be opened.
        """
        target = Path(path)
        journal = cls(target, ProcessLock(target))
        try:
            create_journal(target, _state_row(0, begin))
            journal._start()
        except BaseException:
            journal.close()
            raise
        return journal

    @property
    def last(self) -> int:
        """The number of the newest entry; 0 before the first."""
        return self._last

    @property
    def instance(self) -> str:
        """A name of this journal that no other has."""
        return self._instance

    def append(self, happened: Sequence[Event], at: float) -> list[Entry]:
        """Write events down, all or none; they are on the disk when this returns.

        JournalFailed if that cannot be done now: nothing is written, and it may be tried again.
        InvalidValue for an event that could not be read back.
        """
        with self._writing:
            numbers = range(self._last + 1, self._last + 1 + len(happened))
            entries = [Entry(number, at, event) for number, event in zip(numbers, happened, strict=True)]
            rows = [_event_row(entry) for entry in entries]
            if not rows:
                return []
            with self._transaction():
                self._doubtful = [self._clear_way(), rows]
                self._connected.execute(insert(events), rows)
            self._doubtful = []
            self._last += len(rows)
            return entries

    def read(self, after: int, limit: int) -> list[Entry]:
        """The oldest entries with numbers above `after`, at most `limit`; from any thread."""
        self._check_open()
        query = select(events).where(events.c.number > after).order_by(events.c.number).limit(limit)
        with self._complaining(), self._reader.connect() as connection:
            rows = connection.execute(query).all()
        return [self._entry(row) for row in rows]

    def recover(self) -> Recovered:
        """The state after the newest entry: the newest folded state, and the entries after it."""
        self._check_open()
        last = self._last
        with no_garbage_collection():
            number, state = self._newest_state()
            while number < last:
                entries = self.read(number, min(_AT_ONCE, last - number))
                if not entries or entries[0].number != number + 1:
                    raise BadJournal(f"{self._path}: entry {number + 1} is missing. {MEND}.")
                state = self._replay(state, entries)
                number = entries[-1].number
        return Recovered(state, last)

    def compact(self, state: State, keep: int = DEFAULT_KEEP, *, number: int | None = None) -> None:
        """Write a folded state down, and forget all but the newest `keep` entries and what must follow it.

        It is the state after entry `number`, or after the newest. With `number` this may be called from
        another thread, while entries are appended. Only the newest folded state is needed; the one before
        is kept as long as the entries between them are.
        """
        row = _state_row(self._last if number is None else number, state)
        with self._writing, self._transaction():
            self._clear_way()
            newest = self._connected.execute(
                select(states.c.number).order_by(states.c.number.desc()).limit(2)
            ).scalars()
            older = [known for known in newest if known != row["number"]]
            if row["number"] > self._last or any(known > row["number"] for known in older):
                raise ValueError(f"the state after entry {row['number']} is not the newest one")
            gone = min(row["number"], self._last - keep)
            spare = max((known for known in older if known >= gone), default=row["number"])
            self._connected.execute(delete(states).where(states.c.number < spare))
            self._connected.execute(delete(states).where(states.c.number == row["number"]))
            self._connected.execute(insert(states), [row])
            self._connected.execute(delete(events).where(events.c.number <= gone))

    def close(self) -> None:
        """Let go of the file."""
        with self._writing:
            if self._connection is not None:
                self._connection.close()
                self._connection = None
            self._reader.dispose()
            self._writer.dispose()
            self._lock.release()

    def __enter__(self) -> "Journal":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _start(self) -> None:
        with self._complaining():
            self._connection = self._writer.connect()
            with self._connection.begin():
                self._instance, self._last = check_journal(self._path, self._connection)

    @property
    def _connected(self) -> Connection:
        self._check_open()
        assert self._connection is not None
        return self._connection

    def _check_open(self) -> None:
        if self._connection is None:
            raise JournalFailed(f"{self._path}: is closed. Open it again.")

    def _clear_way(self) -> list[dict[str, Any]]:
        """Remove what appends of ours left that failed, and return it; nobody else may have written."""
        query = select(events).where(events.c.number > self._last).order_by(events.c.number)
        beyond = [dict(row) for row in self._connected.execute(query).mappings()]
        if beyond and beyond not in self._doubtful:
            raise JournalTaken(
                f"{self._path}: another process wrote entry {self._last + 1}. "
                "Stop that process, then start this one again."
            )
        if beyond:
            self._connected.execute(delete(events).where(events.c.number > self._last))
        return beyond

    def _replay(self, state: State, entries: Iterable[Entry]) -> State:
        for entry in entries:
            try:
                state = fold(state, (entry,))
            except (ImpossibleEvent, InvalidValue) as error:
                raise BadJournal(
                    f"{self._path}: entry {entry.number} cannot have happened: {error} {MEND}."
                ) from None
        return state

    def _newest_state(self) -> tuple[int, State]:
        with self._complaining(), self._reader.connect() as connection:
            rows = connection.execute(select(states).order_by(states.c.number.desc())).all()
            first = connection.execute(select(func.min(events.c.number))).scalar()
        problem = "there is no state to start from"
        for row in rows:
            if row.number < self._last and (first is None or first > row.number + 1):
                break  # the entries that would lead on from here are gone
            try:
                if row.checksum != _checksum(row.number, row.body):
                    raise InvalidValue("", "does not match its checksum", "It is damaged")
                return row.number, build_state(row.body)
            except InvalidValue as error:
                problem = f"the state after entry {row.number} cannot be read: {error}"
        raise BadJournal(f"{self._path}: {problem.removesuffix('.')}. {MEND}.")

    def _entry(self, row: Row[Any]) -> Entry:
        try:
            if row.checksum != _checksum(row.number, row.at, row.kind, row.body):
                raise InvalidValue("", "it does not match its checksum", "It is damaged")
            return Entry(row.number, row.at, build_event(row.kind, row.body))
        except InvalidValue as error:
            raise BadJournal(f"{self._path}: entry {row.number}: {error} {MEND}.") from None

    @contextmanager
    def _transaction(self) -> Iterator[None]:
        with self._complaining():
            connection = self._connected
            try:
                with connection.begin():
                    yield
            except BaseException:
                # An end that failed leaves a transaction open in which nothing else could begin.
                with suppress(sqlite3.Error):
                    connection.connection.rollback()
                raise

    @contextmanager
    def _complaining(self) -> Iterator[None]:
        try:
            yield
        except (SQLAlchemyError, UnicodeDecodeError) as error:
            if is_damage(error):
                raise BadJournal(f"{self._path}: is damaged ({reason_of(error)}). {MEND}.") from None
            raise JournalFailed(
                f"{self._path}: cannot be used now ({reason_of(error)}). "
                "Look for room and permissions on its disk."
            ) from None


def _event_row(entry: Entry) -> dict[str, Any]:
    kind, body = kind_of(entry.event), format_document(event_document(entry.event))
    if not math.isfinite(entry.at):
        raise InvalidValue("at", f"is {entry.at}", "Give seconds since 1970")
    # What could not be read back would make everything after it worthless.
    if build_event(kind, body) != entry.event:
        raise InvalidValue("", f"{entry.event} would not be read back as it is", "Change it")
    at = float(entry.at)
    checksum = _checksum(entry.number, at, kind, body)
    return {"number": entry.number, "at": at, "kind": kind, "body": body, "checksum": checksum}


def _state_row(number: int, state: State) -> dict[str, Any]:
    body = format_document(state_document(state))
    if build_state(body) != state:
        raise InvalidValue("", f"the state after entry {number} would not be read back as it is", "Change it")
    return {"number": number, "body": body, "checksum": _checksum(number, body)}


def _checksum(*parts: object) -> int:
    return zlib.crc32("\0".join(map(str, parts)).encode())
