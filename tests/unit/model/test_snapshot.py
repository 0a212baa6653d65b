"""Scenarios and snapshots: which jobs are seen, and what an allocation is worth."""

import pickle
from dataclasses import replace

import numpy as np
import pytest

from gadget import (
    ActiveJob,
    Allocation,
    InvalidValue,
    Job,
    Linear,
    Resources,
    Ring,
    Scenario,
    Snapshot,
    build_ring4,
)
from gadget.model.prices import Prices

JOB = Job(
    name="a", resources=Resources({"gpu": 1}), max_workers=4, utility=Linear(2), bandwidth_gbps=1, rate=3
)
LATE = replace(JOB, name="b", arrival=2)
SCENARIO = Scenario(build_ring4(), (JOB, LATE), slots=5)


@pytest.mark.parametrize(("slot", "names"), [(0, ["a"]), (1, ["a"]), (2, ["a", "b"]), (4, ["a", "b"])])
def test_a_snapshot_shows_the_jobs_that_have_arrived(slot, names):
    snapshot = SCENARIO.snapshot(slot)
    assert [active.job.name for active in snapshot.jobs] == names
    assert all(active.served == 0 and active.work_done is None for active in snapshot.jobs)
    assert (snapshot.slot, snapshot.slots, snapshot.slot_seconds) == (slot, 5, 60)
    assert snapshot.cluster == SCENARIO.cluster
    assert snapshot.running.rings == ()


@pytest.mark.parametrize("slot", [-1, 5])
def test_a_slot_outside_the_horizon(slot):
    with pytest.raises(InvalidValue, match=rf"^slot is {slot}, outside 0 … 4\."):
        SCENARIO.snapshot(slot)


def test_objective_is_the_sum_of_true_gains():
    """Each worker does 3 work, worth 6; a ring of an unknown job is worth nothing."""
    snapshot = SCENARIO.snapshot(2)
    rings = (Ring("a", ("s1",), ()), Ring("b", ("s2",) * 3, ()), Ring("nobody", ("s3",), ()))
    assert snapshot.objective(Allocation(rings)) == 6 + 18
    assert snapshot.objective(Allocation()) == 0
    assert list(snapshot.gains(snapshot.job_by_name["b"], [0, 1, 2])) == [0, 6, 12]


def test_restarts_cost_what_their_jobs_say():
    """Both have run: a goes on elsewhere and loses 4 of its 6 work, b goes on over other routes."""
    jobs = (ActiveJob(replace(JOB, resize_cost=4), 2), ActiveJob(replace(LATE, resize_cost=4), 2))
    running = Allocation((Ring("a", ("s1", "s2"), ()), Ring("b", ("s3", "s4"), ())))
    snapshot = Snapshot(build_ring4(), jobs, slot=3, slots=5, running=running)
    moved, same = Ring("a", ("s2", "s1"), ()), Ring("b", ("s3", "s4"), (("s3", "s2", "s1", "s4"),))
    unknown = Ring("nobody", ("s1",), ())
    assert [snapshot.is_restart(ring) for ring in (moved, same, unknown)] == [True, False, False]
    assert snapshot.objective(Allocation((moved, same, unknown))) == 2 * (6 - 4) + 2 * 6
    assert list(snapshot.gains(jobs[0], [1, 2], restart=True)) == [0, 4]
    alone = replace(snapshot, running=Allocation())
    assert alone.objective(Allocation((moved, same))) == 2 * (6 - 4) * 2
    fresh = replace(snapshot, jobs=tuple(replace(one, served=0) for one in jobs))
    assert fresh.objective(Allocation((moved, same))) == 2 * 6 * 2


def test_prices_are_no_part_of_what_a_snapshot_says():
    cluster = build_ring4()
    priced = replace(SCENARIO.snapshot(3), prices=Prices(cluster, np.zeros((4, 1)), np.zeros(8)))
    assert priced == SCENARIO.snapshot(3)
    assert hash(priced) == hash(SCENARIO.snapshot(3))
    assert "prices" not in repr(priced)
    assert pickle.loads(pickle.dumps(priced)).prices is not None


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"slots": 0}, "slots is 0, outside 1 … 10000000"),
        ({"slots": 5.0}, "slots is 5.0, not a whole number"),
        ({"slot_seconds": 0}, "slot_seconds is 0, not above 0"),
        ({"jobs": (JOB, LATE, JOB)}, "jobs[2].name is 'a', as is jobs[0].name"),
    ],
)
def test_scenarios_that_make_no_sense(change, said):
    with pytest.raises(InvalidValue) as caught:
        replace(SCENARIO, **change)
    assert str(caught.value).startswith(f"{said}. ")


def test_snapshots_have_each_job_once():
    with pytest.raises(InvalidValue, match=r"^jobs\[1\]\.name is 'a', as is jobs\[0\]\.name\."):
        Snapshot(build_ring4(), (ActiveJob(JOB), ActiveJob(JOB, 3)), slot=0, slots=1)


def test_they_are_values():
    snapshot = SCENARIO.snapshot(3)
    assert snapshot.job_by_name["b"].job == LATE
    assert pickle.loads(pickle.dumps(snapshot)) == snapshot
    assert hash(SCENARIO.snapshot(3)) == hash(snapshot)
    assert pickle.loads(pickle.dumps(SCENARIO)) == SCENARIO
