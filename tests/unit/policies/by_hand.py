"""Small clusters and jobs for schedules worked out by hand, and whole runs of them."""

from gadget.model.cluster import Cluster, Link, Server
from gadget.model.decision import Decision
from gadget.model.job import ActiveJob, Job
from gadget.model.resources import Resources
from gadget.model.ring import Allocation, Ring
from gadget.model.snapshot import Scenario, Snapshot
from gadget.model.utility import Linear
from gadget.policies.policy import ask
from gadget.policies.registry import build_policy
from gadget.simulate.loop import run_slots

# More than any link has: a ring of such a job keeps to one server.
THICK = 99.0


def star(*gpus: int, gbps: float = 10) -> Cluster:
    """Servers a, b, … with so many GPUs behind one switch."""
    names = "abcdefgh"[: len(gpus)]
    return Cluster(
        tuple(Server(name, Resources({"gpu": n})) for name, n in zip(names, gpus, strict=True)),
        ("sw",),
        tuple(Link((name, "sw"), gbps) for name in names),
    )


def one_server(gpus: float) -> Cluster:
    return Cluster((Server("s", Resources({"gpu": gpus})),), (), ())


def a_job(name: str, most: int, least: int = 1, **more: object) -> Job:
    """An elastic job."""
    return job(name, most, least=least, **more)


def rigid(name: str, workers: int, **more: object) -> Job:
    return job(name, workers, **more)


def job(
    name: str,
    most: int,
    *,
    work: float | None = None,
    least: int | None = None,
    arrival: int = 0,
    **more: object,
) -> Job:
    """A rigid job of so many workers, or from `least` on; a worker does 1 in a slot unless told otherwise."""
    fields = {"resources": Resources({"gpu": 1}), "bandwidth_gbps": 1, "rate": 1, "utility": Linear(), **more}
    return Job(
        name=name,
        arrival=arrival,
        min_workers=most if least is None else least,
        max_workers=most,
        work=work,
        **fields,  # type: ignore[arg-type]
    )


def decide(
    policy: str, cluster: Cluster, *jobs: Job | ActiveJob, running: tuple[Ring, ...] = (), slot: int = 5
) -> Decision:
    """One slot of up to a hundred."""
    actives = tuple(one if isinstance(one, ActiveJob) else ActiveJob(one) for one in jobs)
    return ask(build_policy(policy), Snapshot(cluster, actives, slot, 100, running=Allocation(running)), 0)


def run(policy: str, cluster: Cluster, *jobs: Job, slots: int) -> list[dict[str, int]]:
    """The sizes of all rings, slot by slot."""
    scenario = Scenario(cluster, jobs, slots)
    return [sizes(step.decision) for step in run_slots(scenario, build_policy(policy))]


def sizes(decision: Decision) -> dict[str, int]:
    return {ring.job: ring.size for ring in decision.allocation.rings}


def reasons(decision: Decision) -> dict[str, str]:
    return {one.job: one.reason for one in decision.waiting}


def places(decision: Decision) -> dict[str, tuple[str, ...]]:
    return {ring.job: ring.workers for ring in decision.allocation.rings}
