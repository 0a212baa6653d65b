"""Gangs planned one after the other on the lanes of servers, packed or spread: the plan of SJF-BCO.

A server has lanes, each busy up to some slot; a worker takes as many of them as its share of the server. The
workers of a ring start together, when the last of their lanes is idle.
"""

import math
from typing import NamedTuple

import numpy as np

from gadget.solve.compiled import compiled
from gadget.solve.market import Floats, Integers


class Gangs(NamedTuple):
    """The jobs to be planned, in order."""

    size: Integers
    slots: Floats
    """How long each runs if it is alone."""
    lanes: Integers
    """Lanes that a worker takes on each server, (jobs × servers); 0 where none fits."""


class Lanes(NamedTuple):
    """The servers as they are now."""

    start: Integers
    """Where the lanes of each server begin; one entry more than there are servers."""
    busy: Floats
    """Slots until each lane is idle, rising on every server."""
    spanning: Integers
    """Rings on each server that reach beyond it."""


class Costs(NamedTuple):
    """What slows a ring down, each relative to its time alone."""

    spread: float
    """λ: a ring that is spread looks for its lanes on servers with so many times as many as it needs."""
    overhead: float
    """For each server beyond the first."""
    contention: float
    """For each other ring that reaches beyond one of its servers."""


class Rule(NamedTuple):
    """What a plan keeps to."""

    packed: int
    """κ: the largest ring that is packed."""
    limit: float
    """θ: no lane is planned beyond it, a ring counted as if alone."""


class Plan(NamedTuple):
    """When each job begins, and its workers on each server, (jobs × servers)."""

    begin: Floats
    workers: Integers


@compiled
def plan_gangs(gangs: Gangs, lanes: Lanes, costs: Costs, rule: Rule, plan: Plan) -> float:
    """Fill in the plan; the slot in which the last job ends, infinite if a job finds no place in the limit.

    Rings of up to `packed` workers go where they begin soonest on one server, the tightest of these; if none
    holds them, on as few as can be. Larger ones go to the least busy lanes of the least busy servers.
    """
    servers = len(lanes.start) - 1
    busy, spanning = lanes.busy.copy(), lanes.spanning.copy()
    able = np.zeros(servers, np.int64)
    end = 0.0
    for job in range(len(gangs.size)):
        size, slots, need, mine = gangs.size[job], gangs.slots[job], gangs.lanes[job], plan.workers[job]
        mine[:] = 0
        for server in range(servers):
            able[server] = _count_able(
                busy[lanes.start[server] : lanes.start[server + 1]], need[server], size, rule.limit - slots
            )
        if size <= rule.packed:
            _pack(lanes.start, busy, need, able, size, mine)
        else:
            _spread(lanes.start, busy, need, able, size, costs.spread, mine)
        if mine.sum() < size:
            return math.inf
        begin, used, rivals = 0.0, 0, 0
        for server in range(servers):
            if mine[server]:
                used += 1
                rivals = max(rivals, spanning[server])
                begin = max(begin, busy[lanes.start[server] + mine[server] * need[server] - 1])
        plan.begin[job] = begin
        slower = 1 + costs.overhead * (used - 1) + costs.contention * rivals if used > 1 else 1.0
        ended = begin + slots * slower
        end = max(end, ended)
        for server in range(servers):
            if mine[server]:
                own = busy[lanes.start[server] : lanes.start[server + 1]]
                own[: mine[server] * need[server]] = ended
                own.sort()
                spanning[server] += used > 1 and begin == 0
    return end


@compiled
def _count_able(own: Floats, need: int, size: int, last: float) -> int:
    """Workers that a server takes, up to `size`, on lanes that are idle at `last`."""
    able = 0
    while need > 0 and able < size and (able + 1) * need <= len(own) and own[(able + 1) * need - 1] <= last:
        able += 1
    return able


@compiled
def _pack(start: Integers, busy: Floats, need: Integers, able: Integers, size: int, mine: Integers) -> None:
    """On the server where it begins soonest, with least room to spare; if none holds it, on the roomiest."""
    best, soonest, tightest = -1, math.inf, 0
    for server in range(len(able)):
        if able[server] >= size:
            own = busy[start[server] : start[server + 1]]
            when = own[size * need[server] - 1]
            room = (own <= when).sum()
            if best < 0 or when < soonest or (when == soonest and room < tightest):
                best, soonest, tightest = server, when, room
    if best >= 0:
        mine[best] = size
        return
    for server in np.argsort(-able, kind="mergesort"):
        mine[server] = min(size - mine.sum(), able[server])


@compiled
def _spread(
    start: Integers,
    busy: Floats,
    need: Integers,
    able: Integers,
    size: int,
    spread: float,
    mine: Integers,
) -> None:
    """On the least busy lanes of the least busy servers, as many as hold `spread` times its workers."""
    mean = np.full(len(able), math.inf)
    for server in np.flatnonzero(able > 0):
        mean[server] = busy[start[server] : start[server + 1]].mean()
    order = np.argsort(mean, kind="mergesort")
    looked, held = 0, 0
    while looked < len(order) and held < spread * size:
        held += able[order[looked]]
        looked += 1
    for _ in range(min(size, held)):
        best, soonest = -1, math.inf
        for server in order[:looked]:
            if mine[server] < able[server]:
                when = busy[start[server] + (mine[server] + 1) * need[server] - 1]
                if best < 0 or when < soonest:
                    best, soonest = server, when
        mine[best] += 1
