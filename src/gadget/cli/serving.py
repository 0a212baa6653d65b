"""The live service, put together: journal, engine, solver process, mailbox and HTTP interface."""

import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

from gadget.api.app import build_app
from gadget.api.home import ADDRESS_FILE, TOKEN_FILE
from gadget.api.server import Server
from gadget.backends.backend import Backend
from gadget.backends.mailbox import Mailbox
from gadget.backends.words import Word
from gadget.errors import BadFile, JournalFailed
from gadget.files import write_whole
from gadget.live.clock import SystemClock
from gadget.live.controller import Controller
from gadget.live.decider import Apart
from gadget.live.origin import Origin, begin_live, find_origin
from gadget.live.runtime import LiveService
from gadget.live.settings import Settings
from gadget.store.journal import Journal
from gadget.store.secret import ensure_secret
from gadget.store.tokens import Tokens, ensure_local_token

JOURNAL_FILE = "journal.db"


@dataclass(frozen=True, slots=True)
class Running:
    """A service that runs."""

    service: LiveService
    address: str
    token: str
    home: Path


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """Where a service lives and listens."""

    home: Path
    host: str = "127.0.0.1"
    port: int = 0
    keep_rings: bool = True
    """Whether rings go on when the service ends."""
    mailbox: tuple[str, int] | None = None
    """A TCP address for workers of other machines."""


@contextmanager
def running_service(
    place: Place, settings: Settings, build_backend: Callable[[Origin, str], Backend]
) -> Iterator[Running]:
    """A service from here to the end of the block; the engine is built with the journal's state and name."""
    home = _make_home(place.home)
    with ExitStack() as ends:
        try:
            journal = Journal.open(home / JOURNAL_FILE, begin_live(settings.slot_seconds))
        except JournalFailed as error:  # whoever starts it can mend that
            raise BadFile(str(error)) from None
        ends.callback(journal.close)
        origin = find_origin(journal)
        tokens = Tokens(home / "tokens.db")
        ends.callback(tokens.close)
        token = ensure_local_token(tokens, home / TOKEN_FILE, time.time())
        backend = build_backend(origin, journal.instance)
        decider = Apart(settings.policy, settings.seed, settings.decision_seconds)
        ends.callback(decider.close)
        told: list[LiveService] = []

        def hear(word: Word) -> None:
            told[0].hear(word)

        mailbox = Mailbox(
            ensure_secret(home / "secret"), hear, unix_path=home / "mailbox.sock", tcp=place.mailbox
        )
        controller = Controller(
            origin,
            journal,
            backend=backend,
            decider=decider,
            clock=SystemClock(),
            settings=settings,
            env_for=mailbox.env_for,
        )
        service = LiveService(controller, journal, backend)
        told.append(service)
        mailbox.open()
        ends.callback(mailbox.close)
        service.start()
        ends.callback(lambda: service.stop(keep_rings=place.keep_rings))
        server = Server(build_app(service, tokens), host=place.host, port=place.port)
        server.start()
        ends.callback(server.stop)
        write_whole(home / ADDRESS_FILE, f"{server.address}\n".encode())
        ends.callback(lambda: (home / ADDRESS_FILE).unlink(missing_ok=True))
        yield Running(service, server.address, token, home)


def _make_home(home: Path) -> Path:
    try:
        home.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError as error:
        raise BadFile(
            f"{home}: cannot be made ({error.strerror}). Choose another folder with --home."
        ) from None
    return home.absolute()
