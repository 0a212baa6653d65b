"""How many processes fit side by side."""

import os


def count_cores() -> int:
    """The cores that this process may use."""
    return len(os.sched_getaffinity(0))
