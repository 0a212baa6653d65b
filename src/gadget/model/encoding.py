"""Values to documents. Whole numbers are written without a fraction, whatever they are in memory."""

import math
from typing import Any

from gadget.errors import InvalidValue
from gadget.model.cluster import Cluster
from gadget.model.decision import Decision
from gadget.model.documents import VERSION
from gadget.model.job import ActiveJob, Job
from gadget.model.profile import Profile, Profiles
from gadget.model.program import Program
from gadget.model.resources import Resources
from gadget.model.ring import Ring
from gadget.model.snapshot import Scenario, Snapshot
from gadget.model.timing import Timing
from gadget.model.utility import Energy, Table, Utility


def to_document(value: Scenario | Snapshot | Decision | Profiles) -> dict[str, Any]:
    """The value's document: plain dictionaries, lists, text and numbers."""
    match value:
        case Scenario():
            return {**_head(value), "jobs": [job_document(job) for job in value.jobs]}
        case Snapshot():
            document = {
                "version": VERSION,
                "slot": value.slot,
                **_head(value),
                "jobs": [active_document(active) for active in value.jobs],
            }
            if value.running.rings:
                document["running"] = [ring_document(ring) for ring in value.running.rings]
            return document
        case Decision():
            return _decision_doc(value)
        case Profiles():
            return {"version": VERSION, "profiles": [_profile_doc(one) for one in value.profiles]}


def _head(value: Scenario | Snapshot) -> dict[str, Any]:
    return {
        "version": VERSION,
        "slots": value.slots,
        "slot_seconds": plain_number(value.slot_seconds),
        "cluster": cluster_document(value.cluster),
    }


def cluster_document(cluster: Cluster) -> dict[str, Any]:
    """A cluster's part of a document."""
    return {
        "servers": [{"name": s.name, "resources": _amounts(s.resources)} for s in cluster.servers],
        "switches": list(cluster.switches),
        "links": [{"ends": list(link.ends), "gbps": plain_number(link.gbps)} for link in cluster.links],
    }


def job_document(job: Job) -> dict[str, Any]:
    """A job's part of a document."""
    document: dict[str, Any] = {
        "name": job.name,
        "arrival": job.arrival,
        "workers": {"min": job.min_workers, "max": job.max_workers},
        "resources": _amounts(job.resources),
    }
    if job.budget is not None:
        document["budget"] = _amounts(job.budget)
    document["bandwidth_gbps"] = plain_number(job.bandwidth_gbps)
    if job.rate is not None:
        document["rate"] = plain_number(job.rate)
    if job.timing is not None:
        document["timing"] = timing_document(job.timing)
    if job.resize_cost:
        document["resize_cost"] = plain_number(job.resize_cost)
    if job.restart_seconds is not None:
        document["restart_seconds"] = plain_number(job.restart_seconds)
    if job.work is not None:
        document["work"] = plain_number(job.work)
    if job.deadline is not None:
        document["deadline"] = job.deadline
    if job.priority != 1:
        document["priority"] = plain_number(job.priority)
    if job.min_runtime_seconds:
        document["min_runtime_seconds"] = plain_number(job.min_runtime_seconds)
    if job.program is not None:
        document["run"] = _program_doc(job.program)
    document["utility"] = _utility_doc(job.utility)
    return document


def _program_doc(program: Program) -> dict[str, Any]:
    document: dict[str, Any] = {"command": list(program.command)}
    if program.working_dir is not None:
        document["working_dir"] = program.working_dir
    if program.env:
        document["env"] = dict(program.env)
    return {**document, **_fields(program)}


def _profile_doc(profile: Profile) -> dict[str, Any]:
    return {
        "name": profile.name,
        "bandwidth_gbps": plain_number(profile.bandwidth_gbps),
        "timing": timing_document(profile.timing),
    }


def timing_document(timing: Timing) -> dict[str, Any]:
    """A timing's part of a document."""
    # What extends Eq. (1) is left out where it changes nothing.
    document = _fields(timing)
    return {key: value for key, value in document.items() if value or key not in ("hop_ms", "overlap")}


def active_document(active: ActiveJob) -> dict[str, Any]:
    """A job of a snapshot."""
    document = {**job_document(active.job), "served": plain_number(active.served)}
    if active.work_done is not None:
        document["work_done"] = plain_number(active.work_done)
    return document


def _utility_doc(utility: Utility) -> dict[str, Any]:
    match utility:
        case Table():
            return {
                "kind": "table",
                "points": [[plain_number(work), plain_number(value)] for work, value in utility.points],
            }
        case Energy(progress=Utility() as progress):
            return {"kind": "energy", "progress": _utility_doc(progress), **_fields(utility)}
        case _:
            return {"kind": utility.kind, **_fields(utility)}


def ring_document(ring: Ring) -> dict[str, Any]:
    """A ring's part of a document."""
    return {"job": ring.job, "workers": list(ring.workers), "routes": [list(route) for route in ring.routes]}


def _decision_doc(decision: Decision) -> dict[str, Any]:
    document = {
        "version": VERSION,
        "slot": decision.slot,
        "policy": decision.policy,
        "seed": decision.seed,
        "objective": plain_number(decision.objective),
        "upper_bound": _maybe(decision.upper_bound),
        "status": str(decision.status),
        "seconds": decision.seconds,
        "rings": [ring_document(ring) for ring in decision.allocation.rings],
        "waiting": [{"job": w.job, "reason": str(w.reason), "detail": w.detail} for w in decision.waiting],
    }
    if decision.surrogate is not None:
        document["surrogate"] = {
            "objective": plain_number(decision.surrogate.objective),
            "upper_bound": _maybe(decision.surrogate.upper_bound),
        }
    return document


def _amounts(resources: Resources) -> dict[str, float]:
    return {name: plain_number(amount) for name, amount in resources.items()}


def _fields(value: Any) -> dict[str, Any]:
    """The numeric fields of a timing or utility, under their own names."""
    return {
        name: plain_number(number)
        for name in value.__dataclass_fields__
        if isinstance(number := getattr(value, name), int | float)
    }


def plain_number(number: float) -> float:
    """A number as files hold it: finite, and whole ones without a fraction."""
    if not math.isfinite(number):
        raise InvalidValue("", f"{number} cannot be written to a file", "Give a finite number")
    number = number if isinstance(number, int) else float(number)
    return int(number) if isinstance(number, float) and number.is_integer() else number


def _maybe(number: float | None) -> float | None:
    return None if number is None else plain_number(number)
