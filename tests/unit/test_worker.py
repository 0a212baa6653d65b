"""The worker's client: checkpoints are whole or not there; words never block, and come again later."""

import ast
import errno
import os
import queue
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from gadget import worker as module
from gadget.backends.backend import RingKey
from gadget.backends.mailbox import Mailbox
from gadget.backends.words import Kind, Word
from gadget.worker import LEFT, join

SECRET = b"a secret of tests, 32 bytes long"
KEY = RingKey("bert", 7)
Words = queue.Queue[Word]


@pytest.fixture(autouse=True)
def usual_sigterm() -> Iterator[None]:
    before = signal.getsignal(signal.SIGTERM)
    yield
    signal.signal(signal.SIGTERM, before)


@pytest.fixture
def no_pause(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_PAUSE_SECONDS", 0.0)


class Service:
    """A mailbox that can be away."""

    def __init__(self, path: Path, tcp: tuple[str, int] | None) -> None:
        self.path, self.tcp, self.words = path, tcp, Words()
        self.box: Mailbox | None = None
        self.come()

    def come(self) -> None:
        self.box = Mailbox(SECRET, self.words.put, self.path, self.tcp)
        self.box.open()
        self.env = self.box.env_for(KEY)
        if self.tcp is not None:
            self.tcp = (self.tcp[0], int(self.env["GADGET_REPORT"].rpartition(":")[2]))

    def go(self) -> None:
        if self.box is not None:
            self.box.close()
        self.box = None

    def word(self) -> Word:
        return self.words.get(timeout=5)


@pytest.fixture(params=["unix", "tcp"])
def service(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Service]:
    made = Service(tmp_path / "mailbox", ("127.0.0.1", 0) if request.param == "tcp" else None)
    yield made
    made.go()


def ring_env(folder: Path | None = None, *, ring: int = 7, rank: int = 0) -> dict[str, str]:
    env = {"RANK": str(rank), "WORLD_SIZE": "3", "GADGET_JOB": "bert", "GADGET_RING": str(ring)}
    return env if folder is None else {**env, "GADGET_CHECKPOINT_DIR": str(folder)}


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


# ---- where it stands


def test_without_a_service_it_is_alone_and_everything_is_harmless() -> None:
    worker = join({})
    assert (worker.rank, worker.size, worker.should_leave) == (0, 1, False)
    assert worker.load() is None
    worker.save(b"state", 3)
    worker.progress(1, 1)
    worker.alive()
    began = time.monotonic()
    worker.done(3)
    assert time.monotonic() - began < 0.1


def test_it_knows_its_place_in_the_ring() -> None:
    places = {
        "GADGET_LISTEN": "10.0.0.2:5002",
        "GADGET_NEXT": "[fe80::3]:5003",
        "GADGET_PREVIOUS": "s1:5001",
    }
    worker = join({**ring_env(rank=1), **places})
    assert (worker.rank, worker.size, worker.job, worker.ring) == (1, 3, "bert", 7)
    assert worker.listen == ("10.0.0.2", 5002)
    assert worker.next == ("fe80::3", 5003)
    assert worker.previous == ("s1", 5001)


def test_it_is_one_small_file_that_needs_nothing_but_python(tmp_path: Path) -> None:
    text = Path(module.__file__).read_text()
    assert len(text.splitlines()) < 200
    imported = {
        name.split(".")[0]
        for node in ast.walk(ast.parse(text))
        for name in (
            [alias.name for alias in node.names]
            if isinstance(node, ast.Import)
            else [node.module or ""]
            if isinstance(node, ast.ImportFrom)
            else []
        )
    }
    assert imported <= sys.stdlib_module_names
    (tmp_path / "copied.py").write_text(text)
    code = "import sys; sys.path.insert(0, '.'); import copied; print(copied.join().size)"
    ran = subprocess.run(
        [sys.executable, "-I", "-S", "-c", code], cwd=tmp_path, text=True, capture_output=True, check=True
    )
    assert ran.stdout == "1\n"


# ---- checkpoints


def test_what_was_saved_last_is_loaded_and_two_are_kept(tmp_path: Path) -> None:
    folder = tmp_path / "made" / "when needed"
    worker = join(ring_env(folder))
    assert worker.load() is None
    for work in range(1, 6):
        worker.save(b"state\n%d" % work, work)
    assert join(ring_env(folder, ring=9, rank=2)).load() == (b"state\n5", 5.0)
    assert len(names(folder)) == 2


def test_ranks_other_than_0_keep_nothing(tmp_path: Path) -> None:
    join(ring_env(tmp_path, rank=1)).save(b"state", 3)
    assert names(tmp_path) == []


def test_the_newest_ring_wins_whatever_an_older_one_still_writes(tmp_path: Path) -> None:
    old, new = join(ring_env(tmp_path, ring=7)), join(ring_env(tmp_path, ring=9))
    old.save(b"old", 50)
    new.save(b"new", 40)
    for work in (60, 70, 80):
        old.save(b"late", work)
    assert new.load() == (b"new", 40.0)
    assert len(names(tmp_path)) == 2


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data(), payload=st.binary(max_size=50))
def test_any_damage_is_noticed_and_the_one_before_is_loaded(
    tmp_path: Path, data: st.DataObject, payload: bytes
) -> None:
    for path in tmp_path.iterdir():
        path.unlink()
    worker = join(ring_env(tmp_path))
    worker.save(b"older", 1)
    worker.save(payload, 2)
    newest = tmp_path / names(tmp_path)[-1]
    good = newest.read_bytes()
    damaged = data.draw(
        st.one_of(
            st.integers(0, len(good) - 1).map(lambda cut: good[:cut]),
            st.binary(min_size=1, max_size=9).map(lambda more: good + more),
            st.tuples(st.integers(0, len(good) - 1), st.integers(1, 255)).map(
                lambda at: good[: at[0]] + bytes([good[at[0]] ^ at[1]]) + good[at[0] + 1 :]
            ),
        )
    )
    newest.write_bytes(damaged)
    assert worker.load() == (b"older", 1.0)


def test_unusable_checkpoints_are_told_of_and_do_not_count_as_kept(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    first = join(ring_env(tmp_path))
    first.save(b"good", 1)
    first.save(b"bad", 2)
    bad = names(tmp_path)[-1]
    (tmp_path / bad).write_bytes(b"")
    second = join(ring_env(tmp_path, ring=8))
    assert second.load() == (b"good", 1.0)
    assert f"checkpoint {bad} cannot be used (its checksum is wrong)" in capsys.readouterr().err
    second.save(b"better", 3)
    (tmp_path / names(tmp_path)[-1]).write_bytes(b"")
    assert join(ring_env(tmp_path, ring=9)).load() == (b"good", 1.0)
    assert bad not in names(tmp_path)


def test_with_no_usable_checkpoint_it_begins_anew(tmp_path: Path) -> None:
    (tmp_path / "000000000001-000000000001.checkpoint").mkdir()
    (tmp_path / "000000000001-000000000002.checkpoint").write_bytes(b"")
    worker = join(ring_env(tmp_path))
    assert worker.load() is None
    worker.save(b"new", 1)
    assert worker.load() == (b"new", 1.0)


def test_what_a_killed_writer_left_is_ignored_and_removed_but_not_a_newer_rings(tmp_path: Path) -> None:
    left = tmp_path / "000000000003-000000000004.part"
    newer = tmp_path / "000000000008-000000000001.part"
    for part in (left, newer):
        part.write_bytes(b"half")
    worker = join(ring_env(tmp_path))
    assert worker.load() is None
    worker.save(b"whole", 1)
    assert names(tmp_path) == ["000000000007-000000000001.checkpoint", newer.name]


def test_a_full_disk_is_told_raised_and_harms_no_older_checkpoint(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    worker = join(ring_env(tmp_path))
    worker.save(b"older", 1)

    def refuse(_: int) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    with monkeypatch.context() as patch:
        patch.setattr(os, "fsync", refuse)
        with pytest.raises(OSError, match="No space left"):
            worker.save(b"newer", 2)
    assert "could not be written (No space left on device)" in capsys.readouterr().err
    assert len(names(tmp_path)) == 1
    assert worker.load() == (b"older", 1.0)


# ---- leaving


def test_sigterm_is_a_wish_and_leaving_has_its_own_exit_code() -> None:
    worker = join(ring_env())
    os.kill(os.getpid(), signal.SIGTERM)
    assert worker.should_leave
    with pytest.raises(SystemExit) as left:
        worker.leave()
    assert left.value.code == LEFT == 75


def test_a_forked_child_still_ends_on_sigterm() -> None:
    code = """
import os, signal, time
from gadget import worker
worker.join()
reader, writer = os.pipe()
child = os.fork()
if child == 0:
    os.write(writer, b"up")
    time.sleep(60)
    os._exit(0)
os.read(reader, 2)
os.kill(child, signal.SIGTERM)
raise SystemExit(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) != -signal.SIGTERM)
"""
    subprocess.run([sys.executable, "-c", code], check=True, timeout=60)


# ---- words


def test_words_arrive_in_order(service: Service, tmp_path: Path, no_pause: None) -> None:
    worker = join({**ring_env(tmp_path / "kept", rank=0), **service.env})
    worker.load()
    worker.alive()
    worker.progress(30, 3)
    worker.save(b"state", 30)
    worker.note("hm")
    worker.done(40)
    said = [service.word() for _ in range(7)]
    assert said == [
        Word(KEY, 0, Kind.HELLO),
        Word(KEY, 0, Kind.RESUMED, work=0),
        Word(KEY, 0, Kind.ALIVE),
        Word(KEY, 0, Kind.PROGRESS, work=30, step=3),
        Word(KEY, 0, Kind.CHECKPOINT, work=30),
        Word(KEY, 0, Kind.NOTE, text="hm"),
        Word(KEY, 0, Kind.DONE, work=40),
    ]


def test_a_fast_loop_says_little(service: Service) -> None:
    worker = join({**ring_env(), **service.env})
    began = time.monotonic()
    calls = 0
    while time.monotonic() - began < 1.2:
        calls += 1
        worker.progress(calls * 10, calls)
    worker.done(calls * 10)
    assert service.word().kind is Kind.HELLO
    told = []
    while (word := service.word()).kind is Kind.PROGRESS:
        told.append(word)
    assert 2 <= len(told) <= 3
    assert calls > 1000
    # The seconds between two words, shared out over the steps between them; the clock may have been late.
    seconds = (told[-1].step_seconds or 0) * ((told[-1].step or 0) - (told[-2].step or 0))
    assert 0.5 <= seconds <= 1.2


def test_the_seconds_of_a_step_leave_out_the_time_of_saving(
    service: Service, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, no_pause: None
) -> None:
    now = 1000.0
    monkeypatch.setattr(module.time, "monotonic", lambda: now)
    worker = join({**ring_env(tmp_path / "kept"), **service.env})
    usual = os.fsync

    def slow(descriptor: int) -> None:
        nonlocal now
        now += 7
        usual(descriptor)

    monkeypatch.setattr(os, "fsync", slow)
    worker.progress(0, 0)
    now += 4
    worker.save(b"", 1)
    worker.progress(4, 4)
    worker.done(4)
    assert now == 1018.0
    said = [service.word() for _ in range(4)]
    assert [(word.kind, word.step_seconds) for word in said] == [
        (Kind.HELLO, None),
        (Kind.PROGRESS, None),
        (Kind.CHECKPOINT, None),
        (Kind.PROGRESS, 1.0),
    ]


def test_it_outlives_the_service_and_says_the_newest_when_it_is_back(
    service: Service, tmp_path: Path, no_pause: None
) -> None:
    worker = join({**ring_env(tmp_path / "kept"), **service.env})
    worker.load()
    assert [service.word().kind for _ in range(2)] == [Kind.HELLO, Kind.RESUMED]
    service.go()
    for step in range(1, 50):
        worker.progress(step * 10, step)
    worker.save(b"state", 450)
    worker.note("somebody should know")
    assert service.words.empty()
    service.come()
    deadline = time.monotonic() + 5
    while service.words.empty():
        assert time.monotonic() < deadline
        worker.progress(500, 50)
        time.sleep(0.02)
    said = {word.kind: word for word in [service.word() for _ in range(5)]}
    assert list(said)[:2] == [Kind.HELLO, Kind.RESUMED]
    assert said[Kind.PROGRESS].work == 500
    assert said[Kind.CHECKPOINT].work == 450
    assert said[Kind.NOTE].text == "somebody should know"
    worker.done(500)


def test_it_knocks_once_a_second_at_most(
    tmp_path: Path, no_pause: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    knocks = []
    usual = socket.socket.connect

    def count(self: socket.socket, address: object) -> None:
        knocks.append(address)
        usual(self, address)  # type: ignore[arg-type]

    monkeypatch.setattr(socket.socket, "connect", count)
    worker = join({**ring_env(), "GADGET_REPORT": f"unix:{tmp_path}/nobody"})
    for step in range(1000):
        worker.progress(step, step)
    assert len(knocks) == 1


@pytest.mark.parametrize(
    "report", ["unix:/nowhere/at/all", "unix:" + "x" * 300, "tcp:127.0.0.1:1", "nonsense"]
)
def test_nobody_there_is_no_reason_to_stop(report: str, no_pause: None) -> None:
    worker = join({**ring_env(), "GADGET_REPORT": report})
    for step in range(100):
        worker.progress(step, step)
        worker.note(f"step {step}")
    began = time.monotonic()
    worker.done(100)
    assert time.monotonic() - began < 3


def test_a_service_that_does_not_read_never_blocks_and_hears_the_newest_later(
    tmp_path: Path, no_pause: None
) -> None:
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(tmp_path / "deaf"))
        listener.listen()
        worker = join({**ring_env(), "GADGET_REPORT": f"unix:{tmp_path}/deaf"})
        began = time.monotonic()
        for step in range(20_000):
            worker.progress(step, step)
            worker.note(f"a long note {'x' * 1000} of step {step}")
            if time.monotonic() - began > 1:
                break
        assert step > 300  # each call took microseconds; the socket's room is about 200 KiB
        worker.progress(123_456, step + 1)
        connection, _ = listener.accept()
        with connection:
            connection.settimeout(5)
            heard = b""
            while b"123456.0" not in heard:
                heard += connection.recv(65536)
                worker.alive()
            worker.done(200_000)
        assert heard.startswith(b'{"kind": "hello"')


def test_last_words_wait_a_little_for_a_service_that_comes_back(service: Service) -> None:
    service.go()
    worker = join({**ring_env(), **service.env})
    service.come()
    worker.done(9)
    assert [service.word() for _ in range(2)] == [Word(KEY, 0, Kind.HELLO), Word(KEY, 0, Kind.DONE, work=9)]
