"""The file of a journal: made whole or not at all, and looked at before anything is read from it."""

import os
import secrets
from pathlib import Path
from typing import Any

from sqlalchemy import Connection, func, insert, select
from sqlalchemy.exc import SQLAlchemyError

from gadget.errors import BadJournal, JournalFailed
from gadget.files import read_start
from gadget.store.sqlite import open_writer, reason_of
from gadget.store.tables import APPLICATION_ID, SCHEMA_VERSION, events, meta, metadata, states

MEND = "Restore a backup of it, or move it away to begin anew"
_MAGIC = b"SQLite format 3\0"


def create_journal(path: Path, begin: dict[str, Any]) -> None:
    """Make the journal unless there is one; `begin` is the row of the state before its first entry."""
    if path.exists():
        _check_header(path)
        return
    log = path.with_name(f"{path.name}-wal")
    if log.exists() and log.stat().st_size:
        raise BadJournal(f"{path}: is missing, but {log.name} is there, which is a part of it. {MEND}.")
    aside = path.with_name(f".{path.name}.{os.getpid()}.part")
    try:
        # Jobs' variables are in it; SQLite gives its side files the same mode.
        os.close(os.open(aside, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600))
        _fill(aside, begin)
        aside.rename(path)
        _sync_folder(path.parent)
    except (OSError, SQLAlchemyError) as error:
        said = error.strerror if isinstance(error, OSError) else reason_of(error)
        raise JournalFailed(
            f"{path}: cannot be made ({said}). Look for room and permissions in its folder."
        ) from None
    finally:
        for leftover in (aside, *(aside.with_name(aside.name + end) for end in ("-wal", "-shm"))):
            leftover.unlink(missing_ok=True)


def check_journal(path: Path, connection: Connection) -> tuple[str, int]:
    """Its name and the number of its newest entry; BadJournal if it is damaged or of a newer release."""
    told = {str(row.key): str(row.value) for row in connection.execute(select(meta))}
    version, instance = told.get("schema_version", ""), told.get("instance")
    if not version.isdecimal() or instance is None:
        raise BadJournal(f"{path}: does not tell its version or its name. {MEND}.")
    if int(version) > SCHEMA_VERSION:
        raise BadJournal(
            f"{path}: has schema version {version}; this release reads up to {SCHEMA_VERSION}. "
            "Use the release that wrote it, or a newer one."
        )
    said = connection.exec_driver_sql("PRAGMA quick_check(1)").scalar()
    if said != "ok":
        raise BadJournal(f"{path}: is damaged ({said}). {MEND}.")
    first, last, count = connection.execute(
        select(func.min(events.c.number), func.max(events.c.number), func.count())
    ).one()
    folded = connection.execute(select(func.max(states.c.number))).scalar()
    if folded is None:
        raise BadJournal(f"{path}: has no state to start from. {MEND}.")
    if not count:
        return instance, int(folded)
    if count != last - first + 1 or last < folded:
        raise BadJournal(f"{path}: lacks entries between {first} and {max(last, folded)}. {MEND}.")
    return instance, int(last)


def _check_header(path: Path) -> None:
    start = read_start(path, 100)
    if not start:
        raise BadJournal(f"{path}: is empty, which no journal is. {MEND}.")
    if start[:16] != _MAGIC or int.from_bytes(start[68:72], "big") != APPLICATION_ID:
        raise BadJournal(f"{path}: is no journal, or its beginning is damaged. {MEND}, or name another file.")


def _fill(path: Path, begin: dict[str, Any]) -> None:
    engine = open_writer(path)
    try:
        with engine.begin() as connection:
            connection.exec_driver_sql(f"PRAGMA application_id={APPLICATION_ID}")
            metadata.create_all(connection)
            connection.execute(
                insert(meta),
                [
                    {"key": "schema_version", "value": str(SCHEMA_VERSION)},
                    {"key": "instance", "value": secrets.token_hex(8)},
                ],
            )
            connection.execute(insert(states), [begin])
    finally:
        engine.dispose()


def _sync_folder(folder: Path) -> None:
    found = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(found)
    finally:
        os.close(found)
