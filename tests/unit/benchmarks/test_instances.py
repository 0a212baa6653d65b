"""The slots of the benchmarks: the same from the same seed, sound, and small ones soon proved."""

import math
from collections.abc import Callable

import pytest
from benchmarks.parts.instances import (
    SHAPES,
    next_slot,
    on_graph,
    paper_sized,
    racks,
    starved,
    two_resources,
)

from gadget.model.decision import Status
from gadget.model.referee import find_violations
from gadget.model.snapshot import Snapshot
from gadget.policies.solving import solve

SMALL: dict[str, Callable[[int], Snapshot]] = {
    "paper_sized": lambda seed: paper_sized(seed, 10, 8),
    "starved": lambda seed: starved(seed, 8, 10, 0.03),
    "two_resources": lambda seed: two_resources(seed, 6, 12, 0.03),
    "on_graph": lambda seed: on_graph(seed, 7, 6, 0.03),
    "racks": lambda seed: racks(seed, 2, 4, 10, gpus=4, max_workers=16),
    "racks mixed": lambda seed: racks(seed, 2, 3, 8, gpus=4, max_workers=8, mixed=True),
    "racks in pods": lambda seed: racks(seed, 9, 1, 8, gpus=4, max_workers=8, levels=3),
}
each_kind = pytest.mark.parametrize("build", SMALL.values(), ids=SMALL)


@each_kind
def test_a_slot_follows_from_its_seed_alone(build: Callable[[int], Snapshot]) -> None:
    assert build(3) == build(3)
    assert build(3) != build(4)


@each_kind
@pytest.mark.parametrize("seed", range(4))
def test_a_slot_is_sound_and_small_enough_to_be_proved(build: Callable[[int], Snapshot], seed: int) -> None:
    snapshot = build(seed)
    assert snapshot.cluster.is_connected
    assert any(active.served > 0 for active in snapshot.jobs)
    assert all(active.largest_ring >= 1 and active.job.utility.admits_guarantee for active in snapshot.jobs)
    decision = solve(snapshot, "optimal", time_limit=20)
    assert decision.status is Status.OPTIMAL
    assert not find_violations(snapshot, decision.allocation)


def test_a_starved_slot_is_the_paper_sized_one_with_thin_links() -> None:
    plenty, thin = paper_sized(5, 20, 10), starved(5, 10, 20, 0.05)
    assert thin.jobs == plenty.jobs
    assert thin.cluster.servers == plenty.cluster.servers
    assert [link.gbps for link in thin.cluster.links] == [0.05 * link.gbps for link in plenty.cluster.links]


def test_either_of_two_resources_can_run_out_first() -> None:
    snapshot = two_resources(0, 50, 100)
    per_gpu = {one.resources["memory_gib"] / one.resources["gpu"] for one in snapshot.cluster.servers}
    wanted = {active.job.resources["memory_gib"] / active.job.resources["gpu"] for active in snapshot.jobs}
    assert min(wanted) < min(per_gpu) < max(wanted)
    assert {active.job.resources["gpu"] for active in snapshot.jobs} == {1, 2}


@pytest.mark.parametrize("seed", range(len(SHAPES)))
@pytest.mark.parametrize("servers", [8, 50])
def test_graphs_are_no_trees_and_about_as_large_as_asked(seed: int, servers: int) -> None:
    cluster = on_graph(seed, servers, 5, 0.1).cluster
    assert cluster.is_connected
    assert not cluster.is_tree
    assert abs(len(cluster.servers) - servers) <= max(1, servers // 10)


def test_the_large_slot_has_racks_that_want_more_than_there_is() -> None:
    snapshot = racks(0, 40, 32, 1000)
    assert snapshot.cluster.is_tree
    assert len(snapshot.cluster.servers) == 1280
    assert snapshot.cluster.total("gpu") == 10240
    assert sum(active.largest_ring for active in snapshot.jobs) > 2 * 10240
    sizes = {active.job.max_workers for active in snapshot.jobs}
    assert sizes == set(range(1, 65))
    assert all(0.1 <= active.job.bandwidth_gbps <= 5 for active in snapshot.jobs)


def test_mixed_racks_differ_and_have_as_many_gpus() -> None:
    cluster = racks(1, 16, 8, 50, mixed=True, levels=3).cluster
    assert cluster.is_tree
    assert {"pod0", "pod1"} <= set(cluster.switches)
    assert {one.resources["gpu"] for one in cluster.servers} == {2, 4, 8}
    assert cluster.total("gpu") == 16 * 8 * 8
    members = [len(cluster.neighbours[f"rack{n}"]) - 1 for n in range(16)]
    assert len(set(members)) > 1
    assert (
        len({cluster.neighbours[one.name][f"rack{one.name[1:].split('-')[0]}"] for one in cluster.servers})
        > 1
    )


def test_the_next_slot_keeps_rings_serves_jobs_and_brings_new_ones() -> None:
    before = racks(2, 2, 4, 20, gpus=4, max_workers=16)
    allocation = solve(before, "drf").allocation
    after = next_slot(before, allocation, seed=7, share=0.1)
    assert after == next_slot(before, allocation, seed=7, share=0.1)
    assert after.cluster is before.cluster
    assert after.slot == before.slot + 1
    assert len(after.jobs) == len(before.jobs)
    new = [active for active in after.jobs if active.job.name not in before.job_by_name]
    assert math.ceil(0.1 * 20) <= len(new) < 10
    assert all(active.served == 0 and active.job.arrival == after.slot for active in new)
    for active in after.jobs:
        if (old := before.job_by_name.get(active.job.name)) is not None:
            ring = allocation.ring_of.get(active.job.name)
            assert active.served == old.served + (ring.size if ring else 0)
            assert active.largest_ring
            assert after.running.ring_of.get(active.job.name) == ring
    assert {ring.job for ring in after.running.rings} <= after.job_by_name.keys()
    assert not find_violations(after, solve(after, "drf").allocation)
    assert next_slot(after, after.running, seed=7).slot == before.slot + 2


def test_a_job_whose_budget_is_spent_makes_place_for_a_new_one() -> None:
    before = paper_sized(0, 5, 6)
    allocation = solve(before, "drf").allocation
    first = allocation.rings[0]
    spent = before.job_by_name[first.job].job.worker_slots - first.size
    jobs = tuple(
        type(active)(active.job, spent) if active.job.name == first.job else active for active in before.jobs
    )
    after = next_slot(Snapshot(before.cluster, jobs, before.slot, before.slots), allocation, 0, share=0.0)
    assert first.job not in after.job_by_name
    assert first.job not in after.running.ring_of
    assert len(after.jobs) == 5
    assert after.running.rings == tuple(ring for ring in allocation.rings if ring.job != first.job)
