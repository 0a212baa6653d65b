"""One suite over every journal: what was appended is there, in order, whatever happens to the process."""

from collections.abc import Callable, Iterator
from pathlib import Path
from threading import Thread
from typing import Protocol

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gadget.engine.events import JobLeft, JobsArrived, Noted
from gadget.engine.state import State
from gadget.errors import InvalidValue, JournalFailed, JournalTaken
from gadget.store.journal import Entry, Journal, fold
from tests.live_courses import Course, live_courses
from tests.unit.engine.worlds import job, start


class Place(Protocol):
    """Where journals of one kind are kept; every call makes a new one, `again` opens the last."""

    def fresh(self, begin: State) -> Journal: ...

    def again(self, begin: State) -> Journal: ...


class SqlitePlace:
    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._count = 0

    def fresh(self, begin: State) -> Journal:
        self._count += 1
        return self.again(begin)

    def again(self, begin: State) -> Journal:
        return Journal.open(self._folder / f"{self._count}.journal", begin)


PLACES: dict[str, Callable[[Path], Place]] = {"sqlite": SqlitePlace}


@pytest.fixture(scope="module", params=PLACES)
def place(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Place]:
    return PLACES[request.param](tmp_path_factory.mktemp(request.param))


def test_a_new_journal_begins_where_it_is_told(place):
    with place.fresh(start()) as journal:
        assert journal.last == 0
        assert journal.read(0, 10) == []
        assert journal.recover() == (start(), 0)


def test_entries_are_numbered_without_gaps_and_read_in_order(place):
    with place.fresh(start()) as journal:
        first = journal.append([Noted("a", "1"), Noted("a", "2")], at=10.5)
        second = journal.append([Noted("a", "3")], at=9.25)
        assert first == [Entry(1, 10.5, Noted("a", "1")), Entry(2, 10.5, Noted("a", "2"))]
        assert journal.read(0, 10) == first + second
        assert journal.read(1, 1) == first[1:]
        assert journal.read(3, 10) == []
        assert journal.last == 3


def test_nothing_appended_is_nothing_written(place):
    with place.fresh(start()) as journal:
        assert journal.append([], at=1.0) == []
        assert journal.last == 0


def test_it_goes_on_where_it_was_closed_whatever_it_is_told_then(place):
    with place.fresh(start()) as journal:
        journal.append([JobsArrived((job("a"),))], at=1.0)
        state, instance = journal.recover().state, journal.instance
    with place.again(start(slot_seconds=99)) as journal:
        assert journal.recover() == (state, 1)
        assert journal.instance == instance
        assert journal.append([JobLeft("a")], at=2.0)[0].number == 2


def test_two_journals_have_two_names(place):
    with place.fresh(start()) as one, place.fresh(start()) as other:
        assert one.instance != other.instance


def test_only_one_at_a_time(place):
    with place.fresh(start()):
        with pytest.raises(JournalTaken):
            place.again(start())
        with pytest.raises(JournalTaken):
            place.again(start())
    place.again(start()).close()


def test_an_event_that_would_not_be_read_back_is_refused_and_nothing_with_it(place):
    with place.fresh(start()) as journal:
        for event, at in ((Noted("a", "\ud83d\ude00"), 1.0), (Noted("a", "b"), float("nan"))):
            with pytest.raises(InvalidValue):
                journal.append([Noted("a", "fine"), event], at)
        assert journal.read(0, 10) == []
        assert journal.append([Noted("a", "b")], 1.0)[0].number == 1


def test_a_closed_journal_says_so(place):
    journal = place.fresh(start())
    journal.close()
    journal.close()
    for use in (lambda: journal.append([Noted("a", "b")], 1.0), lambda: journal.read(0, 1), journal.recover):
        with pytest.raises(JournalFailed, match="is closed"):
            use()


def test_other_threads_read_while_one_appends(place):
    """Whatever they see is a beginning of what is appended."""
    found: list[list[int]] = []

    def look() -> None:
        found.extend([entry.number for entry in journal.read(0, 1000)] for _ in range(40))

    with place.fresh(start()) as journal:
        readers = [Thread(target=look) for _ in range(3)]
        for reader in readers:
            reader.start()
        for number in range(60):
            journal.append([Noted("a", str(number))] * 2, at=float(number))
        for reader in readers:
            reader.join()
        assert len(found) == 120
        for numbers in found:
            assert numbers == list(range(1, len(numbers) + 1))
            assert len(numbers) % 2 == 0


@settings(max_examples=25)
@given(course=live_courses(), data=st.data())
def test_replay_equals_state_and_compaction_changes_nothing_of_it(
    place: Place, course: Course, data: st.DataObject
) -> None:
    begin, last = course.states[0], course.states[-1]
    with place.fresh(begin) as journal:
        done = 0
        while done < len(course.events):
            together = data.draw(st.integers(1, 5))
            journal.append(course.events[done : done + together], at=float(done))
            done = min(done + together, len(course.events))
            if data.draw(st.booleans()):
                journal.compact(course.states[done], keep=data.draw(st.integers(0, 30)))
            assert journal.recover() == (course.states[done], done)
        kept = journal.read(0, 1000)
        first = len(course.events) - len(kept)
        assert [entry.event for entry in kept] == course.events[first:]
        assert fold(course.states[first], kept) == last
    with place.again(begin) as journal:
        assert journal.recover() == (last, len(course.events))
        assert journal.last == len(course.events)


def test_compaction_keeps_as_many_as_it_is_told(place):
    with place.fresh(start()) as journal:
        journal.append([Noted("a", str(number)) for number in range(50)], at=1.0)
        journal.compact(start(), keep=50)
        assert len(journal.read(0, 100)) == 50
        journal.compact(start(), keep=7)
        assert [entry.number for entry in journal.read(0, 100)] == list(range(44, 51))
        journal.compact(start(), keep=0)
        assert journal.read(0, 100) == []
        assert journal.append([Noted("a", "b")], at=2.0)[0].number == 51
    with place.again(start()) as journal:
        assert journal.recover() == (start(), 51)


def test_compaction_in_another_thread_while_entries_are_appended(place):
    with place.fresh(start()) as journal:
        journal.append([JobsArrived((job("a"),))], at=1.0)
        state = journal.recover().state
        journal.append([JobLeft("a"), Noted("a", "b")], at=2.0)
        compacting = Thread(target=journal.compact, args=(state, 0), kwargs={"number": 1})
        compacting.start()
        for _ in range(20):
            journal.append([Noted("a", "b")], at=3.0)
        compacting.join()
        assert [entry.number for entry in journal.read(0, 100)] == list(range(2, 24))
        assert not journal.recover().state.active
        assert journal.recover().last == 23


@pytest.mark.parametrize("number", [1, 4])
def test_a_state_that_is_not_the_newest_is_refused(place, number):
    with place.fresh(start()) as journal:
        journal.append([Noted("a", "b")] * 3, at=1.0)
        journal.compact(start(), number=2)
        with pytest.raises(ValueError, match="is not the newest one"):
            journal.compact(start(), number=number)
        journal.compact(start(), number=2)
        assert journal.recover() == (start(), 3)
