"""Numbers of runs, by hand."""

import builtins
from dataclasses import replace
from math import inf

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gadget.engine.events import JobLeft, ServerFailed
from gadget.errors import BadOption, MissingPackage
from gadget.model.decision import Decision, Status, Surrogate
from gadget.model.resources import Resources
from gadget.model.ring import Allocation
from gadget.model.snapshot import Scenario, Snapshot
from gadget.model.utility import Linear, Sigmoid, Sqrt
from gadget.policies.fifo import Fifo
from gadget.report.simulation.numbers import find_metrics
from gadget.simulate.guarantee import find_gamma, find_guarantees, find_obstacle
from gadget.simulate.loop import Planned
from gadget.simulate.simulation import simulate
from tests.strategies import scenarios
from tests.unit.engine.worlds import PAIR, TIMING, job, ring

# x runs in slots 0 and 1 over both servers and is through; y comes in slot 1 and runs alone in 2 and 3.
X = job("x", max_workers=3, budget=Resources({"gpu": 5}), utility=Sqrt(2), bandwidth_gbps=4)
Y = job("y", arrival=1, resources=Resources({"gpu": 2}), max_workers=1, utility=Linear(3))
SCENARIO = Scenario(PAIR, (X, Y), 4)


def test_slots_jobs_and_summary_of_a_horizon_worked_by_hand() -> None:
    result = simulate(SCENARIO, "fifo")
    (run,) = result.runs
    assert run.complete
    assert [(slot.active, slot.embedded) for slot in run.slots] == [(1, 1), (2, 2), (1, 1), (1, 1)]
    # μ_x = 2√(5·3) after slot 0, 2√(5·5) after slot 1; μ_y = 3·5 a slot.
    assert [slot.utility for slot in run.slots] == pytest.approx([2 * 15**0.5, 10 + 15, 10 + 30, 10 + 45])
    # Slot 1: x has two workers left on one server, y has the other.
    assert [slot.utilisation["gpu"] for slot in run.slots] == [0.75, 1.0, 0.5, 0.5]
    assert [slot.max_link_load for slot in run.slots] == [0.4, 0.0, 0.0, 0.0]
    assert [slot.resizes for slot in run.slots] == [0, 1, 0, 0]
    assert [slot.restarts for slot in run.slots] == [0, 1, 0, 0]
    x, y = run.jobs
    assert (x.status, x.arrival, x.first_start, x.finish) == ("finished", 0, 0, 1)
    assert (x.slots_served, x.worker_slots, x.work, x.utility, x.resizes) == (2, 5, 25, 10, 1)
    assert (y.status, y.arrival, y.first_start, y.finish, y.work) == ("running", 1, 1, None, 15)
    summary = result.summaries["fifo"].mean
    assert summary.total_utility == pytest.approx(55)
    assert summary.utility_gain == pytest.approx(55)
    assert (summary.jobs, summary.jobs_finished, summary.mean_completion_slots) == (2, 1, 2)
    assert summary.tail_completion_slots == 2
    assert (x.waiting_slots, x.completion_slots, y.waiting_slots, y.completion_slots) == (0, 2, 0, None)
    # Alone x may use 3 of 4 GPUs, beside y 2: an equal share does 15 + 10, and x did just that. y needs two
    # GPUs for its one worker: one worker in each of its slots, as it had.
    assert (x.service_share, y.service_share) == (1, 1)
    assert (summary.jain_index, summary.mean_waiting_slots, summary.tail_waiting_slots) == (1, 0, 0)
    # Free: 1 GPU beside x; none; then the two of an empty server.
    assert [slot.fragmentation for slot in run.slots] == [1, None, 0, 0]
    assert [slot.ring_edges for slot in run.slots] == [3, 2, 0, 0]
    assert (summary.fragmentation, summary.cross_rack_share) == (pytest.approx(1 / 3), 0)
    assert summary.share_embedded == 1
    assert summary.utilisation["gpu"] == pytest.approx(2.75 / 4)
    assert (summary.resizes, summary.restarts, summary.work_lost) == (1, 1, 0)
    assert summary.upper_bound is not None
    assert summary.total_utility <= summary.upper_bound * (1 + 1e-9)
    assert summary.measured_ratio == pytest.approx(summary.total_utility / summary.upper_bound)
    assert summary.certified_ratio is None  # fifo proves nothing
    assert run.ring_sizes.rows_of([0, 1]).tolist() == [[3, 2, 0, 0], [0, 1, 1, 1]]
    assert run.ring_sizes.totals().tolist() == [5, 3]
    assert run.link_loads.names == ("a → sw", "sw → a", "b → sw", "sw → b")
    assert run.link_loads.rows_of([1]).tolist() == [[0.4, 0, 0, 0]]


def test_what_restarts_lose_is_told_and_not_gained() -> None:
    result = simulate(replace(SCENARIO, jobs=(replace(X, resize_cost=4), replace(Y, resize_cost=4))), "fifo")
    (run,) = result.runs
    # x is resized in slot 1: 3·5 and 2·5 − 4 work. y goes on where it is.
    assert [slot.restarts for slot in run.slots] == [0, 1, 0, 0]
    x, y = run.jobs
    assert (x.worker_slots, x.work, x.restarts, x.work_lost) == (5, 21, 1, 4)
    assert (y.worker_slots, y.work, y.restarts, y.work_lost) == (3, 15, 0, 0)
    summary = result.summaries["fifo"].mean
    assert (summary.restarts, summary.work_lost) == (1, 4)
    assert summary.total_utility == pytest.approx(2 * 21**0.5 + 45)
    assert {"restarts", "work_lost"} <= set(result.to_frames().jobs.columns)


MOVING = ("fifo:backfill=true", "las", "drf")


def as_planned(job):
    """The job without what makes its rings faster inside a server than decisions reckon."""
    return job if job.timing is None else replace(job, timing=replace(job.timing, local_gbps=None))


@pytest.mark.parametrize("text", MOVING)
@settings(max_examples=60)
@given(scenario=scenarios(), failure=st.integers(0, 7))
def test_what_slots_gain_adds_up_whatever_restarts_cost(text: str, scenario: Scenario, failure: int) -> None:
    planned = [Planned(failure, ServerFailed(scenario.cluster.servers[0].name))]
    scenario = replace(scenario, jobs=tuple(map(as_planned, scenario.jobs)))
    (run,) = simulate(scenario, text, planned=planned).runs
    size = max(1.0, *(abs(slot.objective) for slot in run.slots), *(abs(one.utility) for one in run.jobs))
    assert sum(slot.objective for slot in run.slots) == pytest.approx(
        sum(one.gain for one in run.jobs), abs=1e-6 * size * len(run.slots)
    )
    assert sum(slot.restarts for slot in run.slots) == sum(one.restarts for one in run.jobs)
    known = {job.name: job for job in scenario.jobs}
    for one in run.jobs:
        job = known[one.job]
        assert one.resizes <= one.restarts <= max(0, one.slots_served - 1)
        assert one.work_lost >= 0
        if not job.restart_seconds:
            assert one.work_lost <= one.restarts * job.resize_cost * (1 + 1e-9)
        if job.rate is not None:
            whole = job.rate * one.worker_slots - one.work_lost
            assert one.work == pytest.approx(min(whole, job.work or whole), rel=1e-9)


@pytest.mark.parametrize("text", MOVING)
def test_policies_that_move_rings_pay_for_it(text: str) -> None:
    jobs = [job(f"j{n}", arrival=n, utility=Sqrt(), max_workers=4, resize_cost=2) for n in range(5)]
    jobs[0] = replace(jobs[0], budget=Resources({"gpu": 9}))
    (run,) = simulate(Scenario(PAIR, tuple(jobs), 12), text).runs
    assert sum(one.work_lost for one in run.jobs) == 2 * sum(one.restarts for one in run.jobs) > 0
    assert sum(slot.objective for slot in run.slots) == pytest.approx(run.total_utility)


def test_a_sigmoid_is_worth_something_before_any_work() -> None:
    idle = job("i", utility=Sigmoid(10, 0.1, 0), max_workers=2, min_workers=2, budget=Resources({"gpu": 1}))
    summary = simulate(Scenario(PAIR, (idle,), 2), "fifo").summaries["fifo"].mean
    assert (summary.total_utility, summary.utility_gain, summary.jobs_finished) == (5, 0, 0)


def test_utilisation_is_that_of_the_servers_that_stand() -> None:
    scenario = Scenario(PAIR, (job("x", max_workers=4),), 2)
    result = simulate(scenario, "fifo", planned=[Planned(1, ServerFailed("a"))])
    assert [slot.utilisation["gpu"] for slot in result.runs[0].slots] == [1, 1]
    assert result.runs[0].ring_sizes.rows_of([0]).tolist() == [[4, 2]]


def test_an_empty_scenario_has_a_summary() -> None:
    result = simulate(Scenario(PAIR, (), 2), ["fifo"])
    mean = result.summaries["fifo"].mean
    assert (mean.total_utility, mean.jobs, mean.share_embedded, mean.measured_ratio) == (0, 0, None, None)
    assert (result.guarantees.gamma, result.guarantees.paper_ratio) == (0, None)


class Certified:
    """First in, first out, that says how good it is."""

    def __init__(self, alpha: float, surrogate: float | None = None, *, bounds_truth: bool = True) -> None:
        self.alpha, self.surrogate, self.bounds_truth = alpha, surrogate, bounds_truth

    def decide(self, snapshot: Snapshot, rng: object) -> Decision:
        made = Fifo().decide(snapshot, rng)  # type: ignore[arg-type]
        bound = made.objective / self.alpha
        if self.surrogate is None:
            return replace(made, upper_bound=bound, status=Status.CERTIFIED)
        value = made.objective * self.surrogate
        return replace(
            made,
            upper_bound=value / self.alpha if self.bounds_truth else None,
            surrogate=Surrogate(value, value / self.alpha),
            status=Status.CERTIFIED,
        )


def test_the_certified_ratio_follows_from_the_worst_slot_of_the_worst_run() -> None:
    result = simulate(SCENARIO, {"c": Certified(0.8)}, seeds=[0, 5])
    assert result.runs[0].slots[0].ratio == pytest.approx(0.8)
    assert result.summaries["c"].mean.certified_ratio == pytest.approx(0.8 / 1.8)
    assert [run.seed for run in result.summaries["c"].runs] == [0, 5]


@pytest.mark.parametrize(("surrogate", "certified"), [(1.0, 0.8 / 1.8), (1.5, None)])
def test_a_surrogate_certifies_only_where_it_tells_the_truth(
    surrogate: float, certified: float | None
) -> None:
    mean = simulate(SCENARIO, {"c": Certified(0.8, surrogate)}).summaries["c"].mean
    assert mean.certified_ratio == (None if certified is None else pytest.approx(certified))


def test_a_bound_on_another_objective_certifies_nothing_even_where_the_numbers_agree() -> None:
    result = simulate(SCENARIO, {"c": Certified(0.8, 1.0, bounds_truth=False)})
    assert result.summaries["c"].mean.certified_ratio is None
    assert result.runs[0].slots[0].ratio is None


def test_deadlines_met_and_completion_by_priority() -> None:
    # x is done in slot 1: after 2 slots. y comes in slot 1 and is done in slot 3 with 15 of work: after 3.
    jobs = replace(X, priority=3, deadline=2), replace(Y, work=15, deadline=3)
    summary = simulate(replace(SCENARIO, jobs=jobs), "fifo").summaries["fifo"].mean
    assert summary.weighted_completion_slots == pytest.approx((3 * 2 + 1 * 3) / 4)
    assert summary.mean_completion_slots == pytest.approx(2.5)
    assert summary.deadlines_met == 0.5
    # Not done by its deadline, or done too late: missed. Not done, but there is time: not told of.
    for deadline, met in ((4, 0.5), (5, 1.0)):
        jobs = replace(X, deadline=2), replace(Y, deadline=deadline)
        assert simulate(replace(SCENARIO, jobs=jobs), "fifo").summaries["fifo"].mean.deadlines_met == met
    jobs = replace(X, deadline=1), replace(Y, work=15, deadline=4)
    result = simulate(replace(SCENARIO, jobs=jobs), "fifo")
    assert result.summaries["fifo"].mean.deadlines_met == 0.5
    assert {"deadline", "priority"} <= set(result.to_frames().jobs.columns)
    assert {"deadlines met"} == {one.title for one in find_metrics(result)} & {
        "deadlines met",
        "weighted completion, slots",
    }
    assert simulate(SCENARIO, "fifo").summaries["fifo"].mean.deadlines_met is None


SPENT = Resources({"gpu": 3})


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (job("j", utility=Sigmoid(1, 1, 5)), "its utility (sigmoid) is not concave"),
        (job("j", min_workers=2, budget=SPENT), "less than its smallest ring of 2"),
        (job("j", rate=None, timing=TIMING, budget=SPENT), "(timing)"),
        (job("j", resize_cost=1), "its restarts cost work or time"),
    ],
)
def test_what_stands_in_the_way_of_a_certificate_is_said(given: object, said: str) -> None:
    obstacle = find_obstacle(Scenario(PAIR, (job("fine"), given), 9))  # type: ignore[arg-type]
    assert obstacle is not None
    assert obstacle.startswith("1 of 2 jobs, first 'j': ")
    assert said in obstacle


@pytest.mark.parametrize(
    "fine",
    [
        job("j"),
        job("j", budget=SPENT),
        job("j", min_workers=2, budget=Resources({"gpu": 18})),
        job("j", rate=None, timing=TIMING),
    ],
)
def test_a_budget_that_cannot_bind_or_can_be_cut_is_no_obstacle(fine: object) -> None:
    assert find_obstacle(Scenario(PAIR, (fine,), 9)) is None  # type: ignore[arg-type]


def test_gamma_is_the_largest_ring_on_the_empty_cluster_of_a_job_that_arrives() -> None:
    assert find_gamma(Scenario(PAIR, (job("x", max_workers=3), job("y", max_workers=9)), 5)) == 4
    assert find_gamma(Scenario(PAIR, (job("y", max_workers=9, bandwidth_gbps=11),), 5)) == 2
    late = Scenario(PAIR, (job("x", max_workers=3), job("y", max_workers=9, arrival=5)), 5)
    found = find_guarantees(late)
    assert (found.gamma, found.paper_ratio) == (3, 0.1)


def test_means_and_spreads_over_seeds() -> None:
    class Moody:
        def decide(self, snapshot: Snapshot, rng: object) -> Decision:
            rings = [ring("x", "a")] if rng.integers(2) else []  # type: ignore[attr-defined]
            allocation = Allocation(tuple(rings))
            return Decision(
                snapshot.slot, "m", allocation, (), snapshot.objective(allocation), None, Status.HEURISTIC
            )

    result = simulate(Scenario(PAIR, (job("x"),), 9), {"m": Moody()}, seeds=range(6))
    totals = [run.total_utility for run in result.runs]
    summary = result.summaries["m"]
    assert len(set(totals)) > 1
    assert summary.mean.total_utility == pytest.approx(sum(totals) / 6)
    assert summary.spread["total_utility"] > 0
    assert "upper_bound" not in summary.spread


def test_slots_cut_the_horizon() -> None:
    assert len(simulate(SCENARIO, "fifo", slots=2).runs[0].slots) == 2
    for wrong in (0, 5):
        with pytest.raises(BadOption, match=r"Give 1 … 4"):
            simulate(SCENARIO, "fifo", slots=wrong)


@pytest.mark.parametrize(
    ("policies", "seeds", "said"),
    [
        ([], [0], "no policy is given"),
        ({}, [0], "no policy is given"),
        (["fifo", "fifo"], [0], "policy 'fifo' is given twice"),
        (["fifo"], [], "no seed is given"),
        (["fifo"], [1, 1], "seed 1 is given twice"),
        (["fifi"], [0], "no policy"),
    ],
)
def test_bad_settings_are_refused(policies: list[str], seeds: list[int], said: str) -> None:
    with pytest.raises(BadOption, match=said):
        simulate(SCENARIO, policies, seeds=seeds)


def test_data_frames_hold_one_row_a_policy_run_slot_and_job() -> None:
    frames = simulate(SCENARIO, ["fifo", "fifo:workers=1"], seeds=(0, 1)).to_frames()
    assert list(frames.policies["policy"]) == ["fifo", "fifo:workers=1"]
    assert (len(frames.runs), len(frames.slots), len(frames.jobs)) == (4, 16, 8)
    assert {"utilisation_gpu", "ratio", "resizes"} <= set(frames.slots.columns)
    best = frames.runs.set_index(["policy", "seed"])["total_utility"]
    assert best["fifo", 0] == pytest.approx(55)


def test_without_pandas_frames_say_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    real = builtins.__import__

    def lacking(name: str, *more: object, **named: object) -> object:
        if name == "pandas":
            raise ImportError(name)
        return real(name, *more, **named)  # type: ignore[arg-type]

    result = simulate(SCENARIO, "fifo")
    monkeypatch.setattr(builtins, "__import__", lacking)
    with pytest.raises(MissingPackage, match="gadget-scheduler\\[notebook\\]"):
        result.to_frames()


def test_a_link_without_capacity_that_is_used_anyway_is_infinitely_loaded() -> None:
    class Rash:
        may_violate = True

        def decide(self, snapshot: Snapshot, _: object) -> Decision:
            allocation = Allocation((ring("x", "a", "b"),))
            return Decision(snapshot.slot, "r", allocation, (), 10.0, None, Status.HEURISTIC)

    thin = replace(PAIR, links=(replace(PAIR.links[0], gbps=0), PAIR.links[1]))
    run = simulate(Scenario(thin, (job("x"),), 1), {"rash": Rash()}).runs[0]
    assert (run.slots[0].max_link_load, run.slots[0].violations) == (inf, 2)


def test_a_job_that_leaves_has_waited_until_then_and_one_refused_never() -> None:
    big = job("big", min_workers=9, max_workers=9)
    none = job("none", min_workers=2, budget=Resources({"gpu": 1}))
    result = simulate(Scenario(PAIR, (big, none), 5), "fifo", planned=[Planned(3, JobLeft("big"))])
    assert [(one.status, one.waiting_slots, one.completion_slots) for one in result.runs[0].jobs] == [
        ("left", 3, None),
        ("refused", 0, None),
    ]
    # Nothing was done for one job, and no share of nothing is due to the other.
    assert [one.service_share for one in result.runs[0].jobs] == [0, None]
    assert result.summaries["fifo"].mean.jain_index is None
