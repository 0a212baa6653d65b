"""The local engine beyond the contract: what earlier lives left, servers that go, processes that stay."""

import json
import os
import random
import signal
import subprocess
import sys
import time
import uuid
from collections.abc import Iterator
from pathlib import Path

import pytest

from gadget.backends.backend import RingKey, RingPhase, ServerCameBack, ServerWentAway
from gadget.backends.local import LocalBackend, Network
from gadget.backends.local_ending import clear_folder
from gadget.backends.netns import list_namespaces, why_no_namespaces
from gadget.errors import BadOption
from gadget.model.builders import build_leaf_spine
from tests.engines import OBEY, STUBBORN, TELL, Engine, build_cluster, build_launch, find_workers

needs_namespaces = pytest.mark.skipif(why_no_namespaces() != "", reason=why_no_namespaces())


class Life:
    """One folder and instance, and the backends that open it one after another."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.instance = uuid.uuid4().hex
        self.engines: list[Engine] = []

    def open(self, network: str = "loopback") -> Engine:
        engine = Engine(LocalBackend(build_cluster(), self.folder, self.instance, network=network))
        self.engines.append(engine)
        return engine

    def reopen(self, network: str = "loopback") -> Engine:
        self.engines[-1].backend.close(keep_rings=True)
        return self.open(network)

    def ring(self, key: RingKey) -> Path:
        return self.folder / "rings" / str(key)

    def run(self, engine: Engine, script: str, servers: list[str], job: str = "job") -> RingKey:
        order = build_launch(job, 1, servers, script)
        engine.backend.launch(order)
        engine.wait_for(order.key, RingPhase.RUNNING)
        if "up." in script:
            engine.wait(lambda: len(list(self.folder.glob(f"jobs/{job}/checkpoints/up.*"))) == len(servers))
        return order.key


@pytest.fixture
def life(tmp_path: Path) -> Iterator[Life]:
    made = Life(tmp_path / "engine")
    yield made
    network = "namespaces" if not why_no_namespaces() and list_namespaces(made.instance) else "loopback"
    for engine in made.engines:
        engine.backend.close(keep_rings=True)
    made.open(network).backend.close(keep_rings=False)
    assert find_workers(made.instance) == []


@pytest.fixture
def bystander() -> Iterator["subprocess.Popen[bytes]"]:
    with subprocess.Popen(
        ["sleep", "600"], env={**os.environ, "GADGET_INSTANCE": "somebody else"}
    ) as process:
        try:
            yield process
            assert process.poll() is None, "somebody else's process was ended"
        finally:
            process.kill()


def stat_of(pid: int) -> str:
    return Path(f"/proc/{pid}/stat").read_text()


def test_processes_of_which_nothing_is_written_down_are_ended(
    life: Life, bystander: "subprocess.Popen[bytes]"
) -> None:
    env = {**os.environ, "GADGET_INSTANCE": life.instance, "GADGET_JOB": "j", "GADGET_RING": "1", "RANK": "0"}
    with subprocess.Popen(["sleep", "600"], env=env, start_new_session=True) as stray:
        try:
            life.open()
            assert stray.wait(10) == -signal.SIGKILL
        finally:
            stray.kill()


def test_an_earlier_start_of_the_machine_has_left_no_process(
    life: Life, bystander: "subprocess.Popen[bytes]"
) -> None:
    engine = life.open()
    key = life.run(engine, OBEY, ["s0"])
    engine.dismiss(key, 60)
    engine.wait_until_over(key)
    engine.backend.close(keep_rings=True)
    record = json.loads((life.ring(key) / "record.json").read_text())
    (life.ring(key) / "record.json").write_text(json.dumps(record | {"boot": "another"}))
    for name in ("over.json", "0.exit", "leaving.json", "0.asked"):
        (life.ring(key) / name).unlink()
    # By chance its number and start are those of somebody else's process now.
    (life.ring(key) / "0.worker").write_text(stat_of(bystander.pid))
    again = life.open()
    again.wait(lambda: again.surveyed()[key].is_over)
    (found,) = again.backend.survey()
    assert (found.phase, found.reason) == (RingPhase.FAILED, "the machine was started anew")


def test_a_number_that_is_somebody_elses_by_now_is_left_alone(
    life: Life, bystander: "subprocess.Popen[bytes]"
) -> None:
    engine = life.open()
    key = life.run(engine, OBEY, ["s0"])
    engine.backend.close(keep_rings=True)
    fields = stat_of(bystander.pid).rsplit(")", 1)
    words = fields[1].split()
    words[19] = str(int(words[19]) - 1)
    for name in ("0.worker", "0.shepherd"):
        (life.ring(key) / name).write_text(f"{fields[0]}) {' '.join(words)}\n")
    again = life.open()
    # Found by their environment, they are its processes all the same.
    assert again.surveyed()[key] in (RingPhase.STARTING, RingPhase.RUNNING)
    again.dismiss(key, 0.1)
    assert again.wait_until_over(key).phase is RingPhase.STOPPED
    assert find_workers(life.instance) == []


def test_a_server_that_goes_away_takes_its_rings_and_comes_back_empty(life: Life) -> None:
    engine = life.open()
    hit = life.run(engine, STUBBORN, ["s0", "s1"], "hit")
    spared = life.run(engine, STUBBORN, ["s2"], "spared")
    assert isinstance(engine.backend, LocalBackend)
    engine.backend.fail_server("s1", "its power is off")
    engine.backend.fail_server("s1")
    end = engine.wait_until_over(hit)
    assert (end.phase, end.reason) == (RingPhase.FAILED, "server s1 went away: its power is off")
    late = build_launch("late", 1, ["s1"], TELL)
    engine.backend.launch(late)
    assert engine.wait_until_over(late.key).reason == "server s1 is away"
    assert engine.surveyed()[spared] is RingPhase.RUNNING
    again = life.reopen()
    assert again.inventory.away == {"s1"}
    assert isinstance(again.backend, LocalBackend)
    again.backend.return_server("s1")
    again.backend.return_server("s1")
    life.run(again, OBEY, ["s1"], "next")
    assert [one for one in engine.reports if isinstance(one, ServerWentAway)] == [
        ServerWentAway("s1", "its power is off")
    ]
    assert [one for one in again.reports if isinstance(one, ServerCameBack)] == [ServerCameBack("s1")]
    assert life.reopen().inventory.away == frozenset()
    with pytest.raises(BadOption, match="no server 'nowhere'"):
        again.backend.fail_server("nowhere")


@needs_namespaces
def test_a_network_that_was_lost_ends_its_rings_and_is_made_anew(life: Life) -> None:
    engine = life.open("namespaces")
    key = life.run(engine, STUBBORN, ["s0", "s1"])
    subprocess.run(["ip", "netns", "delete", list_namespaces(life.instance)[0]], check=True)
    again = life.reopen("namespaces")
    assert len(list_namespaces(life.instance)) == 4
    end = again.wait_until_over(key)
    assert (end.phase, end.reason) == (RingPhase.FAILED, "the network of the cluster was made anew")
    life.run(again, OBEY, ["s0", "s1"], "next")


@needs_namespaces
def test_a_life_on_loopback_removes_the_namespaces_of_an_earlier_one(life: Life) -> None:
    key = life.run(life.open("namespaces"), STUBBORN, ["s0", "s1"])
    again = life.reopen("loopback")
    assert list_namespaces(life.instance) == []
    assert again.wait_until_over(key).phase is RingPhase.FAILED


@needs_namespaces
def test_no_network_is_left_when_no_ring_is_and_a_failed_server_stays_away(life: Life) -> None:
    engine = life.open("namespaces")
    assert isinstance(engine.backend, LocalBackend)
    engine.backend.fail_server("s1")
    engine.backend.close(keep_rings=True)
    assert list_namespaces(life.instance) == []
    again = life.open("namespaces")
    assert again.inventory.away == {"s1"}
    assert len(list_namespaces(life.instance)) == 4


@needs_namespaces
def test_the_network_of_an_earlier_life_is_used_again(life: Life) -> None:
    engine = life.open("namespaces")
    key = life.run(engine, OBEY, ["s0", "s1"])
    before = {name: Path(f"/run/netns/{name}").stat().st_ino for name in list_namespaces(life.instance)}
    again = life.reopen("auto")
    assert isinstance(again.backend, LocalBackend)
    assert again.backend.network is Network.NAMESPACES
    assert {name: Path(f"/run/netns/{name}").stat().st_ino for name in before} == before
    assert again.surveyed() == {key: RingPhase.RUNNING}


def test_a_large_cluster_gets_no_namespaces_by_itself(tmp_path: Path) -> None:
    backend = LocalBackend(build_leaf_spine(10, 1, 30), tmp_path, "x")
    engine = Engine(backend)
    assert backend.network is Network.LOOPBACK
    assert len(engine.inventory.cluster.servers) == 300
    backend.close(keep_rings=False)


def test_what_began_a_session_of_its_own_is_ended_with_its_ring(life: Life) -> None:
    engine = life.open()
    # One flees its session, one its environment; each keeps what the other lost.
    script = "setsid sleep 600 & env -i /bin/sleep 600 & echo; " + OBEY
    key = life.run(engine, script, ["s0"])
    session = int((life.ring(key) / "0.shepherd").read_text().split()[0])
    engine.dismiss(key, 60)
    engine.wait_until_over(key)
    assert find_workers(life.instance) == []
    assert [pid for pid in all_pids() if session_of(pid) == session] == []


def test_a_worker_that_was_stopped_is_killed_at_the_end_of_its_grace(life: Life) -> None:
    engine = life.open()
    key = life.run(engine, OBEY, ["s0"])
    for pid in find_workers(life.instance):  # the shepherd too
        os.kill(pid, signal.SIGSTOP)
    engine.dismiss(key, 0.2)
    assert engine.wait_until_over(key).phase is RingPhase.STOPPED


def test_a_worker_whose_shepherd_was_killed_goes_on_and_is_missed_when_it_ends(life: Life) -> None:
    engine = life.open()
    key = life.run(engine, OBEY, ["s0"])
    os.kill(int((life.ring(key) / "0.shepherd").read_text().split()[0]), signal.SIGKILL)
    time.sleep(0.5)
    assert engine.surveyed() == {key: RingPhase.RUNNING}
    os.kill(int((life.ring(key) / "0.worker").read_text().split()[0]), signal.SIGKILL)
    end = engine.wait_until_over(key)
    assert (end.phase, end.reason) == (
        RingPhase.FAILED,
        "rank 0 on s0 is gone, and nobody knows its exit code",
    )


def test_who_leaves_without_being_asked_has_stopped(life: Life) -> None:
    engine = life.open()
    order = build_launch("job", 1, ["s0", "s1"], "exit 75")
    engine.backend.launch(order)
    end = engine.wait_until_over(order.key)
    assert (end.phase, end.reason) == (RingPhase.STOPPED, "its workers left by themselves (exit code 75)")


def test_the_first_that_broke_is_blamed(life: Life) -> None:
    engine = life.open()
    script = """mark="$GADGET_CHECKPOINT_DIR/broke"
if [ $RANK = 2 ]; then sleep 0.2; touch "$mark"; exit 5; fi
while [ ! -e "$mark" ]; do sleep 0.01; done; sleep 0.03; exit 6"""
    order = build_launch("job", 1, ["s0", "s0", "s1"], script)
    engine.backend.launch(order)
    assert engine.wait_until_over(order.key).reason == "rank 2 on s1 ended with exit code 5"


def test_a_ring_that_cannot_be_written_down_is_refused(life: Life) -> None:
    engine = life.open()
    (life.folder / "rings").rmdir()
    (life.folder / "rings").touch()
    order = build_launch("job", 1, ["s0"], OBEY)
    engine.backend.launch(order)
    end = engine.wait_until_over(order.key)
    assert end.phase is RingPhase.FAILED
    assert "cannot be written down" in end.reason
    engine.backend.forget(order.key)
    assert engine.backend.survey() == []
    (life.folder / "rings").unlink()
    # What it was to hold is free.
    life.run(engine, OBEY, ["s0"] * 4, "next")


def test_a_listener_that_fails_does_not_blind_the_engine(tmp_path: Path) -> None:
    def refuse(report: object) -> None:
        raise RuntimeError("no")

    backend = LocalBackend(build_cluster(), tmp_path, uuid.uuid4().hex, network="loopback")
    backend.open(refuse)
    backend.launch(build_launch("job", 1, ["s0"], TELL))
    deadline = time.monotonic() + 20
    while not all(ring.phase.is_over for ring in backend.survey()):
        assert time.monotonic() < deadline
        time.sleep(0.02)
    backend.close(keep_rings=False)


@pytest.mark.parametrize("seed", range(6))
def test_a_service_killed_at_any_moment_of_a_start_leaves_a_whole_ring_or_none(life: Life, seed: int) -> None:
    rng = random.Random(seed)
    words = ["local-loopback", str(life.folder), life.instance, "job", "1", "s0,s1,s0,s1,s2", OBEY]
    with subprocess.Popen(
        [sys.executable, "-m", "tests.engines", *words], stdout=subprocess.PIPE, cwd=Path(__file__).parents[3]
    ) as service:
        deadline = time.monotonic() + 30
        while not (life.folder / "rings" / "job@1").exists():
            assert time.monotonic() < deadline
            time.sleep(0.001)
        time.sleep(rng.uniform(0, 0.04))
        service.kill()
    engine, key = life.open(), RingKey("job", 1)
    engine.wait(lambda: engine.surveyed().get(key) in (None, RingPhase.RUNNING, RingPhase.FAILED))
    starts = [path.read_text().splitlines() for path in life.folder.rglob("up.1.*")]
    assert all(len(lines) == 1 for lines in starts)
    if engine.surveyed().get(key) is RingPhase.RUNNING:
        engine.wait(lambda: len(list(life.folder.rglob("up.1.*"))) == 5)
        assert len(find_workers(life.instance)) >= 10
    else:
        assert find_workers(life.instance) == []
        # Not started, or never begun: the number is spent only if something was written down.
        assert all("never started" in found.reason for found in engine.backend.survey())


def all_pids() -> list[int]:
    return [int(path.name) for path in Path("/proc").iterdir() if path.name.isdecimal()]


def session_of(pid: int) -> int:
    try:
        state, *rest = stat_of(pid).rsplit(")", 1)[1].split()
    except OSError:
        return -1
    return -1 if state == "Z" else int(rest[2])


def test_what_another_service_left_in_the_folder_is_ended(tmp_path: Path) -> None:
    """Its journal was moved away, and with it the name by which it was known."""
    folder = tmp_path / "engine"
    former, present = Life(folder), Life(folder)
    engine = former.open()
    former.run(engine, OBEY, ["s0", "s1"])
    assert find_workers(former.instance)
    engine.backend.close(keep_rings=True)
    engine = present.open()
    assert not list(engine.backend.survey())
    engine.wait(lambda: not find_workers(former.instance))
    engine.backend.close(keep_rings=False)


def test_a_folder_is_cleared_of_all_that_was_started_from_it(tmp_path: Path) -> None:
    life = Life(tmp_path / "engine")
    engine = life.open()
    life.run(engine, OBEY, ["s0"])
    with pytest.raises(BadOption, match="another service runs rings"):
        clear_folder(life.folder)
    assert find_workers(life.instance)
    engine.backend.close(keep_rings=True)
    clear_folder(life.folder)
    engine.wait(lambda: not find_workers(life.instance))


def test_a_log_beyond_all_measure_keeps_its_end(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("gadget.backends.ring_folder.MOST_KEPT_BYTES", 100_000)
    life = Life(tmp_path / "engine")
    engine = life.open()
    flood = "i=0; while [ $i -lt 40000 ]; do i=$((i + 1)); echo line $i; done"
    order = build_launch("job", 1, ["s0"], flood)
    engine.backend.launch(order)
    engine.wait_for(order.key, RingPhase.FINISHED)
    told = engine.backend.read_log("job", rank=0, lines=1)
    assert told.strip() == "line 40000"
    assert sum(path.stat().st_size for path in life.folder.glob("jobs/*/logs/*")) < 1_100_000
    assert "earlier lines were dropped" in next(life.folder.glob("jobs/*/logs/*")).read_text()[:100]
    engine.backend.close(keep_rings=False)
