"""Kernels are compiled once: the next process loads what the first one kept."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import gadget
from gadget.solve.compiled import compiled
from gadget.solve.pricing_tree import shares_of

PROGRAM = """
from gadget.solve.pricing_tree import shares_of
assert shares_of(2.0, 2.0, 1) == 1
print(sum(shares_of.stats.cache_hits.values()), sum(shares_of.stats.cache_misses.values()))
"""


def run(program: str, **environment: str) -> str:
    """What the program prints, in a process of its own."""
    done = subprocess.run(
        [sys.executable, "-c", program],
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def copy_package(tmp_path: Path) -> Path:
    """The package without what has been compiled; the folder to import it from."""
    target = tmp_path / "copy"
    shutil.copytree(
        Path(gadget.__file__).parent, target / "gadget", ignore=shutil.ignore_patterns("__pycache__")
    )
    return target


def test_the_second_process_loads_what_the_first_compiled(tmp_path: Path) -> None:
    assert run(PROGRAM, NUMBA_CACHE_DIR=str(tmp_path)) == "0 1"
    assert list(tmp_path.rglob("pricing_tree.shares_of-*.nbi"))
    assert run(PROGRAM, NUMBA_CACHE_DIR=str(tmp_path)) == "1 0"


def test_where_the_source_cannot_be_written_to_the_users_cache_is_used(tmp_path: Path) -> None:
    source, home = copy_package(tmp_path), tmp_path / "home"
    # A file in its place: nobody can write there, not even root.
    (source / "gadget" / "solve" / "__pycache__").touch()
    home.mkdir()
    place = {"PYTHONPATH": str(source), "HOME": str(home), "XDG_CACHE_HOME": str(home), "NUMBA_CACHE_DIR": ""}
    assert run(PROGRAM, **place) == "0 1"
    assert list(home.rglob("pricing_tree.shares_of-*.nbi"))
    assert run(PROGRAM, **place) == "1 0"


def test_a_kernel_keeps_its_name_and_its_words() -> None:
    assert shares_of.__name__ == "shares_of"
    assert "Chvátal" in (shares_of.__doc__ or "")


def test_a_kernel_rounds_as_python_does() -> None:
    def add_up(values: tuple[float, ...]) -> float:
        total = 0.0
        for value in values:
            total += value * value
        return total

    values = tuple(0.1 * n for n in range(50))
    assert compiled(add_up)(values) == add_up(values)


CALLER = """
import numpy as np
from gadget.solve.lagrangian import toll_of
from gadget.solve.market import Market
zero, table = np.zeros(1), np.zeros((1, 1))
market = Market(
    table, zero, table, zero, np.array([0, 1]), np.ones(1, np.int64), np.ones(1), np.full(1, 2.0),
    table, table, np.zeros(1, np.bool_),
)
print(toll_of(market, 2.0, 0))
"""


def test_a_kernel_follows_changes_in_the_kernels_that_it_calls(tmp_path: Path) -> None:
    source = copy_package(tmp_path)
    place = {"PYTHONPATH": str(source), "NUMBA_CACHE_DIR": str(tmp_path / "cache")}
    assert run(CALLER, **place) == "1.0"
    called = source / "gadget" / "solve" / "pricing_tree.py"
    before = called.read_text()
    called.write_text(before.replace("return max(0, int(np.ceil(gbps", "return 7 + max(0, int(np.ceil(gbps"))
    assert called.read_text() != before
    assert run(CALLER, **place) == "8.0"


def test_where_nothing_can_be_written_kernels_are_compiled_anew(tmp_path: Path) -> None:
    source, home = copy_package(tmp_path), tmp_path / "home"
    (source / "gadget" / "solve" / "__pycache__").touch()
    home.touch()
    place = {"PYTHONPATH": str(source), "HOME": str(home), "XDG_CACHE_HOME": str(home), "NUMBA_CACHE_DIR": ""}
    assert run(PROGRAM, **place) == "0 1"
