"""The scripts as a user calls them, and how commands behave when they are cut off."""

import signal
import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).parents[2]
GADGET = Path(sys.executable).with_name("gadget")


def test_reproduce_leaves_a_report_and_says_where(tmp_path: Path) -> None:
    # The command of the README, with fewer slots and trials.
    small = ("--slots", "8", "--trials", "1", "--jobs", "8,16")
    command = [GADGET, "reproduce", "--quick", "--resume", "-o", tmp_path / "new", *small]
    for _ in range(2):  # the second call finds everything measured
        ended = subprocess.run(command, text=True, capture_output=True, timeout=600, check=False)
        assert ended.returncode == 0, ended.stderr
        assert f"report: {tmp_path}/new/report.html" in ended.stdout
    assert (tmp_path / "new/report.html").read_text().count("<svg") == 5


def test_a_second_setup_has_nothing_to_do() -> None:
    ended = subprocess.run([ROOT / "scripts/setup"], text=True, capture_output=True, timeout=60, check=False)
    assert (ended.returncode, ended.stdout, ended.stderr) == (0, "", "")


def test_a_reader_that_goes_away_is_no_error_to_speak_of() -> None:
    line = f"{GADGET} schema scenario | head -n 1"
    ended = subprocess.run(["bash", "-c", line], text=True, capture_output=True, timeout=60, check=False)
    assert ended.stdout.strip() == "{"
    assert "Traceback" not in ended.stderr


def wait_until_caught(pid: int, number: signal.Signals) -> None:
    """Wait until the process has a handler for the signal: until the command line has begun."""
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline:
        status = Path(f"/proc/{pid}/status").read_text()
        caught = next(line for line in status.splitlines() if line.startswith("SigCgt"))
        if int(caught.split()[1], 16) >> (number - 1) & 1:
            return
        time.sleep(0.05)
    raise AssertionError("the command never began")


def test_ctrl_c_ends_with_130_and_leaves_the_old_file(tmp_path: Path) -> None:
    target = tmp_path / "scenario.yaml"
    target.write_text("old")
    command = [GADGET, "generate", "paper", "--jobs", "200000", "--slots", "200", "-o", target]
    process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
    wait_until_caught(process.pid, signal.SIGTERM)
    time.sleep(0.5)  # into the work
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate(timeout=60)
    assert process.returncode == 130, errors
    assert "Traceback" not in errors
    assert target.read_text() == "old"
    assert [path.name for path in tmp_path.iterdir()] == ["scenario.yaml"]
