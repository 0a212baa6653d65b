"""Why a job gets no ring, where the reason lies in the job, the cluster or what is free, not in a policy."""

from gadget.model.decision import Reason, Waiting
from gadget.model.job import ActiveJob, Job
from gadget.model.snapshot import Snapshot
from gadget.solve.greedy import largest_ring
from gadget.solve.network import Network
from gadget.solve.room import Room


def find_obstacle(
    snapshot: Snapshot, network: Network, active: ActiveJob, most: int | None = None
) -> Waiting | None:
    """Why the job could not run even on an empty cluster; None if it could.

    `most` is the largest ring that the empty cluster holds, where that is known already.
    """
    job = active.job
    if snapshot.slot < job.arrival:
        return Waiting(job.name, Reason.NOT_ARRIVED, f"arrives in slot {job.arrival}")
    if active.is_complete(snapshot.slot_seconds):
        return Waiting(job.name, Reason.DONE, f"has done all its work of {job.work:g}")
    if not active.largest_ring:
        return Waiting(
            job.name,
            Reason.BUDGET,
            f"its budget pays for {active.worker_slots_left:g} more worker-slots; "
            f"its smallest ring takes {job.min_workers}",
        )
    if not Room(network).fits(job).any():
        return Waiting(job.name, Reason.TOO_LARGE, _why_no_server(network, job))
    most = largest_ring(network, job) if most is None else most
    if most < job.min_workers:
        return Waiting(
            job.name,
            Reason.TOO_LARGE,
            f"its smallest ring has {job.min_workers} workers; the empty cluster holds {most} on servers "
            f"joined by {job.bandwidth_gbps:g} Gbps",
        )
    return None


def explain_no_place(room: Room, job: Job, workers: int) -> Waiting:
    """Why a ring of that many workers finds no place in what is free."""
    fitting = int(room.fits(job).sum())
    if fitting < workers:
        needs = ", ".join(f"{amount:g} {name}" for name, amount in job.resources.items())
        return Waiting(
            job.name,
            Reason.CAPACITY,
            f"a ring of {workers} needs {needs} a worker; {fitting} workers fit on what is free",
        )
    return Waiting(
        job.name,
        Reason.BANDWIDTH,
        f"{fitting} workers fit on what is free, but no {workers} of them are joined by links "
        f"with {job.bandwidth_gbps:g} Gbps free",
    )


def _why_no_server(network: Network, job: Job) -> str:
    for name, amount in job.resources.items():
        if not amount:
            continue
        if name not in network.resource_number:
            return f"no server has {name}"
        most = network.capacity[:, network.resource_number[name]].max(initial=0)
        if amount > most:
            return f"needs {amount:g} {name} a worker; the largest server has {most:g}"
    needs = ", ".join(f"{amount:g} {name}" for name, amount in job.resources.items())
    return f"no server has {needs} together"
