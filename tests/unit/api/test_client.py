"""The client finds its service, and says in one line why it cannot reach it."""

import contextlib
import socket
import threading
import time
from pathlib import Path

import pytest

from gadget.api.app import build_app
from gadget.api.client import Client, quote_name
from gadget.api.home import find_home
from gadget.api.server import Server
from gadget.errors import BadInput, BadOption, GadgetError, Refused, Unreachable
from tests.live_service import FoldedService, KnownTokens
from tests.unit.api.worlds import RACKS, job, jobs


@pytest.fixture(autouse=True)
def _no_service_around(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv("GADGET_ADDRESS", raising=False)
    monkeypatch.delenv("GADGET_TOKEN", raising=False)
    monkeypatch.setenv("GADGET_HOME", str(tmp_path))


def leave_files(folder: Path, address: str, token: str = "admin") -> None:
    (folder / "address").write_text(f"{address}\n")
    (folder / "token").write_text(f"{token}\n")


def test_the_files_of_a_local_service_are_enough(address: str, tmp_path: Path) -> None:
    leave_files(tmp_path, address)
    with Client.find() as client:
        assert client.get("/status")["mode"] == "enforce"


def test_options_win_over_the_environment_and_that_over_files(
    address: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    leave_files(tmp_path, "http://127.0.0.1:9", "viewer")
    monkeypatch.setenv("GADGET_ADDRESS", address)
    monkeypatch.setenv("GADGET_TOKEN", "user")
    with Client.find() as client:
        client.post("/jobs", jobs(job("a")))
        with pytest.raises(Unreachable, match="needs the role operator"):
            client.post("/nodes/s0/drain")
    with Client.find(address.removeprefix("http://") + "/", "operator") as client:
        client.post("/nodes/s0/drain")


def test_a_local_token_is_sent_to_nobody_else(address: str, tmp_path: Path) -> None:
    leave_files(tmp_path, "http://127.0.0.1:9")
    with pytest.raises(Unreachable, match="no token is known"):
        Client.find(address)


def test_the_folder_is_that_of_the_environment_or_of_the_user(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    assert find_home() == tmp_path
    monkeypatch.delenv("GADGET_HOME")
    monkeypatch.setenv("HOME", str(tmp_path / "user"))
    assert find_home() == tmp_path / "user" / ".gadget"


def test_without_a_service_it_says_how_to_start_one(tmp_path: Path) -> None:
    with pytest.raises(Unreachable, match=r"no service runs here.*gadget serve"):
        Client.find()
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        leave_files(tmp_path, f"http://127.0.0.1:{unused.getsockname()[1]}")
        with (
            Client.find() as client,
            pytest.raises(Unreachable, match=r"no service answers there.*gadget serve"),
        ):
            client.get("/status")


@pytest.mark.parametrize(
    "address", ["ftp://x", "http://", "http://[", "http://a b", "http://x:99999", "http://x:y", "\x1b[2J"]
)
def test_what_is_no_address_is_said(address: str) -> None:
    with pytest.raises(BadOption, match="no address"):
        Client.find(address, "token")


def test_what_is_no_token_is_said() -> None:
    for token in ("a b", "ä", "a\nb"):
        with pytest.raises(BadOption, match="token"):
            Client.find("http://127.0.0.1:1", token)


def test_answers_become_errors_by_their_meaning(address: str) -> None:
    with Client(address, "nobody") as client, pytest.raises(Unreachable, match="not known here"):
        client.get("/status")
    with Client(address, "admin") as client:
        with pytest.raises(Refused, match="no job is named"):
            client.get(f"/jobs/{quote_name('a/b')}")
        with pytest.raises(BadInput, match="limit"):
            client.get("/jobs", limit=0)
        with pytest.raises(Refused, match="not drained"):
            client.post("/nodes/s0/undrain")


@pytest.mark.parametrize("status", ["404 Not Found", "200 OK", "302 Found"])
def test_somebody_else_behind_the_address_is_noticed(status: str) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:

        def answer() -> None:
            connection, _ = listener.accept()
            with connection:
                connection.recv(65536)
                connection.sendall(f"HTTP/1.1 {status}\r\nContent-Length: 2\r\n\r\nhi".encode())

        thread = threading.Thread(target=answer)
        thread.start()
        address = f"http://127.0.0.1:{listener.getsockname()[1]}"
        with Client(address, "t") as client, pytest.raises(Refused, match="no answer of a GADGET service"):
            client.get("/status")
        thread.join()


def test_a_service_that_ends_ends_what_follows_it() -> None:
    server = Server(build_app(FoldedService(RACKS), KnownTokens()))
    server.start()
    with Client(server.address, "viewer") as client:
        threading.Timer(0.3, server.stop).start()
        assert list(client.follow()) == []


def test_a_server_has_a_port_of_its_own_and_gives_it_back() -> None:
    server = Server(build_app(FoldedService(RACKS), KnownTokens()))
    server.start()
    host, port = server.address.removeprefix("http://").split(":")
    assert host == "127.0.0.1"
    taken = Server(build_app(FoldedService(RACKS), KnownTokens()), port=int(port))
    with pytest.raises(BadOption, match="cannot be listened on"):
        taken.start()
    server.stop()
    again = Server(build_app(FoldedService(RACKS), KnownTokens()), port=int(port))
    again.start()
    again.stop()
    again.stop()


class StuckService(FoldedService):
    def __init__(self) -> None:
        super().__init__(RACKS)
        self.asked, self.released = threading.Event(), threading.Event()

    def drain(self, server: str) -> None:
        self.asked.set()
        self.released.wait(20)
        super().drain(server)


def test_a_server_ends_in_time_though_the_service_is_stuck() -> None:
    service = StuckService()
    server = Server(build_app(service, KnownTokens()))
    server.start()

    def ask() -> None:
        with Client(server.address, "admin") as client, contextlib.suppress(GadgetError):
            client.post("/nodes/s0/drain")

    asking = threading.Thread(target=ask)
    asking.start()
    assert service.asked.wait(10)
    began = time.monotonic()
    server.stop(1.0)
    took = time.monotonic() - began
    service.released.set()
    asking.join(10)
    assert took < 4
    assert not asking.is_alive()


def test_a_host_that_is_none_is_said() -> None:
    with pytest.raises(BadOption, match="cannot be listened on"):
        Server(build_app(FoldedService(RACKS), KnownTokens()), host="256.0.0.1").start()
