"""Start and end of every job as in Tiresias' own simulator: one server of 16 GPUs, slots of a second."""

import csv
from pathlib import Path

import pytest

from gadget.model.cluster import Cluster, Server
from gadget.model.resources import Resources
from gadget.model.snapshot import Scenario
from gadget.policies.registry import build_policy
from gadget.simulate.loop import run_slots
from tests.traces import find_traces
from tests.unit.policies.schedules import job


def read(path: Path) -> list[dict[str, str]]:
    with path.open(newline="") as file:
        return list(csv.DictReader(file))


@pytest.mark.parametrize(
    ("policy", "schedule"),
    [
        ("fifo", "fifo"),
        ("srtf", "shortest"),
        ("srtf:placement=gadget", "shortest"),
        ("las:queues=3250/7200,running_first=true", "dlas-gpu"),
    ],
)
def test_all_sixty_jobs_start_and_end_as_in_tiresias(policy: str, schedule: str) -> None:
    given = find_traces("tiresias/60_job.csv")
    reference = find_traces("../reference/tiresias_60_jobs_16_gpus.csv")
    cluster = Cluster((Server("pool", Resources({"gpu": 16})),), (), ())
    jobs = tuple(
        job(
            row["job_id"],
            int(row["num_gpu"]),
            work=int(row["num_gpu"]) * int(row["duration"]),
            arrival=int(row["submit_time"]),
        )
        for row in read(given)
    )
    start: dict[str, int] = {}
    end: dict[str, int] = {}
    for step in run_slots(Scenario(cluster, jobs, 10_000, 1.0), build_policy(policy)):
        for ring in step.decision.allocation.rings:
            start.setdefault(ring.job, step.decision.slot)
            end[ring.job] = step.decision.slot + 1
        if len(end) == len(jobs) and not step.state.active:
            break
    known = [row for row in read(reference) if row["schedule"] == schedule]
    assert len(known) == 60
    assert {row["job_id"]: (int(row["start_time"]), int(row["end_time"])) for row in known} == {
        name: (start[name], end[name]) for name in end
    }
