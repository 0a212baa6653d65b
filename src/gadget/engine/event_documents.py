"""Events ↔ documents: a stable name for each kind, and a body of plain JSON with its version."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal

import msgspec
from msgspec import UNSET, UnsetType

from gadget.engine.events import (
    ClusterChanged,
    Event,
    JobFinished,
    JobLeft,
    JobsArrived,
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
from gadget.engine.json_text import parse_document
from gadget.errors import InvalidValue
from gadget.model import documents as doc
from gadget.model.decoding import build_decision, build_job_list, build_live_cluster, build_timing
from gadget.model.encoding import cluster_document, job_document, plain_number, timing_document, to_document

VERSION = 1


class _Body(doc.Document, frozen=True, kw_only=True):
    """Common to all: the version of this kind's body."""

    version: Literal[1]


class _JobsArrivedDoc(_Body, frozen=True, kw_only=True):
    jobs: list[doc.JobDoc]


class _JobDoc(_Body, frozen=True, kw_only=True):
    job: str


class _JobFinishedDoc(_JobDoc, frozen=True, kw_only=True):
    work: float
    share: float


class _WorkLostDoc(_JobDoc, frozen=True, kw_only=True):
    work: float
    reason: str


class _RingFailedDoc(_WorkLostDoc, frozen=True, kw_only=True):
    share: float


class _SpeedMeasuredDoc(_JobDoc, frozen=True, kw_only=True):
    rate: float | UnsetType = UNSET
    timing: doc.TimingDoc | UnsetType = UNSET


class _ServerDoc(_Body, frozen=True, kw_only=True):
    server: str


class _ServerFailedDoc(_ServerDoc, frozen=True, kw_only=True):
    reason: str


class _ClusterChangedDoc(_Body, frozen=True, kw_only=True):
    cluster: doc.LiveClusterDoc
    slot_seconds: float


class _DecisionDoc(_Body, frozen=True, kw_only=True):
    decision: doc.DecisionDoc


class _SeenDoc(doc.Document, frozen=True):
    job: str
    work: float
    lost: float


class _SlotServedDoc(_Body, frozen=True, kw_only=True):
    slot: int
    share: float
    seen: tuple[_SeenDoc, ...] | UnsetType = UNSET


class _NotedDoc(_Body, frozen=True, kw_only=True):
    topic: str
    text: str


@dataclass(frozen=True)
class _Kind:
    """How the events of one kind are written and read."""

    event: type[Event]
    shape: type[_Body]
    build: Callable[[Any], Event]

    @cached_property
    def decoder(self) -> msgspec.json.Decoder[_Body]:
        return msgspec.json.Decoder(self.shape)


def _build_speed(found: _SpeedMeasuredDoc) -> Event:
    return SpeedMeasured(
        found.job,
        None if found.rate is UNSET else found.rate,
        None if found.timing is UNSET else build_timing(found.timing),
    )


def _build_served(found: _SlotServedDoc) -> Event:
    if found.seen is UNSET:
        return SlotServed(found.slot, None, found.share)
    return SlotServed(found.slot, tuple(Seen(s.job, s.work, s.lost) for s in found.seen), found.share)


# The names are what journals hold: they stay, whatever becomes of the classes.
_KINDS: dict[str, _Kind] = {
    "jobs-arrived": _Kind(JobsArrived, _JobsArrivedDoc, lambda d: JobsArrived(build_job_list(d.jobs))),
    "job-left": _Kind(JobLeft, _JobDoc, lambda d: JobLeft(d.job)),
    "job-finished": _Kind(JobFinished, _JobFinishedDoc, lambda d: JobFinished(d.job, d.work, d.share)),
    "ring-failed": _Kind(RingFailed, _RingFailedDoc, lambda d: RingFailed(d.job, d.work, d.reason, d.share)),
    "work-lost": _Kind(WorkLost, _WorkLostDoc, lambda d: WorkLost(d.job, d.work, d.reason)),
    "speed-measured": _Kind(SpeedMeasured, _SpeedMeasuredDoc, _build_speed),
    "server-failed": _Kind(ServerFailed, _ServerFailedDoc, lambda d: ServerFailed(d.server, d.reason)),
    "server-returned": _Kind(ServerReturned, _ServerDoc, lambda d: ServerReturned(d.server)),
    "server-drained": _Kind(ServerDrained, _ServerDoc, lambda d: ServerDrained(d.server)),
    "server-undrained": _Kind(ServerUndrained, _ServerDoc, lambda d: ServerUndrained(d.server)),
    "cluster-changed": _Kind(
        ClusterChanged,
        _ClusterChangedDoc,
        lambda d: ClusterChanged(build_live_cluster(d.cluster, "cluster"), d.slot_seconds),
    ),
    "slot-decided": _Kind(SlotDecided, _DecisionDoc, lambda d: SlotDecided(build_decision(d.decision))),
    "slot-served": _Kind(SlotServed, _SlotServedDoc, _build_served),
    "slot-observed": _Kind(SlotObserved, _DecisionDoc, lambda d: SlotObserved(build_decision(d.decision))),
    "noted": _Kind(Noted, _NotedDoc, lambda d: Noted(d.topic, d.text)),
}
_NAME_OF: dict[type[Event], str] = {kind.event: name for name, kind in _KINDS.items()}


def kind_of(event: Event) -> str:
    """The stable name of what has happened, as the journal has it."""
    return _NAME_OF[type(event)]


def event_document(event: Event) -> dict[str, Any]:
    """The event without its kind: plain dictionaries, lists, text and numbers."""
    return {"version": VERSION, **_fields_of(event)}


def build_event(kind: str, body: str | bytes) -> Event:
    """The event that a body of this kind tells; InvalidValue says what is wrong with it."""
    known = _KINDS.get(kind)
    if known is None:
        raise InvalidValue(
            "kind", f"is {kind!r}, which this release does not know", "Use the release that wrote it"
        )
    return known.build(parse_document(known.decoder, body, VERSION))


def _fields_of(event: Event) -> dict[str, Any]:
    match event:
        case JobsArrived():
            return {"jobs": [job_document(job) for job in event.jobs]}
        case SlotDecided() | SlotObserved():
            return {"decision": to_document(event.decision)}
        case SlotServed():
            return _served_fields(event)
        case ClusterChanged():
            return {
                "cluster": cluster_document(event.cluster),
                "slot_seconds": plain_number(event.slot_seconds),
            }
        case SpeedMeasured():
            return _speed_fields(event)
        case _:
            return {
                name: value if isinstance(value, str) else plain_number(value)
                for name in event.__dataclass_fields__
                if (value := getattr(event, name)) is not None
            }


def _served_fields(event: SlotServed) -> dict[str, Any]:
    fields: dict[str, Any] = {"slot": event.slot, "share": plain_number(event.share)}
    if event.seen is not None:
        fields["seen"] = [
            {"job": one.job, "work": plain_number(one.work), "lost": plain_number(one.lost)}
            for one in event.seen
        ]
    return fields


def _speed_fields(event: SpeedMeasured) -> dict[str, Any]:
    fields: dict[str, Any] = {"job": event.job}
    if event.rate is not None:
        fields["rate"] = plain_number(event.rate)
    if event.timing is not None:
        fields["timing"] = timing_document(event.timing)
    return fields
