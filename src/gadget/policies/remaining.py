"""How long a job still runs: what is left to do, over what a ring of some size does of it in a slot."""

from gadget.model.job import ActiveJob, Job


def find_pace(job: Job, workers: int, slot_seconds: float) -> float:
    """Work that a ring of that many workers does in a slot, none of it lost by a restart."""
    if job.rate is not None:
        return workers * job.rate
    return float(job.work_in_slot(workers, slot_seconds))


def find_slots_left(active: ActiveJob, workers: int, slot_seconds: float) -> float:
    """Slots until it ends if it runs on with that many workers: by its work, or its budget if that is less.

    A job with neither is endless.
    """
    job = active.job
    slots = active.worker_slots_left / workers
    if job.work is not None:
        left = max(job.work - active.work(slot_seconds), 0.0)
        slots = min(slots, left / find_pace(job, workers, slot_seconds))
    return slots


def find_all_slots(job: Job, workers: int, slot_seconds: float) -> float:
    """Slots that it takes from its start to its end with that many workers; infinite for an endless job."""
    slots = job.worker_slots / workers
    if job.work is not None:
        slots = min(slots, job.work / find_pace(job, workers, slot_seconds))
    return slots
