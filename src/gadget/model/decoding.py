"""Documents to values. Documents have the right keys and types; what is left to check, the values check."""

from collections.abc import Callable, Iterable
from typing import Any, TypeVar

import msgspec
from msgspec import UNSET

from gadget.errors import InvalidValue
from gadget.model import documents as doc
from gadget.model.cluster import Cluster, Link, Server
from gadget.model.decision import Decision, Status, Surrogate, Waiting
from gadget.model.job import ActiveJob, Job
from gadget.model.profile import Profile, Profiles
from gadget.model.program import Program
from gadget.model.resources import Resources
from gadget.model.ring import Allocation, Ring
from gadget.model.snapshot import Scenario, Snapshot, check_unique_jobs
from gadget.model.timing import Timing
from gadget.model.utility import Energy, Linear, Log, Sigmoid, Sqrt, Table, Utility

Value = TypeVar("Value")


def build_scenario(found: doc.ScenarioDoc) -> Scenario:
    """The scenario that a document tells."""
    shared = Shared()
    return Scenario(
        cluster=_cluster(found.cluster, shared),
        jobs=tuple(_each("jobs", found.jobs, lambda job: _job(job, shared))),
        slots=found.slots,
        slot_seconds=found.slot_seconds,
    )


def build_jobs(found: doc.JobsDoc) -> tuple[Job, ...]:
    """The jobs that a document tells."""
    return build_job_list(found.jobs)


def build_job_list(found: Iterable[doc.JobDoc]) -> tuple[Job, ...]:
    """The jobs of a list, which may be empty."""
    shared = Shared()
    jobs = tuple(_each("jobs", found, lambda job: _job(job, shared)))
    check_unique_jobs(job.name for job in jobs)
    return jobs


def build_active(found: doc.ActiveJobDoc, shared: "Shared | None" = None) -> ActiveJob:
    """The job under way that a document tells; `shared` is what it may have in common with others."""
    return _active(found, shared or Shared())


def build_snapshot(found: doc.SnapshotDoc) -> Snapshot:
    """The snapshot that a document tells."""
    shared = Shared()
    return Snapshot(
        cluster=_cluster(found.cluster, shared),
        jobs=tuple(_each("jobs", found.jobs, lambda job: _active(job, shared))),
        slot=found.slot,
        slots=found.slots,
        slot_seconds=found.slot_seconds,
        running=build_allocation(found.running),
    )


def build_decision(found: doc.DecisionDoc) -> Decision:
    """The decision that a document tells."""
    surrogate = found.surrogate
    return Decision(
        slot=found.slot,
        policy=found.policy,
        seed=found.seed,
        allocation=build_allocation(found.rings),
        waiting=tuple(Waiting(one.job, one.reason, one.detail) for one in found.waiting),
        objective=found.objective,
        upper_bound=found.upper_bound,
        status=Status(found.status),
        seconds=found.seconds,
        surrogate=None if surrogate is UNSET else Surrogate(surrogate.objective, surrogate.upper_bound),
    )


def build_profiles(found: doc.ProfilesDoc) -> Profiles:
    """The profiles that a document tells."""

    def profile(one: doc.ProfileDoc) -> Profile:
        return Profile(one.name, one.bandwidth_gbps, build_timing(one.timing))

    return Profiles(tuple(_each("profiles", found.profiles, profile)))


def build_allocation(found: Iterable[doc.RingDoc]) -> Allocation:
    """The rings that a document tells."""
    return Allocation(tuple(Ring(ring.job, ring.workers, ring.routes) for ring in found))


def build_cluster(found: doc.ClusterDoc, key: str = "") -> Cluster:
    """The cluster that a document tells; `key` is where it stands in a larger one."""
    return _cluster(found, Shared(), key)


def build_live_cluster(found: doc.LiveClusterDoc, key: str = "") -> Cluster:
    """The same of a running service: it may be empty, and need not hang together."""
    return _any_cluster(found, Shared(), key)


def _cluster(found: doc.ClusterDoc, shared: "Shared", key: str = "cluster") -> Cluster:
    cluster = _any_cluster(found, shared, key)
    if not cluster.is_connected:
        inside = cluster.reach(cluster.nodes[0])
        outside = next(node for node in cluster.nodes if node not in inside)
        raise InvalidValue(
            f"{key}.links".removeprefix("."),
            f"leave {outside!r} with no route to {cluster.nodes[0]!r}; the cluster is not connected",
            "Add the missing link",
        )
    return cluster


def _any_cluster(found: doc.ClusterDoc | doc.LiveClusterDoc, shared: "Shared", key: str) -> Cluster:
    def server(one: doc.ServerDoc) -> Server:
        return Server(one.name, shared.resources(one.resources, "resources"))

    try:
        return Cluster(
            tuple(_each("servers", found.servers, server)),
            tuple(found.switches),
            tuple(_each("links", found.links, lambda one: Link(one.ends, one.gbps))),
        )
    except InvalidValue as error:
        raise (error.within(key) if key else error) from None


def _job(found: doc.JobDoc, shared: "Shared") -> Job:
    return Job(
        name=found.name,
        resources=shared.resources(found.resources, "resources"),
        max_workers=found.workers.max,
        min_workers=found.workers.min,
        utility=_utility(found.utility),
        bandwidth_gbps=found.bandwidth_gbps,
        rate=None if found.rate is UNSET else found.rate,
        timing=None if found.timing is UNSET else build_timing(found.timing),
        arrival=found.arrival,
        budget=None if found.budget is UNSET else shared.resources(found.budget, "budget"),
        resize_cost=found.resize_cost,
        restart_seconds=None if found.restart_seconds is UNSET else found.restart_seconds,
        work=None if found.work is UNSET else found.work,
        deadline=None if found.deadline is UNSET else found.deadline,
        priority=found.priority,
        min_runtime_seconds=found.min_runtime_seconds,
        program=None if found.run is UNSET else _program(found.run),
    )


def _active(found: doc.ActiveJobDoc, shared: "Shared") -> ActiveJob:
    return ActiveJob(_job(found, shared), found.served, None if found.work_done is UNSET else found.work_done)


def _program(found: doc.ProgramDoc) -> Program:
    try:
        return Program(
            command=found.command,
            working_dir=None if found.working_dir is UNSET else found.working_dir,
            env=tuple(found.env.items()),
            checkpoint_grace_seconds=found.checkpoint_grace_seconds,
            start_seconds=found.start_seconds,
            silence_seconds=found.silence_seconds,
        )
    except InvalidValue as error:
        raise error.within("run") from None


def build_timing(found: doc.TimingDoc) -> Timing:
    """The timing that a document tells."""
    given = msgspec.structs.asdict(found)
    if found.local_gbps is UNSET:
        del given["local_gbps"]
    try:
        return Timing(**given)
    except InvalidValue as error:
        raise error.within("timing") from None


def _utility(found: doc.UtilityDoc, key: str = "utility") -> Utility:
    try:
        match found:
            case doc.SigmoidDoc():
                return Sigmoid(found.priority, found.sensitivity, found.target)
            case doc.SqrtDoc():
                return Sqrt(found.scale)
            case doc.LogDoc():
                return Log(found.scale)
            case doc.LinearDoc():
                return Linear(found.scale)
            case doc.TableDoc():
                return Table(tuple(found.points))
            case doc.EnergyDoc():
                progress = None if found.progress is UNSET else _utility(found.progress, "progress")
                return Energy(progress, found.weight, found.energy_per_work, found.quadratic, found.linear)
    except InvalidValue as error:
        raise error.within(key) from None


def _each(key: str, found: Iterable[Any], build: Callable[[Any], Value]) -> Iterable[Value]:
    """Build every item; a complaint about one gets the item's place as its prefix."""
    place = -1
    try:
        for place, item in enumerate(found):  # noqa: B007 - used in the complaint
            yield build(item)
    except InvalidValue as error:
        raise error.within(f"{key}[{place}]") from None


class Shared:
    """Equal amounts become one object: thousands of jobs ask for the same few."""

    def __init__(self) -> None:
        self._made: dict[tuple[tuple[str, float], ...], Resources] = {}

    def resources(self, amounts: dict[str, float], key: str) -> Resources:
        """These amounts, or the equal ones that were made before."""
        contents = tuple(amounts.items())
        made = self._made.get(contents)
        if made is None:
            try:
                made = self._made[contents] = Resources(amounts)
            except InvalidValue as error:
                raise error.within(key) from None
        return made
