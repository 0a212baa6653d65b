"""Jobs: what they may ask for, what their budget pays for, and what their work is worth."""

import math
import pickle
from dataclasses import FrozenInstanceError, replace

import numpy as np
import pytest
from numpy.testing import assert_allclose

from gadget import ActiveJob, InvalidValue, Job, Linear, Resources, Ring, Sqrt, Timing

JOB = Job(
    name="resnet-7",
    resources=Resources({"gpu": 1, "memory_gib": 4}),
    max_workers=5,
    utility=Sqrt(),
    bandwidth_gbps=2,
    rate=4,
)
# d = 100 MB, G = 4 Gbps, 40 ms of computing: with b = 2, τ(1) = 0.04 s, τ(2) = 0.54 s, τ(4) = 0.79 s.
TIMING = Timing(100, 4, 0.5, 32, 20, 4)
TIMED = replace(JOB, rate=None, timing=TIMING, max_workers=4)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"name": ""}, "name is '', not a name"),
        ({"name": "a\tb"}, "name is 'a\\tb', which holds unprintable characters"),
        ({"arrival": -1}, "arrival is -1, outside 0 … 10000000"),
        ({"arrival": 1.0}, "arrival is 1.0, not a whole number"),
        ({"max_workers": 0}, "workers.max is 0, outside 1 … 100000"),
        ({"max_workers": 100_001}, "workers.max is 100001, outside 1 … 100000"),
        ({"min_workers": 0}, "workers.min is 0, outside 1 … 100000"),
        ({"min_workers": 6}, "workers.min is 6, above workers.max = 5"),
        ({"resources": Resources({})}, "resources takes nothing"),
        ({"resources": Resources({"gpu": 0})}, "resources takes nothing"),
        ({"bandwidth_gbps": -0.5}, "bandwidth_gbps is -0.5, below 0"),
        ({"bandwidth_gbps": math.nan}, "bandwidth_gbps is nan, not a finite number"),
        ({"resize_cost": -1}, "resize_cost is -1, below 0"),
        ({"resize_cost": math.inf}, "resize_cost is inf, not a finite number"),
        ({"resize_cost": 1e-13}, "resize_cost is 1e-13, smaller than 1e-12"),
        ({"deadline": 0}, "deadline is 0, outside 1 … 10000000"),
        ({"deadline": 2.5}, "deadline is 2.5, not a whole number"),
        ({"deadline": 4, "arrival": 4}, "deadline is 4, not after arrival = 4"),
        ({"priority": 0}, "priority is 0, not above 0"),
        ({"priority": math.inf}, "priority is inf, not a finite number"),
        ({"rate": None}, "rate is missing"),
        ({"rate": 0}, "rate is 0, not above 0"),
        ({"timing": TIMING}, "rate is given beside timing"),
        (
            {"rate": None, "timing": TIMING, "bandwidth_gbps": 0},
            "bandwidth_gbps is 0, so a ring with timing would never finish an iteration",
        ),
    ],
)
def test_what_a_job_may_not_ask_for(change, said):
    with pytest.raises(InvalidValue) as caught:
        replace(JOB, **change)
    assert str(caught.value).startswith(f"{said}. ")
    assert caught.value.mend


def test_no_bandwidth_is_enough_when_there_is_nothing_to_send():
    assert replace(JOB, bandwidth_gbps=0).work_in_slot(2, 60) == 8
    silent = replace(TIMED, timing=replace(TIMING, gradient_mb=0), bandwidth_gbps=0)
    assert silent.work_in_slot(2, 60) == pytest.approx(2 * 60 / 0.04)


@pytest.mark.parametrize(
    ("demand", "budget", "slots"),
    [
        ({"gpu": 2}, None, math.inf),
        ({"gpu": 2}, {}, math.inf),
        ({"gpu": 2}, {"tpu": 1}, math.inf),
        ({"gpu": 2, "tpu": 0}, {"tpu": 0}, math.inf),
        ({"gpu": 2}, {"gpu": 10}, 5),
        ({"gpu": 2, "memory_gib": 8}, {"gpu": 10, "memory_gib": 24}, 3),
        ({"gpu": 2}, {"gpu": 0}, 0),
    ],
)
def test_worker_slots_of_a_budget(demand, budget, slots):
    job = replace(JOB, resources=Resources(demand), budget=None if budget is None else Resources(budget))
    assert job.worker_slots == slots


@pytest.mark.parametrize(
    ("per_worker", "budget", "served", "left"),
    [
        # 0.3/0.1 is 2.9999999999999996 in binary; it pays for 3 worker-slots all the same.
        (0.1, 0.3, 0, 3),
        (0.1, 0.3, 1, 2),
        (0.1, 0.3, 3, 0),
        (0.1, 0.7, 0, 7),
        (0.07, 0.49, 6, 1),
        (0.1, 0.29, 0, 2),
        (1, 2.999, 0, 2),
        (1, 10, 10, 0),
        (1, 10, 12, 0),
        (1, 10, 9.5, 0),
        (1, 10, 8.5, 1),
        (0.1, 0.3, 0.5, 2),
    ],
)
def test_whole_worker_slots_left(per_worker, budget, served, left):
    job = replace(JOB, resources=Resources({"gpu": per_worker}), budget=Resources({"gpu": budget}))
    assert ActiveJob(job, served).worker_slots_left == left


def test_without_a_budget_there_is_no_end():
    assert ActiveJob(JOB, 10**6).worker_slots_left == math.inf


@pytest.mark.parametrize(
    ("least", "budget", "served", "largest"),
    [
        (1, None, 0, 5),
        (1, 100, 0, 5),
        (1, 100, 95, 5),
        (1, 100, 96, 4),
        (1, 100, 99, 1),
        (1, 100, 100, 0),
        (3, 100, 97, 3),
        (3, 100, 98, 0),
    ],
)
def test_largest_ring(least, budget, served, largest):
    job = replace(JOB, min_workers=least, budget=None if budget is None else Resources({"gpu": budget}))
    assert ActiveJob(job, served).largest_ring == largest


def test_work_follows_from_what_was_served():
    """12 worker-slots at 4 each; a file that says `work_done` is believed."""
    assert ActiveJob(JOB, 12).work(60) == 48
    assert ActiveJob(JOB, 12, work_done=50).work(60) == 50
    assert ActiveJob(JOB, 12, work_done=0).work(60) == 0


def test_work_with_timing_credits_the_slowest_ring():
    """Without `work_done`, each worker-slot counts as one of the largest ring: 60/0.79 iterations."""
    assert ActiveJob(TIMED, 12).work(60) == pytest.approx(12 * 60 / 0.79, rel=1e-12)
    assert ActiveJob(TIMED, 12, work_done=3).work(60) == 3


def test_work_in_a_slot():
    assert_allclose(JOB.work_in_slot([0, 1, 3], 60), [0, 4, 12])
    # κ · 60/τ(κ)
    assert_allclose(
        TIMED.work_in_slot([0, 1, 2, 4], 60), [0, 60 / 0.04, 2 * 60 / 0.54, 4 * 60 / 0.79], rtol=1e-12
    )


def test_a_restart_costs_work_but_never_more_than_there_is():
    costly, slow = replace(JOB, resize_cost=6), replace(TIMED, resize_cost=100)
    assert_allclose(costly.work_in_slot([0, 1, 2, 3], 60, restart=True), [0, 0, 2, 6])
    assert_allclose(costly.work_in_slot([0, 1, 2, 3], 60), [0, 4, 8, 12])
    assert_allclose(slow.work_in_slot([1, 2], 60, restart=True), [60 / 0.04 - 100, 2 * 60 / 0.54 - 100])
    assert_allclose(JOB.work_in_slot([1, 2], 60, restart=True), [4, 8])
    assert_allclose(
        ActiveJob(costly, 4, work_done=16).gains([1, 5], 60, restart=True), [0, math.sqrt(30) - 4]
    )


def test_work_is_proportional_to_service_unless_it_depends_on_the_rings():
    assert JOB.work_is_proportional
    assert not TIMED.work_is_proportional
    assert not replace(JOB, resize_cost=1).work_is_proportional


AB = Ring("resnet-7", ("a", "b"), (("a", "b"), ("b", "a")))


@pytest.mark.parametrize(
    ("served", "before", "restart"),
    [
        (0, None, False),
        (0, ("b", "a"), False),
        (2, None, True),
        (2, ("a", "b"), False),
        (2, ("b", "a"), True),
        (2, ("a", "a"), True),
        (2, ("a",), True),
    ],
)
def test_what_a_restart_is(served, before, restart):
    """The first start is none, nor is a ring that goes on with the same workers, whatever its routes."""
    ring = None if before is None else Ring("resnet-7", before, ())
    assert ActiveJob(JOB, served).is_restart(AB, ring) == restart


def test_gains():
    """√ at 4 work per worker-slot, after 4 worker-slots: √16 … √36."""
    assert_allclose(ActiveJob(JOB, 4).gains([0, 1, 5], 60), [0, math.sqrt(20) - 4, 2], rtol=1e-12, atol=1e-15)
    assert_allclose(ActiveJob(JOB, 99, work_done=0).gains([1, 4], 60), [2, 4])


def test_gains_with_timing():
    active = ActiveJob(replace(TIMED, utility=Linear(0.1)), 7)
    assert_allclose(active.gains([0, 1, 4], 60), [0, 150, 0.1 * 4 * 60 / 0.79], rtol=1e-12)


def test_gains_take_one_size_or_many():
    assert float(ActiveJob(JOB).gains(1, 60)) == 2
    assert ActiveJob(JOB).gains(np.arange(6), 60).shape == (6,)


@pytest.mark.parametrize("key", ["served", "work_done"])
@pytest.mark.parametrize("amount", [-1, math.nan, math.inf, 1e16, "3"])
def test_what_cannot_have_been_served(key, amount):
    with pytest.raises(InvalidValue) as caught:
        ActiveJob(JOB, **{key: amount})
    assert caught.value.key == key


def test_they_are_values():
    active = ActiveJob(JOB, 3)
    assert pickle.loads(pickle.dumps(active)) == active
    assert hash(replace(active)) == hash(active)
    with pytest.raises(FrozenInstanceError):
        active.served = 4
    with pytest.raises(FrozenInstanceError):
        JOB.rate = 4
    with pytest.raises(TypeError):
        Job("positional")


def test_a_job_with_a_total_of_work_is_complete_when_it_is_done():
    finite = replace(JOB, work=3.0)
    rate = JOB.rate
    begun = ActiveJob(finite, 0, 0.0)
    assert not begun.is_complete(60)
    assert ActiveJob(finite, 9, 3.0).is_complete(60)
    assert not ActiveJob(replace(JOB, work=None), 9, 1e9).is_complete(60)
    reached = min(3.0, rate * 2)
    assert begun.gains(2, 60) == pytest.approx(float(finite.utility.gain(0, reached)))
    assert begun.gains(finite.max_workers, 60) == pytest.approx(
        float(finite.utility.gain(0, min(3.0, rate * finite.max_workers)))
    )
    with pytest.raises(InvalidValue, match="work is 0"):
        replace(JOB, work=0)
