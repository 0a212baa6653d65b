"""One rank on a Ray node: an actor that runs the worker as a process of its own and keeps its exit code.

The actor is sent to its node by value, so nodes need nothing of this package. It outlives the service: the
wish to leave and the end of its grace are its own business once it was asked.
"""

import contextlib
import fcntl
import os
import signal
import socket
import struct
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from gadget.backends.local_processes import Process, find_by_environment, find_process, find_sessions, send
from gadget.backends.ray_shepherd import END, SHEPHERD
from gadget.backends.worker_environment import why_no_start_here

FOLLOW_SECONDS = 20.0
_SIOCGIFADDR = 0x8915
_STUCK_SECONDS = 10.0
# A shepherd that has not followed by then is stopped or stuck.
_SHEPHERD_SECONDS = 1.0


class Rank:
    """The worker of one rank. `state` is plain data, with a version that grows with every change."""

    def __init__(self, spec: Mapping[str, Any]) -> None:
        self._spec = spec
        self._changed = threading.Condition()
        self._state: dict[str, Any] = {
            "version": 0,
            "pid": None,
            "code": None,
            "ended": None,
            "why": "",
            "killed": False,
        }
        self._shepherd: Process | None = None
        self._is_asked = self._must_end = False
        self._deadline = float("inf")
        threading.Thread(target=self._run, name="gadget-rank", daemon=True).start()

    def state(self) -> dict[str, Any]:
        """Where it stands."""
        with self._changed:
            return dict(self._state)

    def follow(self, seen: int) -> dict[str, Any]:
        """Where it stands as soon as that is newer than `seen`, or after a while."""
        with self._changed:
            self._changed.wait_for(lambda: self._state["version"] > seen, FOLLOW_SECONDS)
            return dict(self._state)

    def ask(self, seconds: float) -> None:
        """Have the worker leave within so many seconds. It is asked once; the earliest end holds."""
        deadline = time.monotonic() + seconds
        with self._changed:
            is_first, self._is_asked = not self._is_asked, True
            is_sooner = deadline < self._deadline
            self._deadline = min(deadline, self._deadline)
        if is_first and self._shepherd is not None:
            send(self._shepherd, signal.SIGTERM)
        if is_sooner:
            late = threading.Timer(max(seconds, 0.0), self._end_late)
            late.daemon = True
            late.start()

    def kill(self) -> None:
        """End everything of the worker now."""
        self._must_end = True
        if self._shepherd is not None:
            send(self._shepherd, END)
            late = threading.Timer(_SHEPHERD_SECONDS, self._kill_left)
            late.daemon = True
            late.start()

    def _kill_left(self) -> None:
        for process in self._left():
            send(process, signal.SIGKILL)

    def _end_late(self) -> None:
        with self._changed:
            if self._state["code"] is not None:
                return
            self._state["killed"] = True
        self.kill()

    def _run(self) -> None:
        # This thread lives as long as the worker: the death of the thread that started it would be its own.
        try:
            self._end_former()
            why = self._why_not()
            child = None if why or self._is_asked or self._must_end else self._start()
        except (OSError, ValueError) as error:
            child, why = None, str(error)
        if child is None:
            self._note(code=-2, ended=time.time(), why=why)
            return
        self._shepherd = find_process(child.pid) or Process(child.pid, 0)
        self._note(pid=child.pid)
        if self._is_asked:  # before it could be signalled
            send(self._shepherd, signal.SIGTERM)
        if self._must_end:
            self.kill()
        code = child.wait()
        ended = time.time()
        _sweep(self._left)
        self._note(code=128 - code if code < 0 else code, ended=ended)

    def _why_not(self) -> str:
        spec = self._spec
        if not Path(spec["log"]).parent.is_dir():
            return (
                f"{Path(spec['log']).parent} is not there on this server. Give the service a folder that all "
                "servers see (--shared)."
            )
        return why_no_start_here(spec["command"], self._folder(), self._environment())

    def _start(self) -> "subprocess.Popen[bytes]":
        with Path(self._spec["log"]).open("ab") as out:
            return subprocess.Popen(
                [
                    sys.executable,
                    "-I",
                    "-S",
                    "-c",
                    SHEPHERD,
                    *map(str, (os.getpid(), self._folder())),
                    *self._spec["command"],
                ],
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=subprocess.STDOUT,
                env=self._environment(),
                start_new_session=True,
            )

    def _folder(self) -> Path:
        """Where the worker starts; a relative path is meant inside the runtime environment's working_dir."""
        given = self._spec["working_dir"]
        if given is None:
            return Path.cwd() if self._spec["has_runtime_dir"] else Path(self._spec["work"])
        return Path(given)

    def _environment(self) -> dict[str, str]:
        """The actor's, runtime environment included; then the contract's. GPUs are those that Ray gave."""
        import ray  # noqa: PLC0415 - there on nodes; the service itself does without

        env = {name: value for name, value in os.environ.items() if not name.startswith("GADGET_")}
        env |= self._spec["env"]
        if "CUDA_VISIBLE_DEVICES" not in self._spec["own"]:
            found = ray.get_runtime_context().get_accelerator_ids().get("GPU", [])
            env["CUDA_VISIBLE_DEVICES"] = ",".join(map(str, found))
        if "GLOO_SOCKET_IFNAME" not in self._spec["own"] and (name := _find_interface(self._spec["address"])):
            env["GLOO_SOCKET_IFNAME"] = name
        return env

    def _left(self) -> list[Process]:
        found = find_sessions([self._shepherd]) if self._shepherd is not None else []
        return [*found, *(process for process, _ in find_by_environment(self._spec["marks"]))]

    def _end_former(self) -> None:
        """End what a ring of this job before ours has here: its node was given up while nobody reached it."""
        marks = self._spec["marks"]
        same = {name: marks[name] for name in ("GADGET_INSTANCE", "GADGET_JOB")}

        def is_former(number: str) -> bool:
            return number.isdecimal() and int(number) < self._spec["number"]

        _sweep(
            lambda: [one for one, env in find_by_environment(same) if is_former(env.get("GADGET_RING", ""))]
        )

    def _note(self, **news: object) -> None:
        with self._changed:
            self._state |= news
            self._state["version"] += 1
            self._changed.notify_all()


def _sweep(find: Callable[[], list[Process]]) -> None:
    """Kill what is found until nothing is, or it is stuck."""
    deadline = time.monotonic() + _STUCK_SECONDS
    while (left := find()) and time.monotonic() < deadline:
        for process in left:
            send(process, signal.SIGKILL)
        time.sleep(0.02)


def _find_interface(address: str) -> str:
    """The network interface that has this address, empty if none has."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        for _, name in socket.if_nameindex():
            with contextlib.suppress(OSError):
                packed = struct.pack("256s", name.encode()[:15])
                found = fcntl.ioctl(probe.fileno(), _SIOCGIFADDR, packed)[20:24]
                if socket.inet_ntoa(found) == address:
                    return name
    return ""
