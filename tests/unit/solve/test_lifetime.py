"""Stores that live as long as what they belong to."""

import gc
import weakref

from gadget.solve.lifetime import once_in_a_life


class Thing:
    """Something that can die."""


def test_made_once_for_each_object_and_forgotten_with_it():
    made = []

    @once_in_a_life
    def build(thing):
        made.append(id(thing))
        return Thing()

    one, other = Thing(), Thing()
    assert build(one) is build(one)
    assert build(one) is not build(other)
    assert len(made) == 2
    kept = weakref.ref(build(one))
    del one
    gc.collect()
    assert kept() is None
