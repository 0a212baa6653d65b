"""How evenly jobs are served: each job's service over that of an equal share, and Jain's index of these.

In a slot with n active jobs an equal share is 1/n of every resource of the standing servers. It holds
e = min(N, min_r C_r / (n·l_r)) workers of a job, taken as a fraction. Where e falls short of the job's
smallest ring m, the share is that ring for e/m of the time. The work of this share over the slots of the
job's stay is what the job's own work is divided by: 1 is an equal share, less is a job that waited or ran
small while others did not. Of a job that finished this is 1/ρ of Themis' finish-time fairness, with the crowd
that really was there. It is not capped at the job's total work: else all that finished would look alike. Only
in the slot in which a job ends does the share do no more than was left to do: else jobs that are shorter than
a slot would look starved.
"""

from collections.abc import Iterable, Mapping
from math import fsum

import numpy as np
from numpy.typing import NDArray

from gadget.model.job import Job

Floats = NDArray[np.float64]


def equal_share_work(
    job: Job,
    active: Floats,
    totals: Mapping[str, Floats],
    slot_seconds: float,
    *,
    left_at_end: float | None = None,
) -> float:
    """Work that an equal share would have done over some slots.

    For each slot `active` tells how many jobs there were and `totals` what the servers had, by resource.
    Of a job that ended in the last of them, `left_at_end` is what was left to do there.
    """
    if not len(active):
        return 0.0
    share = np.full(len(active), float(job.max_workers))
    for name, amount in job.resources.items():
        if amount:
            share = np.minimum(share, totals.get(name, 0.0) / (active * amount))
    part = np.minimum(1.0, share / job.min_workers)
    work = part * job.work_in_slot(np.maximum(share, job.min_workers), slot_seconds)
    if left_at_end is not None:
        work[-1] = min(work[-1], left_at_end)
    return float(work.sum())


def jain_index(shares: Iterable[float]) -> float | None:
    """(Σx)² / (n·Σx²) of Jain, Chiu and Hawe (1984): 1 when all are equal, 1/n when one has all.

    None where there are no shares, or nothing but zeros.
    """
    known = list(shares)
    # Scaled, so that no square overflows or vanishes; the index does not depend on the scale.
    most = max(known, default=0.0)
    if not most:
        return None
    scaled = [share / most for share in known]
    return fsum(scaled) ** 2 / (len(scaled) * fsum(share * share for share in scaled))
