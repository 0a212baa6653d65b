"""The jobs of a service in Slurm's queue: which are its rings', and which must go."""

from dataclasses import dataclass, field
from pathlib import Path
from typing import cast

import pytest

from gadget.backends.backend import EngineAway, RingKey
from gadget.backends.ring_folder import RingFolder
from gadget.backends.slurm_answers import SlurmJob
from gadget.backends.slurm_commands import Slurm
from gadget.backends.slurm_queue import SlurmQueue

KEY = RingKey("a", 1)


@dataclass
class FakeSlurm:
    """Has the jobs that it is told to have; those that are cancelled are gone unless it is stubborn."""

    jobs: list[SlurmJob] = field(default_factory=list)
    cancelled: list[int] = field(default_factory=list)
    is_stubborn: bool = False

    def list_jobs(self) -> list[SlurmJob]:
        return list(self.jobs)

    def cancel(self, numbers: list[int]) -> None:
        self.cancelled += numbers
        if not self.is_stubborn:
            self.jobs = [job for job in self.jobs if job.lead not in numbers]


def job(number: int, name: str = "i:a@1", state: str = "RUNNING", lead: int = 0) -> SlurmJob:
    return SlurmJob(number, lead or number, f"gadget:{name}", state, "None")


def build(folder: Path, *jobs: SlurmJob) -> tuple[SlurmQueue, FakeSlurm]:
    home, slurm = RingFolder(folder), FakeSlurm(list(jobs))
    home.open()
    return SlurmQueue(cast(Slurm, slurm), home, "i"), slurm


def test_a_ring_keeps_one_job_and_every_other_is_cancelled_once(tmp_path: Path) -> None:
    parts = [job(7), job(8, lead=7), job(9), job(10, lead=9), job(11, state="COMPLETED")]
    queue, slurm = build(tmp_path, *parts, job(20, "i:b@3"), job(30, "other:a@1"))
    slurm.is_stubborn = True
    queue.look(100.0)
    assert [one.number for one in queue.of(KEY)] == [7, 8, 9, 10, 11]
    for now in (100.0, 101.0):
        queue.end_strays({KEY: 9}, now)
    assert sorted(slurm.cancelled) == [7, 20]
    queue.end_strays({KEY: 9}, 110.0)
    assert sorted(slurm.cancelled) == [7, 7, 20, 20]


def test_a_ring_that_knows_no_job_of_its_own_yet_loses_none(tmp_path: Path) -> None:
    queue, slurm = build(tmp_path, job(7), job(9))
    queue.look(100.0)
    queue.end_strays({KEY: 0}, 100.0)
    assert slurm.cancelled == []


def test_jobs_of_former_services_are_ended_and_of_others_not(tmp_path: Path) -> None:
    queue, slurm = build(tmp_path, job(7, "old:a@1"), job(8, "other:a@1"), job(9))
    queue.succeed(["old"])
    queue.look(100.0)
    assert queue.end_formers(5.0)
    assert slurm.cancelled == [7]
    assert not queue.end_formers(5.0)


def test_while_former_jobs_do_not_end_the_engine_is_not_there_yet(tmp_path: Path) -> None:
    queue, slurm = build(tmp_path, job(7, "old:a@1"))
    slurm.is_stubborn = True
    queue.succeed(["old"])
    queue.look(100.0)
    with pytest.raises(EngineAway, match="earlier service"):
        queue.end_formers(0.3)
    slurm.jobs.clear()
    queue.look(101.0)
    assert queue.end_formers(0.3)
