"""SQLite files as we use them: what a transaction wrote is on the disk, and readers do not wait."""

import sqlite3
from pathlib import Path
from typing import Any

from sqlalchemy import URL, Engine, create_engine, event

# Another process may hold the file for a moment: a backup, somebody who looks into it.
_BUSY_SECONDS = 10
# What the log may keep on the disk after a large transaction.
_LOG_BYTES = 64 * 2**20

# Damage that has no code of its own: tables that are not there, a header, text that is no UTF-8.
_SAID_OF_DAMAGE = ("no such", "unsupported file format", "Could not decode")


def open_writer(path: Path) -> Engine:
    """Connections that write: a transaction has the file for itself, and is on the disk when it ends."""
    engine = _open(path)

    @event.listens_for(engine, "connect")
    def prepare(connection: sqlite3.Connection, _record: object) -> None:
        # The driver shall begin no transactions by itself.
        connection.isolation_level = None
        mode = connection.execute("PRAGMA journal_mode=WAL").fetchone()[0]
        if mode != "wal":
            raise sqlite3.OperationalError(f"no write-ahead log is possible here, only {mode!r}")
        connection.execute("PRAGMA synchronous=FULL")
        connection.execute(f"PRAGMA journal_size_limit={_LOG_BYTES}")

    @event.listens_for(engine, "begin")
    def begin(connection: Any) -> None:
        connection.exec_driver_sql("BEGIN IMMEDIATE")

    return engine


def open_reader(path: Path) -> Engine:
    """Connections that only read, from any thread; what they see is whole transactions."""
    engine = _open(path).execution_options(isolation_level="AUTOCOMMIT")

    @event.listens_for(engine, "connect")
    def prepare(connection: sqlite3.Connection, _record: object) -> None:
        connection.execute("PRAGMA query_only=ON")

    return engine


def is_damage(error: Exception) -> bool:
    """True when the file itself is broken, and not only in the way."""
    if isinstance(error, UnicodeDecodeError):
        return True  # the driver stumbles over a complaint that cites damaged text
    code = getattr(getattr(error, "orig", None), "sqlite_errorcode", 0) & 0xFF
    return code in (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB) or any(
        said in reason_of(error) for said in _SAID_OF_DAMAGE
    )


def reason_of(error: Exception) -> str:
    """What the database said, without the statement."""
    return str(getattr(error, "orig", None) or error)


def _open(path: Path) -> Engine:
    return create_engine(
        URL.create("sqlite", database=str(path)),
        connect_args={"timeout": _BUSY_SECONDS, "check_same_thread": False},
    )
