"""The scripts as a user calls them, and how commands behave when they are cut off."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).parents[2]
GADGET = Path(sys.executable).with_name("gadget")


def test_run_leaves_a_scenario_and_a_picture(tmp_path: Path) -> None:
    ended = subprocess.run(
        [ROOT / "scripts/run", tmp_path], text=True, capture_output=True, timeout=300, check=False
    )
    assert ended.returncode == 0, ended.stderr
    assert "rings" in ended.stdout
    assert (tmp_path / "scenario.yaml").stat().st_size > 1000
    assert "<svg" in (tmp_path / "rings.svg").read_text()


def test_a_second_setup_has_nothing_to_do() -> None:
    ended = subprocess.run([ROOT / "scripts/setup"], text=True, capture_output=True, timeout=60, check=False)
    assert (ended.returncode, ended.stdout, ended.stderr) == (0, "", "")


def test_a_reader_that_goes_away_is_no_error_to_speak_of() -> None:
    line = f"{GADGET} schema scenario | head -n 1"
    ended = subprocess.run(["bash", "-c", line], text=True, capture_output=True, timeout=60, check=False)
    assert ended.stdout.strip() == "{"
    assert "Traceback" not in ended.stderr


def test_ctrl_c_ends_with_130_and_leaves_the_old_file(tmp_path: Path) -> None:
    target = tmp_path / "scenario.yaml"
    target.write_text("old")
    command = [GADGET, "generate", "paper", "--jobs", "200000", "--slots", "200", "-o", target]
    process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True, env={**os.environ})
    time.sleep(2.5)
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate(timeout=60)
    assert process.returncode == 130, errors
    assert "Traceback" not in errors
    assert target.read_text() == "old"
    assert [path.name for path in tmp_path.iterdir()] == ["scenario.yaml"]
