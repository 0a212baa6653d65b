"""Values ↔ files: the only reader and writer of the formats in docs/reference/formats.md.

A path that ends in .json is JSON, one in .yaml or .yml is YAML; anything else is told by its content.
"""

import json
from collections.abc import Callable, Iterable
from functools import cache
from pathlib import Path
from typing import Any, TypeVar

import jiter
from pydantic import TypeAdapter, ValidationError

from gadget.errors import BadFile, InvalidValue
from gadget.files import read_bytes, write_whole
from gadget.model import documents as doc
from gadget.model.cluster import Cluster, Link, Server
from gadget.model.complaint import complain_of_shape, complain_of_value
from gadget.model.decision import Decision, Status, Surrogate, Waiting
from gadget.model.job import ActiveJob, Job
from gadget.model.resources import Resources
from gadget.model.ring import Allocation, Ring
from gadget.model.snapshot import DEFAULT_SLOT_SECONDS, Scenario, Snapshot
from gadget.model.timing import Timing
from gadget.model.utility import Energy, Linear, Log, Sigmoid, Sqrt, Table, Utility
from gadget.model.yaml_text import YamlError, format_yaml, parse_yaml

Value = TypeVar("Value")

DOCUMENTS: dict[str, Any] = {
    "scenario": doc.ScenarioDoc,
    "snapshot": doc.SnapshotDoc,
    "decision": doc.DecisionDoc,
}


def read_scenario(path: Path | str) -> Scenario:
    """The scenario in a file; BadFile says what is wrong with it."""
    return _read(Path(path), "scenario", _scenario)


def read_snapshot(path: Path | str) -> Snapshot:
    """The snapshot in a file; BadFile says what is wrong with it."""
    return _read(Path(path), "snapshot", _snapshot)


def read_decision(path: Path | str) -> Decision:
    """The decision in a file; BadFile says what is wrong with it."""
    return _read(Path(path), "decision", _decision)


def write(path: Path | str, value: Scenario | Snapshot | Decision) -> None:
    """Write a value to a file, whole or not at all; YAML unless the path ends in .json."""
    target = Path(path)
    text = format_json(value) if target.suffix.lower() == ".json" else format_yaml(to_document(value))
    write_whole(target, text.encode())


def format_json(value: Scenario | Snapshot | Decision, *, indent: int | None = 2) -> str:
    """The value's document as JSON text."""
    return json.dumps(to_document(value), ensure_ascii=False, indent=indent, allow_nan=False) + "\n"


@cache
def schema_of(kind: str) -> dict[str, Any]:
    """The JSON Schema of scenario, snapshot or decision."""
    return doc.build_schema(_adapter(kind), f"GADGET {kind}, version {doc.VERSION}")


@cache
def _adapter(kind: str) -> TypeAdapter[Any]:
    return TypeAdapter(DOCUMENTS[kind])


def _read(path: Path, kind: str, build: Callable[[Any], Value]) -> Value:
    content = read_bytes(path)
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise BadFile(
            f"{path}: is not UTF-8 text (byte {error.start}). Give a {kind} as JSON or YAML."
        ) from None
    if not text.strip():
        raise BadFile(f"{path}: is empty. Give a {kind} as JSON or YAML.")
    raw = _parse(path, text, kind)
    try:
        return build(_adapter(kind).validate_python(raw))
    except ValidationError as error:
        raise complain_of_shape(path, text, schema_of(kind), error.errors()[0]) from None
    except InvalidValue as error:
        raise complain_of_value(path, text, error) from None


def _parse(path: Path, text: str, kind: str) -> Any:
    suffix = path.suffix.lower()
    try:
        if suffix == ".json" or (suffix not in (".yaml", ".yml") and text.lstrip()[0] in "{["):
            # NaN and Infinity pass here, so that the check can name the key they stand at.
            return jiter.from_json(text.encode(), allow_inf_nan=True, catch_duplicate_keys=True)
        return parse_yaml(text)
    except ValueError as error:
        raise BadFile(f"{path}: is not JSON: {error}. Give a {kind} as JSON or YAML.") from None
    except YamlError as error:
        where = f"{path}:{error.line}" if error.line else f"{path}"
        raise BadFile(f"{where}: is not a {kind} as YAML: {error}.") from None


# Documents to values. The documents have passed their schema: keys and types can be relied on.


def _scenario(found: doc.ScenarioDoc) -> Scenario:
    resources = _Shared()
    return Scenario(
        cluster=_cluster(found["cluster"], resources),
        jobs=tuple(_each("jobs", found["jobs"], lambda job: _job(job, resources))),
        slots=found["slots"],
        slot_seconds=found.get("slot_seconds", DEFAULT_SLOT_SECONDS),
    )


def _snapshot(found: doc.SnapshotDoc) -> Snapshot:
    resources = _Shared()

    def active(job: doc.ActiveJobDoc) -> ActiveJob:
        return ActiveJob(_job(job, resources), job.get("served", 0), job.get("work_done"))

    return Snapshot(
        cluster=_cluster(found["cluster"], resources),
        jobs=tuple(_each("jobs", found["jobs"], active)),
        slot=found["slot"],
        slots=found["slots"],
        slot_seconds=found.get("slot_seconds", DEFAULT_SLOT_SECONDS),
        running=Allocation(tuple(map(_ring, found.get("running", [])))),
    )


def _decision(found: doc.DecisionDoc) -> Decision:
    surrogate = found.get("surrogate")
    return Decision(
        slot=found["slot"],
        policy=found["policy"],
        seed=found["seed"],
        allocation=Allocation(tuple(map(_ring, found["rings"]))),
        waiting=tuple(Waiting(**waiting) for waiting in found["waiting"]),
        objective=found["objective"],
        upper_bound=found["upper_bound"],
        status=found["status"],
        seconds=found["seconds"],
        surrogate=Surrogate(**surrogate) if surrogate is not None else None,
    )


def _cluster(found: doc.ClusterDoc, resources: "_Shared") -> Cluster:
    def server(one: doc.ServerDoc) -> Server:
        return Server(one["name"], resources.of(one["resources"], "resources"))

    def link(one: doc.LinkDoc) -> Link:
        return Link((one["ends"][0], one["ends"][1]), one["gbps"])

    try:
        cluster = Cluster(
            tuple(_each("servers", found["servers"], server)),
            tuple(found.get("switches", [])),
            tuple(_each("links", found.get("links", []), link)),
        )
    except InvalidValue as error:
        raise error.within("cluster") from None
    if not cluster.is_connected:
        inside = cluster.reach(cluster.nodes[0])
        outside = next(node for node in cluster.nodes if node not in inside)
        raise InvalidValue(
            "cluster.links",
            f"leave {outside!r} with no route to {cluster.nodes[0]!r}; the cluster is not connected",
            "Add the missing link",
        )
    return cluster


def _job(found: doc.JobDoc, resources: "_Shared") -> Job:
    timing = found.get("timing")
    budget = found.get("budget")
    workers = found["workers"]
    return Job(
        name=found["name"],
        resources=resources.of(found["resources"], "resources"),
        max_workers=workers["max"],
        min_workers=workers.get("min", 1),
        utility=_utility(found["utility"]),
        bandwidth_gbps=found["bandwidth_gbps"],
        rate=found.get("rate"),
        timing=_timing(timing) if timing is not None else None,
        arrival=found.get("arrival", 0),
        budget=resources.of(budget, "budget") if budget is not None else None,
    )


def _timing(found: doc.TimingDoc) -> Timing:
    try:
        return Timing(**found)
    except InvalidValue as error:
        raise error.within("timing") from None


_KINDS: dict[str, type[Utility]] = {kind.kind: kind for kind in (Sqrt, Log, Linear, Sigmoid)}


def _utility(found: Any) -> Utility:
    fields = {key: value for key, value in found.items() if key != "kind"}
    try:
        match found["kind"]:
            case "table":
                return Table(tuple((work, value) for work, value in fields["points"]))
            case "energy":
                progress = fields.pop("progress", None)
                return Energy(progress=_utility(progress) if progress is not None else None, **fields)
            case kind:
                return _KINDS[kind](**fields)
    except InvalidValue as error:
        raise error.within("utility") from None


def _ring(found: doc.RingDoc) -> Ring:
    return Ring(found["job"], tuple(found["workers"]), tuple(tuple(route) for route in found["routes"]))


def _each(key: str, found: Iterable[Any], build: Callable[[Any], Value]) -> Iterable[Value]:
    """Build every item; a complaint about one gets the item's place as its prefix."""
    place = -1
    try:
        for place, item in enumerate(found):  # noqa: B007 - used in the complaint
            yield build(item)
    except InvalidValue as error:
        raise error.within(f"{key}[{place}]") from None


class _Shared:
    """Equal amounts become one object: thousands of jobs ask for the same few."""

    def __init__(self) -> None:
        self._made: dict[tuple[tuple[str, float], ...], Resources] = {}

    def of(self, amounts: dict[str, float], key: str) -> Resources:
        contents = tuple(amounts.items())
        made = self._made.get(contents)
        if made is None:
            try:
                made = self._made[contents] = Resources(amounts)
            except InvalidValue as error:
                raise error.within(key) from None
        return made


# Values to documents. Whole numbers are written without a fraction, whatever they are in memory.


def to_document(value: Scenario | Snapshot | Decision) -> dict[str, Any]:
    """The value's document: plain dictionaries, lists, text and numbers."""
    match value:
        case Scenario():
            return {**_head(value), "jobs": [_job_doc(job) for job in value.jobs]}
        case Snapshot():
            document = {
                "version": doc.VERSION,
                "slot": value.slot,
                **_head(value),
                "jobs": [_active_doc(active) for active in value.jobs],
            }
            if value.running.rings:
                document["running"] = [_ring_doc(ring) for ring in value.running.rings]
            return document
        case Decision():
            return _decision_doc(value)


def _head(value: Scenario | Snapshot) -> dict[str, Any]:
    cluster = value.cluster
    return {
        "version": doc.VERSION,
        "slots": value.slots,
        "slot_seconds": _number(value.slot_seconds),
        "cluster": {
            "servers": [{"name": s.name, "resources": _amounts(s.resources)} for s in cluster.servers],
            "switches": list(cluster.switches),
            "links": [{"ends": list(link.ends), "gbps": _number(link.gbps)} for link in cluster.links],
        },
    }


def _job_doc(job: Job) -> dict[str, Any]:
    document: dict[str, Any] = {
        "name": job.name,
        "arrival": job.arrival,
        "workers": {"min": job.min_workers, "max": job.max_workers},
        "resources": _amounts(job.resources),
    }
    if job.budget is not None:
        document["budget"] = _amounts(job.budget)
    document["bandwidth_gbps"] = _number(job.bandwidth_gbps)
    if job.rate is not None:
        document["rate"] = _number(job.rate)
    if job.timing is not None:
        document["timing"] = _fields(job.timing)
    document["utility"] = _utility_doc(job.utility)
    return document


def _active_doc(active: ActiveJob) -> dict[str, Any]:
    document = {**_job_doc(active.job), "served": _number(active.served)}
    if active.work_done is not None:
        document["work_done"] = _number(active.work_done)
    return document


def _utility_doc(utility: Utility) -> dict[str, Any]:
    match utility:
        case Table():
            return {"kind": "table", "points": [[_number(work), _number(value)] for work, value in utility.points]}
        case Energy(progress=Utility() as progress):
            return {"kind": "energy", "progress": _utility_doc(progress), **_fields(utility)}
        case _:
            return {"kind": utility.kind, **_fields(utility)}


def _ring_doc(ring: Ring) -> dict[str, Any]:
    return {"job": ring.job, "workers": list(ring.workers), "routes": [list(route) for route in ring.routes]}


def _decision_doc(decision: Decision) -> dict[str, Any]:
    document = {
        "version": doc.VERSION,
        "slot": decision.slot,
        "policy": decision.policy,
        "seed": decision.seed,
        "objective": decision.objective,
        "upper_bound": decision.upper_bound,
        "status": str(decision.status),
        "seconds": decision.seconds,
        "rings": [_ring_doc(ring) for ring in decision.allocation.rings],
        "waiting": [{"job": w.job, "reason": str(w.reason), "detail": w.detail} for w in decision.waiting],
    }
    if decision.surrogate is not None:
        document["surrogate"] = {
            "objective": decision.surrogate.objective,
            "upper_bound": decision.surrogate.upper_bound,
        }
    return document


def _amounts(resources: Resources) -> dict[str, float]:
    return {name: _number(amount) for name, amount in resources.items()}


def _fields(value: Any) -> dict[str, Any]:
    """The numeric fields of a timing or utility, under their own names."""
    return {
        name: _number(number)
        for name in value.__dataclass_fields__
        if isinstance(number := getattr(value, name), int | float)
    }


def _number(number: float) -> float:
    return int(number) if isinstance(number, float) and number.is_integer() else number
