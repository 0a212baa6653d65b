"""Amounts by name: a mapping that nobody can change."""

import copy
import math
import pickle

import pytest

from gadget import InvalidValue, Resources

EIGHT = Resources({"gpu": 8, "memory_gib": 0.5})


def test_it_reads_as_a_mapping_in_the_order_given():
    assert EIGHT["gpu"] == 8
    assert list(EIGHT) == ["gpu", "memory_gib"]
    assert list(EIGHT.items()) == [("gpu", 8), ("memory_gib", 0.5)]
    assert list(EIGHT.values()) == [8, 0.5]
    assert len(EIGHT) == 2
    assert "tpu" not in EIGHT
    assert EIGHT.get("tpu", 0) == 0
    with pytest.raises(KeyError):
        EIGHT["tpu"]


def test_equality_and_hash_do_not_depend_on_order_or_number_type():
    same = Resources({"memory_gib": 0.5, "gpu": 8.0})
    assert same == EIGHT
    assert hash(same) == hash(EIGHT)
    assert dict(EIGHT) == {"gpu": 8, "memory_gib": 0.5} == EIGHT
    assert Resources({"gpu": 8}) != EIGHT
    assert Resources({"gpu": 8, "memory_gib": 0.4}) != EIGHT
    assert EIGHT != "gpu"


def test_it_cannot_be_changed():
    with pytest.raises(TypeError):
        EIGHT["gpu"] = 9
    with pytest.raises(AttributeError, match="cannot be changed"):
        EIGHT.gpu = 9
    with pytest.raises(AttributeError, match="cannot be changed"):
        EIGHT._amounts = {}
    assert EIGHT == {"gpu": 8, "memory_gib": 0.5}


def test_it_copies_what_it_is_given():
    amounts = {"gpu": 8}
    made = Resources(amounts)
    amounts["gpu"] = 1
    assert made["gpu"] == 8


def test_it_survives_pickle_and_copy():
    assert pickle.loads(pickle.dumps(EIGHT)) == EIGHT
    assert copy.deepcopy(EIGHT) == EIGHT
    assert repr(EIGHT) == "Resources({'gpu': 8, 'memory_gib': 0.5})"


@pytest.mark.parametrize(
    ("amounts", "key", "problem"),
    [
        ({"gpu": -1}, "gpu", "is -1, below 0"),
        ({"gpu": math.nan}, "gpu", "is nan, not a finite number"),
        ({"gpu": "8"}, "gpu", "is '8', not a number"),
        ({"gpu": True}, "gpu", "is True, not a number"),
        ({"": 1}, "a resource name", "is '', not a name"),
        ({3: 1}, "a resource name", "is 3, not a name"),
        ({"a\nb": 1}, "a resource name", "is 'a\\nb', which holds unprintable characters"),
        ({"ok": 1, "gpu": 1e16}, "gpu", "is 1e+16, larger than 1e+15"),
    ],
)
def test_amounts_that_make_no_sense(amounts, key, problem):
    with pytest.raises(InvalidValue) as caught:
        Resources(amounts)
    assert (caught.value.key, caught.value.problem) == (key, problem)
