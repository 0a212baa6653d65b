"""Every example runs and says something, or says what it needs."""

import importlib.util
import subprocess
import sys
from pathlib import Path

import pytest

EXAMPLES = sorted((Path(__file__).parents[2] / "examples").glob("*.py"))
NEEDS = {"train_torch": "torch"}  # what an example needs that the package does not


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_it_runs(path: Path, tmp_path: Path) -> None:
    ended = subprocess.run(
        [sys.executable, path], cwd=tmp_path, text=True, capture_output=True, timeout=300, check=False
    )
    if path.stem in NEEDS and importlib.util.find_spec(NEEDS[path.stem]) is None:
        assert f"pip install {NEEDS[path.stem]}" in ended.stderr
        return
    assert ended.returncode == 0, ended.stderr
    assert ended.stdout.strip()
