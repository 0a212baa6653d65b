"""One pool of GPUs and a queue before it, event by event, as machine code.

A job takes exactly its GPUs or none. Every rule is an order of all jobs that are there; along it, each job
that fits beside those taken before it is taken. That set is unique, so it need not be built anew in every
event: the first job in the order that waits and would fit is started, the last ones in the order make room
for it, and so on until none is left. An event costs the logarithm of the queue for each job that it starts or
stops and for each different number of GPUs, however long the queue is and however many jobs run.

All numbers are whole: times are ticks, service is GPUs × ticks. So nothing is rounded and ties are ties.
"""

from typing import NamedTuple

import numpy as np

from gadget.solve.compiled import compiled
from gadget.solve.forest import (
    NOTHING,
    Forest,
    build_forest,
    find_first,
    find_last,
    insert,
    remove,
    weigh_before,
)
from gadget.solve.market import Integers

# Rules. Where they leave ties, the job submitted first goes first.
FIFO_BLOCKING = 0
"""By submission, never stopped; one that does not fit holds up all behind it."""
FIFO_BACKFILL = 1
"""By submission, never stopped; one that does not fit is passed over."""
LEAST_REMAINING = 2
"""By what is left of its running time."""
LEAST_ATTAINED = 3
"""By service so far. Decided in events only: between two of them nobody overtakes."""
QUEUES_BY_SUBMISSION = 4
"""By the queue that its service so far falls into; inside one by submission."""
QUEUES_RUNNING_FIRST = 5
"""By queue; inside one, running jobs stay before waiting ones, and whoever comes stands behind all."""

# Places inside a queue: running jobs, then waiting ones (new at the back, stopped ones in front), then those
# that are just demoted.
MOST_QUEUES = 256
_QUEUE = 2**54
_WAITING = 2**53
_DEMOTED = _WAITING + 2**52

# Entries of Pool.tally.
USED, STARTED, STOPPED, DEMOTED, FRONT, BACK, RAN, PEAK, BUSY, EVENTS = range(10)


class Pool(NamedTuple):
    """The jobs by submission, and where they stand."""

    submit: Integers
    gpus: Integers
    capacity: int
    rule: int
    kinds: int
    limits: Integers
    """Service from which on a job is in the next queue."""
    kind: Integers
    """Jobs of one kind have as many GPUs, or stand in one line: if its first does not fit, none does."""
    group: Integers
    """Running jobs of one group keep their order among themselves as time goes; counted on from the kinds."""
    pace: Integers
    """What a tick adds to the key of a running job, by group."""
    order: Forest
    """Waiting jobs by kind, running ones by group. The key of a running job is what it was at time 0."""
    clock: Forest
    """Running jobs by when they end or are demoted."""
    remaining: Integers
    attained: Integers
    since: Integers
    """When what it has left and attained was last put down."""
    queue: Integers
    first_start: Integers
    end: Integers
    preemptions: Integers
    started: Integers
    stopped: Integers
    demoted: Integers
    aside: Integers
    """Running jobs that made room and are still to be looked at; the first in the order last."""
    tally: Integers


def build_pool(
    submit: Integers, duration: Integers, gpus: Integers, *, capacity: int, rule: int, limits: Integers
) -> Pool:
    """A pool before anything has happened; jobs are sorted by submission, and each fits when it is alone."""
    jobs = len(submit)
    sizes, by_size = np.unique(gpus, return_inverse=True)
    alike = np.zeros(jobs, np.int64)
    kind = alike if rule == FIFO_BLOCKING else by_size.astype(np.int64)
    kinds = int(kind.max(initial=-1)) + 1
    group, pace = alike, np.array([-1 if rule == LEAST_REMAINING else 0])
    if rule == LEAST_ATTAINED:
        group, pace = kind, sizes
    blank = np.zeros((10, jobs), np.int64)
    blank[:2] = NOTHING
    return Pool(
        submit=submit,
        gpus=gpus,
        capacity=capacity,
        rule=rule,
        kinds=kinds,
        limits=limits,
        kind=kind,
        group=group + kinds,
        pace=np.concatenate([np.zeros(kinds, np.int64), pace]),
        order=build_forest(jobs, kinds + len(pace)),
        clock=build_forest(jobs, 1),
        remaining=duration.copy(),
        first_start=blank[0],
        end=blank[1],
        attained=blank[2],
        since=blank[3],
        queue=blank[4],
        preemptions=blank[5],
        started=blank[6],
        stopped=blank[7],
        demoted=blank[8],
        aside=blank[9],
        tally=np.zeros(10, np.int64),
    )


@compiled
def run_pool(pool: Pool) -> None:
    """Let all jobs run to their ends."""
    jobs = len(pool.submit)
    tally = pool.tally
    arrived, ended, now = 0, 0, 0
    while ended < jobs:
        then = now
        next_change = find_first(pool.clock, 0)
        now = pool.submit[arrived] if arrived < jobs else pool.clock.key[next_change]
        if next_change != NOTHING:
            now = min(now, pool.clock.key[next_change])
        tally[BUSY] += tally[USED] * (now - then)
        tally[EVENTS] += 1
        tally[STARTED], tally[STOPPED], tally[DEMOTED] = 0, 0, 0
        while next_change != NOTHING and pool.clock.key[next_change] == now:
            ended += _end_or_demote(pool, next_change, now)
            next_change = find_first(pool.clock, 0)
        while arrived < jobs and pool.submit[arrived] == now:
            _wait(pool, arrived, True)
            arrived += 1
        _decide(pool, now)
        _settle(pool)
        tally[PEAK] = max(tally[PEAK], tally[USED])


@compiled
def _decide(pool: Pool, now: int) -> None:
    """Start the jobs that are due, the first in the order first; those behind make room."""
    order, tally = pool.order, pool.tally
    put_aside = 0
    while True:
        chosen = _find_due(pool, now)
        if put_aside:
            held = pool.aside[put_aside - 1]
            if chosen == NOTHING or _is_before(_key_at(pool, held, now), held, order.key[chosen], chosen):
                put_aside -= 1
                if pool.gpus[held] <= pool.capacity - tally[USED]:
                    tally[USED] += pool.gpus[held]
                    insert(order, pool.group[held], held, order.key[held], pool.gpus[held])
                else:
                    _stop(pool, held, now)
                continue
        if chosen == NOTHING:
            break
        _start(pool, chosen, now)
        while tally[USED] > pool.capacity:
            held = _find_last_running(pool, now)
            remove(order, pool.group[held], held)
            tally[USED] -= pool.gpus[held]
            pool.aside[put_aside] = held
            put_aside += 1


@compiled
def _find_due(pool: Pool, now: int) -> int:
    """The first job in the order that waits and fits beside the running ones before it."""
    order = pool.order
    free = pool.capacity - pool.tally[USED]
    chosen = NOTHING
    for kind in range(pool.kinds):
        # Alike jobs behind it have no more room than it has.
        head = find_first(order, kind)
        if head == NOTHING:
            continue
        key = order.key[head]
        if chosen != NOTHING and not _is_before(key, head, order.key[chosen], chosen):
            continue
        if pool.gpus[head] > free:
            before = 0
            for group in range(pool.kinds, len(pool.pace)):
                before += weigh_before(order, group, key - pool.pace[group] * now, head)
            if pool.gpus[head] > pool.capacity - before:
                continue
        chosen = head
    return chosen


@compiled
def _find_last_running(pool: Pool, now: int) -> int:
    last = NOTHING
    for group in range(pool.kinds, len(pool.pace)):
        here = find_last(pool.order, group)
        if here != NOTHING and (
            last == NOTHING or _is_before(_key_at(pool, last, now), last, _key_at(pool, here, now), here)
        ):
            last = here
    return last


@compiled
def _is_before(key: int, job: int, other_key: int, other: int) -> bool:
    return key < other_key or (key == other_key and job < other)


@compiled
def _key_at(pool: Pool, job: int, now: int) -> int:
    """The present key of a running job."""
    key: int = pool.order.key[job] + pool.pace[pool.group[job]] * now
    return key


@compiled
def _start(pool: Pool, job: int, now: int) -> None:
    order, tally = pool.order, pool.tally
    remove(order, pool.kind[job], job)
    key = order.key[job]
    if pool.rule <= FIFO_BACKFILL:
        key = job
    insert(order, pool.group[job], job, key - pool.pace[pool.group[job]] * now, pool.gpus[job])
    pool.since[job] = now
    if pool.first_start[job] == NOTHING:
        pool.first_start[job] = now
    _set_clock(pool, job, now)
    tally[USED] += pool.gpus[job]
    pool.started[tally[STARTED]] = job
    tally[STARTED] += 1


@compiled
def _set_clock(pool: Pool, job: int, now: int) -> None:
    """The next change of a running job: its end, or that it has attained what its queue allows."""
    change = now + pool.remaining[job]
    if pool.queue[job] < len(pool.limits):
        missing = pool.limits[pool.queue[job]] - pool.attained[job]
        change = min(change, now - (-missing // pool.gpus[job]))
    insert(pool.clock, 0, job, change, 0)


@compiled
def _put_down(pool: Pool, job: int, now: int) -> None:
    """What a running job has left and attained by now."""
    ran = now - pool.since[job]
    pool.remaining[job] -= ran
    pool.attained[job] += ran * pool.gpus[job]
    pool.since[job] = now


@compiled
def _end_or_demote(pool: Pool, job: int, now: int) -> int:
    """What the clock says; 1 for an end."""
    order, tally = pool.order, pool.tally
    remove(pool.clock, 0, job)
    remove(order, pool.group[job], job)
    _put_down(pool, job, now)
    if pool.remaining[job] == 0:
        pool.end[job] = now
        tally[USED] -= pool.gpus[job]
        return 1
    while pool.queue[job] < len(pool.limits) and pool.attained[job] >= pool.limits[pool.queue[job]]:
        pool.queue[job] += 1
    place = _DEMOTED + tally[DEMOTED] if pool.rule == QUEUES_RUNNING_FIRST else job
    insert(order, pool.group[job], job, pool.queue[job] * _QUEUE + place, pool.gpus[job])
    _set_clock(pool, job, now)
    pool.demoted[tally[DEMOTED]] = job
    tally[DEMOTED] += 1
    return 0


@compiled
def _stop(pool: Pool, job: int, now: int) -> None:
    """A running job that was put aside finds no room; it waits again when the event is over."""
    remove(pool.clock, 0, job)
    _put_down(pool, job, now)
    pool.preemptions[job] += 1
    pool.stopped[pool.tally[STOPPED]] = job
    pool.tally[STOPPED] += 1


@compiled
def _wait(pool: Pool, job: int, is_behind: bool) -> None:
    """Put a job among the waiting; with running ones first, behind all of its queue or before them."""
    if pool.rule == LEAST_REMAINING:
        key = pool.remaining[job]
    elif pool.rule == LEAST_ATTAINED:
        key = pool.attained[job]
    elif pool.rule == QUEUES_RUNNING_FIRST:
        if is_behind:
            pool.tally[BACK] += 1
        else:
            pool.tally[FRONT] -= 1
        place = pool.tally[BACK] if is_behind else pool.tally[FRONT]
        key = pool.queue[job] * _QUEUE + _WAITING + place
    elif pool.rule == QUEUES_BY_SUBMISSION:
        key = pool.queue[job] * _QUEUE + job
    else:
        # Behind all that run, whose keys are their numbers.
        key = len(pool.submit) + job
    insert(pool.order, pool.kind[job], job, key, 0)


@compiled
def _settle(pool: Pool) -> None:
    """Give everyone the place that the next event finds him in."""
    tally = pool.tally
    if pool.rule != QUEUES_RUNNING_FIRST:
        for entry in range(tally[STOPPED]):
            _wait(pool, pool.stopped[entry], True)
        return
    # Stopped jobs stood before the waiting ones of their queue, demoted ones behind; all keep their order.
    for entry in range(tally[STOPPED]):
        if _is_demoted(pool, pool.stopped[entry]):
            _wait(pool, pool.stopped[entry], True)
            pool.stopped[entry] = NOTHING
    for entry in range(tally[STOPPED] - 1, -1, -1):
        if pool.stopped[entry] != NOTHING:
            _wait(pool, pool.stopped[entry], False)
    for entry in range(tally[STARTED]):
        _join_running(pool, pool.started[entry])
    for entry in range(tally[DEMOTED]):
        if _is_demoted(pool, pool.demoted[entry]):
            _join_running(pool, pool.demoted[entry])


@compiled
def _is_demoted(pool: Pool, job: int) -> bool:
    """True for a job that was demoted in this event and has no new place yet."""
    place: int = pool.order.key[job] - pool.queue[job] * _QUEUE
    return place >= _DEMOTED


@compiled
def _join_running(pool: Pool, job: int) -> None:
    """Put a running job behind those that run already in its queue."""
    pool.tally[RAN] += 1
    remove(pool.order, pool.group[job], job)
    key = pool.queue[job] * _QUEUE + pool.tally[RAN]
    insert(pool.order, pool.group[job], job, key, pool.gpus[job])
