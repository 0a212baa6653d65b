"""What a network means for jobs is found out once, and says what the jobs say of themselves."""

from dataclasses import replace

import numpy as np
from benchmarks.parts.instances import racks, two_resources

from gadget import ActiveJob, Resources, Sigmoid
from gadget.solve.facts import Facts, find_facts
from gadget.solve.greedy import largest_ring
from gadget.solve.network import compile_network
from gadget.solve.slot import build_slot_problem


def test_rows_are_those_of_the_jobs_in_any_order():
    snapshot = two_resources(0, 8, 20, 0.05)
    network = compile_network(snapshot.cluster)
    jobs = [active.job for active in snapshot.jobs]
    facts = Facts(network)
    for order in (jobs, jobs[::-1], jobs[3:7]):
        table = facts.of(order)
        assert table.most.tolist() == [largest_ring(network, job) for job in order]
        assert table.gbps.tolist() == [job.bandwidth_gbps for job in order]
        np.testing.assert_array_equal(table.demand, [network.demand(job) for job in order])


def test_jobs_not_asked_for_are_forgotten_in_time():
    snapshot = racks(0, 2, 4, 30)
    facts = find_facts(compile_network(snapshot.cluster))
    job = snapshot.jobs[0].job
    for turn in range(40):
        facts.of([replace(job, name=f"{turn}-{n}") for n in range(60)])
    assert len(facts._jobs) <= 2 * 60 + 1000


def test_the_slot_problem_says_of_each_job_what_the_job_says():
    snapshot = racks(1, 2, 4, 40, max_workers=16)
    odd = (
        ActiveJob(replace(snapshot.jobs[0].job, name="spent", budget=Resources({"gpu": 5})), 5),
        ActiveJob(replace(snapshot.jobs[0].job, name="late", arrival=101)),
        ActiveJob(replace(snapshot.jobs[0].job, name="done", work=3.0), 9, 3.0),
        ActiveJob(replace(snapshot.jobs[0].job, name="sharp", utility=Sigmoid(9, 1, 1e4))),
        ActiveJob(replace(snapshot.jobs[0].job, name="strange", resources=Resources({"tpu": 1}))),
        ActiveJob(replace(snapshot.jobs[0].job, name="finite", work=1e4, budget=None), 2),
    )
    mixed = replace(snapshot, jobs=(*snapshot.jobs, *odd))
    problem = build_slot_problem(mixed, majorant=False)
    names = [active.job.name for active in problem.jobs]
    assert {"spent", "late", "done", "strange"}.isdisjoint(names)
    assert {"sharp", "finite"} <= set(names)
    for job, active in enumerate(problem.jobs):
        own = problem.pair_job == job
        sizes = problem.pair_size[own]
        assert sizes.max() <= active.largest_ring
        np.testing.assert_allclose(problem.true_gain[own], mixed.gains(active, sizes), rtol=1e-12)
