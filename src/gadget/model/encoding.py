"""Values to documents. Whole numbers are written without a fraction, whatever they are in memory."""

import math
from typing import Any

from gadget.errors import InvalidValue
from gadget.model.decision import Decision
from gadget.model.documents import VERSION
from gadget.model.job import ActiveJob, Job
from gadget.model.profile import Profile, Profiles
from gadget.model.resources import Resources
from gadget.model.ring import Ring
from gadget.model.snapshot import Scenario, Snapshot
from gadget.model.timing import Timing
from gadget.model.utility import Energy, Table, Utility


def to_document(value: Scenario | Snapshot | Decision | Profiles) -> dict[str, Any]:
    """The value's document: plain dictionaries, lists, text and numbers."""
    match value:
        case Scenario():
            return {**_head(value), "jobs": [_job_doc(job) for job in value.jobs]}
        case Snapshot():
            document = {
                "version": VERSION,
                "slot": value.slot,
                **_head(value),
                "jobs": [_active_doc(active) for active in value.jobs],
            }
            if value.running.rings:
                document["running"] = [_ring_doc(ring) for ring in value.running.rings]
            return document
        case Decision():
            return _decision_doc(value)
        case Profiles():
            return {"version": VERSION, "profiles": [_profile_doc(one) for one in value.profiles]}


def _head(value: Scenario | Snapshot) -> dict[str, Any]:
    cluster = value.cluster
    return {
        "version": VERSION,
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
        document["timing"] = _timing_doc(job.timing)
    if job.resize_cost:
        document["resize_cost"] = _number(job.resize_cost)
    if job.restart_seconds is not None:
        document["restart_seconds"] = _number(job.restart_seconds)
    if job.work is not None:
        document["work"] = _number(job.work)
    if job.deadline is not None:
        document["deadline"] = job.deadline
    if job.priority != 1:
        document["priority"] = _number(job.priority)
    document["utility"] = _utility_doc(job.utility)
    return document


def _profile_doc(profile: Profile) -> dict[str, Any]:
    return {
        "name": profile.name,
        "bandwidth_gbps": _number(profile.bandwidth_gbps),
        "timing": _timing_doc(profile.timing),
    }


def _timing_doc(timing: Timing) -> dict[str, Any]:
    # What extends Eq. (1) is left out where it changes nothing.
    document = _fields(timing)
    return {key: value for key, value in document.items() if value or key not in ("hop_ms", "overlap")}


def _active_doc(active: ActiveJob) -> dict[str, Any]:
    document = {**_job_doc(active.job), "served": _number(active.served)}
    if active.work_done is not None:
        document["work_done"] = _number(active.work_done)
    return document


def _utility_doc(utility: Utility) -> dict[str, Any]:
    match utility:
        case Table():
            return {
                "kind": "table",
                "points": [[_number(work), _number(value)] for work, value in utility.points],
            }
        case Energy(progress=Utility() as progress):
            return {"kind": "energy", "progress": _utility_doc(progress), **_fields(utility)}
        case _:
            return {"kind": utility.kind, **_fields(utility)}


def _ring_doc(ring: Ring) -> dict[str, Any]:
    return {"job": ring.job, "workers": list(ring.workers), "routes": [list(route) for route in ring.routes]}


def _decision_doc(decision: Decision) -> dict[str, Any]:
    document = {
        "version": VERSION,
        "slot": decision.slot,
        "policy": decision.policy,
        "seed": decision.seed,
        "objective": _number(decision.objective),
        "upper_bound": _maybe(decision.upper_bound),
        "status": str(decision.status),
        "seconds": decision.seconds,
        "rings": [_ring_doc(ring) for ring in decision.allocation.rings],
        "waiting": [{"job": w.job, "reason": str(w.reason), "detail": w.detail} for w in decision.waiting],
    }
    if decision.surrogate is not None:
        document["surrogate"] = {
            "objective": _number(decision.surrogate.objective),
            "upper_bound": _maybe(decision.surrogate.upper_bound),
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
    if not math.isfinite(number):
        raise InvalidValue("", f"{number} cannot be written to a file", "Give a finite number")
    number = number if isinstance(number, int) else float(number)
    return int(number) if isinstance(number, float) and number.is_integer() else number


def _maybe(number: float | None) -> float | None:
    return None if number is None else _number(number)
