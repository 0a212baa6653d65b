"""Whole schedules of tiny scenarios, slot by slot, to be compared with what was worked out by hand."""

from gadget.model.cluster import Cluster, Server
from gadget.model.job import Job
from gadget.model.resources import Resources
from gadget.model.snapshot import Scenario
from gadget.model.utility import Linear
from gadget.policies.registry import build_policy
from gadget.simulate.loop import run_slots

LINEAR = Linear()


def one_server(gpus: float) -> Cluster:
    return Cluster((Server("s", Resources({"gpu": gpus})),), (), ())


def a_job(name: str, most: int, least: int = 1, **more) -> Job:
    return Job(
        **{
            "name": name,
            "resources": Resources({"gpu": 1}),
            "min_workers": least,
            "max_workers": most,
            "utility": LINEAR,
            "bandwidth_gbps": 1,
            "rate": 1,
            **more,
        }
    )


def rigid(name: str, workers: int, **more) -> Job:
    return a_job(name, workers, workers, **more)


def run(policy: str, cluster: Cluster, jobs: tuple[Job, ...], slots: int) -> list[dict[str, int]]:
    """The ring sizes of each slot, by job."""
    steps = run_slots(Scenario(cluster, jobs, slots), build_policy(policy))
    return [{ring.job: ring.size for ring in step.decision.allocation.rings} for step in steps]
