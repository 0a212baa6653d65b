"""A rank on its node: whatever ends its actor or its worker, nothing that the worker started is left."""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from gadget.backends.local_processes import list_processes
from tests.engines_ray import read_words

# An actor without Ray around it.
ACTOR = """
import json, sys, types
sys.modules["ray"] = types.SimpleNamespace(
    get_runtime_context=lambda: types.SimpleNamespace(get_accelerator_ids=lambda: {})
)
from gadget.backends.ray_rank import Rank
rank, state = Rank(json.loads(sys.argv[1])), {"version": -1, "code": None}
while state["code"] is None:
    state = rank.follow(state["version"])
    print(json.dumps(state), flush=True)
    for line in sys.stdin if state["pid"] and state["code"] is None else ():
        getattr(rank, line.strip())(*([60.0] if line.startswith("ask") else []))
        break
"""


@contextmanager
def acting(folder: Path, script: str, number: int = 1) -> Iterator["subprocess.Popen[str]"]:
    """An actor whose worker runs; its lines are states, and it reads one order."""
    env = {"GADGET_INSTANCE": str(folder), "GADGET_JOB": "job", "GADGET_RING": str(number), "RANK": "0"}
    spec = {
        "command": ["sh", "-c", script],
        "working_dir": None,
        "has_runtime_dir": False,
        "work": str(folder),
        "log": str(folder / "log"),
        "env": env,
        "own": [],
        "number": number,
        "marks": env,
        "address": "127.0.0.1",
    }
    with subprocess.Popen(
        [sys.executable, "-c", ACTOR, json.dumps(spec)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as actor:
        yield actor
        actor.kill()


def sleepers(folder: Path) -> list[int]:
    """What the script of these tests has started and still runs; it goes by the folder."""
    return [one.pid for one in list_processes() if str(folder).encode() in read_words(one)]


def wait_until(is_so: Callable[[], object]) -> None:
    deadline = time.monotonic() + 20
    while not is_so():
        assert time.monotonic() < deadline
        time.sleep(0.01)


def litter(folder: Path) -> str:
    """Starts processes in its session, in one of their own, and with no environment that tells whose."""
    wait = f"{sys.executable} -S -c 'import time; time.sleep(600)' {folder}"
    return f"{wait} & setsid {wait} & (setsid env -i {wait} &) ; touch {folder}/up; "


@pytest.mark.parametrize("end", ["actor", "actor and gate", "gate", "shepherd", "worker", "order"])
def test_nothing_of_a_worker_is_left_whatever_is_killed(tmp_path: Path, end: str) -> None:
    # The shell stays above what it waits for.
    with acting(tmp_path, litter(tmp_path) + "sleep 600; true") as actor:
        assert actor.stdin is not None
        assert actor.stdout is not None
        wait_until(lambda: (tmp_path / "up").exists() and len(sleepers(tmp_path)) >= 3)
        gate = child_of(actor.pid)
        match end:
            case "actor":
                actor.kill()
            case "actor and gate":
                # As Ray does it, in this order.
                os.kill(gate, signal.SIGKILL)
                actor.kill()
            case "gate":
                os.kill(gate, signal.SIGKILL)
            case "shepherd":
                os.kill(child_of(gate), signal.SIGKILL)
            case "worker":
                os.kill(child_of(child_of(gate)), signal.SIGKILL)
            case "order":
                actor.stdin.write("kill\n")
                actor.stdin.flush()
        wait_until(lambda: sleepers(tmp_path) == [])
        if not end.startswith("actor"):
            actor.stdin.close()
            assert '"code": 137' in actor.stdout.read()


def child_of(pid: int) -> int:
    """The first child, whichever thread has it."""
    tasks = Path(f"/proc/{pid}/task").iterdir()
    return int(next(word for task in tasks for word in (task / "children").read_text().split()))


def test_the_wish_to_leave_reaches_the_worker_alone_and_its_exit_code_is_kept(tmp_path: Path) -> None:
    script = f"trap 'echo asked; exit 75' TERM; touch {tmp_path}/up; while :; do sleep 0.02; done"
    with acting(tmp_path, script) as actor:
        assert actor.stdin is not None
        assert actor.stdout is not None
        wait_until((tmp_path / "up").exists)
        actor.stdin.write("ask\n")
        actor.stdin.close()
        assert '"code": 75' in actor.stdout.read()
    assert (tmp_path / "log").read_text() == "asked\n"


def test_what_a_former_ring_of_the_job_left_is_ended_before_the_next_begins(tmp_path: Path) -> None:
    wait = [sys.executable, "-S", "-c", "import time; time.sleep(600)"]
    marks = {"GADGET_INSTANCE": str(tmp_path), "GADGET_JOB": "job"}
    left = subprocess.Popen(wait, env={**marks, "GADGET_RING": "4"})
    other = subprocess.Popen(wait, env={**marks, "GADGET_JOB": "other", "GADGET_RING": "4"})
    try:
        with acting(tmp_path, "true", number=5) as actor:
            assert actor.stdout is not None
            assert actor.stdin is not None
            actor.stdin.close()
            assert '"code": 0' in actor.stdout.read()
        assert left.wait(10) == -signal.SIGKILL
        assert other.poll() is None
    finally:
        for process in (left, other):
            process.kill()
            process.wait()


def test_a_worker_dies_of_a_broken_pipe_as_elsewhere(tmp_path: Path) -> None:
    # Python ignores that signal, and what it starts would inherit that.
    with acting(tmp_path, "grep SigIgn /proc/self/status") as actor:
        assert actor.stdin is not None
        assert actor.stdout is not None
        actor.stdin.close()
        actor.stdout.read()
    assert int((tmp_path / "log").read_text().split()[1], 16) & (1 << (signal.SIGPIPE - 1)) == 0
