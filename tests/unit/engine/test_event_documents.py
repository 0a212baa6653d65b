"""What journals hold: names and bodies that later releases must still read."""

import json
from typing import get_args

import pytest

from gadget.engine.event_documents import build_event, event_document, kind_of
from gadget.engine.events import (
    Cause,
    ClusterChanged,
    Event,
    JobFinished,
    JobLeft,
    JobsArrived,
    JobsForgotten,
    Noted,
    RingFailed,
    Seen,
    ServerDrained,
    ServerFailed,
    ServerReturned,
    ServerUndrained,
    SlotDecided,
    SlotObserved,
    SlotServed,
    SpeedMeasured,
    WorkLost,
)
from gadget.engine.json_text import format_document
from gadget.errors import InvalidValue
from gadget.model.cluster import Cluster
from tests.unit.engine.worlds import TIMING, decision, job, ring

JOB = (
    '{"name":"a","arrival":0,"workers":{"min":1,"max":2},"resources":{"gpu":1},"bandwidth_gbps":1,'
    '"rate":5,"utility":{"kind":"linear","scale":1}}'
)
DECISION = (
    '{"version":1,"slot":3,"policy":"test","seed":0,"objective":0,"upper_bound":null,"status":"heuristic",'
    '"seconds":0.0,"rings":[{"job":"a","workers":["a","b"],"routes":[["a","sw","b"],["b","sw","a"]]}],'
    '"waiting":[]}'
)
# Never change what stands here: it is what files out there hold.
WRITTEN: dict[str, tuple[Event, str]] = {
    "jobs-arrived": (JobsArrived((job("a"),)), f'{{"version":1,"jobs":[{JOB}]}}'),
    "job-left": (JobLeft("a"), '{"version":1,"job":"a"}'),
    "job-finished": (JobFinished("a", 7.5, 0.25), '{"version":1,"job":"a","work":7.5,"share":0.25}'),
    "ring-failed": (
        RingFailed("a", 4.0, "exit 1", Cause.HUNG, 0.5),
        '{"version":1,"job":"a","work":4,"reason":"exit 1","cause":"hung","share":0.5}',
    ),
    "work-lost": (WorkLost("a", 2.0, "no file"), '{"version":1,"job":"a","work":2,"reason":"no file"}'),
    "speed-measured": (
        SpeedMeasured("a", timing=TIMING),
        '{"version":1,"job":"a","timing":{"gradient_mb":125,"reduce_gbps":1,"forward_ms_per_sample":1000,'
        '"batch":1,"backward_ms":0,"overhead_ms":0}}',
    ),
    "server-failed": (ServerFailed("s", "silent"), '{"version":1,"server":"s","reason":"silent"}'),
    "server-returned": (ServerReturned("s"), '{"version":1,"server":"s"}'),
    "server-drained": (ServerDrained("s"), '{"version":1,"server":"s"}'),
    "server-undrained": (ServerUndrained("s"), '{"version":1,"server":"s"}'),
    "cluster-changed": (
        ClusterChanged(Cluster((), ("x", "y"), ()), 30.0),
        '{"version":1,"cluster":{"servers":[],"switches":["x","y"],"links":[]},"slot_seconds":30}',
    ),
    "slot-decided": (
        SlotDecided(decision(3, ring("a", "a", "b"))),
        f'{{"version":1,"decision":{DECISION}}}',
    ),
    "slot-served": (
        SlotServed(3, (Seen("a", 1.5, 0.0),), 0.5),
        '{"version":1,"slot":3,"share":0.5,"seen":[{"job":"a","work":1.5,"lost":0}]}',
    ),
    "slot-observed": (
        SlotObserved(decision(3, ring("a", "a", "b"))),
        f'{{"version":1,"decision":{DECISION}}}',
    ),
    "jobs-forgotten": (JobsForgotten(("a", "b")), '{"version":1,"jobs":["a","b"]}'),
    "noted": (Noted("solver", "late"), '{"version":1,"topic":"solver","text":"late"}'),
}


def test_every_kind_of_event_has_its_name():
    assert {type(event) for event, _ in WRITTEN.values()} == set(get_args(Event))


@pytest.mark.parametrize("kind", WRITTEN)
def test_version_1_is_written_and_read(kind):
    event, body = WRITTEN[kind]
    assert kind_of(event) == kind
    assert format_document(event_document(event)) == body
    assert build_event(kind, body) == event


def test_measured_rate_and_unseen_work():
    for event in (SpeedMeasured("a", rate=2.5), SlotServed(3), SlotServed(3, ())):
        assert build_event(kind_of(event), format_document(event_document(event))) == event


def test_an_unknown_kind_is_of_another_release():
    with pytest.raises(InvalidValue, match="kind is 'job-paused', which this release does not know"):
        build_event("job-paused", '{"version":1}')


@pytest.mark.parametrize("body", ['{"version":2,"job":"a","why":"new"}', '{"version":2}'])
def test_a_newer_version_says_so(body):
    with pytest.raises(InvalidValue, match="version is 2; this release reads up to 1"):
        build_event("job-left", body)


@pytest.mark.parametrize(
    "body",
    ["", "{", "[]", "null", '"a"', "{}", '{"version":1}', '{"version":1,"job":1}', '{"version":1,"job":"a"'],
)
def test_a_body_that_is_none_is_refused(body):
    with pytest.raises(InvalidValue):
        build_event("job-left", body)


@pytest.mark.parametrize("work", [float("nan"), float("inf")])
def test_what_is_no_number_is_not_written(work):
    with pytest.raises(InvalidValue, match="cannot be written"):
        event_document(JobFinished("a", work))


def test_bytes_that_are_no_utf8_survive():
    event = Noted("log", b"caf\xe9 \xff".decode(errors="surrogateescape"))
    written = format_document(event_document(event))
    assert json.loads(written.encode())
    assert build_event("noted", written) == event
