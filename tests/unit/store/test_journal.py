"""The journal's file: damage is told, never passed over; a full disk leaves nothing half written."""

import os
import resource
import signal
import sqlite3
import stat
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import pytest
from sqlalchemy import event as listening
from sqlalchemy.exc import OperationalError

from gadget.engine.apply import apply
from gadget.engine.events import JobLeft, JobsArrived, Noted
from gadget.errors import BadFile, BadJournal, JournalFailed, JournalTaken
from gadget.store.journal import Journal, _checksum
from tests.unit.engine.worlds import job, start


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "a journal?.db#1"


@pytest.fixture
def filled(path: Path) -> Path:
    with Journal.open(path, start()) as journal:
        journal.append([JobsArrived((job("a"),)), Noted("x", "y")], at=1.0)
        journal.compact(journal.recover().state)
        journal.append([JobLeft("a")], at=2.0)
    return path


def change(path: Path, statement: str, *values: object) -> None:
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute(statement, values)


@contextmanager
def no_file_above(size: int) -> Iterator[None]:
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


def test_only_its_owner_may_read_it(path):
    """Jobs' variables may hold secrets."""
    with Journal.open(path, start()) as journal:
        journal.append([Noted("a", "b")], at=1.0)
        for file in path.parent.iterdir():
            assert stat.S_IMODE(file.stat().st_mode) == 0o600, file


def test_nothing_lies_about_when_it_is_closed(filled):
    assert sorted(file.name for file in filled.parent.iterdir()) == [filled.name, f"{filled.name}.lock"]


def test_every_append_waits_for_the_disk(path):
    with Journal.open(path, start()) as journal:
        read = journal._connected.exec_driver_sql
        assert read("PRAGMA journal_mode").scalar() == "wal"
        assert read("PRAGMA synchronous").scalar() == 2


def test_another_process_is_told_who_has_it(path):
    code = f"""
import sys
from gadget.store.journal import Journal, _checksum
from gadget.errors import JournalTaken
from tests.unit.engine.worlds import start
try:
    Journal.open({str(path)!r}, start())
except JournalTaken as error:
    sys.exit(str(error))
"""
    with Journal.open(path, start()):
        found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert f"another service has it (process {os.getpid()})" in found.stderr
    free = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert (free.returncode, free.stderr) == (0, "")


def test_another_name_for_it_is_no_way_around_the_lock(path, tmp_path):
    with Journal.open(path, start()):
        (tmp_path / "alias").symlink_to(path)
        with pytest.raises(JournalTaken):
            Journal.open(tmp_path / "alias", start())


def test_a_process_that_is_killed_loses_nothing_it_was_told_is_written(path):
    code = f"""
from gadget.engine.events import Noted
from gadget.store.journal import Journal, _checksum
from tests.unit.engine.worlds import start
journal = Journal.open({str(path)!r}, start())
while True:
    print(journal.append([Noted("a", "b" * 500)] * 3, at=1.0)[-1].number, flush=True)
"""
    with subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True) as process:
        told = [int(process.stdout.readline()) for _ in range(30)]
        process.send_signal(signal.SIGKILL)
        told += [int(line) for line in process.stdout.read().splitlines()]
    with Journal.open(path, start()) as journal:
        assert journal.last >= told[-1]
        assert journal.last % 3 == 0
        assert [entry.number for entry in journal.read(0, 10**6)] == list(range(1, journal.last + 1))


def test_somebody_who_writes_past_the_lock_is_noticed(path):
    with Journal.open(path, start()) as journal:
        journal.append([Noted("a", "b")], at=1.0)
        change(path, "INSERT INTO events VALUES (2, 1.0, 'noted', '{}', 0)")
        for use in (lambda: journal.append([Noted("a", "c")], 2.0), lambda: journal.compact(start())):
            with pytest.raises(JournalTaken, match="another process wrote entry 2"):
                use()
        change(path, "DELETE FROM events WHERE number = 2")
        assert journal.append([Noted("a", "c")], at=2.0)[0].number == 2


def test_a_full_disk_is_told_and_leaves_nothing_half_written(path):
    with Journal.open(path, start()) as journal:
        journal.append([Noted("a", "before")], at=1.0)
        large = [Noted("a", "x" * 1000)] * 300
        with no_file_above(200_000):
            for _ in range(2):
                with pytest.raises(JournalFailed, match="Look for room"):
                    journal.append(large, at=2.0)
            with pytest.raises(JournalFailed, match="Look for room"):
                journal.compact(apply(start(), JobsArrived(tuple(job(f"job-{n}") for n in range(3000)))))
            assert journal.last == 1
            assert len(journal.read(0, 1000)) == 1
        assert journal.append(large, at=3.0)[-1].number == 301
    with Journal.open(path, start()) as journal:
        assert [entry.event.text for entry in journal.read(0, 2)] == ["before", "x" * 1000]
        assert journal.recover() == (start(), 301)


@pytest.mark.parametrize("fates", ["left", "left gone", "left left", "left gone gone left gone"])
def test_what_failed_appends_left_all_the_same_goes(path, fates):
    """A disk may fail after the last byte was written."""

    def fail(connection):
        if fate == "left":
            connection.connection.driver_connection.commit()
        raise OperationalError("COMMIT", None, sqlite3.OperationalError("disk I/O error"))

    with Journal.open(path, start()) as journal:
        journal.append([Noted("a", "1")], at=1.0)
        listening.listen(journal._writer, "commit", fail)
        for attempt, fate in enumerate(fates.split()):  # noqa: B007 - `fail` looks at it
            with pytest.raises(JournalFailed, match="disk I/O error"):
                journal.append([Noted("a", f"attempt {attempt}")] * (3 + attempt), at=2.0)
        listening.remove(journal._writer, "commit", fail)
        assert journal.last == 1
        journal.append([Noted("a", "2")], at=3.0)
        assert [entry.event.text for entry in journal.read(0, 10)] == ["1", "2"]


def test_a_folder_that_is_not_there(tmp_path):
    with pytest.raises(JournalFailed, match="Correct the folder"):
        Journal.open(tmp_path / "none" / "journal", start())


@pytest.mark.parametrize(
    "content", [b"", b"slots: 3\n", b"SQLite format 3\0", b"SQLite format 3\0" + bytes(84)]
)
def test_a_file_that_is_no_journal_is_left_alone(path, content):
    path.write_bytes(content)
    with pytest.raises(BadJournal):
        Journal.open(path, start())
    assert path.read_bytes() == content


def test_another_sqlite_file_is_left_alone(path):
    change(path, "CREATE TABLE events (number)")
    before = path.read_bytes()
    with pytest.raises(BadJournal, match="is no journal"):
        Journal.open(path, start())
    assert path.read_bytes() == before


def test_a_folder_is_no_journal(tmp_path):
    with pytest.raises(BadFile):
        Journal.open(tmp_path, start())


def test_a_log_without_its_file_is_not_written_over(path):
    path.with_name(f"{path.name}-wal").write_bytes(b"entries")
    with pytest.raises(BadJournal, match="is missing"):
        Journal.open(path, start())
    assert not path.exists()


def test_a_newer_schema_says_so(filled):
    change(filled, "UPDATE meta SET value = '2' WHERE key = 'schema_version'")
    with pytest.raises(BadJournal, match="schema version 2; this release reads up to 1"):
        Journal.open(filled, start())


@pytest.mark.parametrize(
    ("statement", "complaint"),
    [
        ("UPDATE events SET body = replace(body, 'a', 'b')", "entry 3: it does not match its checksum"),
        ("UPDATE events SET at = at + 1", "entry 3: it does not match its checksum"),
        ("UPDATE states SET body = replace(body, 'gpu', 'cpu')", "the state after entry 0 cannot be read"),
        ("DELETE FROM events WHERE number = 2", "lacks entries between 1 and 3"),
        ("DELETE FROM events WHERE number = 3", None),
        ("DELETE FROM events WHERE number > 1", "lacks entries between 1 and 2"),
        ("UPDATE events SET body = CAST(x'ff' AS TEXT)", "is damaged .Could not decode"),
        ("UPDATE events SET body = x'00'", "entry 3: it does not match its checksum"),
        ("DELETE FROM states", "has no state to start from"),
        ("DELETE FROM meta", "does not tell its version"),
        ("DELETE FROM meta WHERE key = 'instance'", "does not tell its version or its name"),
        ("UPDATE meta SET value = x'31'", "does not tell its version"),
        ("DROP TABLE states", "no such table"),
    ],
)
def test_damage_within_the_tables_is_told(filled, statement, complaint):
    change(filled, statement)
    if complaint is None:  # a beginning of what was written is no damage
        with Journal.open(filled, start()) as journal:
            assert journal.recover().last == 2
        return
    with pytest.raises(BadJournal, match=complaint), Journal.open(filled, start()) as journal:
        journal.recover()


@pytest.mark.parametrize("text", [b"CREATE TABLE events", b"CREATE TABLE meta", b"INTEGER NOT NULL"])
def test_damage_of_the_tables_descriptions_is_told(filled, text):
    content = filled.read_bytes()
    assert text in content
    filled.write_bytes(content.replace(text, text[:-2] + b"\xff" + text[-1:]))
    with pytest.raises(BadJournal, match="is damaged"):
        Journal.open(filled, start())


def test_an_event_of_a_newer_release_says_so(filled):
    with Journal.open(filled, start()) as journal:
        body, kind = '{"version":1}', "job-paused"
        change(
            filled, "INSERT INTO events VALUES (4, 3.0, ?, ?, ?)", kind, body, _checksum(4, 3.0, kind, body)
        )
    with (
        Journal.open(filled, start()) as journal,
        pytest.raises(BadJournal, match="entry 4: kind is 'job-paused', which this release does not know"),
    ):
        journal.recover()


def test_an_event_that_cannot_have_happened_is_told(filled):
    with Journal.open(filled, start()) as journal:
        journal.append([JobLeft("a")], at=3.0)
        with pytest.raises(BadJournal, match=r"entry 4 cannot have happened: job 'a' has left"):
            journal.recover()


def test_a_damaged_state_gives_way_to_the_one_before(filled):
    """It leads to the same by the entries after it."""
    with Journal.open(filled, start()) as journal:
        whole = journal.recover()
    change(filled, "UPDATE states SET body = substr(body, 9) WHERE number = 2")
    with Journal.open(filled, start()) as journal:
        assert journal.recover() == whole


def test_a_complaint_lets_the_next_one_in(filled):
    change(filled, "DELETE FROM meta")
    for _ in range(2):
        with pytest.raises(BadJournal):
            Journal.open(filled, start())
