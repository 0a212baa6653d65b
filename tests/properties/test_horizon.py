"""bound ≥ optimum ≥ every policy, and more capacity never lowers the bound."""

import itertools
import math
from dataclasses import replace

from hypothesis import given, settings
from hypothesis import strategies as st

from gadget.model.cluster import Cluster, Link, Server
from gadget.model.job import ActiveJob, Job
from gadget.model.resources import Resources
from gadget.model.ring import Allocation
from gadget.model.snapshot import Scenario, Snapshot
from gadget.model.timing import Timing
from gadget.model.utility import Energy, Linear, Log, Sigmoid, Sqrt, Table
from gadget.policies.policy import ask
from gadget.policies.registry import build_policy
from gadget.solve.horizon import clairvoyant_bound

POLICIES = ("gadget", "fifo", "fifo:backfill=true", "fifo:draw=1", "drf", "las", "las:queues=2/6")

whole = st.integers(1, 4)
plain_utilities = st.one_of(
    st.builds(Sqrt, whole),
    st.builds(Log, whole),
    st.builds(Linear, whole),
    st.builds(Sigmoid, whole, st.floats(0.1, 5), st.integers(0, 12)),
    st.lists(st.tuples(st.integers(-3, 6)), min_size=1, max_size=4).map(
        lambda values: Table(tuple((2 * place, value) for place, (value,) in enumerate(values)))
    ),
)
utilities = plain_utilities | st.builds(Energy, st.none() | plain_utilities, st.sampled_from((0, 0.1, 1)))
timings = st.builds(
    Timing,
    gradient_mb=st.integers(0, 2000),
    reduce_gbps=whole,
    forward_ms_per_sample=st.just(0),
    batch=st.just(1),
    backward_ms=st.integers(10_000, 60_000),
)


@st.composite
def clusters(draw: st.DrawFn) -> Cluster:
    """A star of up to three servers."""
    names = "abc"[: draw(st.integers(1, 3))]
    amounts = st.fixed_dictionaries({"gpu": st.integers(0, 3), "cpu": st.integers(0, 4)}).map(Resources)
    return Cluster(
        tuple(Server(name, draw(amounts)) for name in names),
        ("sw",),
        tuple(Link((name, "sw"), draw(st.integers(0, 6))) for name in names),
    )


@st.composite
def jobs(draw: st.DrawFn, name: str) -> Job:
    least = draw(st.integers(1, 2))
    timing = draw(st.none() | timings)
    demands = ({"gpu": 1}, {"gpu": 1, "cpu": 1}, {"cpu": 2}, {"gpu": 0.5, "cpu": 1})
    return Job(
        name=name,
        resources=Resources(draw(st.sampled_from(demands))),
        min_workers=least,
        max_workers=draw(st.integers(least, 3)),
        utility=draw(utilities),
        bandwidth_gbps=draw(whole),
        rate=None if timing else draw(whole),
        timing=timing,
        arrival=draw(st.integers(0, 3)),
        budget=draw(st.none() | st.integers(0, 6).map(lambda limit: Resources({"gpu": limit, "cpu": limit}))),
    )


@st.composite
def scenarios(draw: st.DrawFn, most_jobs: int = 4, most_slots: int = 5) -> Scenario:
    drawn = tuple(draw(jobs(f"j{n}")) for n in range(draw(st.integers(1, most_jobs))))
    return Scenario(draw(clusters()), drawn, draw(st.integers(1, most_slots)))


def total_utility(scenario: Scenario, policy: str) -> float:
    """Σ μ(work by the end) when the policy decides every slot."""
    chosen = build_policy(policy)
    served = dict.fromkeys((job.name for job in scenario.jobs), 0)
    work = dict.fromkeys(served, 0.0)
    running = Allocation()
    for slot in range(scenario.slots):
        active = tuple(
            ActiveJob(job, served[job.name], work[job.name]) for job in scenario.jobs if job.arrival <= slot
        )
        snapshot = Snapshot(scenario.cluster, active, slot, scenario.slots, scenario.slot_seconds, running)
        running = ask(chosen, snapshot, 0).allocation
        for ring in running.rings:
            job = snapshot.job_by_name[ring.job].job
            served[ring.job] += ring.size
            work[ring.job] += float(job.work_in_slot(ring.size, scenario.slot_seconds))
    return sum(float(job.utility.value(work[job.name])) for job in scenario.jobs)


def best_by_numbers(scenario: Scenario) -> float:
    """The best over all numbers of workers by job and slot that the sums of the cluster admit."""
    best = -math.inf
    choices = [
        [0, *range(job.min_workers, job.max_workers + 1)] if slot >= job.arrival else [0]
        for job in scenario.jobs
        for slot in range(scenario.slots)
    ]
    for flat in itertools.product(*choices):
        counts = [flat[k : k + scenario.slots] for k in range(0, len(flat), scenario.slots)]
        if _keeps_budgets(scenario, counts) and _keeps_capacity(scenario, counts):
            best = max(best, _utility(scenario, counts))
    return best


def _keeps_budgets(scenario: Scenario, counts: list[tuple[int, ...]]) -> bool:
    return all(
        job.resources.get(name, 0) * sum(own) <= limit
        for job, own in zip(scenario.jobs, counts, strict=True)
        for name, limit in (job.budget or {}).items()
    )


def _keeps_capacity(scenario: Scenario, counts: list[tuple[int, ...]]) -> bool:
    return all(
        sum(job.resources.get(name, 0) * own[slot] for job, own in zip(scenario.jobs, counts, strict=True))
        <= scenario.cluster.total(name)
        for slot in range(scenario.slots)
        for name in ("gpu", "cpu")
    )


def _utility(scenario: Scenario, counts: list[tuple[int, ...]]) -> float:
    return sum(
        float(job.utility.value(job.work_in_slot(list(own), scenario.slot_seconds).sum()))
        for job, own in zip(scenario.jobs, counts, strict=True)
    )


def hair(number: float) -> float:
    return 1e-9 * max(1.0, abs(number))


@given(scenario=scenarios())
def test_no_policy_exceeds_the_bound(scenario: Scenario) -> None:
    bound = clairvoyant_bound(scenario)
    for policy in POLICIES:
        total = total_utility(scenario, policy)
        assert total <= bound + hair(bound), policy


# On one server any numbers that the sums admit can be placed, so that both optima are the same.
@settings(max_examples=60)
@given(scenario=scenarios(most_jobs=2, most_slots=2), gpus=st.integers(0, 4), cpus=st.integers(0, 4))
def test_the_best_schedule_does_not_exceed_the_bound(scenario: Scenario, gpus: int, cpus: int) -> None:
    server = Server("only", Resources({"gpu": gpus, "cpu": cpus}))
    alone = replace(scenario, cluster=Cluster((server,), (), ()))
    bound = clairvoyant_bound(alone)
    assert best_by_numbers(alone) <= bound + hair(bound)


@given(scenario=scenarios(), more=st.integers(0, 3), wider=st.integers(0, 3), longer=st.integers(0, 2))
def test_more_of_anything_never_lowers_the_bound(
    scenario: Scenario, more: int, wider: int, longer: int
) -> None:
    cluster = scenario.cluster
    roomy = Cluster(
        tuple(
            Server(one.name, Resources({name: amount + more for name, amount in one.resources.items()}))
            for one in cluster.servers
        ),
        cluster.switches,
        tuple(Link(link.ends, link.gbps + wider) for link in cluster.links),
    )
    bound = clairvoyant_bound(scenario)
    # Envelopes are exact on so few worker-slots; with longer ones they only rise.
    larger = replace(scenario, cluster=roomy, slots=scenario.slots + longer)
    assert bound <= clairvoyant_bound(larger) + hair(bound)


@given(scenario=scenarios())
def test_it_is_never_below_doing_nothing(scenario: Scenario) -> None:
    idle = sum(float(job.utility.value(0.0)) for job in scenario.jobs)
    assert clairvoyant_bound(scenario) >= idle - hair(idle)
