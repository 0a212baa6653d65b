"""One pool of GPUs, event by event, as slowly and plainly as it can be told; what the kernel is compared with.

Every job is looked at in every event, in lists, as Tiresias' simulator does it.
"""

import math
from dataclasses import dataclass, field


@dataclass
class Job:
    number: int
    submit: int
    duration: int
    gpus: int
    remaining: int = 0
    attained: int = 0
    queue: int = 0
    running: bool = False
    starts: list[int] = field(default_factory=list)
    preemptions: int = 0
    end: int = -1


def run_slowly(rows, capacity, rule, *, backfill=True, limits=()):
    """The jobs, given as (submit, duration, gpus), after all of them have run.

    Rules: fifo, srtf, las (decided in events only), las-arrival (queues, inside one by submission) and
    las-running (queues; in each, pending jobs move behind running ones after every event).
    """
    jobs = [Job(n, *row, remaining=row[1]) for n, row in enumerate(rows)]
    coming = sorted(jobs, key=lambda job: job.submit)
    place = {job.number: n for n, job in enumerate(coming)}
    queues = [[] for _ in range(len(limits) + 1)]
    now = 0
    while any(job.end < 0 for job in jobs):
        moments = [job.submit for job in coming[:1]]
        for job in sum(queues, []):
            if job.running:
                moments.append(now + job.remaining)
                if rule.startswith("las-") and job.queue < len(limits):
                    moments.append(now + math.ceil((limits[job.queue] - job.attained) / job.gpus))
        after = min(moments)
        for job in sum(queues, []):
            if job.running:
                job.remaining -= after - now
                job.attained += (after - now) * job.gpus
        now = after
        for queue in queues:
            for job in [one for one in queue if one.running and one.remaining == 0]:
                job.end, job.running = now, False
                queue.remove(job)
        demoted = [
            job
            for queue in queues
            for job in queue
            if job.queue < sum(limit <= job.attained for limit in limits) and rule.startswith("las-")
        ]
        for job in sorted(demoted, key=lambda job: place[job.number]):
            queues[job.queue].remove(job)
            job.queue = sum(limit <= job.attained for limit in limits)
            queues[job.queue].append(job)
        while coming and coming[0].submit == now:
            queues[0].append(coming.pop(0))
        order = []
        for queue in queues:
            keys = {
                "fifo": lambda job: (not job.running, place[job.number]),
                "srtf": lambda job: (job.remaining, place[job.number]),
                "las": lambda job: (job.attained, place[job.number]),
                "las-arrival": lambda job: place[job.number],
                "las-running": lambda job: 0,
            }
            order += sorted(queue, key=keys[rule])
        free, blocked = capacity, False
        for job in order:
            takes = job.gpus <= free and not blocked
            if not takes and not backfill:
                blocked = True
            if takes:
                free -= job.gpus
                if not job.running:
                    job.starts.append(now)
            elif job.running:
                job.preemptions += 1
            job.running = takes
        for queue in queues:
            queue.sort(key=lambda job: not job.running)
    return jobs
