"""The law of each objective, on cases small enough to be worked out by hand."""

import math
from collections import Counter
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gadget.errors import BadOption
from gadget.model.codec import format_json
from gadget.model.decision import Status
from gadget.model.job import ActiveJob
from gadget.model.resources import Resources
from gadget.model.snapshot import Scenario, Snapshot
from gadget.model.utility import Energy, Linear, Sqrt
from gadget.policies.gadget import Gadget
from gadget.policies.objectives import FairShare, Objective, find_outlooks, restate
from gadget.policies.policy import ask
from gadget.policies.registry import build_policy
from gadget.simulate.simulation import simulate
from gadget.solve.guarantees import slot_ratio
from tests.strategies import snapshots
from tests.unit.policies.by_hand import a_job, one_server, rigid, run

COMPLETION, DEADLINE, FAIRNESS = (
    f"gadget:objective={name}" for name in ("completion", "deadline", "fairness")
)


def slot(*jobs, gpus=1, at=0):
    return Snapshot(one_server(gpus), tuple(map(ActiveJob, jobs)), at, 50)


def finishes(policy, jobs, slots, gpus=1):
    """The last slot of service of each job."""
    schedule = run(policy, one_server(gpus), *jobs, slots=slots)
    return {name: number for number, served in enumerate(schedule) for name in served}


# --- completion


def test_the_shorter_of_two_equal_jobs_goes_first():
    jobs = rigid("long", 1, work=3), rigid("short", 1, work=2)
    assert run(COMPLETION, one_server(1), *jobs, slots=5) == [{"short": 1}] * 2 + [{"long": 1}] * 3


def test_what_is_left_counts_not_what_there_was():
    # The newcomer has 3 to do; of the 5 of the other 2 are left by then.
    jobs = rigid("first", 1, work=5), rigid("new", 1, work=3, arrival=3)
    assert finishes(COMPLETION, jobs, 8) == {"first": 4, "new": 7}


def test_weights_follow_smiths_rule():
    # 3/4 is more than 1/2: the longer job goes first.
    # Σ w·C = 3·4 + 6 = 18; the other way it is 2 + 3·6 = 20.
    jobs = rigid("light", 1, work=2), rigid("heavy", 1, work=4, priority=3)
    assert finishes(COMPLETION, jobs, 6) == {"heavy": 3, "light": 5}
    # With 1.5/4 it is less.
    jobs = rigid("light", 1, work=2), rigid("heavy", 1, work=4, priority=1.5)
    assert finishes(COMPLETION, jobs, 6) == {"light": 1, "heavy": 5}


@settings(max_examples=25, deadline=None)
@given(loads=st.lists(st.tuples(st.integers(1, 6), st.integers(1, 5)), min_size=1, max_size=5))
def test_on_one_machine_weighted_completion_is_the_least_that_there_is(loads):
    jobs = tuple(rigid(f"j{n}", 1, work=work, priority=weight) for n, (work, weight) in enumerate(loads))
    found = finishes(f"{COMPLETION},gap=0", jobs, sum(work for work, _ in loads))
    best, clock = 0, 0
    for work, weight in sorted(loads, key=lambda one: one[0] / one[1]):  # Smith's rule
        clock += work
        best += weight * clock
    assert sum(job.priority * (found[job.name] + 1) for job in jobs) == best


def test_what_a_slot_takes_counts_in_gpus():
    # All would take two slots; the wide one takes all four GPUs for that.
    jobs = rigid("wide", 4, work=8), *(rigid(name, 1, work=2) for name in "abc")
    assert run(COMPLETION, one_server(4), *jobs, slots=4)[0] == dict.fromkeys("abc", 1)


def test_an_elastic_job_has_no_more_than_it_can_use():
    # Two worker-slots end the short one; the other two GPUs are for the long one.
    jobs = a_job("long", 4, work=20), a_job("short", 4, work=2)
    assert run(COMPLETION, one_server(4), *jobs, slots=1) == [{"long": 2, "short": 2}]


def test_a_budget_ends_a_job_too():
    jobs = rigid("long", 1, budget=Resources({"gpu": 5})), rigid("short", 1, budget=Resources({"gpu": 2}))
    assert finishes(COMPLETION, jobs, 7) == {"short": 1, "long": 6}


def test_a_job_without_an_end_has_what_is_left():
    jobs = a_job("endless", 4, priority=1000), a_job("short", 2, work=4)
    assert run(COMPLETION, one_server(4), *jobs, slots=3) == [
        {"endless": 2, "short": 2},
        {"endless": 2, "short": 2},
        {"endless": 4},
    ]


def test_the_gain_of_a_whole_job_is_its_weight():
    decision = ask(Gadget(objective=Objective.COMPLETION), slot(rigid("a", 1, work=1, priority=7)), 0)
    assert decision.surrogate.objective == pytest.approx(7)


# --- deadline


def test_the_urgent_job_goes_first():
    jobs = rigid("later", 1, work=2, deadline=9), rigid("sooner", 1, work=2, deadline=2)
    assert finishes(DEADLINE, jobs, 4) == {"sooner": 1, "later": 3}
    assert finishes("gadget", jobs, 4) != {"sooner": 1, "later": 3}  # without it, who is listed first


def test_a_long_urgent_job_goes_before_a_short_patient_one():
    # By completion alone the short one would go first, and the long one would be late.
    jobs = rigid("short", 1, work=2, deadline=40), rigid("long", 1, work=4, deadline=4)
    assert finishes(DEADLINE, jobs, 6) == {"long": 3, "short": 5}
    assert finishes(COMPLETION, jobs, 6) == {"short": 1, "long": 5}


def test_a_job_that_is_late_anyway_loses_its_turn():
    # Three slots of work in two: its value is lost. The other can still be in time.
    jobs = rigid("late", 1, work=3, deadline=2), rigid("able", 1, work=6, deadline=6)
    assert finishes(DEADLINE, jobs, 9) == {"able": 5, "late": 8}


def test_a_deadline_counts_to_the_slot_before_it():
    # Two slots of work from slot 0 on are done before slot 2 begins; before slot 1 they cannot be.
    other = rigid("other", 1, work=2, deadline=4)
    assert finishes(DEADLINE, (other, rigid("a", 1, work=2, deadline=2)), 4) == {"a": 1, "other": 3}
    assert finishes(DEADLINE, (other, rigid("a", 1, work=2, deadline=1)), 4) == {"other": 1, "a": 3}


def test_of_two_late_ones_and_of_two_without_a_deadline_the_shorter_goes_first():
    late = rigid("long", 1, work=4, deadline=1), rigid("short", 1, work=2, deadline=1)
    assert finishes(DEADLINE, late, 6) == {"short": 1, "long": 5}
    free = rigid("long", 1, work=4), rigid("short", 1, work=2)
    assert finishes(DEADLINE, free, 6) == {"short": 1, "long": 5}


def test_of_two_equally_urgent_jobs_the_dearer_goes_first():
    jobs = rigid("cheap", 1, work=2, deadline=3), rigid("dear", 1, work=2, deadline=3, priority=2)
    assert finishes(DEADLINE, jobs, 4) == {"dear": 1, "cheap": 3}


def test_who_is_late_runs_where_room_is_idle():
    jobs = a_job("late", 4, work=40, deadline=1), a_job("able", 2, work=4, deadline=2)
    assert run(DEADLINE, one_server(4), *jobs, slots=1) == [{"late": 2, "able": 2}]


# --- fairness


def test_equal_jobs_have_equal_work_over_time():
    for gpus, slots in ((1, 6), (2, 6), (4, 3)):
        jobs = tuple(a_job(name, 4) for name in "abc")
        total = sum(map(Counter, run(FAIRNESS, one_server(gpus), *jobs, slots=slots)), Counter())
        assert set(total.values()) == {gpus * slots // 3}


def test_rigid_jobs_take_turns():
    jobs = rigid("a", 2), rigid("b", 2)
    total = sum(map(Counter, run(FAIRNESS, one_server(2), *jobs, slots=6)), Counter())
    assert total == {"a": 6, "b": 6}


def test_elastic_jobs_share_a_slot_whatever_their_utilities():
    jobs = a_job("a", 4, utility=Linear(100)), a_job("b", 4, utility=Sqrt())
    assert run(FAIRNESS, one_server(4), *jobs, slots=1) == [{"a": 2, "b": 2}]


def test_priority_is_a_weight_of_fairness():
    jobs = rigid("a", 1, priority=3), rigid("b", 1)
    total = sum(map(Counter, run(FAIRNESS, one_server(1), *jobs, slots=40)), Counter())
    assert total["a"] / total["b"] == pytest.approx(3, rel=0.15)


def test_a_newcomer_does_not_shut_out_who_came_before():
    # With service attained alone to go by, b would run until it has had 20 slots too.
    jobs = rigid("a", 1), rigid("b", 1, arrival=20)
    schedule = run(FAIRNESS, one_server(1), *jobs, slots=30)
    assert schedule[20] == {"b": 1}
    assert 2 <= sum("a" in served for served in schedule[20:]) <= 8


def test_fair_share_is_proportional_fairness():
    fair = FairShare(weight=6, unit=2)
    assert fair.value([0, 2, 6]).tolist() == pytest.approx([0, 6 * np.log(2), 6 * np.log(4)])
    assert fair.gain(2, [2, 6]).tolist() == pytest.approx([0, 6 * np.log(2)])
    assert fair.admits_guarantee
    each = [fair, FairShare(1, 1)]
    together = FairShare.gains_of_each(
        each, np.array([0, 0, 1]), np.array([2.0, 0.0]), np.array([2.0, 6.0, 1.0])
    )
    assert together.tolist() == pytest.approx([0, 6 * np.log(2), np.log(2)])


# --- energy


@settings(max_examples=30, deadline=None)
@given(snapshot=snapshots())
def test_energy_that_costs_nothing_is_the_utility(snapshot):
    free = ask(Gadget(objective=Objective.ENERGY, energy_weight=0), snapshot, 3)
    assert format_json(replace(free, seconds=0)) == format_json(
        replace(ask(Gadget(), snapshot, 3), seconds=0)
    )


def test_a_gpu_slot_must_earn_its_energy():
    # √: the second worker gains 0.41, the third 0.32.
    job = a_job("a", 4, utility=Sqrt())
    sizes = {
        weight: run(f"gadget:objective=energy,energy_weight={weight}", one_server(4), *(job,), slots=1)[
            0
        ].get("a", 0)
        for weight in (0, 0.2, 0.35, 0.5, 2)
    }
    assert sizes == {0: 4, 0.2: 4, 0.35: 2, 0.5: 1, 2: 0}


def test_energy_is_counted_in_gpus_whatever_the_rate():
    fast = a_job("a", 4, rate=100, utility=Linear(0.02), resources=Resources({"gpu": 2}))
    # A worker earns 2 in a slot and takes two GPUs.
    sizes = [
        run(f"gadget:objective=energy,energy_weight={weight}", one_server(8), *(fast,), slots=1)
        for weight in (0.9, 1.1)
    ]
    assert sizes == [[{"a": 4}], [{}]]


def test_energy_of_its_own_is_added_to():
    own = Energy(Linear(3), weight=2, energy_per_work=0.5, quadratic=0.4, linear=1)
    (shown,) = restate(slot(a_job("a", 4, utility=own), gpus=4), Objective.ENERGY, 0.7).jobs
    work = np.arange(5.0)
    expected = own.gain(1.0, work) - 0.7 * (work - 1)
    assert shown.job.utility.gain(1.0, work).tolist() == pytest.approx(expected.tolist())


# --- all of them


OTHERS = [one for one in Objective if one is not Objective.UTILITY]


@pytest.mark.parametrize("objective", OTHERS)
@settings(max_examples=30, deadline=None)
@given(snapshot=snapshots())
def test_what_is_told_is_true_and_what_is_proved_is_of_the_surrogate(objective, snapshot):
    decision = ask(Gadget(objective=objective), snapshot, 0)
    shown = restate(snapshot, objective, 1.0)
    assert decision.objective == pytest.approx(snapshot.objective(decision.allocation))
    assert decision.upper_bound is None
    assert decision.status is Status.CERTIFIED
    assert decision.surrogate.upper_bound >= decision.surrogate.objective
    assert slot_ratio(decision) is None  # nothing is proved of the utilities
    if all(active.job.worth.concave for active in shown.jobs):
        gained = shown.objective(decision.allocation)
        assert decision.surrogate.objective == pytest.approx(gained, rel=1e-6, abs=1e-9)


@pytest.mark.parametrize("objective", OTHERS)
@settings(max_examples=20, deadline=None)
@given(snapshot=snapshots())
def test_only_utilities_are_restated(objective, snapshot):
    for active, shown in zip(snapshot.jobs, restate(snapshot, objective, 1.0).jobs, strict=True):
        assert replace(shown.job, utility=active.job.utility) == active.job
        assert (shown.served, shown.work_done) == (active.served, active.work_done)


@pytest.mark.parametrize("objective", OTHERS)
@settings(max_examples=60, deadline=None)
@given(snapshot=snapshots(wild=True))
def test_anything_that_a_file_may_hold_can_be_restated(objective, snapshot):
    for active in restate(snapshot, objective, 1e-14).jobs:
        assert np.isfinite(active.gains([0, active.job.max_workers], snapshot.slot_seconds)).all()


def test_the_utility_of_the_jobs_decides_by_default():
    snapshot = slot(rigid("a", 1))
    assert restate(snapshot, Objective.UTILITY, 1.0) is snapshot
    assert build_policy("gadget:objective=utility") == Gadget()


def test_jobs_that_cannot_run_have_no_outlook():
    done = ActiveJob(rigid("done", 1, work=2), served=2)
    paid = ActiveJob(rigid("paid", 1, budget=Resources({"gpu": 2})), served=2)
    able = ActiveJob(a_job("able", 9, work=30, arrival=1), served=6)
    jobs = (
        done,
        paid,
        able,
        ActiveJob(rigid("wide", 5)),
        ActiveJob(rigid("alien", 1, resources=Resources({"cpu": 1}))),
    )
    later = ActiveJob(rigid("later", 1, arrival=7))
    (found,) = find_outlooks(Snapshot(one_server(4), (*jobs, later), 4, 50))
    assert (found.active, found.age, found.left, found.workers) == (able, 4, 24, 4)
    assert (found.work, found.gpus, found.equal_work, found.slots_left) == (4, 4, 4, 6)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (
            "objective=speed",
            "option objective cannot be 'speed'. Choose one of utility, completion, deadline",
        ),
        ("energy_weight=-1", "energy_weight is -1"),
        ("energy_weight=nan", "energy_weight is nan"),
        ("energy_weight=much", "option energy_weight cannot be 'much'"),
    ],
)
def test_options_that_make_no_sense(options, said):
    with pytest.raises(BadOption, match=said):
        build_policy(f"gadget:{options}")


def drawn(seed):
    """Ten elastic jobs on eight GPUs, most of them with a deadline that can be kept by who goes first."""
    rng = np.random.default_rng(seed)
    jobs = []
    for number, arrival in enumerate(np.sort(rng.integers(0, 7, 10)).tolist()):
        work = int(rng.choice([4, 6, 8, 12, 16, 24, 32]))
        due = arrival + math.ceil(work / 4) + int(rng.choice([1, 2, 3, 6, 10]))
        more = {"deadline": due} if rng.random() < 0.7 else {}
        weight, scale = float(rng.choice([1, 1, 3])), float(rng.choice([1, 2, 4]))
        job = a_job(f"j{number}", 4, arrival=arrival, work=work, priority=weight, utility=Sqrt(scale), **more)
        jobs.append(job)
    return Scenario(one_server(8), tuple(jobs), 28)


def test_each_objective_is_the_best_at_its_own():
    texts = ["gadget", COMPLETION, DEADLINE, FAIRNESS, "gadget:objective=energy,energy_weight=0.4"]
    names = ["utility", "completion", "deadline", "fairness", "energy"]
    whole = [simulate(drawn(seed), texts).summaries for seed in range(4)]
    early = [simulate(drawn(seed), texts, slots=9).summaries for seed in range(4)]

    def rank(runs, read):
        """The objectives by their means over the runs, the least first."""
        means = {n: np.mean([read(run[t].mean) for run in runs]) for n, t in zip(names, texts, strict=True)}
        return sorted(means, key=means.__getitem__)

    assert rank(early, lambda mean: mean.total_utility)[-1] == "utility"
    done = rank(whole, lambda mean: mean.weighted_completion_slots)
    assert next(name for name in done if name != "energy") == "completion"  # energy leaves jobs undone
    assert rank(whole, lambda mean: mean.deadlines_met)[-1] == "deadline"
    assert rank(whole, lambda mean: mean.share_embedded)[-1] == "fairness"
    assert rank(whole, lambda mean: mean.utilisation["gpu"])[0] == "energy"
