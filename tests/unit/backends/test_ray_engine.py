"""The Ray engine beyond the contract: nodes and heads that go, others on the same cluster, Ray's own ways."""

import base64
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest

from gadget.backends.backend import (
    ClusterFound,
    EngineCameBack,
    EngineWentAway,
    RingPhase,
    ServerCameBack,
    ServerWentAway,
)
from gadget.backends.local_processes import Process, list_processes
from gadget.backends.netns import why_no_namespaces
from gadget.backends.ray_cluster import CORE
from gadget.backends.ray_engine import RayBackend
from gadget.backends.ray_link import RayLink
from gadget.errors import BadOption, MissingPackage, Unreachable
from tests.engines import OBEY, STUBBORN, TELL, Engine, build_cluster, build_launch, find_workers
from tests.engines_ray import HEAD, RayCluster, read_words

pytestmark = pytest.mark.skipif(bool(why_no_namespaces()), reason="needs network namespaces")

# Another user of the cluster: holds GPUs of a node until its input ends.
TAKE = """
import sys, ray
from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy
address, host, amount = sys.argv[1:]
ray.init(address=address, log_to_driver=False)
(node,) = [n["NodeID"] for n in ray.nodes() if n["Alive"] and n["Labels"].get("host") == host]
@ray.remote(num_cpus=0)
class Holder:
    def up(self): return True
where = NodeAffinitySchedulingStrategy(node, soft=False)
holder = Holder.options(num_gpus=float(amount), scheduling_strategy=where).remote()
print(ray.get(holder.up.remote()), flush=True)
sys.stdin.read()
"""


@contextmanager
def opened(ray: RayCluster, folder: Path, link: RayLink | None = None, **said: Any) -> Iterator[Engine]:
    instance = uuid4().hex
    said = {"cluster": build_cluster()} | said
    engine = Engine(RayBackend(link or ray.link, folder, instance, is_shared_link=link is None, **said))
    try:
        yield engine
    finally:
        engine.backend.close(keep_rings=False)
        assert find_workers(instance) == []


def test_nodes_that_crash_hang_or_are_cut_off_take_their_rings_along(
    ray_cluster: RayCluster, tmp_path: Path
) -> None:
    crash, hang, cut = "s0", "s1", "s2"
    with opened(ray_cluster, tmp_path) as engine:
        try:
            orders = {name: build_launch(f"on-{name}", 1, [name], OBEY) for name in (crash, hang, cut)}
            both = build_launch("both", 1, ["s1", "s0"], STUBBORN)
            # The shell stays above what it waits for.
            deep = build_launch("deep", 1, [crash], "sleep 598; true")
            for order in (*orders.values(), both, deep):
                engine.backend.launch(order)
            for order in (*orders.values(), both, deep):
                engine.wait_for(order.key, RingPhase.RUNNING)
            engine.wait(lambda: find_sleepers("598"))
            ray_cluster.signal_raylet(crash, signal.SIGKILL)
            ray_cluster.signal_raylet(hang, signal.SIGSTOP)
            ray_cluster.wires.set_links(cut, up=False)
            engine.wait(lambda: find_sleepers("598") == [], "the end of all that a worker started")
            for order in (both, deep):
                end = engine.wait_until_over(order.key)
                assert end.phase is RingPhase.FAILED
                assert "s0" in end.reason or (order is both and "s1" in end.reason)
            for name, order in orders.items():
                assert engine.wait_until_over(order.key).phase is RingPhase.FAILED
                engine.wait(lambda n=name: went(engine, ServerWentAway, n))
            refused = build_launch("late", 1, [cut], TELL)
            engine.backend.launch(refused)
            assert "away" in engine.wait_until_over(refused.key).reason
        finally:
            ray_cluster.wires.set_links(cut, up=True)
            for name in (crash, hang, cut):
                ray_cluster.end_node(name)
            for name in (crash, hang, cut):
                ray_cluster.start_node(name)
            ray_cluster.wait_for_nodes()
        for name in (crash, hang, cut):
            engine.wait(lambda n=name: went(engine, ServerCameBack, n))
        again = build_launch("both", 2, ["s2", "s1", "s0"], TELL)
        engine.backend.launch(again)
        assert engine.wait_until_over(again.key).phase is RingPhase.FINISHED


def went(engine: Engine, kind: type[ServerWentAway] | type[ServerCameBack], name: str) -> bool:
    return any(isinstance(one, kind) and one.server == name for one in engine.reports)


def test_what_others_take_is_lost_to_us_until_they_give_it_back(
    ray_cluster: RayCluster, tmp_path: Path
) -> None:
    with opened(ray_cluster, tmp_path / "first", room_seconds=1.0) as engine:
        ours = build_launch("ours", 1, ["s0"], f"{TELL}\n{OBEY}")
        engine.backend.launch(ours)
        engine.wait_for(ours.key, RingPhase.RUNNING)
        command = [*ray_cluster.enter, sys.executable, "-c", TAKE, ray_cluster.address, "s0", "2"]
        with subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        ) as other:
            assert other.stdout is not None
            assert other.stdout.readline().strip() == "True"
            engine.wait(lambda: shares(engine)[-1:] == [2.0])
            # Decided before that was known.
            late = build_launch("late", 1, ["s1", "s0"], OBEY, gpu=3)
            engine.backend.launch(late)
            with opened(ray_cluster, tmp_path / "second") as neighbour:
                there = neighbour.inventory.cluster.server_by_name["s0"]
                assert there.resources["gpu"] == 1, "at once, and not when it has stayed"
                theirs = build_launch("theirs", 1, ["s0"], TELL)
                neighbour.backend.launch(theirs)
                assert neighbour.wait_until_over(theirs.key).phase is RingPhase.FINISHED
            end = engine.wait_until_over(late.key)
            assert (end.phase, end.reason) == (RingPhase.TAKEN, "Ray has no room for it on s0")
            assert other.stdin is not None
            other.stdin.close()
            other.wait()
        engine.wait(lambda: shares(engine)[-1:] == [4.0])
        assert engine.surveyed()[ours.key] is RingPhase.RUNNING
        # Two services on one server, and no two ranks at one port.
        told = [path.read_text().splitlines() for path in tmp_path.rglob("env.1.0")]
        ports = [line for lines in told for line in lines if line.startswith("GADGET_LISTEN=")]
        assert len(set(ports)) == len(ports) == 2


def shares(engine: Engine) -> list[float]:
    """GPUs of s0 in all clusters that were told."""
    found = [one.cluster for one in list(engine.reports) if isinstance(one, ClusterFound)]
    return [cluster.server_by_name["s0"].resources["gpu"] for cluster in found]


@pytest.mark.parametrize("is_client", [False, True])
def test_the_runtime_environment_of_ray_users_holds(
    ray_cluster: RayCluster, tmp_path: Path, is_client: bool
) -> None:
    code = tmp_path / "code"
    (code / "inner").mkdir(parents=True)
    (code / "inner" / "word.txt").write_text("from the working directory\n")
    link = RayLink(
        f"ray://{ray_cluster.wires.address(HEAD)}:10001" if is_client else ray_cluster.address,
        enter=ray_cluster.enter,
        runtime_env={"working_dir": str(code), "env_vars": {"COLOUR": "green", "GADGET_JOB": "no"}},
    )
    with opened(ray_cluster, tmp_path / "engine", link) as engine:
        order = build_launch("job", 1, ["s0", "s1"], 'cat inner/word.txt; echo "$COLOUR $GADGET_JOB"')
        engine.backend.launch(order)
        end = engine.wait_until_over(order.key)
        assert end.phase is RingPhase.FINISHED, end.reason
        for rank in (0, 1):
            assert engine.backend.read_log("job", rank=rank, lines=9) == (
                "from the working directory\ngreen job\n"
            )


def test_servers_racks_and_our_share_are_found_by_the_labels_of_nodes(
    ray_cluster: RayCluster, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    with opened(ray_cluster, tmp_path, cluster=None, only={"pool": "gadget"}) as engine:
        found = engine.inventory.cluster
        assert found.servers == build_cluster().servers
        cables = {(name, f"rack/of-{name}") for name in found.server_by_name}
        assert {link.ends for link in found.links} == cables | {(rack, CORE) for _, rack in cables}
        order = build_launch("job", 1, ["s1", "s0"], TELL)
        engine.backend.launch(order)
        assert engine.wait_until_over(order.key).phase is RingPhase.FINISHED
        assert caplog.messages == []
    with opened(ray_cluster, tmp_path / "none", cluster=None, only={"pool": "nobody"}) as engine:
        assert engine.inventory.cluster.servers == ()
        assert "no node of Ray has the label pool=nobody" in caplog.text
        assert "pool=gadget" in caplog.text


def test_a_line_that_breaks_loses_no_ring_no_order_and_no_end(
    ray_cluster: RayCluster, tmp_path: Path
) -> None:
    def read(pattern: str) -> dict[str, str]:
        return {path.name: path.read_text() for path in tmp_path.rglob(pattern)}

    until = """echo up >"$GADGET_CHECKPOINT_DIR/waits.$RANK"
while [ ! -e "$GADGET_CHECKPOINT_DIR/go" ]; do sleep 0.05; done"""
    with opened(ray_cluster, tmp_path) as engine:
        goes_on = build_launch("goes-on", 1, ["s0", "s1"], OBEY)
        leaves = build_launch("leaves", 2, ["s0"], OBEY)
        ends = build_launch("ends", 3, ["s1"], until)
        comes = build_launch("comes", 4, ["s1", "s2", "s0"], OBEY)
        for order in (goes_on, leaves, ends):
            engine.backend.launch(order)
        engine.wait(lambda: len(read("up.*")) == 3 and read("waits.*"))
        before = read("up.1.*")
        # All at the moment at which the line breaks.
        engine.dismiss(leaves.key, 30)
        engine.backend.launch(comes)
        (next(tmp_path.rglob("waits.0")).parent / "go").touch()
        ray_cluster.kill_driver()
        engine.wait(lambda: has(engine, EngineWentAway))
        engine.wait(lambda: has(engine, EngineCameBack))
        assert engine.wait_until_over(ends.key).phase is RingPhase.FINISHED
        end = engine.wait_until_over(leaves.key)
        assert end.phase is RingPhase.STOPPED
        assert end.reason == "the test says so"
        engine.wait_for(comes.key, RingPhase.RUNNING)
        engine.wait(lambda: len(read("up.4.*")) == 3)
        assert all(len(text.splitlines()) == 1 for text in read("up.4.*").values()), "nothing starts twice"
        assert engine.surveyed()[goes_on.key] is RingPhase.RUNNING
        assert read("up.1.*") == before
        workers = set(find_workers(engine.backend.instance))
        assert {int(text) for text in before.values()} <= workers


def test_what_ray_has_against_us_is_said_at_once(ray_cluster: RayCluster, tmp_path: Path) -> None:
    link = RayLink(ray_cluster.address, enter=ray_cluster.enter, runtime_env={"pip": "/no/such/file"})
    with pytest.raises(BadOption, match="/no/such/file"), opened(ray_cluster, tmp_path, link):
        pass


def test_a_driver_without_a_service_ends_whatever_it_waits_for() -> None:
    stuck = """
import time, ray
ray.init = lambda **_: time.sleep(600)
from gadget.backends.ray_driver import main
main()
"""
    with subprocess.Popen([sys.executable, "-c", stuck], stdin=subprocess.PIPE, text=True) as driver:
        try:
            assert driver.stdin is not None
            driver.stdin.write('{"address": "auto", "runtime_env": {}}\n')
            driver.stdin.close()
            assert driver.wait(60) == 0
        finally:
            driver.kill()


def test_nodes_need_nothing_of_this_package(tmp_path: Path) -> None:
    # What an actor is made of, taken apart here and put together by a Python that does not find us.
    pack = """
import base64, sys, ray.cloudpickle as pickle
from gadget.backends.ray_rank import Rank
pickle.register_pickle_by_value(sys.modules["gadget"])
print(base64.b64encode(pickle.dumps(Rank)).decode())
"""
    use = """
import base64, sys, types
sys.modules["gadget"] = None
import ray.cloudpickle as pickle
import ray
ray.get_runtime_context = lambda: types.SimpleNamespace(get_accelerator_ids=lambda: {"GPU": ["3"]})
Rank = pickle.loads(base64.b64decode(sys.argv[1]))
env = {"GADGET_JOB": "j", "RANK": "0", "CUDA_VISIBLE_DEVICES": "", "GADGET_INSTANCE": sys.argv[2]}
rank = Rank({"command": ["sh", "-c", sys.argv[3]], "working_dir": None, "has_runtime_dir": False,
    "work": sys.argv[2], "log": sys.argv[2] + "/log", "env": env, "own": [], "marks": env, "number": 1,
    "address": "127.0.0.1"})
state = rank.follow(0)
while state["code"] is None:
    state = rank.follow(state["version"])
print(state["code"], open(sys.argv[2] + "/log").read())
"""
    packed = run_python(pack)
    assert len(base64.b64decode(packed)) > 1000
    # Some leave their session, and some their environment.
    script = "echo $CUDA_VISIBLE_DEVICES; sleep 600 & setsid env -i sleep 599 & exit 7"
    assert run_python(use, packed.strip(), str(tmp_path), script).split() == ["7", "3"]
    assert find_workers(str(tmp_path)) == []
    assert find_sleepers("599") == []


def find_sleepers(seconds: str) -> list[Process]:
    """Processes that sleep so long."""
    words = [b"sleep", seconds.encode(), b""]
    return [process for process in list_processes() if read_words(process) == words]


def run_python(program: str, *words: str) -> str:
    done = subprocess.run(
        [sys.executable, "-c", program, *words], capture_output=True, text=True, timeout=120, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_without_ray_it_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda _: None)
    with pytest.raises(MissingPackage, match=r"gadget-scheduler\[ray\]"):
        RayLink("auto").open()


def test_where_no_ray_answers_it_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("gadget.backends.ray_engine.CONNECT_SECONDS", 1.0)
    with pytest.raises(Unreachable, match=r"no Ray cluster answers at 127\.0\.0\.1:1"):
        RayBackend(RayLink("127.0.0.1:1"), tmp_path, "i").open(print)


def has(engine: Engine, kind: type) -> bool:
    return any(isinstance(one, kind) for one in list(engine.reports))
