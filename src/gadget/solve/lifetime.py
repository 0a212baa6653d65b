"""What follows from an object, made once and kept as long as the object lives."""

import weakref
from collections.abc import Callable
from functools import wraps
from typing import TypeVar

Key = TypeVar("Key")
Made = TypeVar("Made")


def once_in_a_life(make: Callable[[Key], Made]) -> Callable[[Key], Made]:
    """Make it at the first call for an object, then answer with the same one.

    Objects are told apart by identity: hashing a large cluster costs more than compiling a small one. What is
    made must not hold the object, or neither would ever die.
    """
    kept: dict[int, Made] = {}

    @wraps(make)
    def find(key: Key) -> Made:
        number = id(key)
        if number not in kept:
            kept[number] = make(key)
            weakref.finalize(key, kept.pop, number, None)
        return kept[number]

    return find
