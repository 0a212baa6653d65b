"""Clusters to start from: the paper's, and the shapes that real networks have."""

import math
from collections.abc import Sequence
from itertools import product

import numpy as np

from gadget.errors import InvalidValue
from gadget.model.cluster import Cluster, Link, Server
from gadget.model.quantity import check_whole
from gadget.model.resources import Resources

EIGHT_GPUS = Resources({"gpu": 8})
MOST_NODES = 1_000_000
MOST_THROWS = 1000


def build_paper_cluster(
    rng: np.random.Generator,
    *,
    servers: int = 50,
    racks: tuple[int, int] = (2, 5),
    gpus: Sequence[int] = (1, 2, 4, 8),
    server_gbps: tuple[int, int] = (10, 100),
    rack_gbps: tuple[int, int] = (200, 3200),
) -> Cluster:
    """The random fat-tree of Sec. VI: servers thrown into racks, racks joined by one core.

    All ranges include both ends. Random racks may come out empty; then the servers are thrown again.
    """
    check_whole("servers", servers, 1, MOST_NODES)
    count = int(rng.integers(racks[0], min(racks[1], servers), endpoint=True)) if servers >= racks[0] else 1
    rack_of = rng.integers(0, count, servers)
    for _ in range(MOST_THROWS):
        if len(np.unique(rack_of)) == count:
            break
        rack_of = rng.integers(0, count, servers)
    else:
        # Hardly more servers than racks: one for each, the rest as thrown.
        rack_of[rng.permutation(servers)[:count]] = np.arange(count)
    sizes = rng.choice(np.asarray(gpus), servers)
    to_rack = rng.integers(*server_gbps, servers, endpoint=True)
    to_core = rng.integers(*rack_gbps, count, endpoint=True)
    return Cluster(
        tuple(Server(f"s{n}", Resources({"gpu": int(sizes[n])})) for n in range(servers)),
        (*(f"rack{k}" for k in range(count)), "core"),
        (
            *(Link((f"s{n}", f"rack{rack_of[n]}"), int(to_rack[n])) for n in range(servers)),
            *(Link((f"rack{k}", "core"), int(to_core[k])) for k in range(count)),
        ),
    )


def build_fat_tree(
    k: int, *, resources: Resources = EIGHT_GPUS, server_gbps: float = 100, fabric_gbps: float = 100
) -> Cluster:
    """The k-ary fat-tree: k pods of k/2 edge and k/2 aggregation switches, (k/2)² cores, k³/4 servers."""
    check_whole("k", k, 2, 128)
    if k % 2:
        raise InvalidValue("k", f"is {k}, an odd number", "Give an even number")
    half = range(k // 2)
    links = [
        Link((f"pod{p}-edge{e}", f"pod{p}-agg{a}"), fabric_gbps) for p in range(k) for e in half for a in half
    ]
    links += [
        Link((f"pod{p}-agg{a}", f"core{a}-{c}"), fabric_gbps) for p in range(k) for a in half for c in half
    ]
    hosts = [(f"s{p}-{e}-{h}", f"pod{p}-edge{e}") for p in range(k) for e in half for h in half]
    links += [Link(ends, server_gbps) for ends in hosts]
    switches = [f"pod{p}-{tier}{n}" for p in range(k) for tier in ("edge", "agg") for n in half]
    switches += [f"core{a}-{c}" for a in half for c in half]
    return Cluster(tuple(Server(name, resources) for name, _ in hosts), tuple(switches), tuple(links))


def build_leaf_spine(
    leaves: int,
    spines: int,
    servers_per_leaf: int,
    *,
    resources: Resources = EIGHT_GPUS,
    server_gbps: float = 100,
    uplink_gbps: float = 400,
) -> Cluster:
    """Leaf switches, each with its servers, each joined to every spine. One spine makes it a tree."""
    check_whole("leaves", leaves, 1, MOST_NODES)
    check_whole("spines", spines, 1, MOST_NODES)
    check_whole("servers per leaf", servers_per_leaf, 1, MOST_NODES)
    check_whole("leaves × (spines + servers per leaf)", leaves * (spines + servers_per_leaf), 1, MOST_NODES)
    hosts = [(f"s{leaf}-{n}", f"leaf{leaf}") for leaf in range(leaves) for n in range(servers_per_leaf)]
    links = [Link(ends, server_gbps) for ends in hosts]
    links += [
        Link((f"leaf{leaf}", f"spine{s}"), uplink_gbps) for leaf in range(leaves) for s in range(spines)
    ]
    switches = (*(f"leaf{leaf}" for leaf in range(leaves)), *(f"spine{s}" for s in range(spines)))
    return Cluster(tuple(Server(name, resources) for name, _ in hosts), switches, tuple(links))


def build_torus(dims: Sequence[int], *, resources: Resources = EIGHT_GPUS, gbps: float = 100) -> Cluster:
    """Servers on a grid of any dimension, joined to their neighbours, the last of a row to its first."""
    if not dims:
        raise InvalidValue("dims", "is empty", "Give at least one length")
    for place, length in enumerate(dims):
        check_whole(f"dims[{place}]", length, 1, MOST_NODES)
    check_whole("the product of dims", math.prod(dims), 1, MOST_NODES)
    links: dict[frozenset[str], Link] = {}
    for spot in product(*map(range, dims)):
        for axis, length in enumerate(dims):
            beside = (*spot[:axis], (spot[axis] + 1) % length, *spot[axis + 1 :])
            # A row of two meets its neighbour both ways round, a row of one meets itself: one link, none.
            if beside != spot:
                ends = (_spot_name(spot), _spot_name(beside))
                links.setdefault(frozenset(ends), Link(ends, gbps))
    names = (_spot_name(spot) for spot in product(*map(range, dims)))
    return Cluster(tuple(Server(name, resources) for name in names), (), tuple(links.values()))


def build_ring4(*, resources: Resources = EIGHT_GPUS, gbps: float = 100) -> Cluster:
    """The four servers of Fig. placement, cabled 1–2–4–3–1, with no switch."""
    cables = (("s1", "s2"), ("s2", "s4"), ("s4", "s3"), ("s3", "s1"))
    servers = tuple(Server(f"s{n}", resources) for n in range(1, 5))
    return Cluster(servers, (), tuple(Link(ends, gbps) for ends in cables))


def _spot_name(spot: tuple[int, ...]) -> str:
    return "s" + "-".join(map(str, spot))
