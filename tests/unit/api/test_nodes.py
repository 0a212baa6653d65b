"""Servers over HTTP: what rings take of them, draining, links."""

from gadget.engine.events import ServerFailed
from tests.live_service import FoldedService
from tests.unit.api.conftest import Ask
from tests.unit.api.worlds import job, jobs


def test_servers_show_what_rings_take(ask: Ask, service: FoldedService) -> None:
    ask("POST", "/jobs", content=jobs(job("a", workers=3)))
    [ring] = service.decide().allocation.rings
    nodes = {one["name"]: one for one in ask("GET", "/nodes").json()["nodes"]}
    assert list(nodes) == ["s0", "s1", "s2", "s3"]
    for name, node in nodes.items():
        count = ring.workers.count(name)
        assert node["resources"] == {"gpu": 2}
        assert node["used"] == {"gpu": count}
        assert node["workers"] == ([{"job": "a", "workers": count, "used": {"gpu": count}}] if count else [])


def test_links_show_what_is_reserved_in_each_direction(ask: Ask, service: FoldedService) -> None:
    ask("POST", "/jobs", content=jobs(job("a", workers=8, bandwidth_gbps=2)))
    [ring] = service.decide().allocation.rings
    for server in ("s0", "s3"):
        [link] = ask("GET", f"/nodes/{server}").json()["links"]
        rack = link["to"]
        assert link["gbps"] == 10
        assert link["out_gbps"] == 2 * list(ring.hops()).count((server, rack)) > 0
        assert link["in_gbps"] == 2 * list(ring.hops()).count((rack, server)) > 0


def test_draining_and_bringing_back(ask: Ask, service: FoldedService) -> None:
    assert ask("POST", "/nodes/s1/drain").json() == {"name": "s1", "done": "drained"}
    assert service.view().state.drained == {"s1"}
    assert ask("GET", "/nodes/s1").json()["state"] == "drained"
    again = ask("POST", "/nodes/s1/drain")
    assert (again.status_code, again.json()["message"]) == (409, "server 's1' is drained already.")
    assert ask("POST", "/nodes/s1/undrain").json()["done"] == "undrained"
    assert ask("POST", "/nodes/s1/undrain").status_code == 409
    assert ask("GET", "/nodes/s1").json()["state"] == "up"


def test_a_server_that_cannot_be_reached_is_down_also_when_drained(ask: Ask, service: FoldedService) -> None:
    ask("POST", "/nodes/s1/drain")
    service.happen(ServerFailed("s1", "no answer"))
    assert ask("GET", "/nodes/s1").json()["state"] == "down"
    assert ask("GET", "/status").json()["servers"] == {"up": 3, "drained": 0, "down": 1}


def test_unknown_servers_are_not_found(ask: Ask) -> None:
    for method, path in (("GET", "/nodes/s11"), ("POST", "/nodes/s11/drain"), ("POST", "/nodes/s11/undrain")):
        answer = ask(method, path)
        assert answer.status_code == 404
        assert answer.json()["message"] == "no server is named 's11' (nearest: 's1')."
