"""After warming up, a decision compiles nothing more."""

import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

COUNT = """
print(sum(sum(kernel.stats.cache_misses.values()) for kernel in kernels))
"""
ALL = """
from gadget.policies.warming import compile_kernels
from gadget.solve.filling import fill, keep_running, place
from gadget.solve.lagrangian import answer_all
from gadget.solve.ruin import ruin_and_recreate
kernels = (fill, keep_running, place, answer_all, ruin_and_recreate)
compile_kernels()
for kernel in kernels:
    assert kernel.signatures, kernel
"""
ONE = """
import numpy as np
from gadget.solve.sharing import _fill, share_links
kernels = (_fill,)
share_links(np.ones(1), np.array([0, 1]), np.zeros(1, dtype=np.int64), np.ones(1), np.ones(1))
"""


def count_misses(program: str, environment: Mapping[str, str]) -> int:
    """How often a program had to compile what it wanted."""
    done = subprocess.run(
        [sys.executable, "-c", program + COUNT],
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        check=True,
        timeout=600,
    )
    return int(done.stdout)


def test_a_second_start_compiles_nothing() -> None:
    count_misses(ALL, {})  # unless set-up has done it, or the sources have changed since
    assert count_misses(ALL, {}) == 0


def test_the_count_sees_what_is_compiled(tmp_path: Path) -> None:
    cache = {"NUMBA_CACHE_DIR": str(tmp_path)}
    assert count_misses(ONE, cache) > 0
    assert count_misses(ONE, cache) == 0
