"""Sia's configurations, listed by hand, and its program against enumeration."""

from itertools import product

import numpy as np
import pytest

from gadget.model.cluster import Cluster, Link, Server
from gadget.model.job import Job
from gadget.model.resources import Resources
from gadget.model.utility import Linear
from gadget.solve.configurations import (
    ANY_TYPE,
    build_configuration_program,
    find_configurations,
    find_server_types,
)
from gadget.solve.lp import solve
from gadget.solve.network import compile_network
from gadget.solve.sized_jobs import join_sizes

# Two servers of four GPUs and one of three.
NETWORK = compile_network(
    Cluster(
        (
            Server("a", Resources({"gpu": 4})),
            Server("b", Resources({"gpu": 4})),
            Server("c", Resources({"gpu": 3})),
        ),
        (),
        (Link(("a", "b"), 10), Link(("b", "c"), 10)),
    )
)


def sized(*limits, gpus=1):
    jobs = [
        Job(
            name=f"j{n}",
            resources=Resources({"gpu": gpus}),
            min_workers=least,
            max_workers=most,
            utility=Linear(),
            bandwidth_gbps=1,
            rate=1,
        )
        for n, (least, most) in enumerate(limits)
    ]
    sizes = [np.arange(least, most + 1) for least, most in limits]
    return join_sizes(jobs, sizes, NETWORK, 60.0)


def offered(jobs, **options):
    """(job, size, type) of each configuration; type 0 is the server of three, type 1 those of four."""
    found = find_configurations(jobs, find_server_types(NETWORK), **options)
    return sorted(
        zip(jobs.job[found.pair].tolist(), jobs.size[found.pair].tolist(), found.kind.tolist(), strict=True)
    )


def test_types_of_servers():
    types = find_server_types(NETWORK)
    assert types.resources.tolist() == [[3], [4]]
    assert types.of_server.tolist() == [1, 1, 0]
    assert types.count.tolist() == [1, 2]
    assert types.capacity.tolist() == [[3], [8]]


def test_powers_of_two_within_a_server_then_whole_servers():
    assert offered(sized((1, 11))) == [
        (0, 1, 0),
        (0, 1, 1),
        (0, 2, 0),
        (0, 2, 1),
        (0, 3, 0),  # the whole server of three
        (0, 4, 1),
        (0, 8, 1),  # both servers of four
    ]


def test_what_a_worker_takes_decides_what_a_server_holds():
    # Two GPUs a worker: a server of four holds two of them, one of three holds one.
    assert offered(sized((1, 5), gpus=2)) == [(0, 1, 0), (0, 1, 1), (0, 2, 1), (0, 4, 1)]
    assert offered(sized((1, 5), gpus=5)) == []


def test_a_job_without_a_configuration_has_its_smallest_ring_on_any_servers():
    jobs = sized((5, 7), (1, 2))
    assert [one for one in offered(jobs) if one[0] == 0] == []
    assert [one for one in offered(jobs, least=True) if one[0] == 0] == [(0, 5, ANY_TYPE)]


def test_without_servers_there_is_nothing_to_choose():
    network = compile_network(Cluster((), ("x",), ()))
    nothing = join_sizes([], [], network, 60.0)
    found = find_configurations(nothing, find_server_types(network), least=True)
    assert len(found.pair) == len(found.kind) == 0


@pytest.mark.parametrize("seed", range(12))
def test_the_program_finds_what_enumeration_finds(seed):
    rng = np.random.default_rng(seed)
    limits = [sorted(rng.integers(1, 9, 2).tolist()) for _ in range(4)]
    jobs, types = sized(*limits), find_server_types(NETWORK)
    found = find_configurations(jobs, types, least=True)
    value = rng.uniform(0.1, 1, len(found.pair))
    answer = solve(build_configuration_program(jobs, types, found, value))
    choices = [[None, *np.flatnonzero(jobs.job[found.pair] == job).tolist()] for job in range(4)]
    best = 0.0
    for chosen in product(*choices):
        some = [one for one in chosen if one is not None]
        used = [sum(jobs.size[found.pair[one]] for one in some if found.kind[one] == kind) for kind in (0, 1)]
        total = sum(jobs.size[found.pair[one]] for one in some)
        if used[0] <= 3 and used[1] <= 8 and total <= 11:
            best = max(best, float(value[some].sum()))
    assert answer.objective == pytest.approx(best)
