"""Standard streams that are full, closed or gone; processes that outlive nobody."""

import os
import signal
import subprocess
import sys
import time
import tomllib
from pathlib import Path

import pytest

GADGET = Path(sys.executable).with_name("gadget")


@pytest.mark.parametrize("command", ["schema scenario", "generate ring4", "--version", "--help"])
def test_a_full_disk_behind_standard_output_is_told_in_one_line(command: str) -> None:
    ended = subprocess.run(
        ["bash", "-c", f"{GADGET} {command} >/dev/full"],
        text=True,
        capture_output=True,
        timeout=60,
        check=False,
    )
    assert ended.returncode == 2
    assert ended.stderr.count("\n") == 1
    assert "standard output cannot be written" in ended.stderr


def test_closed_streams_are_no_reason_to_fall_over() -> None:
    for line in (f"{GADGET} generate ring4 >&-", f"{GADGET} generate ring4 2>&- >/dev/null"):
        ended = subprocess.run(["bash", "-c", line], capture_output=True, timeout=60, check=False)
        assert (ended.returncode, ended.stderr) == (0, b"")
    ended = subprocess.run(
        ["bash", "-c", f"{GADGET} show - <&-"], capture_output=True, timeout=60, check=False
    )
    assert ended.returncode == 2
    assert b"standard input is closed" in ended.stderr


def entry_point() -> str:
    """What an installed `gadget` does, by pyproject.toml."""
    project = tomllib.loads((Path(__file__).parents[2] / "pyproject.toml").read_text())["project"]
    module, _, function = project["scripts"]["gadget"].partition(":")
    return f"from {module} import {function}; {function}()"


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
@pytest.mark.parametrize("module", ["gadget", "numba.core.registry", "gadget.cli.main"])
def test_a_signal_while_the_package_loads_ends_it_quietly(module: str, number: signal.Signals) -> None:
    """The signal comes when the import of one of the modules begins."""
    strike = (
        "import os, sys\n"
        "class Striking:\n"
        "    def find_spec(self, name, *_):\n"
        f"        if name == {module!r}: os.kill(os.getpid(), {int(number)})\n"
        "sys.meta_path.insert(0, Striking())\n"
        "sys.argv[1:] = ['--version']\n"
    )
    ended = subprocess.run(
        [sys.executable, "-c", strike + entry_point()], capture_output=True, timeout=60, check=False
    )
    assert (ended.returncode, ended.stdout, ended.stderr) == (128 + number, b"", b"")


@pytest.mark.parametrize(
    "command",
    ["--help", "schema scenario", "generate ring4", "generate ring4 -o {file} && {gadget} show {file}"],
)
def test_a_reader_that_has_seen_enough_is_no_fault(command: str, tmp_path: Path) -> None:
    line = command.format(file=tmp_path / "scenario.yaml", gadget=GADGET)
    # The reader is gone before anything is written.
    ended = subprocess.run(
        ["bash", "-c", f"set -o pipefail; {{ sleep 0.2; {GADGET} {line}; }} | exec true"],
        capture_output=True,
        timeout=60,
        check=False,
    )
    assert (ended.returncode, ended.stdout) == (128 + signal.SIGPIPE, b"")
    assert b"rror" not in ended.stderr


def descendants(parent: int) -> set[int]:
    """Processes under a parent, by /proc."""
    parents: dict[int, int] = {}
    for status in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = status.read_text().rsplit(")", 1)[1].split()
        except OSError:
            continue
        if fields[0] != "Z":
            parents[int(status.parent.name)] = int(fields[1])
    found = {parent}
    while more := {child for child, above in parents.items() if above in found} - found:
        found |= more
    return found - {parent}


def test_kill_9_leaves_no_process_behind(tmp_path: Path) -> None:
    command = [GADGET, "reproduce", "--quick", "-o", tmp_path / "out"]
    process = subprocess.Popen(
        command, stderr=subprocess.DEVNULL, env={**os.environ, "GADGET_TRACES": str(tmp_path)}
    )
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline and len(descendants(process.pid)) < 3:
        time.sleep(0.1)
    time.sleep(3)  # let the workers get as far as asking to end with their parent
    children = descendants(process.pid)
    assert len(children) >= 2
    process.send_signal(signal.SIGKILL)
    process.wait()
    deadline = time.monotonic() + 20
    while time.monotonic() < deadline and any(Path(f"/proc/{child}").exists() for child in children):
        time.sleep(0.2)
    assert [child for child in children if Path(f"/proc/{child}").exists()] == []
