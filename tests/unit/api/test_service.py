"""The service as a whole: status, readiness, numbers, and a description of all of it."""

import json
from collections.abc import Mapping

import jsonschema
import pytest
from prometheus_client.parser import text_string_to_metric_families

from gadget.api.metrics import Meter
from gadget.engine.events import ServerFailed
from gadget.live.view import Counts, Fault
from tests.live_service import BEGAN, FoldedService
from tests.unit.api.conftest import Ask
from tests.unit.api.worlds import job, jobs


def read_metrics(ask: Ask) -> dict[tuple[str, str], float]:
    """Samples by name and label value."""
    text = ask("GET", "/metrics").text
    return {
        (sample.name, ",".join(sample.labels.values())): sample.value
        for family in text_string_to_metric_families(text)
        for sample in family.samples
    }


def test_status_counts_what_there_is(ask: Ask, service: FoldedService) -> None:
    ask("POST", "/jobs", content=jobs(job("a", workers=6), job("b", workers=4), job("c")))
    service.decide()
    ask("DELETE", "/jobs/c")
    service.show(
        faults=(Fault("solver", BEGAN, "late"),), counts=Counts(decisions=1, ring_failures={"hung": 2})
    )
    status = ask("GET", "/status").json()
    assert (status["mode"], status["engine"], status["policy"], status["slot"]) == (
        "enforce",
        "fake",
        "fifo",
        0,
    )
    assert status["jobs"] == {"waiting": 1, "running": 1, "finished": 0, "left": 1, "refused": 0}
    assert status["servers"] == {"up": 4, "drained": 0, "down": 0}
    assert status["utilisation"] == {"gpu": 6 / 8}
    assert status["faults"] == [{"topic": "solver", "since": BEGAN, "text": "late"}]
    assert status["counts"]["ring_failures"] == {"hung": 2}
    assert status["next_decision"] == BEGAN + 30
    assert status["last_entry"] == 3
    assert status["decision"]["slot"] == 0


@pytest.mark.parametrize(("topic", "ready"), [("solver", True), ("engine", False), ("journal", False)])
def test_without_engine_or_journal_it_is_not_ready(
    topic: str, ready: bool, ask: Ask, service: FoldedService
) -> None:
    service.show(faults=(Fault(topic, BEGAN, "text with secrets"),))
    answer = ask("GET", "/ready", None)
    assert answer.status_code == (200 if ready else 503)
    assert answer.json() == {"ready": ready, "faults": [topic]}


def test_metrics_are_the_numbers_of_the_state(ask: Ask, service: FoldedService) -> None:
    ask("POST", "/jobs", content=jobs(job("a", workers=6), job("b", workers=4), job("c", workers=9)))
    service.decide()
    service.serve({"a": 40.0})
    service.decide()
    service.show(counts=Counts(decisions=2, decision_seconds=0.5, ring_failures={"worker": 3}))
    found = read_metrics(ask)
    assert found["gadget_pending_jobs", ""] == 2
    assert found["gadget_running_jobs", ""] == 1
    reasons = {label: value for (name, label), value in found.items() if name == "gadget_waiting_jobs"}
    assert sum(reasons.values()) == 2
    assert "too-large" in reasons
    assert found["gadget_utilisation", "gpu"] == 6 / 8
    assert found["gadget_utility", ""] == 40
    assert found["gadget_ring_failures_total", "worker"] == 3
    assert (found["gadget_decision_seconds_count", ""], found["gadget_decision_seconds_sum", ""]) == (2, 0.5)
    assert found["gadget_longest_wait_seconds", ""] == 30
    assert (found["gadget_job_wait_seconds_count", ""], found["gadget_job_wait_seconds_sum", ""]) == (1, 0)
    [ring] = service.view().state.running.rings
    assert found["gadget_ring_edges", ""] == 6
    racks = [int(server[1]) // 2 for server in ring.workers]
    crossing = sum(here != there for here, there in zip(racks, [*racks[1:], racks[0]], strict=True))
    assert found["gadget_cross_rack_edges", ""] == crossing > 0
    assert found["gadget_fragmentation", ""] in (0, 1)
    assert found["gadget_faults", "journal"] == 0


def test_utilisation_is_of_what_stands(ask: Ask, service: FoldedService) -> None:
    ask("POST", "/jobs", content=jobs(job("a")))
    [ring] = service.decide().allocation.rings
    idle = next(name for name in ("s0", "s1", "s2", "s3") if name not in ring.workers)
    service.happen(ServerFailed(idle))
    assert ask("GET", "/status").json()["utilisation"] == {"gpu": 2 / 6}
    assert read_metrics(ask)["gadget_servers", "down"] == 1


def test_sums_over_jobs_are_the_same_however_often_they_are_read(ask: Ask, service: FoldedService) -> None:
    for slot in range(4):
        ask("POST", "/jobs", content=jobs(job(f"a{slot}", workers=1), job(f"b{slot}", workers=1)))
        service.decide()
        service.serve({f"a{slot}": 10.0, f"b{slot}": 100.0})  # b is done
        if slot % 2:
            ask("DELETE", f"/jobs/a{slot}")
        found = read_metrics(ask)
    fresh = {
        (sample.name, ",".join(sample.labels.values())): sample.value
        for family in text_string_to_metric_families(Meter().format(service.view()).decode())
        for sample in family.samples
    }
    assert found == fresh
    assert found["gadget_utility", ""] == 4 * 110
    assert found["gadget_job_wait_seconds_count", ""] == 8
    assert found["gadget_ended_jobs_total", "finished"] == 4
    assert found["gadget_ended_jobs_total", "left"] == 2


def test_metrics_of_an_empty_service_can_be_read(ask: Ask) -> None:
    assert read_metrics(ask)["gadget_pending_jobs", ""] == 0


# Openings of the specification's own schema: what every tool relies on.
METHODS = {"get", "post", "delete"}


def references(part: object) -> list[str]:
    match part:
        case {"$ref": str(target)}:
            return [target]
        case Mapping():
            return [found for value in part.values() for found in references(value)]
        case list():
            return [found for value in part for found in references(value)]
    return []


def test_the_description_is_whole(ask: Ask) -> None:
    described = ask("GET", "/openapi.json", None).json()
    assert described["openapi"].startswith("3.1")
    schemas = described["components"]["schemas"]
    for target in references(described):
        assert target.removeprefix("#/components/schemas/") in schemas
    for path, methods in described["paths"].items():
        for method, operation in methods.items():
            assert method in METHODS
            assert operation["summary"]
            assert operation["description"]
            assert operation["tags"]
            if path not in ("/v1/health", "/v1/ready"):
                assert operation["security"]
                assert {"401", "403"} <= operation["responses"].keys()
            for parameter in operation.get("parameters", []):
                assert parameter["description"] or parameter["name"] == "Last-Event-ID"


def test_answers_are_as_described(ask: Ask, service: FoldedService) -> None:
    ask("POST", "/jobs", content=jobs(job("a"), job("b", workers=8)))
    service.decide()
    service.logs["a", 0] = "x"
    described = ask("GET", "/openapi.json", None).json()
    values = {"name": {"/v1/jobs": "a", "/v1/nodes": "s0"}, "slot": "0"}
    checked = 0
    for path, methods in described["paths"].items():
        if "get" not in methods or path.endswith("/stream"):
            continue
        content = methods["get"]["responses"]["200"]["content"]
        if "application/json" not in content:
            continue
        asked = path.replace("{slot}", values["slot"])  # type: ignore[arg-type]
        for prefix, name in values["name"].items():  # type: ignore[union-attr]
            asked = asked.replace("{name}", name) if asked.startswith(prefix) else asked
        answer = ask("GET", asked.removeprefix("/v1"))
        assert answer.status_code == 200, asked
        schema = {**content["application/json"]["schema"], "components": described["components"]}
        jsonschema.Draft202012Validator(schema).validate(answer.json())
        checked += 1
    assert checked >= 12


def test_the_example_of_a_submission_can_be_submitted(ask: Ask) -> None:
    described = ask("GET", "/openapi.json", None).json()
    body = described["paths"]["/v1/jobs"]["post"]["requestBody"]["content"]["application/json"]
    content = json.dumps(body["example"]).encode()
    assert ask("POST", "/jobs", content=content).status_code == 201
