"""A Slurm of its own on this machine: munged, slurmctld and a slurmd for each node, with GPUs that are none.

Jobs that ended are in its books too: slurmdbd, on a MariaDB that it has for itself.

Everything is in one folder and listens on ports that were free; it is ended by process id. Given machines
(`tests.wires`), each daemon runs on its own; commands are run on the head, wherever they are called.
`scripts/setup-slurm` installs what it needs.
"""

import os
import shlex
import shutil
import signal
import socket
import stat
import subprocess
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

from gadget.backends.local_processes import (
    Process,
    find_process,
    is_alive,
    list_processes,
    read_environment,
    send,
)
from gadget.backends.netns import Namespaces
from gadget.backends.slurm import SlurmBackend
from gadget.topology.assumptions import Assumptions
from gadget.topology.slurm_live import build_slurm_cluster
from tests.slurm_conf import BOOKS, CONF
from tests.wires import HEAD, enter_network

COMMANDS = ("sbatch", "scontrol", "sinfo", "squeue", "scancel", "srun", "sacct", "sacctmgr")
NEEDED = ("munged", "mariadbd", "slurmdbd", "slurmctld", "slurmd", *COMMANDS)
START_SECONDS = 60.0
_ADDRESS = "127.77.0.{}"


def why_no_slurm() -> str:
    """Why no Slurm can be started here; empty when it can."""
    if missing := [name for name in NEEDED if shutil.which(name, path=_search()) is None]:
        return f"{', '.join(missing)} not found; scripts/setup-slurm installs Slurm"
    if os.geteuid() != 0:
        return "several slurmd on one machine, with GPUs made up, need root"
    return ""


class SlurmCluster:
    """Starts in `start`, ends in `stop`; clients find it by `environment`."""

    def __init__(
        self,
        folder: Path,
        gpus: Mapping[str, int],
        *,
        cpus: int = 8,
        wires: Namespaces | None = None,
        topology: str = "",
        forget_seconds: int = 300,
        memory_mib: int = 0,
        accounts: Sequence[str] = (),
    ) -> None:
        """`topology` is what topology.conf says; without it all nodes are under one switch.

        Memory counts if nodes are said to have any. Root may charge jobs to these accounts.

        The queue forgets a job so long after its end, and the books never do.
        """
        self.folder = folder
        self.gpus = dict(gpus)
        self._cpus = cpus
        self._wires = wires
        self._forget_seconds = forget_seconds
        self._memory_mib = memory_mib
        self._accounts = tuple(accounts)
        self._topology = topology or f"SwitchName=switch Nodes={','.join(gpus)}\n"
        self._daemons: dict[str, Process] = {}
        self._children: dict[str, subprocess.Popen[bytes]] = {}
        self._stopped: list[Process] = []

    @property
    def environment(self) -> dict[str, str]:
        """What commands need to find it."""
        search = _search() if self._wires is None else f"{self.folder / 'bin'}:{_search()}"
        return {"SLURM_CONF": str(self.folder / "slurm.conf"), "PATH": search}

    def start(self) -> None:
        """Write its files and start it; returns when every node is idle."""
        (self.folder / "state").mkdir(parents=True)
        self._write_files()
        self._start_daemon("munged", self._munged())
        self._wait((self.folder / "munge.socket").exists, "munged")
        self._start_books()
        self._open_accounts()
        self.start_controller()
        for name in self.gpus:
            self.start_node(name)
        self._wait(lambda: self.states() == dict.fromkeys(self.gpus, "idle"), "the nodes")

    def stop(self) -> None:
        """End all that it started; nothing but the folder is left, and that belongs to the caller."""
        for process in self._stopped:
            send(process, signal.SIGCONT)
        for name in self.gpus:
            self.kill_node(name)
        for name in ("slurmctld", "slurmdbd", "mariadbd", "munged"):
            self._end(name)

    def start_controller(self, *, forgets: bool = False) -> None:
        """Start slurmctld, with the state of before, or as if all jobs were long forgotten."""
        words = ["-c"] if forgets else []
        self._start_daemon("slurmctld", ["slurmctld", "-D", *words, "-f", self._conf])
        self._wait(lambda: self.run("scontrol", "ping").returncode == 0, "slurmctld")

    def stop_controller(self) -> None:
        """As when it is updated: it answers no more. Killed, it could lose the newest jobs."""
        send(self._daemons.pop("slurmctld"), signal.SIGTERM)
        self._children.pop("slurmctld").wait(START_SECONDS)

    def kill_controller(self) -> None:
        """As when its machine fails: it has written down what it had written down."""
        self._end("slurmctld")

    def is_saved(self, number: int) -> bool:
        """Whether a job is in the state that slurmctld finds when it is started again."""
        saved = self.folder / "state/job_state"
        return saved.exists() and number.to_bytes(4) in saved.read_bytes()

    def start_node(self, name: str) -> None:
        """Start a node that is not there."""
        self._start_daemon(name, ["slurmd", "-D", "-f", self._conf, "-N", name])

    def ensure_node(self, name: str) -> None:
        """Start a node unless it is there."""
        if name not in self._daemons:
            self.start_node(name)

    def kill_node(self, name: str) -> None:
        """As when its power fails: its daemon, its step daemons and all that they have started are gone."""
        victims = self._find_of_node(name)
        self._end(name)
        for process in victims:
            send(process, signal.SIGKILL)
        deadline = time.monotonic() + START_SECONDS
        while victims and time.monotonic() < deadline:
            victims = [process for process in (*victims, *self._find_of_node(name)) if is_alive(process)]
            for process in victims:
                send(process, signal.SIGKILL)
            time.sleep(0.02)

    def pause_node(self, name: str) -> None:
        """As when it hangs: nothing of it answers, nothing of it ends."""
        for process in (self._daemons[name], *self._find_of_node(name)):
            send(process, signal.SIGSTOP)
            self._stopped.append(process)

    def resume_nodes(self) -> None:
        """All that hung go on."""
        for process in self._stopped:
            send(process, signal.SIGCONT)
        self._stopped.clear()

    def states(self) -> dict[str, str]:
        """What sinfo says of each node."""
        told = self.run("sinfo", "-h", "-N", "-p", "main", "-o", "%N %T").stdout.split("\n")
        return dict(line.split() for line in told if line.strip())

    def run(self, *command: str, **environment: str) -> "subprocess.CompletedProcess[str]":
        """A command of a user of this Slurm."""
        env = {**os.environ, **self.environment, **environment}
        return subprocess.run(command, env=env, text=True, capture_output=True, timeout=60, check=False)

    @property
    def _conf(self) -> str:
        return str(self.folder / "slurm.conf")

    def _write_files(self) -> None:
        ports = _find_ports(2 + len(self.gpus))
        lines, gres = [], []
        for place, (name, count) in enumerate(self.gpus.items()):
            address = _ADDRESS.format(place + 1) if self._wires is None else self._wires.address(name)
            amount = f" Gres=gpu:{count}" if count else ""
            amount += f" RealMemory={self._memory_mib}" if self._memory_mib else ""
            lines.append(
                f"NodeName={name} NodeHostname={socket.gethostname()} NodeAddr={address} "
                f"Port={ports[2 + place]} CPUs={self._cpus}{amount} State=UNKNOWN"
            )
            devices = self.folder / "dev" / name
            devices.mkdir(parents=True)
            for index in range(count):
                os.mknod(devices / f"nvidia{index}", stat.S_IFCHR | 0o666, os.makedev(1, 3))
            if count:
                files = f"{devices}/nvidia[0-{count - 1}]" if count > 1 else f"{devices}/nvidia0"
                gres.append(f"NodeName={name} Name=gpu File={files} Flags=nvidia_gpu_env")
        said = {
            "host": socket.gethostname(),
            "address": "127.0.0.1" if self._wires is None else self._wires.address(HEAD),
            "port": ports[0],
            "books": ports[1],
            "folder": self.folder,
            "counted": "CR_CPU_Memory" if self._memory_mib else "CR_CPU",
            "forget": self._forget_seconds,
            "nodes": "\n".join(lines),
        }
        (self.folder / "slurm.conf").write_text(CONF.format(**said))
        (self.folder / "slurmdbd.conf").write_text(BOOKS.format(**said))
        (self.folder / "slurmdbd.conf").chmod(0o600)
        (self.folder / "gres.conf").write_text("\n".join(gres) + "\n")
        (self.folder / "topology.conf").write_text(self._topology)
        if self._wires is not None:
            self._write_commands(enter_network(self._wires, HEAD))
        key = self.folder / "munge.key"
        key.write_bytes(os.urandom(1024))
        key.chmod(0o400)

    def _write_commands(self, enter: Sequence[str]) -> None:
        """Slurm's commands as programs that run on the head, and what they start without them on its PATH."""
        folder = self.folder / "bin"
        folder.mkdir()
        for name in COMMANDS:
            path = shutil.which(name, path=_search())
            (folder / name).write_text(f'#!/bin/sh\nPATH=${{PATH#*:}} exec {shlex.join(enter)} {path} "$@"\n')
            (folder / name).chmod(0o755)

    def _start_books(self) -> None:
        # No tables of users: whoever can open the socket may do all.
        (self.folder / "mariadb").mkdir()
        files = {"datadir": "mariadb", "socket": "mariadb.socket", "pid-file": "mariadb.pid"}
        options = [f"--{name}={self.folder / file}" for name, file in files.items()]
        quick = ["--innodb-log-file-size=16M", "--innodb-flush-log-at-trx-commit=0", "--skip-grant-tables"]
        self._start_daemon(
            "mariadbd", ["mariadbd", "--no-defaults", "--user=root", "--skip-networking", *options, *quick]
        )
        self._wait((self.folder / "mariadb.socket").exists, "mariadbd")
        self._start_daemon("slurmdbd", ["slurmdbd", "-D"])
        self._wait(lambda: self.run("sacctmgr", "--noheader", "show", "cluster").returncode == 0, "slurmdbd")

    def _open_accounts(self) -> None:
        """Before slurmctld is there: news that come while it starts can make it hang."""
        orders = [("cluster", "gadgettest")] if self._accounts else []
        for name in self._accounts:
            orders += [("account", name), ("user", "root", f"account={name}")]
        for words in orders:
            told = self.run("sacctmgr", "--immediate", "add", *words)
            assert told.returncode == 0, told.stdout + told.stderr

    def _munged(self) -> list[str]:
        files = {"socket": "munge.socket", "key-file": "munge.key", "pid-file": "munged.pid"}
        files |= {"log-file": "munged.log", "seed-file": "munged.seed"}
        options = [f"--{name}={self.folder / file}" for name, file in files.items()]
        # A temporary folder is more open than munged likes its folders.
        return ["munged", "--foreground", "--force", *options]

    def _start_daemon(self, name: str, command: Sequence[str]) -> None:
        node = name if name in self.gpus else HEAD
        enter = [] if self._wires is None else enter_network(self._wires, node)
        with (self.folder / f"{name}.out").open("ab") as out:
            child = subprocess.Popen(
                [*enter, *command],
                env={
                    **os.environ,
                    **self.environment,
                    "MYSQL_UNIX_PORT": str(self.folder / "mariadb.socket"),
                },
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=out,
                start_new_session=True,
            )
        self._children[name] = child
        found = find_process(child.pid)
        assert found is not None, f"{name} did not start: {(self.folder / f'{name}.out').read_text()}"
        self._daemons[name] = found

    def _end(self, name: str) -> None:
        process = self._daemons.pop(name, None)
        if process is not None:
            send(process, signal.SIGKILL)
            self._children.pop(name).wait()

    def _find_of_node(self, name: str) -> list[Process]:
        """Step daemons of the node, and what runs under them, by their environment and family."""
        found: list[Process] = []
        for process in list_processes():
            env = read_environment(process)
            is_ours = env.get("SLURM_CONF") == self._conf and env.get("SLURMD_NODENAME") == name
            if is_ours or self._is_step_daemon(process, name):
                found.append(process)
        return found

    def _is_step_daemon(self, process: Process, name: str) -> bool:
        try:
            command = Path(f"/proc/{process.pid}/cmdline").read_bytes()
            # One whose socket there is gone still writes to the node's log.
            its = (f"{self.folder}/spool-{name}", f"{self.folder}/slurmd-{name}.log")
            return b"slurmstepd" in command and any(
                str(path.readlink()).startswith(its) for path in Path(f"/proc/{process.pid}/fd").iterdir()
            )
        except OSError:
            return False

    def find_left(self) -> list[int]:
        """Processes that belong to it and still run."""
        mark = str(self.folder).encode()
        left = []
        for process in list_processes():
            try:
                command = Path(f"/proc/{process.pid}/cmdline").read_bytes()
            except OSError:
                continue
            env = read_environment(process)
            is_step = "SLURM_JOB_ID" in env or b"slurmstepd" in command
            if mark in command or (env.get("SLURM_CONF") == self._conf and is_step):
                left.append(process.pid)
        return left

    def _wait(self, is_so: Callable[[], bool], what: str) -> None:
        deadline = time.monotonic() + START_SECONDS
        while not is_so():
            logs = "\n".join(path.read_text(errors="replace")[-800:] for path in self.folder.glob("*.log"))
            assert time.monotonic() < deadline, f"{what} did not start:\n{logs}"
            time.sleep(0.1)


def _search() -> str:
    return f"{os.environ.get('PATH', os.defpath)}:/usr/sbin:/sbin"


def _find_ports(count: int) -> list[int]:
    """Ports that nobody listens on, all held until the last is found."""
    holders = [socket.create_server(("", 0)) for _ in range(count)]
    ports = [holder.getsockname()[1] for holder in holders]
    for holder in holders:
        holder.close()
    return ports


@contextmanager
def running_slurm(folder: Path, gpus: Mapping[str, int]) -> Iterator[SlurmCluster]:
    """One that programs find by their environment; afterwards nothing of it is left."""
    cluster = SlurmCluster(folder, gpus)
    before = {name: os.environ.get(name) for name in cluster.environment}
    try:
        cluster.start()
        os.environ.update(cluster.environment)
        yield cluster
    finally:
        for name, value in before.items():
            os.environ.pop(name, None)
            if value is not None:
                os.environ[name] = value
        cluster.stop()
        assert cluster.find_left() == []


def build_slurm(folder: Path, instance: str, gbps: float = 0.1, **settings: Any) -> SlurmBackend:
    """The engine on the Slurm that the environment names, quick to look."""
    draw = partial(build_slurm_cluster, assumptions=Assumptions(other_gbps=gbps))
    return SlurmBackend(folder, instance, draw, **{"poll_seconds": 0.2, "silent_seconds": 4.0, **settings})
