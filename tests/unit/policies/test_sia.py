"""Sia: the program's choices worked out by hand. With p = −1/2 and λ = 1.1 a ring of κ single GPUs is worth
1.1 − κ^−½: 0.1 for one worker, 0.393 for two, 0.6 for four, 0.746 for eight."""

from dataclasses import replace

import pytest

from gadget.errors import BadOption
from gadget.model.builders import build_leaf_spine
from gadget.model.job import ActiveJob
from gadget.model.resources import Resources
from gadget.model.snapshot import Snapshot
from gadget.model.timing import Timing
from gadget.policies.policy import ask
from gadget.policies.registry import build_policy
from gadget.policies.sia import Sia
from tests.unit.policies.schedules import a_job, decide, one_server, rigid, run, star


def choose(cluster, *jobs, policy="sia"):
    return run(policy, cluster, *jobs, slots=1)[0]


def test_two_equal_jobs_have_two_each():
    # 2 + 2: 0.786; 4 alone: 0.6; 1 + 2: 0.493. Three workers are not on offer.
    assert choose(one_server(4), a_job("a", 4), a_job("b", 4)) == {"a": 2, "b": 2}


def test_jobs_wait_where_larger_rings_of_others_are_worth_more():
    # 2 + 2 with two jobs waiting: 0.786; one each: 0.4.
    # A job that waits costs little more than the smallest ring.
    chosen = choose(one_server(4), *(a_job(name, 4) for name in "abcd"))
    assert sorted(chosen.values()) == [2, 2]


def test_a_dearer_wait_lets_all_run():
    # λ = 3: 4 · 2 = 8 for one each, 2 · 2.293 for two each.
    jobs = tuple(a_job(name, 4) for name in "abcd")
    assert choose(one_server(4), *jobs, policy="sia:waiting=3") == dict.fromkeys("abcd", 1)


def test_sizes_are_powers_of_two_and_then_whole_servers():
    rack = build_leaf_spine(1, 1, 3, resources=Resources({"gpu": 4}))
    assert choose(rack, a_job("a", 3)) == {"a": 2}
    assert choose(rack, a_job("a", 7)) == {"a": 4}
    assert choose(rack, a_job("a", 11)) == {"a": 8}
    assert choose(rack, a_job("a", 12)) == {"a": 12}


def test_a_rigid_job_has_its_own_size():
    rack = build_leaf_spine(1, 1, 3, resources=Resources({"gpu": 4}))
    assert choose(rack, rigid("a", 3)) == {"a": 3}
    assert choose(rack, rigid("a", 7), a_job("b", 4)) == {"a": 7, "b": 4}
    # Five to seven workers are neither within a server nor whole servers: it has its least.
    assert choose(rack, a_job("a", 7, 5)) == {"a": 5}


def test_a_rigid_job_counts_as_its_gpus():
    # Four rigid ones of one GPU: 0.4. A rigid one of four: 0.6.
    narrow = tuple(rigid(name, 1) for name in "abcd")
    assert choose(one_server(4), *narrow, rigid("wide", 4)) == {"wide": 4}
    # Its GPUs count, not its workers.
    heavy = rigid("wide", 1, resources=Resources({"gpu": 4}))
    assert choose(one_server(4), *narrow, heavy) == {"wide": 1}


def test_priority_is_a_weight():
    # For each of these jobs 0.1; the one that counts eight times has 0.8, above 0.6 for the wide one.
    jobs = rigid("wide", 4), rigid("dear", 1, priority=8)
    assert choose(one_server(4), *jobs) == {"dear": 1}


def grown(restart_seconds, resize_cost=0.0, own_seconds=0.0):
    """a has run alone on all four GPUs for ten slots of a minute; b has just come."""
    a = a_job("a", 4, resize_cost=resize_cost, restart_seconds=own_seconds)
    b = a_job("b", 4, arrival=10)
    running = ask(Sia(), Snapshot(one_server(4), (ActiveJob(a),), 9, 20), 0).allocation
    jobs = ActiveJob(a, 40), ActiveJob(b)
    snapshot = Snapshot(one_server(4), jobs, 10, 20, running=running)
    decision = ask(Sia(restart_seconds=restart_seconds), snapshot, 0)
    return {ring.job: ring.size for ring in decision.allocation.rings}, decision


def test_a_restart_that_pays_is_made():
    # T = 10 slots, S = half a slot: r = 10/10.5. Two each: 1.1 − 1.905^−½ + 0.393 = 0.768, above 0.6.
    assert grown(30)[0] == {"a": 2, "b": 2}
    assert grown(600, own_seconds=30)[0] == {"a": 2, "b": 2}


@pytest.mark.parametrize(
    ("restart_seconds", "resize_cost", "own_seconds"),
    [(600, 0, None), (0, 40, None), (300, 20, None), (30, 0, 600)],
)
def test_a_restart_that_does_not_pay_is_not(restart_seconds, resize_cost, own_seconds):
    # S = 10 slots, by its length, or by four of work in each: r = ½. Two each: 1.1 − 1 + 0.393, below 0.6.
    sizes, decision = grown(restart_seconds, resize_cost, own_seconds)
    assert sizes == {"a": 4}
    assert [one.job for one in decision.waiting] == ["b"]


def test_speed_by_size_decides_not_size():
    # By Eq. (1) two workers of it do less together than one alone.
    timing = Timing(gradient_mb=100, reduce_gbps=4, forward_ms_per_sample=0.5, batch=32, backward_ms=20)
    slow = a_job("slow", 4, rate=None, timing=timing, bandwidth_gbps=0.1)
    assert choose(one_server(4), slow) == {"slow": 1}


def test_a_fairness_above_0_favours_the_fast():
    # p = 1, λ = 0: Σ κ. Four for either, or two each: all the same; with priority 2 all goes to one.
    jobs = a_job("a", 4), a_job("b", 4, priority=2)
    assert choose(one_server(4), *jobs, policy="sia:fairness=1,waiting=0") == {"b": 4}
    # p = −1, λ = 2: 2 · (2 − ½) + (2 − ½) for two each is 4.5, above 2 · (2 − ¼) = 3.5 for one.
    assert choose(one_server(4), *jobs, policy="sia:fairness=-1,waiting=2") == {"a": 2, "b": 2}


def test_rings_that_keep_their_size_stay_where_they_are():
    rack = build_leaf_spine(1, 1, 3, resources=Resources({"gpu": 4}))
    jobs = tuple(ActiveJob(rigid(name, 4)) for name in "abc")
    first = ask(Sia(), Snapshot(rack, jobs, 0, 10), 0)
    served = tuple(replace(active, served=4) for active in jobs)
    again = ask(Sia(), Snapshot(rack, served[::-1], 1, 10, running=first.allocation), 0)
    assert dict(again.allocation.ring_of) == dict(first.allocation.ring_of)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ("fairness=0", "fairness is 0. Give a finite number other than 0"),
        ("fairness=nan", "fairness is nan"),
        ("waiting=-1", "waiting is -1. Give a finite number, 0 or more"),
        ("restart_seconds=inf", "restart_seconds is inf"),
        ("gap=-0.1", "gap is -0.1"),
        ("time_limit=-2", "time_limit is -2"),
    ],
)
def test_options_that_make_no_sense(options, said):
    with pytest.raises(BadOption, match=said):
        build_policy(f"sia:{options}")


def test_out_of_time_before_the_first_answer_what_runs_goes_on():
    # Thirty jobs with many configurations each: no answer in no time.
    jobs = tuple(a_job(f"j{n}", 16) for n in range(30))
    cluster = star(*(8,) * 8)
    first = decide("sia", cluster, *jobs)
    again = decide("sia:time_limit=0", cluster, *jobs, running=first.allocation.rings)
    kept = set(first.allocation.rings) & set(again.allocation.rings)
    assert len(kept) >= len(first.allocation.rings) / 2
    assert decide("sia:time_limit=0", cluster, *jobs).allocation.rings
