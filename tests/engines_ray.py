"""A real Ray cluster of a head and three nodes, each in a network namespace with an address of its own.

One cluster serves all tests of a process; whatever a test breaks it must mend. Nodes see a disk of their own
where Ray keeps its sockets, as on machines of their own, so that they can start at the same time.
"""

import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import uuid
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

from gadget.backends.local_processes import Process, find_process, send
from gadget.backends.ray_cluster import read_nodes
from gadget.backends.ray_link import RayLink
from gadget.model.cluster import Cluster
from tests.wires import HEAD, build_wires

PORT = 6379
_START_SECONDS = 180.0
# What Ray finds out in a minute by default is found out in seconds.
_QUICK = {
    "RAY_health_check_initial_delay_ms": "1000",
    "RAY_health_check_period_ms": "1000",
    "RAY_health_check_timeout_ms": "2000",
    "RAY_health_check_failure_threshold": "4",
    "RAY_gcs_rpc_server_reconnect_timeout_s": "6",
    "RAY_prestart_worker_first_driver": "0",
    "RAY_USAGE_STATS_ENABLED": "0",
    # Also where this machine has a token for other clusters.
    "RAY_AUTH_MODE": "disabled",
}


class RayCluster:
    """The processes of one cluster, by node."""

    def __init__(self, cluster: Cluster) -> None:
        self.cluster = cluster
        self.instance = f"ray-{uuid.uuid4().hex[:12]}"
        self.wires = build_wires(cluster, self.instance)
        # A socket's path is short.
        self._folder = Path(tempfile.mkdtemp(prefix="ray", dir="/tmp"))
        self._started: dict[str, subprocess.Popen[bytes]] = {}
        self.link: RayLink

    @property
    def address(self) -> str:
        return f"{self.wires.address(HEAD)}:{PORT}"

    @property
    def enter(self) -> list[str]:
        """What is put before a command that speaks to the cluster."""
        return self.wires.enter(HEAD)

    def start(self) -> None:
        self.wires.make()
        self.start_head()
        self.link = RayLink(
            self.address, enter=self.enter, log=self._folder / "driver.log", silence_seconds=6.0
        )
        self.link.open()
        for server in self.cluster.servers:
            self.start_node(server.name)
        self.wait_for_nodes()

    def stop(self) -> None:
        if hasattr(self, "link"):
            self.link.close()
        for node in list(self._started):
            self.end_node(node)
        self.wires.remove()
        shutil.rmtree(self._folder, ignore_errors=True)

    def start_head(self) -> None:
        self._start(
            HEAD, "--head", f"--port={PORT}", "--num-cpus=0", "--num-gpus=0", "--include-dashboard=false"
        )
        probe = f"import socket; socket.create_connection({(self.wires.address(HEAD), PORT)!r}, 1)"
        deadline = time.monotonic() + _START_SECONDS
        while subprocess.run(
            [*self.enter, sys.executable, "-S", "-c", probe], stderr=subprocess.DEVNULL, check=False
        ).returncode:
            assert time.monotonic() < deadline, self.tell_logs()
            time.sleep(0.2)

    def kill_head(self) -> None:
        self.end_node(HEAD)
        # `ray start` would take it for a cluster that runs, if another test's head has the same address.
        (self._folder / "ray" / "ray_current_cluster").unlink(missing_ok=True)

    def start_node(self, name: str) -> None:
        amounts = self.cluster.server_by_name[name].resources
        self._start(
            name,
            f"--address={self.address}",
            f"--num-gpus={amounts['gpu']:g}",
            f"--num-cpus={amounts['cpu']:g}",
            f"--labels=host={name},pool=gadget,rack=of-{name}",
        )

    def signal_raylet(self, name: str, number: signal.Signals) -> None:
        """Only the raylet, as a crash of it would."""
        for process in self._processes(name):
            if any(word.endswith(b"/raylet") for word in read_words(process)[:1]):
                send(process, number)

    def kill_driver(self) -> None:
        """The line to Ray breaks, as if the head went away and came back with all that it had."""
        process = self.link._process
        assert process is not None
        process.kill()

    def wait_for_nodes(self) -> None:
        """Wait until every server has a node that lives and is the newest of its name."""
        deadline = time.monotonic() + _START_SECONDS
        while len(read_nodes(self.link.nodes).alive.keys() - {self.wires.address(HEAD)}) < len(
            self.cluster.servers
        ):
            assert time.monotonic() < deadline, self.tell_logs()
            time.sleep(0.1)

    def tell_logs(self) -> str:
        return "\n".join(f"{path.name}: {path.read_text()[-2000:]}" for path in self._folder.glob("*.log"))

    def environment(self) -> dict[str, str]:
        """Of everything on a node, beside what the machine has."""
        path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
        return {**_QUICK, "PATH": path, "RAY_TMPDIR": str(self._folder)}

    def run_on(self, env_by_node: Mapping[str, Mapping[str, str]], script: str) -> None:
        """Run a script on nodes and wait for its end; what it leaves running is ended with the node."""
        for node, env in env_by_node.items():
            self._started[node] = self._spawn(node, ["sh", "-ec", script], env)
        for node in env_by_node:
            assert self._started[node].wait(_START_SECONDS) == 0, self.tell_logs()

    def _start(self, node: str, *options: str) -> None:
        command = ["ray", "start", "--block", "--disable-usage-stats"]
        command += [f"--node-ip-address={self.wires.address(node)}", "--object-store-memory=80000000"]
        self._started[node] = self._spawn(node, [*command, "--include-log-monitor=false", *options], {})

    def _spawn(self, node: str, command: Sequence[str], env: Mapping[str, str]) -> "subprocess.Popen[bytes]":
        sockets = self._folder / "ray"
        sockets.mkdir(exist_ok=True)
        aside = ["sh", "-c", 'mount -t tmpfs tmpfs "$0" && exec "$@"', str(sockets)] if node != HEAD else []
        with (self._folder / f"{node}.log").open("ab") as out:
            return subprocess.Popen(
                [*self.wires.enter(node), *aside, *command],
                env=os.environ | self.environment() | env,
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )

    def end_node(self, node: str) -> None:
        """Kill everything of a node, whatever it has started."""
        child = self._started.pop(node, None)
        if child is None:
            return
        deadline = time.monotonic() + 20
        while left := self._processes(node):
            for process in left:
                send(process, signal.SIGKILL)
            assert time.monotonic() < deadline, left
            time.sleep(0.05)
        child.wait()

    def _processes(self, node: str) -> list[Process]:
        """All that runs on the node but connections of ours; some write over their environment."""
        listed = ["ip", "netns", "pids", self.wires.plan.nodes[node].namespace]
        numbers = subprocess.run(listed, capture_output=True, text=True, check=True).stdout.split()
        found = [process for number in numbers if (process := find_process(int(number))) is not None]
        return [process for process in found if b"gadget.backends.ray_driver" not in read_words(process)]


def read_words(process: Process) -> list[bytes]:
    """The command line of a process; empty if it is gone."""
    try:
        return Path(f"/proc/{process.pid}/cmdline").read_bytes().split(b"\0")
    except OSError:
        return []


@contextmanager
def running_ray(cluster: Cluster) -> Iterator[RayCluster]:
    made = RayCluster(cluster)
    try:
        made.start()
        # Services that tests start as processes of their own find it here.
        os.environ["GADGET_TEST_RAY_LINK"] = json.dumps([made.address, made.enter])
        yield made
    finally:
        os.environ.pop("GADGET_TEST_RAY_LINK", None)
        made.stop()


def connect() -> RayLink:
    """A link of its own to the running cluster."""
    address, enter = json.loads(os.environ["GADGET_TEST_RAY_LINK"])
    return RayLink(address, enter=enter)
