"""Kernels compiled to machine code, and kept: a second start compiles nothing. The importer of numba."""

from collections.abc import Callable
from typing import ParamSpec, TypeVar

from numba import njit

P = ParamSpec("P")
R = TypeVar("R")


def compiled(function: Callable[P, R]) -> Callable[P, R]:
    """The function as machine code, made at its first call and cached beside its source.

    Without fast-math: the same input gives the same bits. On one thread: so does any number of cores.
    """
    kernel: Callable[P, R] = njit(cache=True)(function)
    return kernel
