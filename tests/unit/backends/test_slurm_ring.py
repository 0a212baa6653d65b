"""One ring on Slurm by hand-made looks at its queue: what is believed, and whose fault an end is."""

import time
from collections.abc import Sequence
from pathlib import Path

import pytest

from gadget.backends.backend import RingMoved, RingPhase
from gadget.backends.ring_folder import Record, RingFolder
from gadget.backends.slurm_answers import SlurmJob
from gadget.backends.slurm_ring import Deed, Look, SlurmRing
from gadget.backends.worker_environment import Seat
from tests.engines import OBEY, build_launch

PATIENCE = 60.0


class Course:
    """A ring of two workers on s0 and s1, its folder, and a clock that goes on by a second a look."""

    def __init__(self, folder: Path, *, is_adopted: bool = False) -> None:
        self.order = build_launch("job", 1, ["s0", "s1"], OBEY)
        home = RingFolder(folder)
        home.open()
        record = Record(
            instance="i",
            boot="",
            job="job",
            number=1,
            workers=self.order.ring.workers,
            routes=self.order.ring.routes,
            seats=(Seat("s0", "a", 1), Seat("s1", "b", 1)),
            master_port=2,
            gpu_per_worker=1,
        )
        home.prepare(record)
        self.home, self.folder = home, home.ring(record.key)
        self.ring = SlurmRing(record, home, None if is_adopted else self.order)
        self.now = 1000.0
        self.deeds: list[Deed | None] = []
        if not is_adopted:
            self.ring.hand_in(self.now, 7)

    def write(self, *names: str, text: str = "") -> None:
        for name in names:
            (self.folder / name).write_text(text)

    def run(self) -> None:
        """Both its workers are up."""
        self.write("0.worker", "1.worker")
        assert self.look("RUNNING") == RingPhase.RUNNING

    def look(
        self, *states: str, lead: int = 7, seconds: float = 1.0, lost: Sequence[str] = ()
    ) -> RingPhase | None:
        """One more look, in which its job is in these states; gives the phase that it moved to."""
        jobs = [SlurmJob(lead, lead, "c", state, "None") for state in states]
        return self.look_at(jobs, seconds=seconds, lost=lost)

    def look_at(
        self, jobs: Sequence[SlurmJob], *, seconds: float = 1.0, lost: Sequence[str] = ()
    ) -> RingPhase | None:
        self.now += seconds
        silent = frozenset(lost)
        moves, deed = self.ring.step(self.now, Look(self.now, jobs, silent, silent), PATIENCE)
        self.deeds.append(deed)
        if deed is Deed.READ_BOOKS:
            return None
        return moves[-1].phase if moves else None

    def end(self, books: str = "") -> RingMoved:
        """Its job is in no look any more, and the books say how it ended."""
        for _ in range(60):
            self.look()
            if self.ring.phase.is_over:
                break
            if self.deeds[-1] is Deed.READ_BOOKS:
                self.ring.note_books(books)
        return RingMoved(self.ring.key, self.ring.phase, self.ring.reason)


@pytest.fixture
def course(tmp_path: Path) -> Course:
    return Course(tmp_path)


def test_a_job_that_one_look_does_not_show_is_not_gone(course: Course) -> None:
    assert course.look("PENDING") is None
    assert course.look() is None
    assert course.look("PENDING") is None
    assert course.look() is None
    assert course.look("RUNNING") is None
    assert course.ring.phase is RingPhase.STARTING
    assert set(course.deeds) == {None}


def test_workers_without_a_job_are_given_time_anew_whenever_it_was_seen(course: Course) -> None:
    course.run()
    for _ in range(3):
        for _ in range(7):
            assert course.look() is None
            if course.deeds[-1] is Deed.READ_BOOKS:
                course.ring.note_books("")
        assert course.look("RUNNING") is None
    assert course.ring.phase is RingPhase.RUNNING


def test_workers_without_a_job_are_given_longer_while_their_nodes_have_not_reported(course: Course) -> None:
    course.run()
    for _ in range(20):
        assert course.look(lost=["s1"]) is None
        if course.deeds[-1] is Deed.READ_BOOKS:
            course.ring.note_books("CANCELLED")
    for _ in range(6):
        assert course.look() is None
    assert course.look() is RingPhase.TAKEN


def test_what_slurm_has_lost_is_no_fault_of_the_job(course: Course) -> None:
    course.run()
    end = course.end()
    assert (end.phase, end.reason) == (RingPhase.TAKEN, "Slurm ended it (gone)")
    assert course.deeds.count(Deed.READ_BOOKS) == 1


@pytest.mark.parametrize(
    ("state", "phase"),
    [
        ("CANCELLED", RingPhase.TAKEN),
        ("NODE_FAIL", RingPhase.TAKEN),
        ("PREEMPTED", RingPhase.TAKEN),
        ("TIMEOUT", RingPhase.TAKEN),
        ("OUT_OF_MEMORY", RingPhase.FAILED),
        ("FAILED", RingPhase.FAILED),
    ],
)
@pytest.mark.parametrize("is_in_queue", [True, False])
def test_an_end_is_the_jobs_fault_unless_slurm_took_its_nodes(
    course: Course, state: str, phase: RingPhase, is_in_queue: bool
) -> None:
    course.run()
    if is_in_queue:
        course.look(state)
        end = course.ring.tell()
        assert end.phase is phase
        assert state.lower() in end.reason
    else:
        told = course.end(state)
        assert told.phase is phase
        assert state.lower() in told.reason


@pytest.mark.parametrize("state", ["CANCELLED", "PREEMPTED", "NODE_FAIL"])
def test_ranks_that_break_because_slurm_takes_them_are_taken(course: Course, state: str) -> None:
    course.run()
    course.write("0.exit", text="143\n")
    course.look("COMPLETING")
    course.write("1.exit", text="1\n")
    course.look(state)
    assert course.ring.phase is RingPhase.TAKEN


def test_ranks_that_broke_between_two_looks_are_taken_too(course: Course) -> None:
    course.run()
    course.write("0.exit", "1.exit", text="143\n")
    assert course.look("CANCELLED") is RingPhase.TAKEN


def test_a_crash_stays_the_jobs_fault_though_we_cancel_what_is_left(course: Course) -> None:
    course.run()
    course.write("0.exit", text="3\n")
    for _ in range(30):
        course.look("RUNNING")
    assert Deed.CANCEL in course.deeds
    course.look("CANCELLED")
    assert course.ring.phase is RingPhase.FAILED
    assert "exit code 3" in course.ring.reason


def test_ranks_that_break_because_a_node_is_silent_are_taken(course: Course) -> None:
    course.run()
    course.write("0.exit", text="1\n")
    course.look("RUNNING", lost=["s1"])
    course.look("COMPLETED", lost=["s1"])
    assert course.ring.phase is RingPhase.TAKEN
    assert "s1" in course.ring.reason


def test_exit_codes_that_come_late_are_waited_for_and_not_for_ever(tmp_path: Path) -> None:
    late, never = Course(tmp_path / "a"), Course(tmp_path / "b")
    for course in (late, never):
        course.run()
        course.write("0.exit", text="0\n")
        for _ in range(5):
            assert course.look("COMPLETED") is None
    late.write("1.exit", text="0\n")
    assert late.look("COMPLETED") is RingPhase.FINISHED
    assert never.look("COMPLETED", seconds=30) is RingPhase.FAILED


def test_of_two_jobs_the_one_that_began_is_the_ring(course: Course) -> None:
    def both(first: str, second: str) -> list[SlurmJob]:
        return [SlurmJob(8, 8, "c", second, "None"), SlurmJob(7, 7, "c", first, "None")]

    assert course.look_at(both("PENDING", "PENDING")) is None
    assert course.ring.lead == 7
    assert course.look_at(both("PENDING", "RUNNING")) is None
    assert course.ring.lead == 8
    course.write("number", text="7\n")
    assert course.look_at(both("RUNNING", "RUNNING")) is None
    assert course.ring.lead == 7
    # The other one saw that it came late, and ended.
    assert course.look_at(both("RUNNING", "COMPLETED")) is None
    assert course.ring.phase is RingPhase.STARTING


def test_after_a_doubt_nothing_is_handed_in_until_a_look_long_after_it(tmp_path: Path) -> None:
    ring = Course(tmp_path).ring
    assert not ring.is_unsure(100.0, 7.0)
    ring.doubt(100.0)
    assert ring.is_unsure(99.0, 7.0)
    assert ring.is_unsure(106.0, 7.0)
    assert not ring.is_unsure(108.0, 7.0)


def test_a_ring_that_a_former_life_wrote_down_and_slurm_never_had_is_taken(tmp_path: Path) -> None:
    course = Course(tmp_path, is_adopted=True)
    assert course.look() is None
    assert course.look() is RingPhase.TAKEN
    assert Deed.READ_BOOKS not in course.deeds


def test_a_former_lifes_ring_is_looked_up_in_the_books_by_the_number_that_it_wrote_itself(
    tmp_path: Path,
) -> None:
    course = Course(tmp_path, is_adopted=True)
    course.write("0.worker", "1.worker")
    course.write("number", text="41\n")
    end = course.end("TIMEOUT")
    assert course.ring.lead == 41
    assert (end.phase, end.reason) == (RingPhase.TAKEN, "Slurm ended it (timeout)")


def test_a_silent_node_gives_signs_while_its_ranks_write_logs(course: Course) -> None:
    log = course.home.log(course.ring.key, 1)
    log.write_text("step 1\n")
    before = course.ring.read_signs("s1")
    assert course.ring.read_signs("s1") == before
    time.sleep(0.01)
    with log.open("a") as file:
        file.write("step 2\n")
    assert course.ring.read_signs("s1") != before
    assert course.ring.read_signs("s0") == []
