"""Every example runs and says something."""

import subprocess
import sys
from pathlib import Path

import pytest

EXAMPLES = sorted((Path(__file__).parents[2] / "examples").glob("*.py"))


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_it_runs(path: Path, tmp_path: Path) -> None:
    ended = subprocess.run(
        [sys.executable, path], cwd=tmp_path, text=True, capture_output=True, timeout=300, check=False
    )
    assert ended.returncode == 0, ended.stderr
    assert ended.stdout.strip()
