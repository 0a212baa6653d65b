"""Clusters and rings that the report's tests share."""

import numpy as np

from gadget.model.builders import (
    build_fat_tree,
    build_leaf_spine,
    build_paper_cluster,
    build_ring4,
    build_torus,
)
from gadget.model.cluster import Cluster, Link, Server
from gadget.model.job import Job
from gadget.model.resources import Resources
from gadget.model.ring import Allocation, Ring
from gadget.model.utility import Sqrt


def make_job(name: str, **more: object) -> Job:
    given: dict[str, object] = {
        "resources": Resources({"gpu": 1}),
        "max_workers": 4,
        "utility": Sqrt(),
        "bandwidth_gbps": 5.0,
        "rate": 1.0,
    }
    return Job(name=name, **(given | more))  # type: ignore[arg-type]


def make_chain() -> Cluster:
    """Three servers in a row, the middle one forwarding; a tree without a switch."""
    servers = tuple(Server(name, Resources({"gpu": 2})) for name in "abc")
    return Cluster(servers, (), (Link(("a", "b"), 10), Link(("b", "c"), 10)))


def make_mesh(count: int, chords: int = 7) -> Cluster:
    """Servers in a cycle with chords, whose names tell nothing."""
    names = [f"node{'x' * (n % 3)}{n}" for n in range(count)]
    pairs = {frozenset((n, (n + 1) % count)) for n in range(count)}
    pairs |= {frozenset((n, (n + chords) % count)) for n in range(0, count, 3)}
    links = tuple(Link((names[min(pair)], names[max(pair)]), 10) for pair in sorted(pairs, key=sorted))
    return Cluster(tuple(Server(name, Resources({"gpu": 1})) for name in names), (), links)


def make_dual_homed() -> Cluster:
    servers = tuple(Server(f"s{n}", Resources({"cpu": 24.5})) for n in range(6))
    links = tuple(Link((s.name, leaf), 25) for s in servers for leaf in ("left", "right"))
    return Cluster(servers, ("left", "right", "spare"), (*links, Link(("left", "right"), 100)))


def make_core_server() -> Cluster:
    """Two racks of two, and one server plugged into the core."""
    servers = tuple(Server(f"s{n}", Resources({"gpu": 4})) for n in range(5))
    links = (*(Link((f"s{n}", f"rack{n // 2}"), 10) for n in range(4)), Link(("s4", "core"), 10))
    uplinks = (Link(("rack0", "core"), 5), Link(("rack1", "core"), 40))
    return Cluster(servers, ("rack0", "rack1", "core"), (*links, *uplinks))


def make_broken() -> Cluster:
    """What is left of a leaf–spine when a whole leaf has failed and two servers lost their switch."""
    servers = tuple(Server(f"s{n}", Resources({})) for n in range(3))
    return Cluster(servers, ("leaf", "alone"), (Link(("s0", "leaf"), 0),))


CLUSTERS = {
    "paper": build_paper_cluster(np.random.default_rng(3)),
    "paper-200": build_paper_cluster(np.random.default_rng(5), servers=200),
    "fat-tree-4": build_fat_tree(4),
    "fat-tree-8": build_fat_tree(8),
    "leaf-spine": build_leaf_spine(4, 2, 4),
    "rows": build_leaf_spine(40, 1, 32),
    "torus": build_torus([4, 4]),
    "torus-3d": build_torus([3, 4, 2]),
    "large-torus": build_torus([20, 30]),
    "ring4": build_ring4(),
    "cycle": build_torus([9]),
    "chain": make_chain(),
    "mesh": make_mesh(60),
    "large-mesh": make_mesh(700),
    "dual-homed": make_dual_homed(),
    "core-server": make_core_server(),
    "broken": make_broken(),
    "one": Cluster((Server("only", Resources({"gpu": 64})),), (), ()),
    "switch": Cluster((), ("lonely",), ()),
    "empty": Cluster((), (), ()),
}


def make_rings() -> tuple[Allocation, list[Job]]:
    """On the 4×2×4 leaf–spine: a ring over two leaves, a ring in one leaf, a worker of three GPUs."""
    wide = Ring(
        "wide",
        ("s0-0", "s0-0", "s1-0"),
        (
            ("s0-0",),
            ("s0-0", "leaf0", "spine0", "leaf1", "s1-0"),
            ("s1-0", "leaf1", "spine0", "leaf0", "s0-0"),
        ),
    )
    near = Ring("near", ("s2-0", "s2-1"), (("s2-0", "leaf2", "s2-1"), ("s2-1", "leaf2", "s2-0")))
    fat = Ring("fat", ("s0-0",), ())
    jobs = [make_job("wide"), make_job("near"), make_job("fat", resources=Resources({"gpu": 3}))]
    return Allocation((wide, near, fat)), jobs


def make_crowd(count: int) -> tuple[Allocation, list[Job]]:
    """`count` rings of two over leaf 0 and leaf 1 of the 4×2×4 leaf–spine."""
    there, back = ("s0-0", "leaf0", "spine0", "leaf1", "s1-0"), ("s1-0", "leaf1", "spine0", "leaf0", "s0-0")
    rings = tuple(Ring(f"j{n}", ("s0-0", "s1-0"), (there, back)) for n in range(count))
    return Allocation(rings), [make_job(f"j{n}") for n in range(count)]
