"""A journal that lost bytes, or has wrong ones, tells it or is a beginning of what was written."""

import shutil
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gadget.engine.events import (
    Event,
    JobLeft,
    JobsArrived,
    Noted,
    ServerDrained,
    ServerUndrained,
    SlotDecided,
)
from gadget.engine.state import State
from gadget.errors import BadInput, GadgetError
from gadget.store.journal import Journal, fold
from tests.unit.engine.worlds import decision, job, ring, start

EVENTS: list[Event] = [
    JobsArrived((job("a"), job("b"))),
    SlotDecided(decision(0, ring("a", "a", "b"))),
    Noted("long", "x" * 9000),  # more than a page
    ServerDrained("a"),
    JobLeft("b"),
    ServerUndrained("a"),
    *(Noted("many", str(number)) for number in range(40)),
    JobLeft("a"),
]
BATCH = 3
BATCHES = [EVENTS[first : first + BATCH] for first in range(0, len(EVENTS), BATCH)]


@pytest.fixture(scope="module")
def states(tmp_path_factory: pytest.TempPathFactory) -> list[State]:
    """The state after each number of entries."""
    with Journal.open(tmp_path_factory.mktemp("states") / "journal", start()) as journal:
        entries = journal.append(EVENTS, at=1.0)
    found = [start()]
    for entry in entries:
        found.append(fold(found[-1], [entry]))
    return found


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory, states: list[State]) -> Iterator[Path]:
    """The files of a journal whose process was killed: all entries but the first few are in the log."""
    folder, copy = (tmp_path_factory.mktemp(name) for name in ("running", "copy"))
    with Journal.open(folder / "journal", start()) as journal:
        journal.append(BATCHES[0], at=1.0)
    with Journal.open(folder / "journal", start()) as journal:
        for batch in BATCHES[1:]:
            journal.append(batch, at=1.0)
        journal.compact(states[-1])
        for file in ("journal", "journal-wal"):
            shutil.copy(folder / file, copy)
    return copy


@pytest.fixture(scope="module")
def closed(tmp_path_factory: pytest.TempPathFactory, states: list[State]) -> Path:
    folder = tmp_path_factory.mktemp("closed")
    with Journal.open(folder / "journal", start()) as journal:
        for batch in BATCHES:
            journal.append(batch, at=1.0)
            journal.compact(states[journal.last])
    return folder


def read_whole(folder: Path, states: list[State]) -> int:
    """How many entries there are; they are the first ones, and lead to the state after them."""
    with Journal.open(folder / "journal", start(slot_seconds=99)) as journal:
        state, last = journal.recover()
        entries = journal.read(0, 1000)
    assert [entry.event for entry in entries] == EVENTS[:last]
    assert state == states[last]
    return last


def damaged(folder: Path, file: str, content: bytes) -> "TemporaryDirectory[str]":
    """A copy of the folder in which one file has other content."""
    copy = TemporaryDirectory()
    shutil.copytree(folder, copy.name, dirs_exist_ok=True)
    (Path(copy.name) / file).write_bytes(content)
    return copy


@given(data=st.data())
def test_a_log_cut_at_any_byte_leaves_whole_appends_from_the_first_on(running, states, data):
    log = (running / "journal-wal").read_bytes()
    place = data.draw(st.integers(0, len(log)))
    with damaged(running, "journal-wal", log[:place]) as copy:
        last = read_whole(Path(copy), states)
    assert last >= BATCH  # those that were in the file itself
    assert last % BATCH == 0 or last == len(EVENTS)
    assert last == len(EVENTS) or place < len(log)


def test_the_longer_the_log_the_more_is_left(running, states):
    log = (running / "journal-wal").read_bytes()
    found = []
    for place in range(0, len(log) + 1, 4096 + 24):
        with damaged(running, "journal-wal", log[:place]) as copy:
            found.append(read_whole(Path(copy), states))
    assert found == sorted(found)
    assert found[0] == BATCH
    assert len(set(found)) > len(BATCHES) / 2


@given(data=st.data())
def test_a_wrong_byte_in_the_log_leaves_whole_appends_from_the_first_on(running, states, data):
    log = bytearray((running / "journal-wal").read_bytes())
    log[data.draw(st.integers(0, len(log) - 1))] ^= data.draw(st.integers(1, 255))
    with damaged(running, "journal-wal", bytes(log)) as copy:
        last = read_whole(Path(copy), states)
    assert last % BATCH == 0 or last == len(EVENTS)


@given(data=st.data())
def test_a_file_cut_at_any_byte_is_told(closed, states, data):
    content = (closed / "journal").read_bytes()
    place = data.draw(st.integers(0, len(content) - 1))
    with damaged(closed, "journal", content[:place]) as copy:
        with pytest.raises(BadInput):
            read_whole(Path(copy), states)
        assert (Path(copy) / "journal").read_bytes() == content[:place]


@settings(max_examples=300)
@given(data=st.data())
def test_a_wrong_byte_in_the_file_is_told_or_changes_nothing(closed, states, data):
    content = bytearray((closed / "journal").read_bytes())
    place = data.draw(st.integers(0, 100) | st.integers(0, len(content) - 1))
    content[place] ^= data.draw(st.sampled_from((1, 2, 4, 8, 16, 32, 64, 128)) | st.integers(1, 255))
    with damaged(closed, "journal", bytes(content)) as copy:
        try:
            last = read_whole(Path(copy), states)
        except GadgetError:
            return
        assert last == len(EVENTS)
