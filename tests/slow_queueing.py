"""One pool of GPUs, event by event, as plainly as it can be told: what the kernel is compared with.

Every job is looked at in every event, in lists, as Tiresias' simulator does it.
"""

import math
from dataclasses import dataclass, field


@dataclass
class Job:
    submit: int
    duration: int
    gpus: int
    remaining: int = 0
    place: int = 0
    attained: int = 0
    queue: int = 0
    running: bool = False
    starts: list[int] = field(default_factory=list)
    preemptions: int = 0
    end: int = -1


KEYS = {
    "fifo": lambda job: (not job.running, job.place),
    "srtf": lambda job: (job.remaining, job.place),
    "las": lambda job: (job.attained, job.place),
    "las-submission": lambda job: job.place,
    "las-running": lambda _: 0,
}


def run_slowly(rows, capacity, rule, *, backfill=True, limits=()):
    """The jobs, given as (submit, duration, gpus), after all of them have run.

    Rules: fifo, srtf, las (decided in events only), las-submission (queues, inside one by submission) and
    las-running (queues; in each, waiting jobs move behind running ones after every event).
    """
    jobs = [Job(*row, remaining=row[1]) for row in rows]
    coming = sorted(jobs, key=lambda job: job.submit)
    for place, job in enumerate(coming):
        job.place = place
    queues = [[] for _ in range(len(limits) + 1)]
    now = 0
    while coming or any(queues):
        after = find_next(coming, queues, limits, now)
        for job in running_in(queues):
            job.remaining -= after - now
            job.attained += (after - now) * job.gpus
        now = after
        end_and_demote(queues, limits, now)
        while coming and coming[0].submit == now:
            queues[0].append(coming.pop(0))
        take_in_order(
            [job for queue in queues for job in sorted(queue, key=KEYS[rule])], capacity, backfill, now
        )
        for queue in queues:
            queue.sort(key=lambda job: not job.running)
    return jobs


def running_in(queues):
    return [job for queue in queues for job in queue if job.running]


def find_next(coming, queues, limits, now):
    moments = [job.submit for job in coming[:1]]
    for job in running_in(queues):
        moments.append(now + job.remaining)
        if job.queue < len(limits):
            moments.append(now + math.ceil((limits[job.queue] - job.attained) / job.gpus))
    return min(moments)


def end_and_demote(queues, limits, now):
    for job in sorted(running_in(queues), key=lambda job: job.place):
        queue = sum(limit <= job.attained for limit in limits)
        if job.remaining == 0:
            job.end, job.running = now, False
            queues[job.queue].remove(job)
        elif queue > job.queue:
            queues[job.queue].remove(job)
            queues[queue].append(job)
            job.queue = queue


def take_in_order(order, capacity, backfill, now):
    free, blocked = capacity, False
    for job in order:
        taken = job.gpus <= free and not blocked
        blocked = blocked or not (taken or backfill)
        if taken:
            free -= job.gpus
            if not job.running:
                job.starts.append(now)
        elif job.running:
            job.preemptions += 1
        job.running = taken
