"""The service in its thread: commands from everywhere, faults that end nothing, and its own end."""

import threading
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from gadget.backends.backend import RingMoved, RingPhase
from gadget.engine.events import Event, JobsArrived
from gadget.errors import ImpossibleEvent, JournalFailed
from gadget.live.clock import SystemClock
from gadget.live.controller import Controller
from gadget.live.decider import Here
from gadget.live.origin import begin_live, find_origin
from gadget.live.runtime import LiveService, ServiceBusy
from gadget.live.settings import Settings
from gadget.policies.registry import build_policy
from gadget.store.journal import Entry, Journal
from tests.live_world import SetClock, World, WorldBackend
from tests.unit.engine.worlds import PAIR
from tests.unit.live.scenes import live_job


class Backend(WorldBackend):
    """Remembers how it was closed."""

    closed: bool | None = None

    def close(self, *, keep_rings: bool) -> None:
        self.closed = keep_rings


class FullAtTimes:
    """A journal whose disk can be full."""

    def __init__(self, journal: Journal) -> None:
        self.journal, self.is_full = journal, False

    def append(self, events: Sequence[Event], at: float) -> Sequence[Entry]:
        if self.is_full:
            raise JournalFailed("no space left on device")
        return self.journal.append(events, at)

    def compact(self, state: object) -> None:
        pass


class Bench:
    """A service that runs, with its parts."""

    def __init__(self, folder: Path) -> None:
        self.journal = Journal.open(folder / "journal.db", begin_live(30.0))
        self.log = FullAtTimes(self.journal)
        self.world = World(PAIR, SetClock())
        self.backend = Backend(self.world)
        self.controller = Controller(
            find_origin(self.journal),
            self.log,
            backend=self.backend,
            decider=Here(build_policy("fifo"), 0),
            clock=SystemClock(),
            settings=Settings(slot_seconds=30.0, spacing_seconds=0.0, policy="fifo"),
            env_for=lambda _: {},
        )
        self.service = LiveService(self.controller, self.journal, self.backend)
        self.service.start()

    def wait(self, is_so, what: str) -> None:
        until = time.monotonic() + 20
        while not is_so():
            assert time.monotonic() < until, what
            time.sleep(0.01)


@pytest.fixture
def bench(tmp_path: Path) -> Iterator[Bench]:
    made = Bench(tmp_path)
    yield made
    if made.backend.closed is None:
        made.service.stop(keep_rings=True)
    made.journal.close()


def test_commands_from_many_threads_are_all_done_once(bench: Bench) -> None:
    refused: list[str] = []

    def submit(thread: int) -> None:
        for number in range(10):
            bench.service.submit([live_job(f"job-{thread}-{number}")])
        try:
            bench.service.submit([live_job("the-same")])
        except ImpossibleEvent as error:
            refused.append(str(error))

    threads = [threading.Thread(target=submit, args=(n,)) for n in range(6)]
    for one in threads:
        one.start()
    for one in threads:
        one.join(30)
    entries = bench.service.read_entries(0, 10_000)
    names = [
        job.name for entry in entries if isinstance(entry.event, JobsArrived) for job in entry.event.jobs
    ]
    assert len(names) == len(set(names)) == 61
    assert len(refused) == 5
    bench.wait(lambda: len(bench.service.view().state.active) == 61, "all are shown")


def test_what_was_acknowledged_is_written_down_and_soon_shown(bench: Bench) -> None:
    last = bench.service.view().last_entry
    bench.service.submit([live_job("j")])
    assert bench.service.wait_for_entries(last, 10)
    bench.wait(lambda: "j" in bench.service.view().rings, "its ring is shown")
    assert not bench.service.wait_for_entries(bench.service.view().last_entry + 1_000, 0.01)


def test_a_word_that_cannot_be_taken_ends_nothing(bench: Bench, caplog: pytest.LogCaptureFixture) -> None:
    bench.service.hear("nonsense")  # type: ignore[arg-type]
    bench.service.report(RingMoved("nonsense", RingPhase.FAILED))  # type: ignore[arg-type]
    bench.service.submit([live_job("j")])
    assert "could not be taken" in caplog.text


def test_a_full_disk_refuses_commands_is_shown_and_passes(bench: Bench) -> None:
    bench.log.is_full = True
    with pytest.raises(JournalFailed):
        bench.service.submit([live_job("j")])
    bench.world.away["a"] = "gone"
    bench.backend.lose_server("a")
    bench.wait(lambda: [one.topic for one in bench.service.view().faults] == ["journal"], "it is shown")
    assert bench.service.view().state.active == {}
    assert bench.service.view().state.down == frozenset()  # not written down, so it has not happened
    bench.log.is_full = False
    bench.service.submit([live_job("j")])
    bench.wait(lambda: not bench.service.view().faults, "it has passed")
    assert bench.service.view().state.down == {"a"}


def test_it_stops_with_its_rings_or_without_them(tmp_path: Path) -> None:
    for keep in (True, False):
        folder = tmp_path / str(keep)
        folder.mkdir()
        bench = Bench(folder)
        bench.service.submit([live_job("j")])
        bench.wait(bench.world.live, "its ring runs")
        bench.service.stop(keep_rings=keep)
        assert bench.backend.closed is keep
        assert bool(bench.world.live()) is keep
        state = find_origin(bench.journal).state
        assert ("j" in state.running.ring_of) is keep
        assert "j" in state.active  # for a later life
        with pytest.raises(ServiceBusy):
            bench.service.submit([live_job("late")])
        bench.journal.close()


def test_a_full_disk_does_not_keep_the_engine_open(bench: Bench) -> None:
    bench.service.submit([live_job("j")])
    bench.wait(bench.world.live, "its ring runs")
    bench.log.is_full = True
    with pytest.raises(JournalFailed):
        bench.service.stop(keep_rings=False)
    assert bench.backend.closed is False
