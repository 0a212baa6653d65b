"""The best ring at given prices on a tree, exactly, for all sizes at once: the kernel of the solver.

A ring costs what its Steiner tree costs (problem.md §3). Let A_v(k) be the least cost of k workers below node
v when the ring passes through v: a knapsack over the children of v, where every child with workers pays its
toll, b · (price up + price down). A ring of κ workers costs min_v A_v(κ), or κ · unit price inside a server.

A node may stand for several alike siblings (`copies`), so that a tree of classes is priced as fast as one
rack. Curves are computed only for nodes that could beat the best ring found so far: a lower bound on the cost
of any ring that turns at v (cheapest worker, largest server, cheapest toll) rules out most of them.
"""

import numpy as np

from gadget.solve.compiled import compiled
from gadget.solve.market import Floats, Market, Scratch, Tree

# A promise that is above the best by rounding alone is not worth a look; bounds allow for it.
HAIR = 1e-10
# With a wish, so many racks that could fulfil it are looked at.
ENOUGH = 6


@compiled
def shares_of(gbps: float, width: float, shares: int) -> int:
    """How many of the `shares` a ring of this bandwidth takes of a link.

    The least j with gbps ≤ width·(j+1)/(shares+1): rings that fit together take at most `shares` of them,
    because Σ gbps ≤ width and each is above width·j/(shares+1). A Chvátal–Gomory cut of (19).
    """
    if width <= 0.0:
        return 0
    return max(0, int(np.ceil(gbps / width * (shares + 1) - 1e-7)) - 1)


# Functions that are called for every node take the arrays they need, not the tuples that hold them: passing a
# tuple of arrays costs more than what they do.
@compiled
def count_fitting(amounts: Floats, demand: Floats, node: int) -> float:
    """Workers, with fractions, that a row of amounts is enough for."""
    fitting = np.inf
    for r in range(len(demand)):
        if demand[r] > 0.0:
            fitting = min(fitting, amounts[node, r] / demand[r])
    return fitting


@compiled
def _visit(tree: Tree, market: Market, demand: Floats, most: int, wish: int, scratch: Scratch) -> int:
    """The nodes that matter, in their order; how many.

    Left out: subtrees without room for a worker, and nodes on which nothing lies when enough of their kind
    beside them have been met for any ring (enough, unless remainders on servers make a rack hold less than
    half of what is free there). With a `wish`, also subtrees without room for so many, and racks once
    `ENOUGH` of them have been met. Where a bound is to be proved there is no wish, and no node is pristine.
    """
    racks = 0
    scratch.stamp[-1] += 1
    count = 0
    node = 0
    while node < len(tree.parent):
        leaf = tree.kid_start[node] == tree.kid_start[node + 1]
        scratch.reach[node] = 0
        skip = not leaf and count_fitting(market.roomiest, demand, node) < 1.0
        if market.pristine[node] and not skip:
            # Those beside each other are met in one go: a parent is not met again once it is left.
            look, turn = tree.look[node], scratch.stamp[-1] * (len(tree.parent) + 1) + tree.parent[node] + 1
            if scratch.stamp[look] != turn:
                scratch.stamp[look] = turn
                scratch.met[look] = 0
            scratch.met[look] += 1
            if scratch.met[look] > 2:
                holds = min(np.float64(most), count_fitting(market.plenty, demand, node))
                needed = np.ceil(most / max(1.0, np.floor(holds)))
                skip = scratch.met[look] > 1 + (needed if leaf else 2 * needed)
        if wish > 0 and not leaf and not skip:
            first = tree.kids[tree.kid_start[node]]
            is_rack = tree.kid_start[first] == tree.kid_start[first + 1]
            skip = (is_rack and racks >= ENOUGH) or count_fitting(market.plenty, demand, node) < wish
            racks += is_rack and not skip
        if skip:
            if node > 0:
                above = tree.parent[node]
                for r in range(len(demand)):
                    best = market.free[node, r] if leaf else market.roomiest[node, r]
                    market.roomiest[above, r] = max(market.roomiest[above, r], best)
            node = tree.end[node]
            continue
        scratch.cheapest[node] = np.inf
        scratch.largest[node] = 0
        scratch.least_toll[node] = np.inf
        scratch.extra[node] = np.inf
        scratch.has_curve[node] = False
        scratch.visited[count] = node
        count += 1
        if not leaf:
            # Measured anew on the way up.
            for r in range(len(demand)):
                market.roomiest[node, r] = 0.0
        node += 1
    return count


@compiled
def _look(
    tree: Tree, market: Market, demand: Floats, gbps: float, most: int, wish: int, scratch: Scratch
) -> int:
    """Workers that fit, what each costs, and tolls; and for each subtree what bounds its curve."""
    resources = len(demand)
    count = _visit(tree, market, demand, most, wish, scratch)
    for size in range(most + 1):
        scratch.bucket_cost[size] = np.inf
        scratch.bucket_node[size] = -1
        scratch.bucket_space[size] = np.inf
    for place in range(count - 1, -1, -1):
        node = scratch.visited[place]
        above = tree.parent[node]
        fit = 0
        unit = 0.0
        leaf = tree.kid_start[node] == tree.kid_start[node + 1]
        if tree.is_server[node]:
            fit = most
            for r in range(resources):
                if demand[r] > 0.0:
                    space = market.free[node, r] / demand[r]
                    if space < fit:
                        fit = max(0, int(space))
                    unit += demand[r] * market.unit[node, r]
                if not leaf:
                    market.roomiest[node, r] = max(market.roomiest[node, r], market.free[node, r])
                elif above >= 0:
                    market.roomiest[above, r] = max(market.roomiest[above, r], market.free[node, r])
        scratch.fit[node] = fit
        scratch.unit[node] = unit
        if not leaf and above >= 0:
            for r in range(resources):
                market.roomiest[above, r] = max(market.roomiest[above, r], market.roomiest[node, r])
        if fit > 0:
            scratch.reach[node] += fit
            scratch.cheapest[node] = min(scratch.cheapest[node], unit)
            scratch.largest[node] = max(scratch.largest[node], fit)
            if not leaf:
                scratch.least_toll[node] = 0.0  # its own workers pay none
                scratch.extra[node] = 0.0
            # Among servers that hold as many: the cheapest, the fullest of equally cheap ones.
            if unit <= scratch.bucket_cost[fit]:
                space = 0.0
                for r in range(resources):
                    if demand[r] > 0.0:
                        space += market.free[node, r] / demand[r]
                if unit < scratch.bucket_cost[fit] or space <= scratch.bucket_space[fit]:
                    scratch.bucket_cost[fit] = unit
                    scratch.bucket_node[fit] = node
                    scratch.bucket_space[fit] = space
        if node == 0:
            scratch.toll[0] = np.inf
            break
        if scratch.reach[node] == 0:
            continue
        toll = np.inf
        if gbps <= market.width[node]:
            toll = gbps * market.edge[node]
            for cut in range(market.cut_start[node], market.cut_start[node + 1]):
                taken = shares_of(gbps, market.cut_width[node], market.cut_shares[cut])
                toll += market.cut_price[cut] * taken
        scratch.toll[node] = toll
        if toll < np.inf:
            scratch.reach[above] += scratch.reach[node] * tree.copies[node]
            scratch.cheapest[above] = min(scratch.cheapest[above], scratch.cheapest[node])
            scratch.largest[above] = max(scratch.largest[above], scratch.largest[node])
            own = toll if leaf else scratch.least_toll[node]
            scratch.least_toll[above] = min(scratch.least_toll[above], own)
            scratch.extra[above] = min(scratch.extra[above], 0.0 if leaf else toll)
    return count


@compiled
def _find_best_server(gain: Floats, most: int, scratch: Scratch) -> tuple[float, int, int]:
    """The best ring inside one server: value, size, server; the fullest of equally good servers."""
    value, size, server = -np.inf, 0, -1
    cost, node = np.inf, -1
    for workers in range(most, 0, -1):
        # Equal prices: the server with less room to spare, which comes later here.
        if scratch.bucket_node[workers] >= 0 and scratch.bucket_cost[workers] <= cost:
            cost, node = scratch.bucket_cost[workers], scratch.bucket_node[workers]
        if node >= 0 and gain[workers] > -np.inf:
            found = gain[workers] - workers * cost
            if found >= value:  # a tie goes to the smaller ring
                value, size, server = found, workers, node
    return value, size, server


@compiled
def _promise(gain: Floats, top: int, cheapest: float, largest: int, toll: float, extra: float) -> float:
    """No ring of up to `top` workers is worth more: cheapest workers, fewest servers, least tolls."""
    best = -np.inf
    if top < 2 or extra == np.inf:
        return best
    held = 2 * largest  # what two servers hold, and at least two there are
    fixed = 2 * toll + 2 * extra
    for size in range(2, top + 1):
        if size > held:
            held += largest
            fixed += toll
        best = max(best, gain[size] - size * cheapest - fixed)
    return best


@compiled
def _fold(row: Floats, step: Floats, top: int, limit: int, most: int) -> tuple[int, bool]:
    """row ← the best of row and row ⊕ step, in place; how far row reaches now, and whether it fell."""
    reach = min(most, top + limit)
    fell = False
    for size in range(reach, 0, -1):
        best = row[size]
        for part in range(1, min(size, limit) + 1):
            cost = row[size - part] + step[part]
            if cost < best:
                best = cost
                fell = True
        row[size] = best
    return reach, fell


@compiled
def leaf_step(unit: float, toll: float, fit: int, copies: int, most: int, step: Floats) -> int:
    """Costs of 1, 2, … workers on alike servers: fill one after the other."""
    limit = min(most, fit * copies)
    for workers in range(1, limit + 1):
        step[workers] = workers * unit + toll * ((workers + fit - 1) // fit)
    return limit


@compiled
def find_alike(tree: Tree, node: int, place: int, most: int, scratch: Scratch) -> tuple[int, int]:
    """The servers from this child on that are as large and cost as much: where they end, and how many.

    No more than any ring can use, but all are passed over: the rest would not help.
    """
    first = tree.kids[place]
    needed = (most + scratch.fit[first] - 1) // scratch.fit[first]
    copies = 0
    while place < tree.kid_start[node + 1]:
        kid = tree.kids[place]
        if scratch.reach[kid] > 0 and scratch.toll[kid] < np.inf:
            if (
                tree.kid_start[kid] < tree.kid_start[kid + 1]
                or scratch.unit[kid] != scratch.unit[first]
                or scratch.toll[kid] != scratch.toll[first]
                or scratch.fit[kid] != scratch.fit[first]
            ):
                break
            copies = min(needed, copies + tree.copies[kid])
        place += 1
    return place, copies


@compiled
def _compute_curve(tree: Tree, node: int, most: int, scratch: Scratch) -> None:
    """A_node(k) for all k, given the curves of its inner children."""
    row = scratch.curve[node]
    for size in range(most + 1):
        row[size] = np.inf
    row[0] = 0.0
    top = 0
    if scratch.fit[node] > 0:
        top = min(most, scratch.fit[node])
        for size in range(1, top + 1):
            row[size] = size * scratch.unit[node]
    place = tree.kid_start[node]
    while place < tree.kid_start[node + 1]:
        kid = tree.kids[place]
        place += 1
        if scratch.reach[kid] == 0 or scratch.toll[kid] == np.inf:
            continue
        if tree.kid_start[kid] == tree.kid_start[kid + 1]:
            place, copies = find_alike(tree, node, place - 1, most, scratch)
            limit = leaf_step(
                scratch.unit[kid], scratch.toll[kid], scratch.fit[kid], copies, most, scratch.step
            )
            top, _ = _fold(row, scratch.step, top, limit, most)
        else:
            limit = min(most, scratch.reach[kid])
            for workers in range(1, limit + 1):
                scratch.step[workers] = scratch.curve[kid, workers] + scratch.toll[kid]
            for _ in range(min(tree.copies[kid], most)):
                top, fell = _fold(row, scratch.step, top, limit, most)
                if not fell:
                    break
    scratch.has_curve[node] = True


@compiled
def _need_curve(tree: Tree, node: int, most: int, scratch: Scratch) -> None:
    """Compute the curve of a node and of all inner nodes below it that can be entered."""
    if scratch.has_curve[node]:
        return
    # Children come after their parents: walk the numbers down, marking what is needed from above.
    stack = scratch.stack
    depth = 0
    stack[0, 0], stack[0, 1] = node, tree.kid_start[node]
    while depth >= 0:
        here, place = stack[depth, 0], stack[depth, 1]
        descended = False
        while place < tree.kid_start[here + 1]:
            kid = tree.kids[place]
            place += 1
            inner = tree.kid_start[kid] < tree.kid_start[kid + 1]
            if inner and scratch.reach[kid] > 0 and not scratch.has_curve[kid] and scratch.toll[kid] < np.inf:
                stack[depth, 1] = place
                depth += 1
                stack[depth, 0], stack[depth, 1] = kid, tree.kid_start[kid]
                descended = True
                break
        if not descended:
            _compute_curve(tree, here, most, scratch)
            depth -= 1


@compiled
def _hair(value: float) -> float:
    return HAIR * value if value > 0.0 else 0.0


@compiled
def find_best_ring(
    tree: Tree,
    market: Market,
    demand: Floats,
    gbps: float,
    most: int,
    gain: Floats,
    floor: float,
    patience: int,
    wish: int,
    scratch: Scratch,
) -> tuple[float, int, int]:
    """The ring of greatest value (gain less cost) worth more than `floor`: its value, size, where it turns.

    Size 0: there is none. `floor` also is what rules nodes out, so a high one saves time. With `patience`
    for so many nodes only, or a `wish` that leaves racks without that much room out (0: none), the answer may
    be less than the best.
    """
    count = _look(tree, market, demand, gbps, most, wish, scratch)
    value, size, top = _find_best_server(gain, most, scratch)
    if value <= floor:
        value, size, top = floor, 0, -1
    # The most promising node first, the deepest among equals, so that it rules out the rest.
    first, promised = -1, value
    cheapest, toll, extra, top_size, largest, promise = -1.0, -1.0, -1.0, -1, -1, -np.inf
    for place in range(count - 1, -1, -1):
        node = scratch.visited[place]
        if tree.kid_start[node] == tree.kid_start[node + 1]:
            continue
        reach, its_extra = min(most, scratch.reach[node]), scratch.extra[node]
        # Racks at the same prices promise the same.
        if (
            scratch.cheapest[node] != cheapest
            or scratch.least_toll[node] != toll
            or its_extra != extra
            or reach != top_size
            or scratch.largest[node] != largest
        ):
            cheapest, toll, largest = scratch.cheapest[node], scratch.least_toll[node], scratch.largest[node]
            extra, top_size = its_extra, reach
            promise = _promise(gain, top_size, cheapest, largest, toll, extra)
        scratch.promise[node] = promise
        if promise > promised + _hair(promised):
            first, promised = node, promise
    if first < 0:
        return value, size, top
    for turn in range(count, -1, -1):
        node = first if turn == count else scratch.visited[turn]
        if (turn < count and node == first) or tree.kid_start[node] == tree.kid_start[node + 1]:
            continue
        if not scratch.promise[node] > value + _hair(value):
            continue
        if patience == 0:
            break
        patience -= 1
        _need_curve(tree, node, most, scratch)
        for workers in range(1, min(most, scratch.reach[node]) + 1):
            found = gain[workers] - scratch.curve[node, workers]
            if found > value:
                value, size, top = found, workers, node
    return value, size, top
