"""Ruin and recreate: take some rings away, put them back in another order at other prices, keep the better.

Which rings go: those on a few servers of one neighbourhood, those that share a link, or some picked anywhere.
A few waiting jobs join them, so that a job can take the place of others while these move on: swaps and
ejection chains of any length are such steps. Worse states are accepted with a margin that shrinks to nothing.
"""

import numpy as np

from gadget.solve.compiled import compiled
from gadget.solve.filling import fill, insert
from gadget.solve.ground import Ground
from gadget.solve.held import Held, copy_all, copy_ring, occupy, release
from gadget.solve.lagrangian import Stays
from gadget.solve.market import Booleans, Integers, Market, Orders, Scratch

# At most so many rings are taken away at once.
MOST_TAKEN = 24


@compiled
def ruin_and_recreate(
    ground: Ground,
    is_one: bool,
    markets: tuple[Market, ...],
    view: Market,
    orders: Orders,
    stays: Stays,
    held: Held,
    kept: Held,
    spare: Held,
    best: Held,
    hopeful: Integers,
    seed: int,
    rounds: int,
    margin: float,
    goal: float,
    scratch: Scratch,
) -> float:
    """Run up to `rounds` rounds; the best state found ends in `best`, and its gain is returned.

    `markets` are the same goods at several price levels; `hopeful` are jobs that could gain; `kept`, `spare`
    and `best` are stores like `held`. Stops early when the gain reaches `goal`.
    """
    np.random.seed(seed)
    total = held.gain.sum()
    top: float = best.gain.sum()
    chosen = np.zeros(2 * MOST_TAKEN, np.int64)
    is_chosen = np.zeros(len(held.count), np.bool_)
    nobody = np.full(len(held.count), -1, np.int64)
    is_marked = np.zeros(len(markets[0].width), np.bool_)
    for turn in range(rounds):
        if top >= goal:
            break
        taken = _choose(ground, held, hopeful, chosen, is_chosen, is_marked)
        before = 0.0
        for entry in range(taken):
            job = chosen[entry]
            is_chosen[job] = False
            copy_ring(held, kept, job)
            before += held.gain[job]
            if held.count[job] > 0:
                release(ground, is_one, markets[0], orders, held, job)
        _shuffle(chosen, taken, orders)
        level = np.random.randint(0, len(markets))
        for entry in range(taken):
            insert(ground, is_one, markets[level], view, orders, stays, held, chosen[entry], 0.0, 0, scratch)
        if level > 0:
            # What the prices held back may grow into what is left.
            fill(
                ground, is_one, markets[0], view, orders, stays, held, spare, chosen[:taken], nobody, scratch
            )
        after = 0.0
        for entry in range(taken):
            after += held.gain[chosen[entry]]
        allowed = margin * top * (1.0 - turn / rounds) * np.random.random()
        if after >= before - allowed and total + after - before > top - 3.0 * margin * top:
            total += after - before
            if total > top + 1e-12 * abs(top):
                copy_all(held, best)
                top = total
        else:
            for entry in range(taken):
                job = chosen[entry]
                if held.count[job] > 0:
                    release(ground, is_one, markets[0], orders, held, job)
                copy_ring(kept, held, job)
                occupy(ground, is_one, markets[0], orders, held, job)
    return top


@compiled
def _choose(
    ground: Ground, held: Held, hopeful: Integers, chosen: Integers, is_chosen: Booleans, is_marked: Booleans
) -> int:
    """Pick the jobs of a round into `chosen`; how many."""
    taken = 0
    jobs = len(held.count)
    kind = np.random.randint(0, 4)
    if kind < 3:
        # A neighbourhood: the places of one ring, or a place and some of those next to it.
        is_marked[:] = False
        seed = hopeful[np.random.randint(0, len(hopeful))]
        for _ in range(4):
            if held.count[seed] > 0:
                break
            seed = hopeful[np.random.randint(0, len(hopeful))]
        if held.count[seed] > 0:
            begin = held.start[seed]
            entry = begin + np.random.randint(0, held.count[seed])
            if kind == 0:
                is_marked[held.place[entry]] = True
            elif kind == 1:
                for at in range(begin, begin + held.count[seed]):
                    is_marked[held.place[at]] = True
            else:
                _mark_siblings(ground, held.place[entry], is_marked)
            first = np.random.randint(0, jobs)
            for turn in range(jobs):
                job = (first + turn) % jobs
                begin = held.start[job]
                for at in range(begin, begin + held.count[job]):
                    if is_marked[held.place[at]] and (kind == 0 or held.workers[at] > 0):
                        taken = _add(job, chosen, taken, is_chosen)
                        break
                if taken >= MOST_TAKEN // 2:
                    break
    for _ in range(np.random.randint(1, 5) if kind < 3 else np.random.randint(3, 9)):
        taken = _add(hopeful[np.random.randint(0, len(hopeful))], chosen, taken, is_chosen)
    return taken


@compiled
def _mark_siblings(ground: Ground, place: int, is_marked: Booleans) -> None:
    """Mark a server and up to three others under the same parent."""
    row = np.random.randint(0, ground.parent.shape[0])
    node = -1
    for candidate in range(ground.parent.shape[1]):
        if ground.server_at[row, candidate] == place:
            node = candidate
            break
    is_marked[place] = True
    if node <= 0:
        return
    above = ground.parent[row, node]
    first, last = ground.kid_start[row, above], ground.kid_start[row, above + 1]
    for _ in range(np.random.randint(1, 4)):
        beside = ground.server_at[row, ground.kids[row, np.random.randint(first, last)]]
        if beside >= 0:
            is_marked[beside] = True


@compiled
def _add(job: int, chosen: Integers, taken: int, is_chosen: Booleans) -> int:
    if taken < MOST_TAKEN and not is_chosen[job]:
        is_chosen[job] = True
        chosen[taken] = job
        return taken + 1
    return taken


@compiled
def _shuffle(chosen: Integers, taken: int, orders: Orders) -> None:
    """Put the jobs into a random order, in half of the rounds those with the most at stake first."""
    for entry in range(taken - 1, 0, -1):
        other = np.random.randint(0, entry + 1)
        chosen[entry], chosen[other] = chosen[other], chosen[entry]
    if np.random.random() < 0.5:
        return
    weight = np.zeros(taken)
    for entry in range(taken):
        job = chosen[entry]
        most = orders.most[job]
        stake = 0.0
        for size in range(1, most + 1):
            gain = orders.gain[orders.gain_start[job] + size]
            if gain > -np.inf:
                stake = max(stake, gain / size)
        weight[entry] = stake * (0.7 + 0.6 * np.random.random())
    order = np.argsort(-weight)
    sorted_jobs = chosen[:taken][order]
    for entry in range(taken):
        chosen[entry] = sorted_jobs[entry]
