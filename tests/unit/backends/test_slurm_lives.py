"""The Slurm engine when answers get lost, controllers and services die, people cancel: nothing runs twice."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from gadget.backends.backend import EngineCameBack, EngineWentAway, RingKey, RingPhase
from gadget.backends.slurm_options import SlurmOptions
from tests.engines import OBEY, STUBBORN, TELL, Engine, build_launch, find_workers
from tests.unit.backends.conftest import Bench

# As `squeue --json` of 22.05 when slurmctld is down: with exit code 0.
NOBODY = '{"errors": [{"description": "Failed while looking for jobs"}], "jobs": []}'


def find(engine: Engine, kind: type) -> list[object]:
    return [report for report in list(engine.reports) if isinstance(report, kind)]


def starts(bench: Bench, number: int) -> list[int]:
    """How often each rank has started."""
    return [len(path.read_text().split()) for path in sorted(bench.folder.rglob(f"up.{number}.*"))]


def test_a_queue_that_nobody_showed_ends_no_ring_and_cancels_none(bench: Bench) -> None:
    engine = bench.build()
    number = bench.occupy("--nodelist=s2", "--gres=gpu:2")
    order = build_launch("job", 1, ["s2"], OBEY)
    engine.backend.launch(order)
    engine.wait(lambda: [job["job_state"] for job in bench.jobs(order.key)] == ["PENDING"])
    wrapper = bench.replace("squeue", f"echo '{NOBODY}'")
    engine.wait(lambda: find(engine, EngineWentAway))
    time.sleep(1)
    wrapper.unlink()
    engine.wait(lambda: find(engine, EngineCameBack))
    assert engine.surveyed() == {order.key: RingPhase.STARTING}
    bench.slurm.run("scancel", number)
    engine.wait_for(order.key, RingPhase.RUNNING)
    assert len(bench.jobs(order.key)) == 1


def test_a_job_whose_number_nobody_heard_is_found_and_not_handed_in_again(bench: Bench) -> None:
    calls = bench.folder.with_name("calls")
    bench.replace(
        "sbatch",
        f'echo >>{calls}; "$real" "$@" >/dev/null\n'
        "echo 'Batch job submission failed: Socket timed out on send/recv operation' >&2; exit 1",
    )
    engine = bench.build()
    order = build_launch("job", 1, ["s0", "s1"], OBEY)
    engine.backend.launch(order)
    engine.wait_for(order.key, RingPhase.RUNNING)
    assert find(engine, EngineWentAway)
    assert len(bench.jobs(order.key)) == len(calls.read_text().splitlines()) == 1
    assert starts(bench, 1) == [1, 1]


def test_of_two_jobs_for_one_ring_one_runs_it(bench: Bench) -> None:
    # Nobody heard that Slurm took the first, and so there is a second; and nobody cancels one in time.
    bench.replace("sbatch", '"$real" "$@" >/dev/null; exec "$real" "$@"')
    scancel = bench.replace("scancel", "exit 0")
    engine = bench.build()
    order = build_launch("job", 1, ["s0", "s1"], OBEY)
    engine.backend.launch(order)
    engine.wait_for(order.key, RingPhase.RUNNING)
    engine.wait(
        lambda: sorted(job["job_state"] for job in bench.jobs(order.key)) == ["COMPLETED", "RUNNING"],
        "the end of the second",
    )
    assert starts(bench, 1) == [1, 1]
    scancel.unlink()
    engine.dismiss(order.key, 60)
    assert engine.wait_until_over(order.key).phase is RingPhase.STOPPED


def test_a_folder_may_have_any_name(bench: Bench) -> None:
    bench.folder = bench.folder.with_name("my engine's $HOME")
    engine = bench.build()
    asked, ended = build_launch("asked", 1, ["s0", "s1"], OBEY), build_launch("ended", 2, ["s0"], STUBBORN)
    for order in (asked, ended):
        engine.backend.launch(order)
    for order in (asked, ended):
        engine.wait_for(order.key, RingPhase.RUNNING)
    engine.dismiss(asked.key, 60)
    engine.dismiss(ended.key, 0.5)
    for order in (asked, ended):
        assert engine.wait_until_over(order.key).phase is RingPhase.STOPPED
    assert len(list(bench.folder.rglob("saved.*"))) == 2


def test_a_ring_that_a_person_cancels_is_taken(bench: Bench) -> None:
    engine = bench.build()
    order = build_launch("job", 1, ["s0", "s1"], "sleep 600")
    engine.backend.launch(order)
    engine.wait_for(order.key, RingPhase.RUNNING)
    bench.slurm.run("scancel", str(bench.jobs(order.key)[0]["job_id"]))
    end = engine.wait_until_over(order.key)
    assert (end.phase, end.reason) == (RingPhase.TAKEN, "Slurm ended it (cancelled)")


def test_rings_of_a_former_service_are_ended_before_the_next_one_begins(bench: Bench) -> None:
    former = bench.build()
    order = build_launch("job", 5, ["s0", "s1"], OBEY)
    former.backend.launch(order)
    former.wait_for(order.key, RingPhase.RUNNING)
    former.backend.close(keep_rings=True)
    number, old = bench.jobs(order.key)[0]["job_id"], bench.instance
    bench.instance = f"{old}-new"
    engine = bench.build()
    # It waited: nothing of the former one is left when it says that it is open.
    assert bench.state(str(number)) == "CANCELLED"
    assert find_workers(old) == []
    assert engine.surveyed() == {}
    assert json.loads((bench.folder / "instances.json").read_text()) == [bench.instance]
    # Also a ring with the number of one of the former's starts from nothing.
    again = build_launch("job", 5, ["s0"], TELL)
    engine.backend.launch(again)
    assert engine.wait_until_over(again.key).phase is RingPhase.FINISHED


def test_a_job_is_charged_to_whom_it_says(bench: Bench) -> None:
    engine = bench.build(options=SlurmOptions(account="lab"))
    own = {"SBATCH_ACCOUNT": "theirs", "SBATCH_QOS": "normal"}
    orders = [build_launch("a", 1, ["s0"], TELL, own_env=own), build_launch("b", 2, ["s0"], TELL)]
    for order in orders:
        engine.backend.launch(order)
    for order in orders:
        assert engine.wait_until_over(order.key).phase is RingPhase.FINISHED

    def charged() -> dict[str, str]:
        words = ("--noheader", "--parsable2", "--allocations", "--format=jobname,account,qos,comment")
        told = bench.slurm.run("sacct", *words).stdout
        lines = (line.split("|") for line in told.splitlines() if bench.instance in line)
        return {name: f"{account} {qos}" for name, account, qos, _ in lines}

    bench.wait(lambda: len(charged()) == 2)
    assert charged()["gadget-a@1"] == "theirs normal"
    assert charged()["gadget-b@2"].split()[0] == "lab"


@pytest.mark.parametrize("moment", ["before it is handed in", "while it waits"])
def test_a_service_may_be_killed_at_any_moment(bench: Bench, moment: str) -> None:
    number = bench.occupy("--nodelist=s2", "--gres=gpu:2")
    if moment == "before it is handed in":
        bench.replace("sbatch", "sleep 600")
    key = RingKey("job", 1)
    environment = {**os.environ, **bench.slurm.environment}
    environment["PATH"] = f"{bench.commands}:{environment['PATH']}"
    words = ["slurm", str(bench.folder), bench.instance, "job", "1", "s2", OBEY]
    with subprocess.Popen(
        [sys.executable, "-m", "tests.engines", *words], env=environment, cwd=Path(__file__).parents[3]
    ) as service:
        record = bench.folder / "rings/job@1/record.json"
        is_due = record.exists if moment == "before it is handed in" else lambda: bool(bench.jobs(key))
        bench.wait(is_due)
        os.killpg(service.pid, signal.SIGKILL)
    engine = bench.build()
    if moment == "before it is handed in":
        engine.wait(lambda: engine.surveyed() == {key: RingPhase.TAKEN})
        assert bench.jobs(key) == []
    else:
        assert engine.surveyed() == {key: RingPhase.STARTING}
        assert len(bench.jobs(key)) == 1
        bench.slurm.run("scancel", number)
        engine.wait_for(key, RingPhase.RUNNING)
        assert starts(bench, 1) == [1]
    bench.slurm.run("scancel", number)


# Those after whom Slurm needs a while come last.


def test_what_slurm_has_forgotten_is_looked_up_in_its_books(bench: Bench) -> None:
    engine = bench.build()
    order = build_launch("job", 1, ["s0"], "sleep 600")
    engine.backend.launch(order)
    engine.wait_for(order.key, RingPhase.RUNNING)
    engine.backend.close(keep_rings=True)
    number = str(bench.jobs(order.key)[0]["job_id"])
    bench.slurm.run("scancel", number)
    bench.wait(lambda: "CANCELLED" in bench.slurm.run("sacct", "-nXj", number, "-o", "state").stdout)
    bench.slurm.stop_controller()
    bench.slurm.start_controller(forgets=True)
    assert bench.jobs(order.key) == []
    again = bench.build()
    again.wait(lambda: again.surveyed()[order.key].is_over)
    (found,) = again.backend.survey()
    # Its exit code alone would say that the job has failed.
    assert (found.phase, found.reason) == (RingPhase.TAKEN, "Slurm ended it (cancelled)")


def test_a_controller_that_is_killed_loses_no_ring(bench: Bench) -> None:
    engine = bench.build()
    running = build_launch("running", 1, ["s0", "s1"], OBEY)
    engine.backend.launch(running)
    engine.wait_for(running.key, RingPhase.RUNNING)
    bench.wait(lambda: bench.slurm.is_saved(bench.jobs(running.key)[0]["job_id"]))
    fresh = build_launch("fresh", 2, ["s2"], OBEY)
    engine.backend.launch(fresh)
    bench.wait(lambda: bench.jobs(fresh.key))
    bench.slurm.kill_controller()
    engine.wait(lambda: find(engine, EngineWentAway))
    bench.slurm.start_controller()
    engine.wait(lambda: find(engine, EngineCameBack))
    # The newest one it may have lost: then it is taken, and its nodes end what is up.
    engine.wait(lambda: engine.surveyed()[fresh.key] in (RingPhase.RUNNING, RingPhase.TAKEN))
    assert engine.surveyed()[running.key] is RingPhase.RUNNING
    assert starts(bench, 1) == [1, 1]
    assert starts(bench, 2) in ([], [1])
