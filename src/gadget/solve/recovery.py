"""From the size and place of a best ring to its servers: the knapsacks are filled again, and remembered."""

import numpy as np

from gadget.solve.compiled import compiled
from gadget.solve.market import Scratch, Tree
from gadget.solve.pricing_tree import find_alike, leaf_step


@compiled
def _spread_out(tree: Tree, place: int, workers: int, is_all: bool, count: int, scratch: Scratch) -> int:
    """Write workers on alike servers from this child on, one filled after the other; entries so far."""
    fit = scratch.fit[tree.kids[place]]
    inside = is_all and workers <= fit  # the whole ring in one server crosses nothing
    while workers > 0:
        kid = tree.kids[place]
        place += 1
        if scratch.reach[kid] > 0 and scratch.toll[kid] < np.inf:
            part = min(workers, fit * tree.copies[kid])
            scratch.out_node[count], scratch.out_workers[count] = kid, part
            scratch.out_crossings[count] = 0 if inside else (part + fit - 1) // fit
            workers -= part
            count += 1
    return count


@compiled
def recover_ring(tree: Tree, size: int, top: int, scratch: Scratch) -> int:
    """The servers and crossings of the ring that `find_best_ring` has just found; how many entries there are.

    Entries (node, workers on it, crossings of its link to the parent) lie in `out_…`; a node may come twice.
    """
    count = 0
    if tree.kid_start[top] == tree.kid_start[top + 1] or (
        scratch.fit[top] >= size and not scratch.has_curve[top]
    ):
        scratch.out_node[0], scratch.out_workers[0], scratch.out_crossings[0] = top, size, 0
        return 1
    depth = 0
    scratch.stack[0, 0], scratch.stack[0, 1] = top, size
    while depth >= 0:
        node, left = scratch.stack[depth, 0], scratch.stack[depth, 1]
        depth -= 1
        row = scratch.curve[node]
        for workers in range(left + 1):
            row[workers] = np.inf
        row[0] = 0.0
        reach = 0
        if scratch.fit[node] > 0:
            reach = min(left, scratch.fit[node])
            for workers in range(1, reach + 1):
                row[workers] = workers * scratch.unit[node]
        stages = 0
        place = tree.kid_start[node]
        while place < tree.kid_start[node + 1]:
            kid, here = tree.kids[place], place
            place += 1
            if scratch.reach[kid] == 0 or scratch.toll[kid] == np.inf:
                continue
            leaf = tree.kid_start[kid] == tree.kid_start[kid + 1]
            if leaf:
                place, copies = find_alike(tree, node, here, left, scratch)
                limit = leaf_step(
                    scratch.unit[kid], scratch.toll[kid], scratch.fit[kid], copies, left, scratch.step
                )
            else:
                limit = min(left, scratch.reach[kid])
                for workers in range(1, limit + 1):
                    scratch.step[workers] = scratch.curve[kid, workers] + scratch.toll[kid]
            for _ in range(1 if leaf else min(tree.copies[kid], left)):
                chosen = scratch.choice[stages]
                fell = False
                reach = min(left, reach + limit)
                for workers in range(reach, 0, -1):
                    best, part_of_best = row[workers], 0
                    for part in range(1, min(workers, limit) + 1):
                        cost = row[workers - part] + scratch.step[part]
                        if cost < best:
                            best, part_of_best = cost, part
                            fell = True
                    row[workers] = best
                    chosen[workers] = part_of_best
                if not fell:
                    break
                scratch.stage_place[stages] = here
                stages += 1
        for stage in range(stages - 1, -1, -1):
            part = scratch.choice[stage, left]
            if part == 0:
                continue
            place = scratch.stage_place[stage]
            kid = tree.kids[place]
            left -= part
            if tree.kid_start[kid] == tree.kid_start[kid + 1]:
                count = _spread_out(tree, place, part, part == size, count, scratch)
                continue
            depth += 1
            scratch.stack[depth, 0], scratch.stack[depth, 1] = kid, part
            if part < size:  # where tolls are 0 it may all lie below one child: it does not leave that
                scratch.out_node[count], scratch.out_workers[count] = kid, 0
                scratch.out_crossings[count] = 1
                count += 1
        if left > 0:
            scratch.out_node[count], scratch.out_workers[count] = node, left
            scratch.out_crossings[count] = 0
            count += 1
    return count
