"""The Slurm engine beyond the contract: other people's jobs, nodes and controllers that go away, strays."""

import json
import time

import pytest

from gadget.backends.backend import (
    ClusterFound,
    EngineAway,
    EngineCameBack,
    EngineWentAway,
    RingKey,
    RingPhase,
    ServerCameBack,
    ServerWentAway,
)
from gadget.backends.slurm_options import SlurmOptions
from gadget.errors import BadOption
from gadget.model.cluster import Cluster
from tests.engines import OBEY, TELL, Engine, build_cluster, build_launch, find_workers
from tests.unit.backends.conftest import Bench


def has(cluster: Cluster, server: str) -> dict[str, float]:
    return dict(cluster.server_by_name[server].resources)


def find(engine: Engine, kind: type) -> list[object]:
    return [report for report in list(engine.reports) if isinstance(report, kind)]


def test_what_others_take_is_lost_capacity_and_what_we_take_is_not(bench: Bench) -> None:
    number = bench.occupy("--nodelist=s0", "--gres=gpu:3", "--cpus-per-task=2")
    engine = bench.build()
    assert has(engine.inventory.cluster, "s0") == {"gpu": 1, "cpu": 6}
    assert has(engine.inventory.cluster, "s1") == {"gpu": 4, "cpu": 8}
    order = build_launch("job", 1, ["s0", "s1", "s1"], OBEY)
    engine.backend.launch(order)
    engine.wait_for(order.key, RingPhase.RUNNING)
    time.sleep(2)  # several looks
    assert find(engine, ClusterFound) == []
    bench.slurm.run("scancel", number)
    engine.wait(lambda: find(engine, ClusterFound))
    assert find(engine, ClusterFound) == [ClusterFound(build_cluster())]
    again = bench.occupy("--nodelist=s2", "--gres=gpu:1")
    engine.wait(lambda: len(find(engine, ClusterFound)) == 2)
    last = engine.reports[-1]
    assert isinstance(last, ClusterFound)
    assert has(last.cluster, "s2") == {"gpu": 1, "cpu": 7}
    bench.slurm.run("scancel", again)
    assert engine.surveyed() == {order.key: RingPhase.RUNNING}


def test_an_adopted_ring_is_not_taken_for_somebody_elses(bench: Bench) -> None:
    engine = bench.build()
    order = build_launch("job", 1, ["s0", "s0"], OBEY)
    engine.backend.launch(order)
    engine.wait_for(order.key, RingPhase.RUNNING)
    engine.backend.close(keep_rings=True)
    again = bench.build()
    assert again.inventory.cluster == build_cluster()
    time.sleep(1.5)
    assert again.reports == []


def test_a_ring_for_which_there_is_no_room_after_all_is_taken_out_of_the_queue(bench: Bench) -> None:
    engine = bench.build(pending_seconds=1.0)
    number = bench.occupy("--nodelist=s2", "--gres=gpu:2")
    order = build_launch("job", 1, ["s2"], OBEY)
    engine.backend.launch(order)
    end = engine.wait_until_over(order.key)
    assert end.phase is RingPhase.TAKEN
    assert "in Slurm's queue" in end.reason
    assert bench.up(1) == 0
    bench.slurm.run("scancel", number)


def test_a_node_that_is_drained_is_away_and_its_rings_may_leave_in_good_order(bench: Bench) -> None:
    engine = bench.build()
    order = build_launch("job", 1, ["s0", "s1"], OBEY)
    engine.backend.launch(order)
    engine.wait_for(order.key, RingPhase.RUNNING)
    bench.slurm.run("scontrol", "update", "nodename=s1", "state=drain", "reason=a new fan, State=IDLE")
    engine.wait(lambda: find(engine, ServerWentAway))
    (report,) = find(engine, ServerWentAway)
    assert "a new fan" in report.reason
    assert engine.surveyed() == {order.key: RingPhase.RUNNING}
    engine.dismiss(order.key, 60)
    assert engine.wait_until_over(order.key).phase is RingPhase.STOPPED
    assert len(list(bench.folder.rglob("saved.*"))) == 2
    bench.slurm.run("scontrol", "update", "nodename=s1", "state=resume")
    engine.wait(lambda: find(engine, ServerCameBack))
    assert find(engine, ServerCameBack) == [ServerCameBack("s1")]


def test_while_slurm_does_not_answer_rings_go_on_and_a_service_that_knows_the_cluster_may_start(
    bench: Bench,
) -> None:
    engine = bench.build()
    order = build_launch("job", 1, ["s0", "s1"], OBEY)
    engine.backend.launch(order)
    engine.wait_for(order.key, RingPhase.RUNNING)
    bench.slurm.stop_controller()
    try:
        late = bench.beside().build(known=build_cluster())
        assert late.inventory.cluster == build_cluster()
        engine.wait(lambda: find(engine, EngineWentAway))
        with pytest.raises(EngineAway):
            engine.backend.launch(build_launch("more", 1, ["s2"], TELL))
        with pytest.raises(EngineAway):
            engine.dismiss(order.key, 1)
        for one in (engine, late):
            with pytest.raises(EngineAway):
                one.backend.survey()
        workers = find_workers(bench.instance)
        assert workers
    finally:
        bench.slurm.start_controller()
    for one in (engine, late):
        one.wait(lambda one=one: find(one, EngineCameBack))
    assert engine.surveyed() == {order.key: RingPhase.RUNNING}
    assert late.surveyed() == {}
    assert set(workers) & set(find_workers(bench.instance))
    engine.dismiss(order.key, 60)
    assert engine.wait_until_over(order.key).phase is RingPhase.STOPPED
    assert engine.phases(order.key) == [RingPhase.RUNNING, RingPhase.STOPPING, RingPhase.STOPPED]
    late.backend.launch(build_launch("job", 1, ["s0"], TELL))
    assert late.wait_until_over(RingKey("job", 1)).phase is RingPhase.FINISHED


def test_a_job_of_this_instance_that_nobody_wrote_down_is_cancelled_and_its_number_is_a_fence(
    bench: Bench,
) -> None:
    stray = bench.occupy("--nodelist=s0", f"--comment=gadget:{bench.instance}:job@7")
    other = bench.occupy("--nodelist=s0", "--comment=gadget:somebody:job@9")
    engine = bench.build()
    engine.wait(lambda: bench.state(stray) == "CANCELLED")
    stale = build_launch("job", 7, ["s0"], TELL)
    engine.backend.launch(stale)
    assert "stale" in engine.wait_until_over(stale.key).reason
    newer = build_launch("job", 8, ["s0"], TELL)
    engine.backend.launch(newer)
    assert engine.wait_until_over(newer.key).phase is RingPhase.FINISHED
    assert bench.state(other) == "RUNNING"
    bench.slurm.run("scancel", other)


def test_options_of_the_user_reach_the_job_and_programs_see_the_rank_of_the_ring(bench: Bench) -> None:
    options = SlurmOptions("other", "lab", "", "5:00", ("--nice=7",))
    engine = bench.build(options=options)
    order = build_launch("a job", 3, ["s1", "s0", "s1"], f"{TELL}; {OBEY}")
    engine.backend.launch(order)
    engine.wait(lambda: bench.up(3) == 3)
    jobs = json.loads(bench.slurm.run("squeue", "--json").stdout)["jobs"]
    told = [job for job in jobs if job["comment"] == f"gadget:{bench.instance}:a%20job@3"]
    assert len(told) == 2
    for job in told:
        assert (job["partition"], job["account"], job["time_limit"]) == ("other", "lab", 5)
    # What really holds nodes is what was ordered, by Slurm's own books.
    assert sorted(job["nodes"] for job in told) == ["s0", "s1"]
    assert {job["nodes"]: job["tasks"] for job in told} == {"s0": 1, "s1": 2}
    assert {job["nodes"]: job["tres_per_node"] for job in told} == {"s0": "gres:gpu:1", "s1": "gres:gpu:2"}
    for path in bench.folder.rglob("env.3.*"):
        env = dict(line.split("=", 1) for line in path.read_text().splitlines() if "=" in line)
        assert (env["SLURM_PROCID"], env["SLURM_NTASKS"]) == (env["RANK"], "3")


def test_reserved_nodes_are_for_those_who_have_the_reservation(bench: Bench) -> None:
    words = ("reservationname=lab", "starttime=now", "duration=60", "nodes=s2", "users=root")
    bench.slurm.run("scontrol", "create", "reservation", *words)
    nothing, order = {"gpu": 0, "cpu": 0}, build_launch("job", 1, ["s2"], TELL)
    try:
        bench.wait(lambda: bench.slurm.states()["s2"] == "reserved")
        outside = bench.build()
        assert has(outside.inventory.cluster, "s0") == {"gpu": 4, "cpu": 8}
        assert has(outside.inventory.cluster, "s2") == nothing
        outside.backend.close(keep_rings=False)
        inside = bench.build(options=SlurmOptions(extra=("--reservation=lab",)))
        assert has(inside.inventory.cluster, "s0") == nothing
        assert has(inside.inventory.cluster, "s2") == {"gpu": 2, "cpu": 8}
        inside.backend.launch(order)
        assert inside.wait_until_over(order.key).phase is RingPhase.FINISHED
    finally:
        bench.slurm.run("scontrol", "delete", "reservation=lab")


def test_what_slurm_refuses_fails_with_slurms_words(bench: Bench) -> None:
    engine = bench.build(options=SlurmOptions(extra=("--constraint=nowhere",)))
    order = build_launch("job", 1, ["s0"], TELL)
    engine.backend.launch(order)
    end = engine.wait_until_over(order.key)
    assert end.phase is RingPhase.FAILED
    assert "feature" in end.reason


def test_parts_of_a_gpu_are_refused(bench: Bench) -> None:
    engine = bench.build()
    order = build_launch("job", 1, ["s0"], TELL, gpu=0.5)
    engine.backend.launch(order)
    assert "whole" in engine.wait_until_over(order.key).reason


def test_a_partition_that_is_not_there_is_told(bench: Bench) -> None:
    with pytest.raises(BadOption, match="nowhere"):
        bench.build(options=SlurmOptions("nowhere"))
