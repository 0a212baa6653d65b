"""The contract of engines, the same for each: exact placement, graceful ends, and nothing lost or left."""

import subprocess
import sys
import time
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path

import pytest

from gadget.backends.backend import Launch, RingKey, RingPhase
from gadget.model.program import Program
from tests.benches import Bench
from tests.engines import (
    OBEY,
    STUBBORN,
    TELL,
    build_cluster,
    build_job,
    build_launch,
    build_ring,
    find_workers,
    owned_elsewhere,
)
from tests.rings import EXAMPLES, read_losses

PASS_A_TOKEN = """
import os, socket
rank, size = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
host, port = os.environ["GADGET_LISTEN"].rsplit(":", 1)
server = socket.create_server((host, int(port)))
def connect():
    host, port = os.environ["GADGET_NEXT"].rsplit(":", 1)
    for _ in range(200):
        try:
            return socket.create_connection((host, int(port)), timeout=10)
        except OSError:
            import time; time.sleep(0.05)
    raise SystemExit(1)
after = connect()
before, _ = server.accept()
if rank == 0:
    after.sendall(b"0")
    got = before.recv(100).decode()
    print("went round:", got)
else:
    after.sendall(before.recv(100) + f" {rank}".encode())
"""


def read_env(path: Path) -> dict[str, str]:
    return dict(line.split("=", 1) for line in path.read_text().splitlines() if "=" in line)


def in_turn(phases: list[RingPhase]) -> bool:
    """Phases only ever go forward, and end once."""
    order = list(RingPhase)
    places = [min(order.index(phase), 3) for phase in phases]
    return all(a < b for a, b in pairwise(places))


def test_it_offers_its_cluster_and_has_no_rings_at_first(bench: Bench) -> None:
    engine = bench.open()
    assert engine.inventory.cluster == build_cluster()
    assert engine.inventory.away == frozenset()
    assert engine.backend.survey() == []


def test_ranks_run_in_ring_order_where_the_ring_says(bench: Bench) -> None:
    engine, servers = bench.open(), ["s1", "s0", "s1", "s2"]
    order = build_launch(
        "job", 3, servers, TELL, env={"GADGET_TOKEN": "t"}, own_env={"COLOUR": "grün", "stat": "its own"}
    )
    engine.backend.launch(order)
    assert engine.wait_until_over(order.key).phase is RingPhase.FINISHED
    assert in_turn(engine.phases(order.key))
    ranks = [read_env(path) for path in bench.find("env.3.*")]
    assert [int(env["RANK"]) for env in ranks] == [0, 1, 2, 3]
    assert [env["GADGET_SERVER"] for env in ranks] == servers
    if bench.slurm is not None:  # its nodes share one machine; those of others cannot listen elsewhere
        assert [env["SLURMD_NODENAME"] for env in ranks] == servers
    assert [env["LOCAL_RANK"] for env in ranks] == ["0", "0", "1", "0"]
    listen = [env["GADGET_LISTEN"] for env in ranks]
    assert len(set(listen)) == 4
    assert [env["GADGET_NEXT"] for env in ranks] == [*listen[1:], listen[0]]
    assert [env["GADGET_PREVIOUS"] for env in ranks] == [listen[-1], *listen[:-1]]
    host = [one.rsplit(":", 1)[0] for one in listen]
    assert host[0] == host[2]
    assert len(set(host)) == 3
    for env in ranks:
        assert env["WORLD_SIZE"] == "4"
        assert env["GADGET_ADDRESSES"] == ",".join(listen)
        assert env["MASTER_ADDR"] == host[0]
        assert f"{host[0]}:{env['MASTER_PORT']}" not in listen
        assert (env["GADGET_JOB"], env["GADGET_RING"]) == ("job", "3")
        assert (env["GADGET_TOKEN"], env["COLOUR"], env["stat"]) == ("t", "grün", "its own")
        assert env["GADGET_INSTANCE"] == bench.instance
    assert ranks[0]["CUDA_VISIBLE_DEVICES"] != ranks[2]["CUDA_VISIBLE_DEVICES"]
    assert len({env["GADGET_CHECKPOINT_DIR"] for env in ranks}) == 1


def test_neighbours_reach_each_other_at_the_addresses_they_are_given(bench: Bench) -> None:
    engine = bench.open()
    program = Program(command=("python3", "-c", PASS_A_TOKEN))
    key = RingKey("job", 1)
    engine.backend.launch(Launch(key, build_ring("job", ["s0", "s0", "s1", "s2"]), build_job("job", program)))
    end = engine.wait_until_over(key)
    assert end.phase is RingPhase.FINISHED, end.reason
    assert engine.backend.read_log("job", rank=0, lines=1) == "went round: 0 1 2 3\n"


def test_a_ring_that_is_asked_to_leave_saves_and_leaves(bench: Bench) -> None:
    engine = bench.open()
    order = build_launch("job", 1, ["s0", "s1"], OBEY)
    engine.backend.launch(order)
    engine.wait(lambda: len(bench.find("up.1.*")) == 2)
    engine.wait_for(order.key, RingPhase.RUNNING)
    engine.dismiss(order.key, 60)
    assert engine.wait_until_over(order.key).phase is RingPhase.STOPPED
    assert engine.phases(order.key) == [RingPhase.RUNNING, RingPhase.STOPPING, RingPhase.STOPPED]
    assert len(bench.find("saved.*")) == 2
    assert find_workers(bench.instance) == []


def test_who_does_not_leave_is_killed_at_the_end_of_the_grace(bench: Bench) -> None:
    engine = bench.open()
    order = build_launch("job", 1, ["s0", "s1"], STUBBORN)
    engine.backend.launch(order)
    engine.wait(lambda: len(bench.find("up.1.*")) == 2)
    start = time.monotonic()
    engine.dismiss(order.key, 0.5)
    end = engine.wait_until_over(order.key)
    assert time.monotonic() - start >= 0.5
    assert end.phase is RingPhase.STOPPED
    assert "rank 0 on s0" in end.reason
    assert "killed" in end.reason
    assert find_workers(bench.instance) == []


def test_a_shorter_grace_holds_and_a_longer_one_does_not(bench: Bench) -> None:
    engine = bench.open()
    order = build_launch("job", 1, ["s0"], STUBBORN)
    engine.backend.launch(order)
    engine.wait(lambda: bench.find("up.1.0"))
    for grace in (600, 0.2, 600):
        engine.dismiss(order.key, grace)
    assert engine.wait_until_over(order.key).phase is RingPhase.STOPPED
    assert engine.phases(order.key).count(RingPhase.STOPPING) == 1


def test_a_ring_whose_work_is_done_when_it_is_asked_to_leave_has_finished(bench: Bench) -> None:
    engine = bench.open()
    order = build_launch("job", 1, ["s0", "s1"], OBEY.replace("exit 75", "exit 0"))
    engine.backend.launch(order)
    engine.wait(lambda: len(bench.find("up.1.*")) == 2)
    engine.dismiss(order.key, 60)
    assert engine.wait_until_over(order.key).phase is RingPhase.FINISHED


def test_a_training_goes_on_at_sizes_two_three_and_one_with_the_same_losses(
    bench: Bench, tmp_path: Path
) -> None:
    def command(losses: Path, *words: str) -> tuple[str, ...]:
        training = [
            str(EXAMPLES / "train_ring.py"),
            "--steps",
            "60",
            "--batch",
            "13",
            "--loss-file",
            str(losses),
        ]
        return (sys.executable, *training, *words)

    engine, losses = bench.open(), tmp_path / "losses"
    job = build_job("job", Program(command=command(losses, "--sample-ms", "3")))
    for number, servers in enumerate((["s0", "s1"], ["s2", "s0", "s0"], ["s1"]), start=1):
        key, before = RingKey("job", number), max(read_losses(losses), default=0)
        engine.backend.launch(Launch(key, build_ring("job", servers), job))
        if number < 3:
            engine.wait(lambda before=before: max(read_losses(losses), default=0) >= before + 5)
            engine.dismiss(key, 60)
            assert engine.wait_until_over(key).phase is RingPhase.STOPPED
            assert before + 5 <= max(read_losses(losses)) < 60
    end = engine.wait_until_over(key)
    assert end.phase is RingPhase.FINISHED, end.reason
    subprocess.run(command(tmp_path / "alone"), check=True, capture_output=True)
    assert read_losses(losses) == pytest.approx(read_losses(tmp_path / "alone"), rel=1e-9, abs=0)


def test_ranks_on_one_server_may_end_one_after_another(bench: Bench) -> None:
    engine = bench.open()
    order = build_launch("job", 1, ["s0", "s0", "s0"], '[ "$RANK" = 0 ] || sleep 1.$RANK')
    engine.backend.launch(order)
    end = engine.wait_until_over(order.key)
    assert end.phase is RingPhase.FINISHED, end


def test_one_broken_rank_breaks_the_ring_and_leaves_no_process(bench: Bench) -> None:
    engine = bench.open()
    script = 'if [ $RANK = 1 ]; then echo "no such layer" >&2; exit 3; fi; sleep 600 & sleep 600'
    order = build_launch("job", 1, ["s0", "s1", "s1"], script)
    engine.backend.launch(order)
    end = engine.wait_until_over(order.key)
    assert (end.phase, end.reason) == (
        RingPhase.FAILED,
        "rank 1 on s1 ended with exit code 3: no such layer",
    )
    assert find_workers(bench.instance) == []


def test_a_killed_rank_is_told_by_its_signal(bench: Bench) -> None:
    engine = bench.open()
    order = build_launch("job", 1, ["s0", "s1"], "[ $RANK = 1 ] && kill -9 $$; sleep 600")
    engine.backend.launch(order)
    end = engine.wait_until_over(order.key)
    assert (end.phase, end.reason) == (RingPhase.FAILED, "rank 1 on s1 was killed by signal 9")


def test_launching_twice_is_launching_once(bench: Bench) -> None:
    engine = bench.open()
    order = build_launch("job", 1, ["s0"], OBEY)
    engine.backend.launch(order)
    engine.backend.launch(order)
    engine.wait(lambda: bench.find("up.1.0"))
    engine.backend.launch(order)
    engine.dismiss(order.key, 60)
    engine.wait_until_over(order.key)
    engine.backend.launch(order)
    time.sleep(0.3)
    assert len(bench.find("up.1.0")[0].read_text().splitlines()) == 1
    assert engine.phases(order.key).count(RingPhase.STOPPED) == 1


@pytest.mark.parametrize("is_forgotten", [False, True])
def test_a_stale_number_is_refused_also_in_a_later_life(bench: Bench, is_forgotten: bool) -> None:
    engine = bench.open()
    newer, older = (build_launch("job", number, ["s0"], TELL) for number in (7, 5))
    engine.backend.launch(newer)
    engine.wait_until_over(newer.key)
    if is_forgotten:
        engine.backend.forget(newer.key)
        assert engine.backend.survey() == []
    engine.backend.close(keep_rings=True)
    again = bench.open()
    again.backend.launch(older)
    end = again.wait_until_over(older.key)
    assert end.phase is RingPhase.FAILED
    assert "stale" in end.reason
    assert bench.find("env.5.*") == []
    assert older.key not in again.surveyed()
    if is_forgotten:
        # No two rings of a job share a number: one that was and is forgotten does not come again.
        again.backend.launch(newer)
        assert again.wait_until_over(newer.key).phase is RingPhase.FAILED


def test_a_ring_that_is_dismissed_while_it_starts_is_over_soon(bench: Bench) -> None:
    engine = bench.open()
    orders = [build_launch(f"job{n}", 1, ["s0", "s1"], "sleep 600", gpu=0) for n in range(6)]
    for place, order in enumerate(orders):
        engine.backend.launch(order)
        time.sleep(0.01 * place)
        engine.dismiss(order.key, 60)
    for order in orders:
        assert engine.wait_until_over(order.key).phase is RingPhase.STOPPED
    assert find_workers(bench.instance) == []


def test_rings_on_one_server_hold_different_gpus_and_give_them_back(bench: Bench) -> None:
    engine = bench.open()

    def gpus(job: str, number: int) -> list[str]:
        engine.wait(lambda: bench.find(f"{job}.{number}.gpus"))
        return bench.find(f"{job}.{number}.gpus")[0].read_text().split(",")

    note = """f="$GADGET_CHECKPOINT_DIR/$GADGET_JOB.$GADGET_RING.gpus"
printf "$CUDA_VISIBLE_DEVICES" >"$f.part"; mv "$f.part" "$f"; sleep 600"""
    first, second = (build_launch(name, 1, ["s0"], note, gpu=2) for name in ("a", "b"))
    engine.backend.launch(first)
    engine.backend.launch(second)
    assert sorted(gpus("a", 1) + gpus("b", 1)) == ["0", "1", "2", "3"]
    beyond = build_launch("c", 1, ["s0"], note, gpu=1)
    engine.backend.launch(beyond)
    assert "4 gpu" in engine.wait_for(beyond.key, RingPhase.FAILED).reason
    none = build_launch("d", 1, ["s0"], note, gpu=0)
    engine.backend.launch(none)
    assert gpus("d", 1) == [""]
    held = gpus("a", 1)
    engine.dismiss(first.key, 60)
    engine.wait_until_over(first.key)
    engine.backend.launch(build_launch("a", 2, ["s0"], note, gpu=2))
    assert gpus("a", 2) == held


def test_a_ring_survives_its_service_and_is_adopted(bench: Bench) -> None:
    servers = ["s1", "s0"]
    order = build_launch("job", 4, servers, OBEY)
    key = order.key
    with owned_elsewhere(bench.kind, bench.folder, bench.instance, order) as service:
        wait_for_files(bench, "up.4.*", 2)
        service.kill()
        service.wait()
    before = {path.name: path.read_text() for path in bench.find("up.4.*")}
    engine = bench.open()
    (found,) = engine.backend.survey()
    assert (found.key, found.ring, found.phase) == (key, build_ring("job", servers), RingPhase.RUNNING)
    # The same order again: adopted means that nothing starts anew.
    engine.backend.launch(order)
    # What it holds is nobody else's.
    greedy = build_launch("greedy", 1, ["s0"], OBEY, gpu=4)
    engine.backend.launch(greedy)
    assert engine.wait_until_over(greedy.key).phase is RingPhase.FAILED
    engine.dismiss(key, 60)
    assert engine.wait_until_over(key).phase is RingPhase.STOPPED
    assert len(bench.find("saved.*")) == 2
    assert {path.name: path.read_text() for path in bench.find("up.4.*")} == before


@pytest.mark.parametrize(
    ("ending", "phase", "reason"),
    [
        ("exit 0", RingPhase.FINISHED, ""),
        ("echo out of luck; exit 9", RingPhase.FAILED, "rank 0 on s0 ended with exit code 9: out of luck"),
    ],
)
def test_what_ends_while_no_service_is_there_is_told_until_it_is_forgotten(
    bench: Bench, ending: str, phase: RingPhase, reason: str
) -> None:
    script = f"""echo up >"$GADGET_CHECKPOINT_DIR/up.$RANK"
while [ ! -e "$GADGET_CHECKPOINT_DIR/go" ]; do sleep 0.05; done; {ending}"""
    order = build_launch("job", 1, ["s0"], script)
    with owned_elsewhere(bench.kind, bench.folder, bench.instance, order) as service:
        wait_for_files(bench, "up.0", 1)
        service.kill()
        service.wait()
    (bench.find("up.0")[0].parent / "go").touch()
    wait_until(lambda: not find_workers(bench.instance))
    for _ in range(2):
        engine = bench.open()
        engine.wait(lambda e=engine: e.surveyed() == {order.key: phase})
        assert [found.reason for found in engine.backend.survey()] == [reason]
        engine.backend.close(keep_rings=True)
    engine = bench.open()
    engine.backend.forget(order.key)
    engine.backend.close(keep_rings=True)
    assert bench.open().backend.survey() == []


def test_a_ring_left_on_purpose_goes_on_and_is_found(bench: Bench) -> None:
    engine = bench.open()
    order = build_launch("job", 1, ["s0", "s1"], OBEY)
    engine.backend.launch(order)
    engine.wait_for(order.key, RingPhase.RUNNING)
    engine.backend.close(keep_rings=True)
    assert find_workers(bench.instance)
    assert bench.open().surveyed() == {order.key: RingPhase.RUNNING}


def test_a_dismissal_outlives_the_service_that_gave_it(bench: Bench) -> None:
    engine = bench.open()
    order = build_launch("job", 1, ["s0"], STUBBORN)
    engine.backend.launch(order)
    engine.wait(lambda: bench.find("up.1.0"))
    engine.dismiss(order.key, 1.0)
    engine.wait_for(order.key, RingPhase.STOPPING)
    engine.backend.close(keep_rings=True)
    again = bench.open()
    assert again.wait_until_over(order.key).phase is RingPhase.STOPPED


def test_the_end_leaves_nothing_but_logs_and_checkpoints(bench: Bench) -> None:
    engine = bench.open()
    order = build_launch("job", 1, ["s0", "s1"], "echo hello; sleep 600 & " + OBEY)
    engine.backend.launch(order)
    engine.wait(lambda: len(bench.find("up.1.*")) == 2)
    engine.backend.close(keep_rings=False)
    assert find_workers(bench.instance) == []
    assert len(bench.find("up.1.*")) == 2
    again = bench.open()
    assert again.backend.survey() == []
    assert again.backend.read_log("job", rank=1, lines=10) == "hello\n"


def test_a_ring_that_runs_cannot_be_forgotten(bench: Bench) -> None:
    engine = bench.open()
    order = build_launch("job", 1, ["s0"], OBEY)
    engine.backend.launch(order)
    engine.backend.forget(order.key)
    assert order.key in engine.surveyed()


def test_dismissing_what_is_unknown_changes_nothing(bench: Bench) -> None:
    engine = bench.open()
    engine.dismiss(RingKey("nobody", 1), 0)
    order = build_launch("nobody", 1, ["s0"], TELL)
    engine.backend.launch(order)
    assert engine.wait_until_over(order.key).phase is RingPhase.FINISHED


@pytest.mark.parametrize(
    ("program", "reason"),
    [
        (None, "run:"),
        (Program(command=("no-such-program",)), "not found"),
        (Program(command=("./no/such",)), "does not exist"),
        (Program(command=("./" + "x" * 9000,)), "no path that can be used"),
        (Program(command=("/etc/passwd",)), "may not be executed"),
        (Program(command=("sh",), working_dir="/no/such/folder"), "working_dir"),
        (Program(command=("sh",), working_dir="/etc/passwd"), "working_dir"),
        (Program(command=("true", *["x" * 90_000] * 60)), "cannot be started"),
    ],
)
def test_what_cannot_start_fails_with_a_reason(bench: Bench, program: Program | None, reason: str) -> None:
    engine, key = bench.open(), RingKey("job", 1)
    engine.backend.launch(Launch(key, build_ring("job", ["s0", "s1"]), build_job("job", program)))
    end = engine.wait_until_over(key)
    assert end.phase is RingPhase.FAILED
    assert reason in end.reason
    assert engine.surveyed() == {key: RingPhase.FAILED}


def test_logs_are_those_of_the_newest_ring(bench: Bench) -> None:
    engine = bench.open()
    assert engine.backend.read_log("job", rank=0, lines=10) == ""
    for number, servers in ((2, ["s0", "s1"]), (11, ["s0"])):
        order = build_launch("job", number, servers, f"{TELL}; seq 3")
        engine.backend.launch(order)
        engine.wait_until_over(order.key)
        engine.backend.forget(order.key)
    assert engine.backend.read_log("job", rank=0, lines=99) == "rank 0 of ring 11\n1\n2\n3\n"
    assert engine.backend.read_log("job", rank=0, lines=2) == "2\n3\n"
    assert engine.backend.read_log("job", rank=1, lines=99) == ""


@pytest.mark.parametrize("name", ["../up", ".", "a/b", "ü@3 %2F*", "-rf", "x" * 300, "日" * 100])
def test_jobs_may_have_any_name(bench: Bench, name: str) -> None:
    engine = bench.open()
    order = build_launch(name, 1, ["s0"], TELL)
    engine.backend.launch(order)
    assert engine.wait_until_over(order.key).phase is RingPhase.FINISHED
    assert read_env(bench.find("env.1.0")[0])["GADGET_JOB"] == name
    engine.backend.close(keep_rings=True)
    again = bench.open()
    assert again.surveyed() == {order.key: RingPhase.FINISHED}
    assert again.backend.read_log(name, rank=0, lines=1) == "rank 0 of ring 1\n"


def wait_for_files(bench: Bench, pattern: str, count: int) -> None:
    wait_until(lambda: len(bench.find(pattern)) == count)


def wait_until(is_so: Callable[[], bool], seconds: float = 30) -> None:
    deadline = time.monotonic() + seconds
    while not is_so():
        assert time.monotonic() < deadline
        time.sleep(0.02)
