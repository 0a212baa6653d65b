"""Kernels compiled to machine code, and kept: a second start does not compile again. Imports numba."""

import hashlib
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any, ParamSpec, TypeVar

from numba import njit

P = ParamSpec("P")
R = TypeVar("R")


def compiled(function: Callable[P, R]) -> Callable[P, R]:
    """The function as machine code, made at its first call and cached where numba keeps such things.

    Without fast-math: the same input gives the same bits. On one thread: so does any number of cores.
    """
    kernel: Any = njit(function)
    try:
        kernel.enable_caching()
        # numba asks whether the function's own file has changed, but kernels of many files call each other.
        kernel._cache._cache_file._source_stamp = _stamp()
    except (RuntimeError, AttributeError):
        # No place to write to, or a numba that keeps things elsewhere: compiled anew at every start.
        kernel = njit(function)
    answer: Callable[P, R] = kernel
    return answer


@cache
def _stamp() -> bytes:
    """Changes with every file beside this one."""
    digest = hashlib.sha256()
    for file in sorted(Path(__file__).parent.glob("*.py")):
        digest.update(file.read_bytes())
    return digest.digest()
