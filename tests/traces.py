"""Where real workload data may lie; tests that need it skip where it is absent."""

import os
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]


def find_traces(folder):
    """The given folder of the traces; skips the test where there is none."""
    found = Path(os.environ.get("GADGET_TRACES", ROOT / "../shared/traces")) / folder
    if not found.exists():
        pytest.skip(f"needs {folder} of the traces in ../shared/traces or GADGET_TRACES")
    return found
