"""The mailbox hears those who know their token, in order, and nobody else; no bytes make it fall over."""

import json
import logging
import queue
import socket
import stat
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gadget.backends import mailbox as module
from gadget.backends.backend import RingKey
from gadget.backends.mailbox import MOST_LINE_BYTES, Grievance, Mailbox, ring_token
from gadget.backends.words import Kind, Word
from gadget.errors import BadOption

SECRET = b"a secret of tests, 32 bytes long"
KEY = RingKey("bert", 7)


class Office:
    """A mailbox with what it delivered."""

    def __init__(self, path: Path, **options: object) -> None:
        self.words: queue.Queue[Word] = queue.Queue()
        self.path = path
        self.box = Mailbox(SECRET, self.words.put, path, **options)
        self.box.open()

    def connect(self) -> socket.socket:
        connection = socket.socket(socket.AF_UNIX)
        connection.settimeout(5)
        connection.connect(str(self.path))
        return connection

    def word(self) -> Word:
        return self.words.get(timeout=5)

    def wait(self, holds: Callable[[], bool]) -> None:
        deadline = time.monotonic() + 5
        while not holds():
            assert time.monotonic() < deadline
            time.sleep(0.005)


@pytest.fixture
def office(tmp_path: Path) -> Iterator[Office]:
    made = Office(tmp_path / "box" / "mailbox")
    yield made
    made.box.close()


def line(**fields: object) -> bytes:
    return json.dumps(fields).encode() + b"\n"


def hello(key: RingKey = KEY, rank: int = 0, token: str | None = None) -> bytes:
    token = ring_token(SECRET, key) if token is None else token
    return line(job=key.job, ring=key.number, rank=rank, token=token, kind="hello")


def is_hung_up_on(connection: socket.socket) -> bool:
    try:
        return connection.recv(1) == b""
    except ConnectionResetError:  # it had not read all that was sent
        return True


def test_words_come_in_order_with_all_they_hold(office: Office) -> None:
    with office.connect() as connection:
        connection.sendall(hello(rank=2) + line(kind="resumed", work=10))
        connection.sendall(line(kind="progress", work=20.5, step=3, step_seconds=0.25))
        connection.sendall(line(kind="checkpoint", work=20.5) + line(kind="alive"))
        connection.sendall(line(kind="note", text="hm\x1b[2J") + line(kind="done", work=30))
    assert [office.word() for _ in range(7)] == [
        Word(KEY, 2, Kind.HELLO),
        Word(KEY, 2, Kind.RESUMED, work=10),
        Word(KEY, 2, Kind.PROGRESS, work=20.5, step=3, step_seconds=0.25),
        Word(KEY, 2, Kind.CHECKPOINT, work=20.5),
        Word(KEY, 2, Kind.ALIVE),
        Word(KEY, 2, Kind.NOTE, text=r"hm\x1b[2J"),
        Word(KEY, 2, Kind.DONE, work=30),
    ]
    assert office.box.grievances == {}


def test_a_word_may_come_in_pieces(office: Office) -> None:
    with office.connect() as connection:
        for byte in hello() + line(kind="alive"):
            connection.sendall(bytes([byte]))
        assert [office.word().kind for _ in range(2)] == [Kind.HELLO, Kind.ALIVE]


@pytest.mark.parametrize(
    "first",
    [
        hello(token=""),
        hello(token="é" * 64),
        hello(token=ring_token(b"another secret, of other tests..", KEY)),
        hello(token=ring_token(SECRET, RingKey("bert", 6))),
        hello(token=ring_token(SECRET, RingKey("gpt", 7))),
        hello().replace(b'"hello"', b'"alive"'),
    ],
)
def test_without_the_token_of_its_ring_nobody_is_heard(office: Office, first: bytes) -> None:
    with office.connect() as connection:
        connection.sendall(first + line(kind="done", work=1e6))
        assert is_hung_up_on(connection)
    assert office.box.grievances == {Grievance.TOKEN: 1}
    assert office.words.empty()


@pytest.mark.parametrize(
    "bad",
    [
        b"\n",
        b"\xff\xfe\x00\n",
        b"[]\n",
        b'{"kind":"\xff"}\n',
        b'{"kind":"alive","more":' + b"[" * 20_000 + b"\n",
        line(kind="dance"),
        line(kind="progress"),
        line(kind="progress", work=-1),
        line(kind="progress", work="1"),
        line(kind="progress", work=1e16),
        b'{"kind":"progress","work":NaN}\n',
        b'{"kind":"progress","work":1e999}\n',
        line(kind="progress", work=1, step=-1),
        line(kind="progress", work=1, step=0.5),
        line(kind="progress", work=1, step_seconds=-0.1),
        hello(),
    ],
)
def test_who_speaks_no_words_is_dropped_and_the_others_are_heard(office: Office, bad: bytes) -> None:
    with office.connect() as good, office.connect() as speaker:
        good.sendall(hello(rank=1))
        assert office.word().rank == 1
        speaker.sendall(hello() + bad + line(kind="done", work=1))
        assert office.word().kind is Kind.HELLO
        assert is_hung_up_on(speaker)
        good.sendall(line(kind="alive"))
        assert office.word() == Word(KEY, 1, Kind.ALIVE)
    assert office.box.grievances == {Grievance.GARBAGE: 1}


def test_a_line_without_end_is_not_kept(office: Office) -> None:
    with office.connect() as connection:
        connection.sendall(hello())
        with pytest.raises((BrokenPipeError, ConnectionResetError)):
            connection.sendall(b"x" * (100 * MOST_LINE_BYTES))
    office.wait(lambda: office.box.grievances == {Grievance.LENGTH: 1})


def test_a_line_of_the_greatest_length_is_a_word(office: Office) -> None:
    word = line(kind="note", text="")
    word = line(kind="note", text="n" * (MOST_LINE_BYTES + 1 - len(word)))
    with office.connect() as connection:
        connection.sendall(hello() + word + word.replace(b"n" * 9, b"n" * 10, 1))
        assert [office.word().kind for _ in range(2)] == [Kind.HELLO, Kind.NOTE]
        assert is_hung_up_on(connection)
    assert office.box.grievances == {Grievance.LENGTH: 1}


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Office]:
    made = Office(tmp_path_factory.mktemp("shared") / "mailbox")
    yield made
    made.box.close()


@given(junk=st.binary(max_size=300), with_hello=st.booleans())
def test_no_bytes_make_it_fall_over(shared: Office, junk: bytes, with_hello: bool) -> None:
    with shared.connect() as connection:
        connection.sendall((hello(rank=5) if with_hello else b"") + junk)
    with shared.connect() as good:
        good.sendall(hello(rank=1))
        while (word := shared.word()).rank != 1:
            assert (word.rank, with_hello) == (5, True)


def test_more_connections_than_allowed_are_refused_and_told(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    office = Office(tmp_path / "mailbox", most_connections=2)
    with (
        closing(office.box),
        office.connect() as first,
        office.connect() as second,
        office.connect() as third,
    ):
        first.sendall(hello())
        second.sendall(hello(rank=1))
        assert is_hung_up_on(third)
        assert {office.word().rank, office.word().rank} == {0, 1}
        assert office.box.grievances == {Grievance.CROWD: 1}
        assert "2 connections already" in caplog.text
        second.close()
        office.wait(lambda: is_welcome(office))


def is_welcome(office: Office) -> bool:
    with office.connect() as connection:
        connection.settimeout(0.2)
        try:
            connection.sendall(hello(rank=9))
            return connection.recv(1) != b""
        except TimeoutError:
            return True
        except OSError:
            return False


def test_who_does_not_say_who_it_is_is_dropped(office: Office, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "HELLO_SECONDS", 0.1)
    with office.connect() as known, office.connect() as silent:
        known.sendall(hello())
        assert is_hung_up_on(silent)
        known.sendall(line(kind="alive"))
        assert [office.word().kind for _ in range(2)] == [Kind.HELLO, Kind.ALIVE]
    assert office.box.grievances == {Grievance.SILENCE: 1}


def test_a_worker_that_comes_back_takes_the_place_of_its_old_connection(office: Office) -> None:
    with office.connect() as old, office.connect() as new, office.connect() as neighbour:
        neighbour.sendall(hello(rank=1))
        assert office.word().rank == 1
        old.sendall(hello())
        assert office.word().kind is Kind.HELLO
        new.sendall(hello())
        assert office.word().kind is Kind.HELLO
        assert is_hung_up_on(old)
        new.sendall(line(kind="alive"))
        assert office.word() == Word(KEY, 0, Kind.ALIVE)
        neighbour.sendall(line(kind="alive"))
        assert office.word() == Word(KEY, 1, Kind.ALIVE)


def test_complaints_are_counted_and_not_repeated_in_the_log(
    office: Office, caplog: pytest.LogCaptureFixture
) -> None:
    for _ in range(5):
        with office.connect() as connection:
            connection.sendall(b"nonsense\n")
            assert is_hung_up_on(connection)
    assert office.box.grievances == {Grievance.GARBAGE: 5}
    assert len(caplog.records) == 1
    assert caplog.records[0].levelno == logging.WARNING
    assert "nonsense" in caplog.text


def test_a_fault_of_the_taker_silences_nobody(tmp_path: Path) -> None:
    taken: queue.Queue[Kind] = queue.Queue()

    def take(word: Word) -> None:
        if word.kind is Kind.HELLO:
            raise RuntimeError("no room")
        taken.put(word.kind)

    box = Mailbox(SECRET, take, tmp_path / "mailbox")
    box.open()
    with closing(box), socket.socket(socket.AF_UNIX) as connection:
        connection.connect(str(tmp_path / "mailbox"))
        connection.sendall(hello() + line(kind="alive"))
        assert taken.get(timeout=5) is Kind.ALIVE
        assert box.grievances == {Grievance.FAULT: 1}


def test_what_was_said_before_the_end_is_delivered(tmp_path: Path) -> None:
    office = Office(tmp_path / "mailbox")
    with office.connect() as connection:
        connection.sendall(hello())
        office.word()
        connection.sendall(line(kind="done", work=4))
        office.box.close()
    assert office.word() == Word(KEY, 0, Kind.DONE, work=4)


def test_the_socket_is_its_owners_alone_and_gone_at_the_end(tmp_path: Path) -> None:
    office = Office(tmp_path / "a" / "b" / "mailbox")
    assert stat.S_IMODE(office.path.stat().st_mode) == 0o600
    assert stat.S_IMODE(office.path.parent.stat().st_mode) == 0o700
    assert [entry.name for entry in office.path.parent.iterdir()] == ["mailbox"]
    threads = threading.active_count()
    office.box.close()
    assert not office.path.exists()
    assert threading.active_count() == threads - 1


def test_the_socket_of_a_killed_service_is_replaced(tmp_path: Path) -> None:
    path = tmp_path / "mailbox"
    with socket.socket(socket.AF_UNIX) as killed:
        killed.bind(str(path))
    office = Office(path)
    with office.connect() as connection:
        connection.sendall(hello())
        assert office.word().kind is Kind.HELLO
    later = Office(path)
    office.box.close()  # a box that was replaced leaves the newer one's socket alone
    with later.connect() as connection:
        connection.sendall(hello())
        assert later.word().kind is Kind.HELLO
    later.box.close()


def test_a_file_that_is_no_socket_is_not_replaced(tmp_path: Path) -> None:
    path = tmp_path / "mailbox"
    path.write_text("mine")
    with pytest.raises(BadOption, match=r"is no socket\. Move it away"):
        Office(path)
    assert path.read_text() == "mine"


def test_a_path_too_long_for_a_socket_is_told(tmp_path: Path) -> None:
    with pytest.raises(BadOption, match=r"has 1.. bytes.*Choose a shorter folder"):
        Mailbox(SECRET, print, Path("/") / ("x" * 120))


def test_a_secret_that_can_be_guessed_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="can be guessed"):
        Mailbox(b"short", print, tmp_path / "mailbox")


@pytest.mark.parametrize("host", ["127.0.0.1", "::1"])
def test_on_tcp_workers_are_told_the_address(tmp_path: Path, host: str) -> None:
    office = Office(tmp_path / "mailbox", tcp=(host, 0))
    with closing(office.box):
        env = office.box.env_for(KEY)
        place, _, port = env["GADGET_REPORT"].removeprefix("tcp:").rpartition(":")
        assert place.strip("[]") == host
        with socket.create_connection((host, int(port)), timeout=5) as connection:
            connection.sendall(hello(token=env["GADGET_TOKEN"]))
            assert office.word() == Word(KEY, 0, Kind.HELLO)
        with socket.create_connection((host, int(port)), timeout=5) as stranger:
            stranger.sendall(b"GET / HTTP/1.1\r\n\r\n")
            assert is_hung_up_on(stranger)


def test_workers_may_be_told_an_address_that_leads_here_and_is_not_ours(tmp_path: Path) -> None:
    office = Office(tmp_path / "mailbox", tcp=("192.0.2.7", 0))
    with closing(office.box):
        told, _, port = office.box.env_for(KEY)["GADGET_REPORT"].rpartition(":")
        assert told == "tcp:192.0.2.7"
        with socket.create_connection(("127.0.0.1", int(port)), timeout=5) as connection:
            connection.sendall(hello(token=office.box.env_for(KEY)["GADGET_TOKEN"]))
            assert office.word() == Word(KEY, 0, Kind.HELLO)


def test_a_port_in_use_is_told(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        address = taken.getsockname()
        with pytest.raises(BadOption, match=f"127.0.0.1:{address[1]}: cannot be listened on"):
            Office(tmp_path / "mailbox", tcp=address)


def test_without_a_free_file_descriptor_those_who_are_there_are_heard(tmp_path: Path) -> None:
    code = f"""
import queue, resource, socket, sys
from pathlib import Path
sys.path.insert(0, {str(Path(__file__).parents[3])!r})
from tests.unit.backends.test_mailbox import Grievance, Office, hello, line
office = Office(Path("mailbox"))
known = office.connect()
known.sendall(hello())
office.word()
waiting = []
resource.setrlimit(resource.RLIMIT_NOFILE, (known.fileno() + 20, known.fileno() + 20))
try:
    while True:
        waiting.append(office.connect())
except OSError:
    pass
office.wait(lambda: Grievance.CROWD in office.box.grievances)
known.sendall(line(kind="alive"))
assert office.word().kind == "alive"
for each in waiting[1:]:
    each.close()
waiting[0].sendall(hello(rank=3))
assert office.word().rank == 3
"""
    subprocess.run([sys.executable, "-c", code], cwd=tmp_path, check=True, timeout=120)
