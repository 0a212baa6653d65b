"""States ↔ documents. Prices are left out: they are no part of what happened, and a start goes without."""

from collections.abc import Iterable, Mapping
from typing import Any, Literal

import msgspec
from msgspec import UNSET, UnsetType

from gadget.engine.json_text import parse_document
from gadget.engine.state import JobRecord, JobStatus, State, find_available
from gadget.errors import InvalidValue
from gadget.model import documents as doc
from gadget.model.decoding import Shared, build_active, build_allocation, build_live_cluster
from gadget.model.encoding import active_document, cluster_document, plain_number, ring_document

VERSION = 1


class _RecordDoc(doc.Document, frozen=True, kw_only=True):
    """A job's life; what is left out is as it was on arrival."""

    job: doc.ActiveJobDoc
    arrived: int
    first_start: int | UnsetType = UNSET
    ring_since: int | UnsetType = UNSET
    slots_served: float = 0
    resizes: int = 0
    restarts: int = 0
    work_lost: float = 0
    failures: int = 0
    last_failure: str | UnsetType = UNSET
    ending: JobStatus | UnsetType = UNSET
    ended: int | UnsetType = UNSET
    finished_at: float | UnsetType = UNSET


class _StateDoc(doc.Document, frozen=True, kw_only=True):
    """Where things stand; what is available follows from the cluster, `down` and `drained`."""

    version: Literal[1]
    cluster: doc.LiveClusterDoc
    slots: int
    slot_seconds: float
    slot: int
    decided: bool
    is_measured: bool
    down: list[str]
    drained: list[str]
    active: list[_RecordDoc]
    ended: list[_RecordDoc]
    running: list[doc.RingDoc]
    restarting: list[str]


_DECODER = msgspec.json.Decoder(_StateDoc)
_ON_ARRIVAL = {
    name: JobRecord.__dataclass_fields__[name].default
    for name in _RecordDoc.__struct_fields__
    if name not in ("job", "arrived")
}


def state_document(state: State) -> dict[str, Any]:
    """The state without its prices: plain dictionaries, lists, text and numbers."""
    return {
        "version": VERSION,
        "cluster": cluster_document(state.cluster),
        "slots": state.slots,
        "slot_seconds": plain_number(state.slot_seconds),
        "slot": state.slot,
        "decided": state.decided,
        "is_measured": state.is_measured,
        "down": sorted(state.down),
        "drained": sorted(state.drained),
        "active": [record_document(record) for record in state.active.values()],
        "ended": [record_document(record) for record in state.ended.values()],
        "running": [ring_document(ring) for ring in state.running.rings],
        "restarting": sorted(state.restarting),
    }


def record_document(record: JobRecord) -> dict[str, Any]:
    """A job and its life so far; what never happened is left out."""
    document = {"job": active_document(record.active), "arrived": record.arrived}
    for name, usual in _ON_ARRIVAL.items():
        value = getattr(record, name)
        if value != usual:
            document[name] = value if isinstance(value, str) else plain_number(value)
    return document


def build_state(body: str | bytes) -> State:
    """The state that a document tells; InvalidValue says what is wrong with it."""
    found = parse_document(_DECODER, body, VERSION)
    cluster = build_live_cluster(found.cluster, "cluster")
    down, drained = frozenset(found.down), frozenset(found.drained)
    shared = Shared()
    return State(
        cluster,
        found.slots,
        found.slot_seconds,
        slot=found.slot,
        decided=found.decided,
        down=down,
        drained=drained,
        available=find_available(cluster, down, drained),
        active=_build_records("active", found.active, shared),
        ended=_build_records("ended", found.ended, shared),
        running=build_allocation(found.running),
        restarting=frozenset(found.restarting),
        is_measured=found.is_measured,
    )


def _build_records(key: str, found: Iterable[_RecordDoc], shared: Shared) -> Mapping[str, JobRecord]:
    records = {}
    for place, one in enumerate(found):
        try:
            active = build_active(one.job, shared)
        except InvalidValue as error:
            raise error.within(f"{key}[{place}].job") from None
        history = {name: value for name in _ON_ARRIVAL if (value := getattr(one, name)) is not UNSET}
        records[active.job.name] = JobRecord(active, one.arrived, **history)
    return records
