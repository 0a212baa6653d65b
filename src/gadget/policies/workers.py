"""The fixed number of workers that FIFO and Tiresias give a job, "a number within [1, 10]" (Sec. VI).

The paper's numbers may exceed N_i ≤ 5, which (2) forbids. So policies clip them to what the job allows.
To compare without clipping, raise the jobs' limits instead, with `raise_limits`: then a ring of the drawn
size is one that the job allows, and what leaves a policy stays feasible.
"""

from collections.abc import Iterable
from dataclasses import replace
from hashlib import blake2b

from gadget.errors import BadOption
from gadget.model.job import Job
from gadget.policies.placement import Candidate, Placement

MOST_DRAWN = 10


def draw_workers(name: str, draw: int) -> int:
    """A number from 1 to 10, each as likely; it follows from job name and `draw` alone.

    So it is the same in every slot, process and policy, whatever other jobs there are.
    """
    digest = blake2b(f"{draw}:{name}".encode(), digest_size=8).digest()
    return 1 + int.from_bytes(digest, "big") * MOST_DRAWN // 2**64


def find_fixed_workers(job: Job, workers: int | None, draw: int | None) -> int:
    """The number fixed for a job, not clipped yet: given, drawn, or else the job's maximum."""
    if workers is not None:
        return workers
    return job.max_workers if draw is None else draw_workers(job.name, draw)


def list_wanted(placement: Placement, workers: int | None, draw: int | None) -> list[tuple[Candidate, int]]:
    """All jobs that could run, by arrival, each with its fixed number, clipped to what it can have."""
    return [
        (candidate, candidate.clip(find_fixed_workers(candidate.job, workers, draw)))
        for candidate in placement.find_candidates()
    ]


def raise_limits(jobs: Iterable[Job], draw: int) -> tuple[Job, ...]:
    """The jobs with `max_workers` raised to the number that `draw` gives each, where that is larger."""
    return tuple(replace(job, max_workers=max(job.max_workers, draw_workers(job.name, draw))) for job in jobs)


def check_fixed_workers(policy: str, workers: int | None, draw: int | None) -> None:
    """Raise BadOption unless the options of a policy fix the number in one way."""
    if workers is not None and workers < 1:
        raise BadOption(f"{policy}: workers is {workers}. Give 1 or more.")
    if workers is not None and draw is not None:
        raise BadOption(f"{policy}: workers and draw both fix the number of workers. Keep one of the two.")
