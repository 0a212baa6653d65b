"""A pool without a network: what goes in, what comes out, and that slots of a second say the same."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gadget.engine.state import JobStatus
from gadget.errors import BadInput, BadOption, InvalidValue
from gadget.model.cluster import Cluster, Link, Server
from gadget.model.job import Job
from gadget.model.resources import Resources
from gadget.model.snapshot import Scenario
from gadget.model.timing import Timing
from gadget.model.utility import Linear
from gadget.policies.registry import POLICIES, build_policy
from gadget.simulate.blind import run_blind
from gadget.simulate.blind_rule import BlindRule, Order
from gadget.simulate.blind_scenario import run_blind_scenario
from gadget.simulate.loop import run_slots

RULES = ["fifo", "fifo:backfill=true", "srtf", "las", "las:queues=6/30", "las:queues=6/30,running_first=true"]
ROWS = st.lists(st.tuples(st.integers(0, 15), st.integers(1, 8), st.integers(1, 4)), min_size=1, max_size=9)


def pool_of(*gpus: float) -> Cluster:
    """Servers in a row."""
    servers = tuple(Server(f"s{n}", Resources({"gpu": amount})) for n, amount in enumerate(gpus))
    links = tuple(Link((f"s{n}", f"s{n + 1}"), 10) for n in range(len(gpus) - 1))
    return Cluster(servers, (), links)


def rigid(name: str = "x", **changes: object) -> Job:
    """A job of two workers that takes three slots."""
    usual = {
        "name": name,
        "min_workers": 2,
        "max_workers": 2,
        "resources": Resources({"gpu": 1}),
        "bandwidth_gbps": 0,
        "rate": 1.0,
        "work": 6.0,
        "utility": Linear(1.0),
    }
    return Job(**{**usual, **changes})  # type: ignore[arg-type]


def build_scenario(rows, gpus, **changes) -> Scenario:
    """Rigid jobs, given as (arrival, slots, workers), on one server."""
    jobs = tuple(
        rigid(f"job-{n}", arrival=arrival, min_workers=size, max_workers=size, work=float(slots * size))
        for n, (arrival, slots, size) in enumerate(rows)
    )
    horizon = max(row[0] for row in rows) + sum(row[1] for row in rows)
    return Scenario(pool_of(gpus), jobs, horizon, **changes)


def run_in_slots(scenario: Scenario, policy: str) -> dict[str, tuple[float, float]]:
    """When each job first ran and when it had ended, slot by slot."""
    state = None
    for step in run_slots(scenario, build_policy(policy)):
        state = step.state
    assert state is not None
    assert all(state.status_of(job.name) is JobStatus.FINISHED for job in scenario.jobs)
    records = {job.name: state.record_of(job.name) for job in scenario.jobs}
    return {name: (record.first_start, record.ended + 1) for name, record in records.items()}


# Those that decide alike in slots; `las` without queues takes turns there, which it does not in a pool.
ALIKE = ["fifo", "fifo:backfill=true", "las:queues=5", "las:queues=6/30"]
ALIKE += ["srtf"] if "srtf" in POLICIES else []


@pytest.mark.parametrize("policy", ALIKE)
@given(ROWS, st.sampled_from([4, 5, 8]))
def test_slots_of_a_second_on_one_server_say_the_same(policy, rows, gpus):
    scenario = build_scenario(rows, gpus, slot_seconds=1.0)
    run = run_blind_scenario(scenario, policy, tick_seconds=1.0)
    columns = (run.names, run.first_start_seconds.tolist(), run.end_seconds.tolist())
    found = {name: (start, end) for name, start, end in zip(*columns, strict=True)}
    assert found == run_in_slots(scenario, policy)


@pytest.mark.parametrize("rule", RULES)
@given(rows=ROWS)
def test_no_job_is_forgotten_and_what_is_served_adds_up(rule, rows):
    submit, duration, gpus = np.array(rows).T
    result = run_blind(submit, duration, gpus, capacity=5, rule=rule)
    assert result.busy_gpu_seconds == (duration * gpus).sum()
    assert result.attained_gpu_seconds.tolist() == (duration * gpus).tolist()
    assert result.peak_gpus <= 5
    assert (result.first_start_seconds >= submit).all()
    assert (result.waiting_seconds >= 0).all()
    # Jobs that were never stopped ran in one piece.
    whole = result.preemptions == 0
    assert ((result.end_seconds - result.first_start_seconds)[whole] == duration[whole]).all()


@pytest.mark.parametrize("rule", RULES)
@given(rows=ROWS)
def test_the_order_and_the_origin_of_time_do_not_matter(rule, rows):
    submit, duration, gpus = np.array(rows).T
    first = run_blind(submit, duration, gpus, capacity=5, rule=rule)
    again = run_blind(submit, duration, gpus, capacity=5, rule=rule)
    later = run_blind(submit - 1000, duration, gpus, capacity=5, rule=rule)
    assert np.array_equal(first.end_seconds, again.end_seconds)
    assert np.array_equal(first.end_seconds, later.end_seconds + 1000)
    assert np.array_equal(first.first_start_seconds, later.first_start_seconds + 1000)
    # Sorted by submission, where ties keep their order, they are the same jobs.
    order = np.argsort(submit, kind="stable")
    ordered = run_blind(submit[order], duration[order], gpus[order], capacity=5, rule=rule)
    assert np.array_equal(first.end_seconds[order], ordered.end_seconds)
    assert np.array_equal(first.preemptions[order], ordered.preemptions)


def test_times_are_rounded_to_the_tick():
    result = run_blind([0.26, 0.5], [1.3, 0.1], [1, 1], capacity=1, rule="fifo", tick_seconds=0.25)
    assert result.end_seconds.tolist() == pytest.approx([1.51, 1.76])
    # Nothing lasts less than a tick.
    assert result.duration_seconds.tolist() == [1.25, 0.25]


def test_a_run_in_numbers():
    result = run_blind([0, 0], [10, 20], [2, 2], capacity=2, rule="srtf")
    summary = result.summarise()
    assert (summary.jobs, summary.preemptions) == (2, 0)
    # The ends, and nothing but these and the two arrivals at once.
    assert (result.end_seconds.tolist(), summary.events) == ([10, 30], 3)
    assert summary.mean_completion_seconds == summary.median_completion_seconds == 20
    assert summary.p95_completion_seconds == pytest.approx(29)
    assert summary.p99_completion_seconds == pytest.approx(29.8)
    assert summary.mean_waiting_seconds == 5
    assert summary.makespan_seconds == 30
    assert summary.utilisation == 1
    assert summary.jobs_per_second is not None
    assert summary.jobs_per_second > 0


def test_no_jobs_have_no_numbers():
    summary = run_blind([], [], [], capacity=2, rule="las").summarise()
    assert (summary.jobs, summary.events) == (0, 0)
    assert summary.mean_completion_seconds is summary.makespan_seconds is summary.jobs_per_second is None


@pytest.mark.parametrize(
    ("jobs", "changes", "complaint"),
    [
        (([0], [1, 2], [1]), {}, "shapes"),
        (([[0]], [[1]], [[1]]), {}, "shapes"),
        (([0, np.nan], [1, 1], [1, 1]), {}, "submit_seconds[1] is nan"),
        (([0], [0], [1]), {}, "duration_seconds[0] is 0. Give a number above 0"),
        (([0], [np.inf], [1]), {}, "duration_seconds[0] is inf"),
        (([0], [1], [0]), {}, "gpus[0] is 0. Give a whole number from 1 on"),
        (([0], [1], [1.5]), {}, "gpus[0] is 1.5"),
        (([0, 0], [1, 1], [1, 5]), {}, "gpus[1] is 5. The pool has 4"),
        (([0], [1], [1]), {"capacity": 0}, "capacity is 0"),
        (([0], [1], [1]), {"tick_seconds": 0.0}, "tick_seconds"),
        (([0], [1e15], [1]), {"tick_seconds": 1e-9}, "too short for these jobs. Raise it"),
    ],
)
def test_jobs_that_cannot_be(jobs, changes, complaint):
    with pytest.raises(InvalidValue) as caught:
        run_blind(*jobs, **{"capacity": 4, "rule": "fifo", **changes})
    assert complaint in str(caught.value)


def test_rules_by_name():
    assert BlindRule.parse("fifo") == BlindRule(Order.FIFO)
    assert BlindRule.parse("fifo:backfill=yes") == BlindRule(Order.FIFO, backfill=True)
    assert BlindRule.parse("srtf") == BlindRule(Order.SRTF)
    queued = BlindRule(Order.LAS, queues=(3250, 7200), running_first=True)
    assert BlindRule.parse("las:queues=3250/7200,running_first=true") == queued
    assert len({BlindRule.parse(rule).code for rule in RULES}) == len(RULES)


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("gadget", "'gadget' is no rule for a pool without a network. Choose one of fifo, srtf, las."),
        ("fifp", "(nearest: 'fifo')"),
        ("fifo:workers=2", "each job takes exactly its workers. Its options: backfill."),
        ("srtf:backfill=true", "It has none; leave it out."),
        ("fifo:backfill=maybe", "option backfill cannot be 'maybe'"),
        ("fifo:backfill=true,backfill=true", "given twice"),
        ("las:queues=a", "option queues cannot be 'a'"),
        ("las:queues=5/3", "Give rising numbers above 0."),
        ("las:queues=0", "Give rising numbers above 0."),
        ("las:queues=nan", "Give rising numbers above 0."),
        ("las:running_first=true", "Give queues too."),
        ("las:queues=" + "/".join(map(str, range(1, 300))), "299 limits. Give fewer than 256."),
    ],
)
def test_rules_that_are_none(text, complaint):
    with pytest.raises(BadOption) as caught:
        BlindRule.parse(text)
    assert complaint in str(caught.value)


def test_options_of_another_rule_are_refused():
    with pytest.raises(BadOption, match="srtf has no option 'queues'"):
        BlindRule(Order.SRTF, queues=(1.0,))


def test_a_scenario_runs_on_all_its_servers_together_in_parts_of_slots():
    # Four workers on servers of 3, 1 and 2 GPUs; 5 slots and a half, then the next.
    jobs = (
        rigid("wide", min_workers=4, max_workers=4, work=22.0),
        rigid("next", arrival=1, rate=2.0, min_workers=3, max_workers=3, work=3.0),
    )
    run = run_blind_scenario(Scenario(pool_of(3, 1, 2), jobs, 4, 60.0), "fifo")
    assert run.names == ("wide", "next")
    assert run.first_start_seconds.tolist() == [0, 330]
    assert run.end_seconds.tolist() == [330, 360]


def test_a_demotion_falls_on_a_tick():
    # 2 GPUs attain 3 in one slot and a half.
    scenario = Scenario(pool_of(2), (rigid("a", work=8.0), rigid("b", work=2.0)), 9, 10.0)
    assert run_blind_scenario(scenario, "las:queues=3").end_seconds.tolist() == [50, 25]
    assert run_blind_scenario(scenario, "las:queues=3", tick_seconds=10).end_seconds.tolist() == [50, 30]


def test_limits_of_queues_count_slots():
    # 2 GPUs for 2 slots of 10 seconds: the first yields at 20 s.
    scenario = Scenario(pool_of(2), (rigid("a", work=8.0), rigid("b", arrival=1, work=4.0)), 9, 10.0)
    run = run_blind_scenario(scenario, "las:queues=4")
    assert run.first_start_seconds.tolist() == [0, 20]
    assert run.end_seconds.tolist() == [60, 40]


def test_jobs_may_share_a_gpu():
    halves = [rigid(n, resources=Resources({"gpu": 0.25}), work=6.0) for n in "abc"]
    run = run_blind_scenario(Scenario(pool_of(1), tuple(halves), 9, 1.0), "fifo")
    assert run.gpu_scale == 1000
    assert run.end_seconds.tolist() == [3, 3, 6]


def test_a_job_with_timing_lasts_as_long_as_its_ring_takes():
    # The timing of one iteration is 1 s whatever the ring, so two workers do 2 worker-iterations a second.
    timing = Timing(
        gradient_mb=0, reduce_gbps=1, forward_ms_per_sample=0, batch=1, backward_ms=1000, overhead_ms=0
    )
    job = rigid(rate=None, timing=timing, work=60.0)
    run = run_blind_scenario(Scenario(pool_of(2), (job,), 9, 60.0), "srtf")
    assert run.end_seconds.tolist() == [30]


BOTH = Resources({"gpu": 1, "memory_gib": 1})


@pytest.mark.parametrize(
    ("jobs", "policy", "complaint"),
    [
        ([rigid(min_workers=1)], "fifo", "jobs[0] 'x': it is elastic, with 1 … 2 workers. Set"),
        ([rigid(work=None)], "fifo", "it has no work, so it never ends"),
        ([rigid(resources=BOTH)], "fifo", "it takes gpu and memory_gib. A pool has one resource"),
        (
            [rigid("a"), rigid("b", resources=Resources({"cpu": 1}))],
            "fifo",
            "jobs[1] 'b': it takes cpu, jobs before it gpu",
        ),
        ([rigid("a"), rigid("b", max_workers=9, min_workers=9)], "fifo", "it needs 9 gpu; the cluster has 4"),
        ([rigid(resize_cost=1.0)], "srtf", "it pays for restarts, which a pool under srtf does not know"),
        ([rigid(budget=Resources({"gpu": 5}))], "fifo", "it has a budget that ends before its work is done"),
        ([rigid(resources=Resources({"gpu": 0.12345}))], "fifo", "it takes 0.2469. A pool counts in"),
        ([rigid()], "drf", "'drf' is no rule for a pool without a network"),
    ],
)
def test_scenarios_that_are_no_pool(jobs, policy, complaint):
    with pytest.raises(BadInput) as caught:
        run_blind_scenario(Scenario(pool_of(4), tuple(jobs), 9), policy)
    assert complaint in str(caught.value)


def test_where_nobody_is_stopped_restarts_cost_nothing():
    scenario = Scenario(pool_of(4), (rigid(resize_cost=1.0, budget=Resources({"gpu": 6})),), 9, 1.0)
    assert run_blind_scenario(scenario, "fifo").end_seconds.tolist() == [3]


def test_a_scenario_without_jobs_ends_at_once():
    run = run_blind_scenario(Scenario(pool_of(4), (), 9), "srtf")
    assert run.names == ()
    assert run.result.events == 0
