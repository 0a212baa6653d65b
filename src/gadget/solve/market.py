"""What the pricing kernel works on: a tree, what is free on it and at what price, and jobs. Plain arrays."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from gadget.model.quantity import TOLERANCE

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
Booleans = NDArray[np.bool_]

# Rounding may leave a hair too little for a worker that fits exactly; the referee lets four times that pass.
SLACK = TOLERANCE / 4


class Tree(NamedTuple):
    """Nodes numbered so that children come after their parents; node 0 is the root."""

    parent: Integers
    kid_start: Integers
    kids: Integers
    copies: Integers
    """How many alike siblings the node stands for, itself included."""
    is_server: Booleans
    end: Integers
    """One more than the last node below each node: numbers are depth-first."""
    look: Integers
    """Equal for nodes of one class: as long as nothing lies on them, one is as good as another."""


def build_tree(parent: Integers, copies: Integers, is_server: Booleans, look: Integers | None = None) -> Tree:
    """The tree of these parents, whose numbers must be depth-first; without `look` no two nodes are alike."""
    count = len(parent)
    kids = np.argsort(parent, kind="stable")[1:].astype(np.int64)  # the root comes first, with parent −1
    start = np.zeros(count + 1, dtype=np.int64)
    if count > 1:
        start[1:] = np.cumsum(np.bincount(parent[1:], minlength=count))
    end = np.arange(1, count + 1)
    for node in range(count - 1, 0, -1):
        end[parent[node]] = max(end[parent[node]], end[node])
    return Tree(parent, start, kids, copies, is_server, end, np.arange(count) if look is None else look)


class Market(NamedTuple):
    """What is for sale, and at what price."""

    free: Floats
    """Of each resource on each server, (nodes × resources)."""
    width: Floats
    """Gbps free on the link to the parent; a job that needs more cannot cross it."""
    unit: Floats
    """Price of each resource on each server, (nodes × resources)."""
    edge: Floats
    """Price of a Gbps both ways on the link to the parent."""
    cut_start: Integers
    """Where the cuts of each node's link begin in the two arrays below."""
    cut_shares: Integers
    """u: at most u rings wider than width/(u+1) cross a link, and so on (see `shares_of`)."""
    cut_price: Floats
    cut_width: Floats
    """Width that the shares are counted in: of the whole link, not of what is free."""
    roomiest: Floats
    """No server below a node has more free, (nodes × resources); where nobody fits, nobody looks."""
    plenty: Floats
    """What is free below a node in all, (nodes × resources); where a ring is too large for that, few look."""
    pristine: Booleans
    """True for a node below which nothing has been taken."""


class Orders(NamedTuple):
    """Jobs as the kernel sees them."""

    demand: Floats
    gbps: Floats
    most: Integers
    """The largest size of each job."""
    gain_start: Integers
    gain: Floats
    """Gain of sizes 0 … most, job after job; −∞ for sizes that a job may not have."""


class Scratch(NamedTuple):
    """Space to work in, for trees up to a size."""

    unit: Floats
    toll: Floats
    fit: Integers
    reach: Integers
    cheapest: Floats
    largest: Integers
    least_toll: Floats
    extra: Floats
    """Twice this any ring that turns at a node pays at least, beside its servers' own tolls."""
    promise: Floats
    has_curve: Booleans
    curve: Floats
    step: Floats
    choice: Integers
    stage_place: Integers
    stack: Integers
    bucket_cost: Floats
    bucket_node: Integers
    bucket_space: Floats
    visited: Integers
    stamp: Integers
    """For each look the last search that met it, and how often; the number of searches comes last."""
    met: Integers
    out_node: Integers
    out_workers: Integers
    out_crossings: Integers


def build_scratch(tree: Tree, largest_size: int) -> Scratch:
    """Space for pricing rings of up to that many workers on the tree."""
    nodes, width = len(tree.parent), largest_size + 1
    has_kids = np.diff(tree.kid_start) > 0
    stages = np.where(has_kids, np.minimum(tree.copies, width), 1)
    most_stages = int(np.bincount(tree.parent[1:], weights=stages[1:]).max(initial=0)) if nodes > 1 else 0
    outputs = width * (find_height(tree.parent) + 2)
    return Scratch(
        unit=np.zeros(nodes),
        toll=np.zeros(nodes),
        fit=np.zeros(nodes, np.int64),
        reach=np.zeros(nodes, np.int64),
        cheapest=np.zeros(nodes),
        largest=np.zeros(nodes, np.int64),
        least_toll=np.zeros(nodes),
        extra=np.zeros(nodes),
        promise=np.zeros(nodes),
        has_curve=np.zeros(nodes, np.bool_),
        curve=np.zeros((nodes, width)),
        step=np.zeros(width),
        choice=np.zeros((most_stages + 1, width), np.int64),
        stage_place=np.zeros(most_stages + 1, np.int64),
        stack=np.zeros((outputs + 1, 2), np.int64),
        bucket_cost=np.zeros(width),
        bucket_node=np.zeros(width, np.int64),
        bucket_space=np.zeros(width),
        visited=np.zeros(nodes, np.int64),
        stamp=np.zeros(nodes + 1, np.int64),
        met=np.zeros(nodes, np.int64),
        out_node=np.zeros(outputs, np.int64),
        out_workers=np.zeros(outputs, np.int64),
        out_crossings=np.zeros(outputs, np.int64),
    )


def find_height(parent: Integers) -> int:
    """Links from the root to the farthest node; of several trees, one a row, the most."""
    rows = np.atleast_2d(parent)
    climbed, height = rows.copy(), 0
    while (climbed >= 0).any():
        height += 1
        climbed = np.where(climbed >= 0, np.take_along_axis(rows, np.maximum(climbed, 0), axis=1), -1)
    return height
