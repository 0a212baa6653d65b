"""What chaos needs."""

import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

_MEMORY = Path("/dev/shm")


@pytest.fixture
def memory_folder() -> Iterator[Path]:
    """A folder that no disk slows down, where there is one: a process that is killed needs no disk's sync."""
    with tempfile.TemporaryDirectory(dir=_MEMORY if _MEMORY.is_dir() else None) as folder:
        yield Path(folder)
