"""The solver's process: the same answers as here, and no harm from one that is late, dies or hangs."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from gadget.errors import GadgetError
from gadget.live.decider import Apart, DecisionFailed, Here
from gadget.model.builders import build_leaf_spine
from gadget.model.decision import Decision
from gadget.model.job import ActiveJob, Job
from gadget.model.resources import Resources
from gadget.model.ring import Allocation
from gadget.model.snapshot import Snapshot
from gadget.model.utility import Sqrt
from gadget.policies.registry import build_policy

USUAL = {"bandwidth_gbps": 1.0, "utility": Sqrt(3)}
CLUSTER = build_leaf_spine(2, 1, 3, resources=Resources({"gpu": 4}))


def some_snapshot(jobs: int = 6) -> Snapshot:
    made = (
        Job(name=f"job-{n}", resources=Resources({"gpu": 1 + n % 2}), max_workers=5, rate=2.0 + n, **USUAL)
        for n in range(jobs)
    )
    return Snapshot(CLUSTER, tuple(map(ActiveJob, made)), slot=0, slots=50)


def next_slot(before: Snapshot, decided: Decision) -> Snapshot:
    """One job gone, a new one there, the others as they were: the same objects."""
    new = Job(name=f"new-{before.slot}", resources=Resources({"gpu": 1}), max_workers=3, rate=1.0, **USUAL)
    jobs = (*before.jobs[1:], ActiveJob(new))
    gone = before.jobs[0].job.name
    running = Allocation(tuple(ring for ring in decided.allocation.rings if ring.job != gone))
    return replace(before, jobs=jobs, slot=before.slot + 1, running=running, prices=decided.prices)


@pytest.fixture(scope="module")
def apart() -> Iterator[Apart]:
    made = Apart("gadget", 0, limit_seconds=120)
    yield made
    made.close()


def test_it_answers_as_the_policy_here_does_slot_after_slot(apart: Apart) -> None:
    here = Here(build_policy("gadget"), 0)
    snapshot = some_snapshot()
    for _ in range(6):
        theirs, ours = apart.decide(snapshot), here.decide(snapshot)
        assert replace(theirs, seconds=0.0) == replace(ours, seconds=0.0)
        assert theirs.allocation.rings
        assert theirs.prices is not None
        assert ours.prices is not None
        # Prices hold for a cluster, and what is compiled of it for that very object.
        assert theirs.prices.cluster is snapshot.cluster
        assert (theirs.prices.resources == ours.prices.resources).all()
        snapshot = next_slot(snapshot, theirs)


def test_one_that_was_killed_is_told_of_and_replaced(apart: Apart) -> None:
    before = apart.process_id
    assert before is not None
    os.kill(before, signal.SIGKILL)
    with pytest.raises(DecisionFailed, match="died of signal 9"):
        apart.decide(some_snapshot())
    assert apart.process_id != before
    assert apart.decide(some_snapshot()).allocation.rings


@pytest.mark.parametrize("jobs", [1, 4_000])  # more than a pipe takes at once
def test_one_that_hangs_is_ended_when_its_time_is_over(jobs: int) -> None:
    apart = Apart("fifo", 0, limit_seconds=60)
    try:
        apart.decide(some_snapshot())
        apart._limit = 0.5
        hung = apart.process_id
        assert hung is not None
        os.kill(hung, signal.SIGSTOP)
        began = time.monotonic()
        with pytest.raises(DecisionFailed, match=r"longer than 0\.5 s"):
            apart.decide(some_snapshot(jobs))
        assert time.monotonic() - began < 10
        assert not Path(f"/proc/{hung}").exists()
        apart._limit = 60
        assert apart.decide(some_snapshot()).allocation.rings
    finally:
        apart.close()


def test_nobody_waits_for_a_start_longer_than_for_a_decision() -> None:
    apart = Apart("fifo", 0, limit_seconds=0.001)
    try:
        starting = apart.process_id
        with pytest.raises(DecisionFailed, match="still starting"):
            apart.decide(some_snapshot())
        assert apart.process_id == starting  # it goes on starting
        apart._limit = 60
        assert apart.decide(some_snapshot()).allocation.rings
    finally:
        apart.close()


def test_a_policy_that_raises_is_told_of_and_its_process_goes_on(apart: Apart) -> None:
    good = some_snapshot()
    first, before = apart.decide(good), apart.process_id
    with pytest.raises(DecisionFailed, match="AttributeError"):
        apart.decide(replace(good, prices="nonsense"))  # type: ignore[arg-type]
    assert apart.process_id == before
    assert replace(apart.decide(good), seconds=0.0) == replace(first, seconds=0.0)


def test_a_name_that_is_no_policy_is_refused_at_once() -> None:
    with pytest.raises(GadgetError, match="nonesuch"):
        Apart("nonesuch", 0, limit_seconds=1)


def test_it_does_not_outlive_a_service_that_is_killed() -> None:
    program = (
        "import time\nfrom gadget.live.decider import Apart\n"
        "if __name__ == '__main__':\n"
        "    apart = Apart('fifo', 0, 10)\n    print(apart.process_id, flush=True)\n    time.sleep(60)\n"
    )
    with subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, text=True) as service:
        assert service.stdout is not None
        solver = int(service.stdout.readline())
        service.kill()
    until = time.monotonic() + 30
    while Path(f"/proc/{solver}").exists():
        assert time.monotonic() < until, "the solver outlives its service"
        time.sleep(0.05)
