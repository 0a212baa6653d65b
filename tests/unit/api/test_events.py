"""The journal over HTTP: pages, and a stream that can be resumed anywhere."""

import json
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import httpx
import pytest

from gadget.api import event_stream
from gadget.api.app import build_app
from gadget.api.client import Client
from gadget.api.server import Server
from gadget.engine.event_documents import build_event
from gadget.engine.events import Noted, RingFailed
from tests.live_service import BEGAN, FoldedService, KnownTokens
from tests.unit.api.conftest import Ask
from tests.unit.api.worlds import RACKS, job, jobs

TOKEN = {"Authorization": "Bearer viewer"}


@contextmanager
def stream(address: str, path: str = "/events/stream", **headers: str) -> Iterator[Iterator[str]]:
    with (
        httpx.Client(trust_env=False, timeout=10) as client,
        client.stream("GET", f"{address}/v1{path}", headers={**TOKEN, **headers}) as response,
    ):
        assert response.status_code == 200
        assert response.headers["content-type"].startswith("text/event-stream")
        yield response.iter_lines()


def take(lines: Iterator[str], count: int) -> list[dict[str, Any]]:
    """The next events, checked to be framed as the specification has it."""
    events: list[dict[str, Any]] = []
    frame: dict[str, str] = {}
    for line in lines:
        if line:
            key, _, value = line.partition(": ")
            frame[key] = value
        elif "data" in frame:
            data = json.loads(frame["data"])
            assert frame["id"] == str(data["number"])
            assert frame["event"] == data["kind"]
            events.append(data)
            frame = {}
            if len(events) == count:
                break
        else:
            frame = {}
    return events


def test_pages_hold_what_happened_in_order(ask: Ask, service: FoldedService) -> None:
    ask("POST", "/jobs", content=jobs(job("a")))
    service.decide()
    service.serve({"a": 3.0})
    page = ask("GET", "/events", params={"after": 0}).json()
    assert page["last"] == 3
    assert [(one["number"], one["kind"]) for one in page["events"]] == [
        (1, "jobs-arrived"),
        (2, "slot-decided"),
        (3, "slot-served"),
    ]
    assert page["events"][0]["at"] == BEGAN + 1
    for shown, entry in zip(page["events"], service.read_entries(0, 10), strict=True):
        assert build_event(shown["kind"], json.dumps(shown["event"])) == entry.event
    assert [
        one["number"] for one in ask("GET", "/events", params={"after": 1, "limit": 1}).json()["events"]
    ] == [2]


def test_without_a_number_a_page_holds_the_newest(ask: Ask, service: FoldedService) -> None:
    service.happen(*(Noted("test", str(n)) for n in range(1, 8)))
    numbers = [one["number"] for one in ask("GET", "/events", params={"limit": 3}).json()["events"]]
    assert numbers == [5, 6, 7]
    for query in ({"after": -1}, {"limit": 0}, {"limit": 10**6}, {"after": "x"}, {"after": 10**30}):
        assert ask("GET", "/events", params=query).status_code == 422


def test_text_that_is_no_utf8_does_not_break_the_answer(ask: Ask, service: FoldedService) -> None:
    ask("POST", "/jobs", content=jobs(job("a")))
    service.decide()
    service.happen(RingFailed("a", 0.0, "said \udcff"))
    assert ask("GET", "/events").json()["events"][-1]["event"]["reason"] == "said \udcff"


def test_a_stream_tells_what_comes(address: str, service: FoldedService) -> None:
    service.happen(Noted("test", "before"))
    with stream(address) as lines:
        next(lines)  # it is open
        threading.Timer(
            0.3, lambda: service.happen(Noted("test", "one\ntwo"), Noted("test", "three"))
        ).start()
        events = take(lines, 2)
    assert [(one["number"], one["event"]["text"]) for one in events] == [(2, "one\ntwo"), (3, "three")]


@pytest.mark.parametrize("path", ["/events/stream?after=2", "/events?after=2"])
def test_a_stream_begins_where_it_is_told(path: str, address: str, service: FoldedService) -> None:
    service.happen(*(Noted("test", str(n)) for n in range(1, 6)))
    with stream(address, path, Accept="text/event-stream") as lines:
        assert [one["number"] for one in take(lines, 3)] == [3, 4, 5]


def test_a_stream_goes_on_behind_the_last_event_that_was_seen(address: str, service: FoldedService) -> None:
    service.happen(*(Noted("test", str(n)) for n in range(1, 900)))
    seen: list[int] = []
    while len(seen) < 899:
        # Cut again and again, each time at another place.
        last = {"Last-Event-ID": str(seen[-1])} if seen else {}
        with stream(address, "/events/stream?after=0", **last) as lines:
            seen += [one["number"] for one in take(lines, min(250, 899 - len(seen)))]
    assert seen == list(range(1, 900))


def test_an_id_that_is_no_number_of_ours_is_no_reason_to_break(address: str, service: FoldedService) -> None:
    service.happen(Noted("test", "1"), Noted("test", "2"))
    for odd in ("x", "-1", "", "1.5"):
        with stream(address, "/events/stream?after=1", **{"Last-Event-ID": odd}) as lines:
            assert [one["number"] for one in take(lines, 1)] == [2]
    with stream(address, **{"Last-Event-ID": "9" * 40}) as lines:
        assert ": still here" in (next(lines) for _ in range(6))


def test_a_silent_stream_shows_that_it_is_alive(address: str) -> None:
    with stream(address) as lines:
        assert ": still here" in (next(lines) for _ in range(6))


def test_a_stream_ends_with_the_service_and_in_time(service: FoldedService) -> None:
    server = Server(build_app(service, KnownTokens()))
    server.start()
    with stream(server.address) as lines:
        next(lines)
        began = time.monotonic()
        stopping = threading.Thread(target=server.stop)
        stopping.start()
        assert list(lines)[-2:] == [": the service ends", ""]
        stopping.join()
    assert time.monotonic() - began < 3


def test_a_stream_whose_client_is_gone_gives_its_place_back(
    monkeypatch: pytest.MonkeyPatch, service: FoldedService, ask: Ask, address: str
) -> None:
    monkeypatch.setattr(event_stream, "MOST_STREAMS", 1)
    with stream(address) as lines:
        next(lines)
        answer = ask("GET", "/events/stream")
        assert (answer.status_code, answer.json()["error"]) == (503, "too-many-streams")
    deadline = time.monotonic() + 5
    while True:
        try:
            with stream(address) as lines:
                next(lines)
            return
        except AssertionError:
            assert time.monotonic() < deadline
            time.sleep(0.1)


def test_the_client_follows(address: str, service: FoldedService) -> None:
    service.happen(*(Noted("test", str(n)) for n in range(1, 4)))
    with Client(address, "viewer") as client:
        found = client.follow(after=1)
        assert [next(found)["number"] for _ in range(2)] == [2, 3]


def test_a_client_that_may_not_is_told(service: FoldedService) -> None:
    server = Server(build_app(FoldedService(RACKS), KnownTokens()))
    server.start()
    try:
        with Client(server.address, "nobody") as client, pytest.raises(Exception, match="not known"):
            next(client.follow())
    finally:
        server.stop()
