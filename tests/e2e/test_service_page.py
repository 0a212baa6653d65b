"""The page on the live service, followed from nothing: its files, its service, its commands in order."""

import json
import os
import re
import shutil
import subprocess
import sys
import time
from pathlib import Path

from tests.rings import EXAMPLES

PAGE = Path(__file__).parents[2] / "docs/howto/run-the-service.md"
FILE = re.compile(r"<!-- file: (\S+) -->\n```\w*\n(.*?)```", re.DOTALL)
BLOCK = re.compile(r"<!-- on: (\w+) -->\n```sh\n(.*?)```", re.DOTALL)
ANY_BLOCK = re.compile(r"```sh\n(.*?)```", re.DOTALL)


def test_the_page_leads_from_nothing_to_a_trained_job(tmp_path: Path) -> None:
    text = PAGE.read_text()
    blocks = BLOCK.findall(text)
    assert len(blocks) == len(ANY_BLOCK.findall(text)), "a block of commands says nothing of where it is run"
    for name, content in FILE.findall(text):
        (tmp_path / name).write_text(content)
    (tmp_path / "examples").mkdir()
    shutil.copy(EXAMPLES / "train_ring.py", tmp_path / "examples")
    home = tmp_path / "home"
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    env = {**os.environ, "GADGET_HOME": str(home), "PATH": path}
    [serve] = [commands for where, commands in blocks if where == "service"]
    # The page's port may be taken here, and rings must not stay.
    command = f"exec {serve.strip()} --port 0 --slot-seconds 5 --stop-rings"
    service = subprocess.Popen(
        ["sh", "-ec", command],
        cwd=tmp_path,
        env=env,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    try:
        wait_until(lambda: (home / "address").exists() or service.poll() is not None)
        for where, commands in blocks:
            if where == "client":
                follow(commands, tmp_path, env)
        wait_until(lambda: is_finished(tmp_path, env))
    finally:
        service.terminate()
        told, _ = service.communicate(timeout=60)
    assert service.returncode == 0, told


def wait_until(condition: object, seconds: float = 120.0) -> None:
    deadline = time.monotonic() + seconds
    while not condition():  # type: ignore[operator]
        assert time.monotonic() < deadline
        time.sleep(0.3)


def follow(commands: str, folder: Path, env: dict[str, str]) -> None:
    for line in commands.strip().splitlines():
        done = subprocess.run(
            ["sh", "-ec", line], cwd=folder, env=env, capture_output=True, text=True, timeout=90, check=False
        )
        assert done.returncode == 0, f"{line}: {done.stdout}{done.stderr}"


def is_finished(folder: Path, env: dict[str, str]) -> bool:
    command = ["gadget", "job", "show", "first", "-o", "json"]
    found = subprocess.run(
        command, cwd=folder, env=env, capture_output=True, text=True, timeout=60, check=True
    )
    shown = json.loads(found.stdout)
    assert shown["status"] in ("waiting", "running", "finished"), shown
    return bool(shown["status"] == "finished" and shown["work"]["done"] == 4800)
