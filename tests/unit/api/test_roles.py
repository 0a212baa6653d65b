"""Who may do what: every route but health and readiness needs a token with the right role."""

import logging
from pathlib import Path

import httpx
import pytest

from gadget.api.app import build_app
from gadget.api.client import Client
from gadget.api.home import ADDRESS_FILE, TOKEN_FILE
from gadget.api.server import Server
from gadget.backends.backend import EngineAway
from gadget.errors import BadFile, GadgetError, JournalFailed, Unreachable
from gadget.model.codec import read_jobs_content
from gadget.store.tokens import Holder, Role, Tokens, ensure_local_token
from tests.live_service import BEGAN, FoldedService, KnownTokens
from tests.unit.api.conftest import Ask
from tests.unit.api.worlds import RACKS, job, jobs

ROLES = ("viewer", "user", "operator", "admin")
READING = ["/jobs", "/jobs/a", "/jobs/a/logs", "/queue", "/nodes", "/nodes/s0", "/decisions", "/decisions/0",
           "/events", "/snapshot", "/status", "/metrics"]  # fmt: skip
LEAST = [
    *(("GET", path, "viewer") for path in READING),
    ("POST", "/jobs", "user"),
    ("DELETE", "/jobs/a", "user"),
    ("POST", "/nodes/s0/drain", "operator"),
    ("POST", "/nodes/s0/undrain", "operator"),
]


@pytest.fixture
def filled(service: FoldedService, ask: Ask) -> Ask:
    """Something to ask for behind every route."""
    ask("POST", "/jobs", content=jobs(job("a")), headers={"Content-Type": "application/json"})
    service.decide()
    service.logs["a", 0] = "hello\n"
    return ask


@pytest.mark.parametrize(("method", "path", "least"), LEAST)
def test_a_role_may_do_what_it_should_and_no_more(method: str, path: str, least: str, filled: Ask) -> None:
    for role in ROLES:
        content = jobs(job(f"by-{role}")) if path == "/jobs" and method == "POST" else None
        answer = filled(method, path, role, content=content)
        if ROLES.index(role) < ROLES.index(least):
            assert answer.status_code == 403
            assert answer.json()["error"] == "not-allowed"
            assert f"needs the role {least}" in answer.json()["message"]
        else:
            assert answer.status_code not in (401, 403)


@pytest.mark.parametrize(("method", "path", "least"), LEAST)
def test_without_a_known_token_nothing_is_answered(method: str, path: str, least: str, filled: Ask) -> None:
    for headers, word in (
        ({}, "no-token"),
        ({"Authorization": "Bearer nobody"}, "bad-token"),
        ({"Authorization": "Basic YWRtaW46YWRtaW4="}, "no-token"),
        ({"Authorization": "Bearer"}, "no-token"),
    ):
        answer = filled(method, path, None, headers=headers)
        assert answer.status_code == 401
        assert answer.json()["error"] == word
        assert answer.headers["WWW-Authenticate"].startswith("Bearer")


def test_every_route_is_in_this_table(ask: Ask) -> None:
    described = ask("GET", "/openapi.json", None).json()["paths"]
    routes = {
        (method.upper(), path.removeprefix("/v1").replace("{name}", "x").replace("{slot}", "0"))
        for path, methods in described.items()
        for method in methods
    }
    known = {(method, path.replace("/a", "/x").replace("/s0", "/x")) for method, path, _ in LEAST}
    assert routes - known == {("GET", "/health"), ("GET", "/ready"), ("GET", "/events/stream")}
    assert ask("GET", "/events/stream", None).status_code == 401


def test_health_and_readiness_need_no_token(ask: Ask) -> None:
    assert ask("GET", "/health", None).json() == {"status": "ok"}
    assert ask("GET", "/ready", None).json() == {"ready": True, "faults": []}


def test_metrics_may_be_open_to_everybody() -> None:
    server = Server(build_app(FoldedService(RACKS), KnownTokens(), metrics_need_token=False))
    server.start()
    try:
        answer = httpx.get(f"{server.address}/v1/metrics", trust_env=False)
        assert answer.status_code == 200
        assert httpx.get(f"{server.address}/v1/status", trust_env=False).status_code == 401
    finally:
        server.stop()


def test_tokens_of_the_store_let_in_until_they_are_revoked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("GADGET_ADDRESS", raising=False)
    monkeypatch.delenv("GADGET_TOKEN", raising=False)
    with Tokens(tmp_path / "tokens.db") as tokens:
        local = ensure_local_token(tokens, tmp_path / TOKEN_FILE, BEGAN)
        viewer = tokens.make_token("ann", Role.VIEWER, BEGAN)
        server = Server(build_app(FoldedService(RACKS), tokens))
        server.start()
        try:
            (tmp_path / ADDRESS_FILE).write_text(server.address)
            with Client.find(home=tmp_path) as client:
                assert client.post("/nodes/s0/drain")["done"] == "drained"
            with Client(server.address, viewer) as client:
                assert client.get("/status")["servers"]["drained"] == 1
                with pytest.raises(Unreachable, match="the token of ann has viewer"):
                    client.post("/nodes/s0/undrain")
                tokens.revoke_token("ann")
                with pytest.raises(Unreachable, match="not known here"):
                    client.get("/status")
        finally:
            server.stop()
    assert local not in (viewer, "")


class BrokenTokens:
    def find_token(self, text: str) -> Holder | None:
        raise BadFile(f"/secret/place: cannot be used to find {text}")


class BrokenService(FoldedService):
    def view(self):  # type: ignore[no-untyped-def]
        raise RuntimeError("secret of the inside")

    def read_entries(self, after: int, limit: int):  # type: ignore[no-untyped-def]
        raise JournalFailed(f"/secret/place: no room for {limit} after {after}")


@pytest.mark.parametrize(
    ("tokens", "path", "status", "word"),
    [
        (BrokenTokens(), "/status", 503, "not-now"),
        (KnownTokens(), "/status", 500, "fault"),
        (KnownTokens(), "/decisions?before=5", 503, "not-now"),
    ],
)
def test_a_fault_inside_tells_nothing_of_the_inside(
    tokens: KnownTokens, path: str, status: int, word: str, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.ERROR)
    server = Server(build_app(BrokenService(RACKS), tokens))
    server.start()
    try:
        answer = httpx.get(
            f"{server.address}/v1{path}", headers={"Authorization": "Bearer admin"}, trust_env=False
        )
    finally:
        server.stop()
    assert (answer.status_code, answer.json()["error"]) == (status, word)
    assert "secret" not in answer.text
    assert "secret" in caplog.text


class BusyService(FoldedService):
    def cancel(self, job: str) -> None:
        raise GadgetError(f"the service is busy and did not come to {job}. Try again.")

    def read_log(self, job: str, *, rank: int, lines: int) -> str:
        raise EngineAway(f"no answer about rank {rank} of {job}, {lines} lines")


def test_who_cannot_now_says_so() -> None:
    service = BusyService(RACKS)
    service.submit(read_jobs_content(Path("jobs.json"), jobs(job("a"))))
    server = Server(build_app(service, KnownTokens()))
    server.start()
    try:
        with httpx.Client(headers={"Authorization": "Bearer admin"}, trust_env=False) as client:
            busy = client.delete(f"{server.address}/v1/jobs/a")
            away = client.get(f"{server.address}/v1/jobs/a/logs")
    finally:
        server.stop()
    assert (busy.status_code, busy.json()["error"]) == (503, "not-now")
    assert busy.json()["message"] == "the service is busy and did not come to a. Try again."
    assert (away.status_code, away.json()["error"]) == (503, "not-now")
    assert "the engine does not answer" in away.json()["message"]


def test_what_is_no_route_is_answered_like_everything_else(ask: Ask) -> None:
    for method, path, status, word in (
        ("GET", "/nothing", 404, "not-found"),
        ("PUT", "/jobs", 405, "wrong-method"),
        ("GET", "/jobs/", 404, "not-found"),
    ):
        answer = ask(method, path)
        assert (answer.status_code, answer.json()["error"]) == (status, word)
