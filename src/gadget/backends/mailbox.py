"""Where workers report to: sockets on which only workers that know the token of their ring are heard."""

import errno
import hashlib
import hmac
import logging
import os
import selectors
import socket
import struct
import threading
import time
from collections import Counter
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import msgspec
from msgspec import Meta, Struct

from gadget.backends.backend import RingKey
from gadget.backends.words import Kind, Word
from gadget.errors import BadOption, printable

MOST_LINE_BYTES = 65_536
HELLO_SECONDS = 10.0
"""How long a connection may stay without having said who speaks."""
_LEAST_SECRET_BYTES = 16
_MOST_PATH_BYTES = 100  # Linux has 107, and a name for a moment needs a few
_MOST_READ_BYTES = 65_536
_MOST_TEXT = 2_000
_COMPLAINT_SECONDS = 5.0

_log = logging.getLogger(__name__)

_Count = Annotated[int, Meta(ge=0, le=2**53)]
_Amount = Annotated[float, Meta(ge=0, le=1e15)]


class Grievance(StrEnum):
    """Why somebody was not listened to."""

    GARBAGE = "garbage"
    """What it said is no word."""
    LENGTH = "length"
    """It said a line without an end."""
    TOKEN = "token"
    """It does not know the token of the ring that it claims to be of."""
    SILENCE = "silence"
    """It came and did not say who it is."""
    CROWD = "crowd"
    """There are too many connections."""
    FAULT = "fault"
    """What it said was not taken by the service."""


class _Hello(Struct):
    job: str
    ring: _Count
    rank: _Count
    token: str
    kind: str


class _Said(Struct):
    kind: Kind
    work: _Amount | None = None
    step: _Count | None = None
    step_seconds: _Amount | None = None
    text: str = ""


_HELLO = msgspec.json.Decoder(_Hello)
_SAID = msgspec.json.Decoder(_Said)
_NEEDS_WORK = {Kind.RESUMED, Kind.PROGRESS, Kind.CHECKPOINT, Kind.DONE}


@dataclass(slots=True, eq=False)
class _Speaker:
    """A connection, and who speaks on it once that is known."""

    socket: socket.socket
    since: float
    unread: bytearray = field(default_factory=bytearray)
    who: tuple[RingKey, int] | None = None


class _Refused(Exception):
    def __init__(self, grievance: Grievance, text: str) -> None:
        super().__init__(text)
        self.grievance = grievance


def ring_token(secret: bytes, key: RingKey) -> str:
    """What the workers of this ring show to be heard."""
    return hmac.new(secret, str(key).encode(), hashlib.sha256).hexdigest()


class Mailbox:
    """Listens on a socket file, and on a TCP address where workers run on other machines.

    Words are delivered from its one thread, in the order in which each worker said them.
    """

    def __init__(
        self,
        secret: bytes,
        deliver: Callable[[Word], None],
        unix_path: Path,
        tcp: tuple[str, int] | None = None,
        *,
        most_connections: int = 4096,
    ) -> None:
        if len(secret) < _LEAST_SECRET_BYTES:
            raise ValueError(
                f"A secret of {len(secret)} bytes can be guessed; {_LEAST_SECRET_BYTES} at least"
            )
        unix_path = unix_path.absolute()
        if (length := len(os.fsencode(unix_path))) > _MOST_PATH_BYTES:
            raise BadOption(
                f"{unix_path}: has {length} bytes; the path of a socket has {_MOST_PATH_BYTES} at most. "
                "Choose a shorter folder."
            )
        self._secret = secret
        self._deliver = deliver
        self._unix_path = unix_path
        self._tcp = tcp
        self._most_connections = most_connections
        self._selector = selectors.DefaultSelector()
        self._listeners: list[socket.socket] = []
        self._speakers: dict[socket.socket, _Speaker] = {}
        self._known: dict[tuple[RingKey, int], _Speaker] = {}
        self._grievances: Counter[Grievance] = Counter()
        self._complain_at = self._look_at = 0.0
        self._inode: int | None = None
        self._thread: threading.Thread | None = None
        self._bell, self._rope = socket.socketpair()

    @property
    def address(self) -> str:
        """Where workers are told to report."""
        if self._tcp is None:
            return f"unix:{self._unix_path}"
        host, port = self._tcp
        return f"tcp:[{host}]:{port}" if ":" in host else f"tcp:{host}:{port}"

    @property
    def grievances(self) -> Mapping[Grievance, int]:
        """How many were not listened to, by cause, since the start."""
        return dict(self._grievances)

    def env_for(self, key: RingKey) -> dict[str, str]:
        """What the workers of a ring must know to be heard; complete once the mailbox is open."""
        return {"GADGET_REPORT": self.address, "GADGET_TOKEN": ring_token(self._secret, key)}

    def open(self) -> None:
        """Listen, in place of whoever listened on the same socket file before."""
        try:
            self._bind_unix()
            if self._tcp is not None:
                self._tcp = self._bind_tcp(*self._tcp)
        except BaseException:
            self.close()
            raise
        for listener in self._listeners:
            listener.listen(1024)
            listener.setblocking(False)
            self._selector.register(listener, selectors.EVENT_READ)
        self._selector.register(self._bell, selectors.EVENT_READ)
        self._thread = threading.Thread(target=self._run, name="mailbox", daemon=True)
        self._thread.start()

    def close(self) -> None:
        """Listen no more; what was said before is delivered."""
        if self._thread is not None:
            self._rope.send(b".")
            self._thread.join()
        for speaker in list(self._speakers.values()):
            self._part_from(speaker)
        for each in (*self._listeners, self._bell, self._rope):
            each.close()
        self._selector.close()
        with suppress(FileNotFoundError):
            if self._unix_path.stat().st_ino == self._inode:
                self._unix_path.unlink()

    def _bind_unix(self) -> None:
        path = self._unix_path
        # Made aside and moved into place: workers find the old one or the new one, open to its owner.
        aside = path.with_name(f"{os.getpid():x}~")
        try:
            if not path.parent.exists():
                path.parent.mkdir(mode=0o700, parents=True)
            if path.exists() and not path.is_socket():
                raise BadOption(f"{path}: is there, and is no socket. Move it away or choose another folder.")
            aside.unlink(missing_ok=True)
            self._listeners.append(socket.socket(socket.AF_UNIX))
            self._listeners[-1].bind(str(aside))
            aside.chmod(0o600)
            aside.replace(path)
            self._inode = path.stat().st_ino
        except OSError as error:
            raise BadOption(
                f"{path}: no socket can be made there ({error.strerror}). Choose another folder."
            ) from None

    def _bind_tcp(self, host: str, port: int) -> tuple[str, int]:
        family = socket.AF_INET6 if ":" in host else socket.AF_INET
        try:
            try:
                listener = socket.create_server((host, port), family=family)
            except OSError as error:
                if error.errno != errno.EADDRNOTAVAIL:
                    raise
                # It is not this machine's: something before it, a Service of Kubernetes say, passes words on.
                _log.warning("%s is not this machine's: workers are heard on all its addresses", host)
                listener = socket.create_server(("", port), family=family)
            self._listeners.append(listener)
        except OSError as error:
            raise BadOption(
                f"{host}:{port}: cannot be listened on ({error.strerror}). Choose another with --report."
            ) from None
        return host, self._listeners[-1].getsockname()[1]

    def _run(self) -> None:
        is_ending = False
        while not is_ending:
            for ready, _ in self._selector.select(1.0):
                found = ready.fileobj
                assert isinstance(found, socket.socket)
                if found is self._bell:
                    is_ending = True
                elif found in self._listeners:
                    self._accept(found)
                elif found in self._speakers:  # not parted from a moment ago
                    self._hear(self._speakers[found])
            self._drop_the_silent()
        for speaker in list(self._speakers.values()):
            self._hear(speaker)

    def _accept(self, listener: socket.socket) -> None:
        try:
            connection, _ = listener.accept()
        except (BlockingIOError, ConnectionError):
            return
        except OSError as error:  # no file descriptor is free; the others must be heard meanwhile
            self._complain(Grievance.CROWD, f"no connection can be taken ({error.strerror})")
            time.sleep(0.05)
            return
        if len(self._speakers) >= self._most_connections:
            self._complain(Grievance.CROWD, f"there are {len(self._speakers)} connections already")
            connection.close()
            return
        connection.setblocking(False)
        if connection.family != socket.AF_UNIX:
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)  # machines vanish without a word
        self._speakers[connection] = _Speaker(connection, time.monotonic())
        self._selector.register(connection, selectors.EVENT_READ)

    def _hear(self, speaker: _Speaker) -> None:
        try:
            chunk = speaker.socket.recv(_MOST_READ_BYTES)
            if not chunk:
                raise ConnectionResetError
            *lines, rest = bytes(speaker.unread + chunk).split(b"\n")
            speaker.unread = bytearray(rest)
            for line in (*lines, rest):
                if len(line) > MOST_LINE_BYTES:
                    raise _Refused(Grievance.LENGTH, f"a line has more than {MOST_LINE_BYTES} bytes")
            for line in lines:
                self._take(speaker, line)
        except BlockingIOError:
            return
        except OSError:
            self._part_from(speaker)
        except _Refused as refused:
            self._complain(refused.grievance, f"{_describe_peer(speaker.socket)}: {refused}")
            self._part_from(speaker)

    def _take(self, speaker: _Speaker, line: bytes) -> None:
        try:
            if speaker.who is None:
                self._know(speaker, _HELLO.decode(line))
                return
            said = _SAID.decode(line)
        except (msgspec.DecodeError, ValueError, RecursionError) as error:
            raise _Refused(Grievance.GARBAGE, f"{error}: {line[:80]!r}") from None
        if said.kind is Kind.HELLO or (said.kind in _NEEDS_WORK and said.work is None):
            raise _Refused(Grievance.GARBAGE, f"a word that tells nothing: {line[:80]!r}")
        key, rank = speaker.who
        text = printable(said.text[:_MOST_TEXT])
        self._hand_on(Word(key, rank, said.kind, said.work, said.step, said.step_seconds, text))

    def _know(self, speaker: _Speaker, hello: _Hello) -> None:
        key = RingKey(hello.job, hello.ring)
        expected = ring_token(self._secret, key)
        if hello.kind != Kind.HELLO or not hmac.compare_digest(expected.encode(), hello.token.encode()):
            raise _Refused(Grievance.TOKEN, f"this is not the token of {printable(str(key))[:80]}")
        speaker.who = (key, hello.rank)
        if (before := self._known.get(speaker.who)) is not None:  # the worker has come back
            self._hear(before)
            self._part_from(before)
        self._known[speaker.who] = speaker
        self._hand_on(Word(key, hello.rank, Kind.HELLO))

    def _hand_on(self, word: Word) -> None:
        try:
            self._deliver(word)
        except Exception as error:
            _log.exception("a word of %s was not taken", word.key)
            self._complain(Grievance.FAULT, f"{type(error).__name__}: {error}")

    def _drop_the_silent(self) -> None:
        if (now := time.monotonic()) < self._look_at:
            return
        self._look_at = now + 1.0
        late = [each for each in self._speakers.values() if not each.who and now - each.since > HELLO_SECONDS]
        for speaker in late:
            self._complain(Grievance.SILENCE, f"{_describe_peer(speaker.socket)}: did not say who it is")
            self._part_from(speaker)

    def _part_from(self, speaker: _Speaker) -> None:
        if self._speakers.pop(speaker.socket, None) is None:
            return
        if speaker.who is not None and self._known.get(speaker.who) is speaker:
            del self._known[speaker.who]
        self._selector.unregister(speaker.socket)
        speaker.socket.close()

    def _complain(self, grievance: Grievance, text: str) -> None:
        self._grievances[grievance] += 1
        if (now := time.monotonic()) >= self._complain_at:
            self._complain_at = now + _COMPLAINT_SECONDS
            _log.warning(
                "not listened to: %s (%d for %s so far)", text, self._grievances[grievance], grievance
            )


def _describe_peer(connection: socket.socket) -> str:
    with suppress(OSError):
        if connection.family == socket.AF_UNIX:
            found = connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, struct.calcsize("3i"))
            return f"process {struct.unpack('3i', found)[0]}"
        return "{}:{}".format(*connection.getpeername())
    return "somebody who is gone"
