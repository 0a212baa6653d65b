"""After warming up, a decision compiles nothing more."""

import os
import subprocess
import sys

PROGRAM = """
from gadget.policies.warming import compile_kernels
from gadget.solve.filling import fill, keep_running, place
from gadget.solve.lagrangian import answer_all
from gadget.solve.ruin import ruin_and_recreate
compile_kernels()
for kernel in (fill, keep_running, place, answer_all, ruin_and_recreate):
    assert kernel.signatures, kernel
print(sum(kernel.stats.cache_misses.total() if hasattr(kernel.stats.cache_misses, 'total') else
          sum(kernel.stats.cache_misses.values()) for kernel in (fill, place, answer_all, ruin_and_recreate)))
"""


def run(cache):
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(cache)}
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM],
        env=environment,
        capture_output=True,
        text=True,
        check=True,
        timeout=600,
    )
    return int(done.stdout)


def test_a_second_start_compiles_nothing(tmp_path_factory):
    cache = tmp_path_factory.mktemp("kernels")
    assert run(cache) > 0
    assert run(cache) == 0
