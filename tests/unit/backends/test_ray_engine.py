"""The Ray engine beyond the contract: nodes and heads that go, others on the same cluster, Ray's own ways."""

import base64
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from uuid import uuid4

import pytest

from gadget.backends.backend import (
    ClusterFound,
    EngineAway,
    EngineCameBack,
    EngineWentAway,
    RingPhase,
    ServerCameBack,
    ServerWentAway,
)
from gadget.backends.local_processes import Process, list_processes
from gadget.backends.netns import why_no_namespaces
from gadget.backends.ray_engine import RayBackend
from gadget.backends.ray_link import RayLink
from gadget.errors import MissingPackage, Unreachable
from tests import engines
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
def opened(cluster: RayCluster, folder: Path, link: RayLink | None = None) -> Iterator[Engine]:
    instance = uuid4().hex
    engine = Engine(
        RayBackend(
            link or cluster.link, folder, instance, cluster=build_cluster(), is_shared_link=link is None
        )
    )
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
            for order in (*orders.values(), both):
                engine.backend.launch(order)
            for order in (*orders.values(), both):
                engine.wait_for(order.key, RingPhase.RUNNING)
            ray_cluster.signal_raylet(crash, signal.SIGKILL)
            end = engine.wait_until_over(both.key)
            assert end.phase is RingPhase.FAILED
            assert "s0" in end.reason
            ray_cluster.signal_raylet(hang, signal.SIGSTOP)
            ray_cluster.wires.set_links(cut, up=False)
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
    with opened(ray_cluster, tmp_path) as engine:
        ours = build_launch("ours", 1, ["s0"], OBEY)
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
            assert other.stdin is not None
            other.stdin.close()
            other.wait()
        engine.wait(lambda: shares(engine) == [2.0, 4.0])
        assert engine.surveyed() == {ours.key: RingPhase.RUNNING}


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


def test_a_head_that_goes_is_told_and_when_it_is_back_so_is_what_is_left(
    ray_cluster: RayCluster, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(engines, "PATIENCE_SECONDS", 90.0)
    with opened(ray_cluster, tmp_path) as engine:
        order = build_launch("job", 1, ["s0", "s1"], OBEY)
        engine.backend.launch(order)
        engine.wait_for(order.key, RingPhase.RUNNING)
        ray_cluster.kill_head()
        engine.wait(lambda: has(engine, EngineWentAway))
        for ask in (engine.backend.survey, lambda: engine.backend.launch(order)):
            refuses(ask)
        refuses(lambda: engine.dismiss(order.key, 1))
        for server in build_cluster().servers:
            ray_cluster.end_node(server.name)
        ray_cluster.start_head()
        for server in build_cluster().servers:
            ray_cluster.start_node(server.name)
        engine.wait(lambda: has(engine, EngineCameBack))
        engine.wait(lambda: engine.surveyed() == {order.key: RingPhase.FAILED})
        ray_cluster.wait_for_nodes()
        engine.wait(lambda: not set(build_cluster().server_by_name) - returned(engine))
        again = build_launch("job", 2, ["s0", "s2"], TELL)
        engine.backend.launch(again)
        end = engine.wait_until_over(again.key)
        assert end.phase is RingPhase.FINISHED, end.reason


def refuses(ask: Callable[[], object]) -> None:
    with pytest.raises(EngineAway):
        ask()


def has(engine: Engine, kind: type) -> bool:
    return any(isinstance(one, kind) for one in list(engine.reports))


def returned(engine: Engine) -> set[str]:
    return {one.server for one in list(engine.reports) if isinstance(one, ServerCameBack)}
