"""The exception tree, and complaints that move into larger values."""

import copy
import pickle

import pytest

from gadget import BadFile, BadInput, BadOption, GadgetError, InvalidValue
from gadget.errors import BadJournal, JournalFailed, JournalTaken, Refused, Unreachable


def test_the_tree():
    assert issubclass(BadInput, GadgetError)
    assert issubclass(GadgetError, Exception)
    for leaf in (InvalidValue, BadFile, BadOption, BadJournal, JournalTaken, Unreachable):
        assert issubclass(leaf, BadInput)
    assert issubclass(InvalidValue, ValueError)
    assert not issubclass(BadFile, ValueError)
    assert not issubclass(BadFile, InvalidValue)
    assert issubclass(BadJournal, BadFile)
    assert issubclass(JournalFailed, GadgetError)
    assert not issubclass(JournalFailed, BadInput)  # the caller gave nothing wrong
    assert issubclass(Refused, GadgetError)
    assert not issubclass(Refused, BadInput)  # the answer is no: exit code 1, not 2


def test_an_invalid_value_says_where_what_and_how_to_mend_it():
    error = InvalidValue("workers.min", "is 3, above workers.max = 2", "Lower min or raise max")
    assert str(error) == "workers.min is 3, above workers.max = 2. Lower min or raise max."
    assert (error.key, error.problem, error.mend) == (
        "workers.min",
        "is 3, above workers.max = 2",
        "Lower min or raise max",
    )


def test_an_invalid_value_as_a_whole():
    assert str(InvalidValue("", "no server is named 'x'", "Name one")) == "no server is named 'x'. Name one."


@pytest.mark.parametrize(
    ("key", "prefix", "whole"),
    [
        ("min", "workers", "workers.min"),
        ("[3].name", "jobs", "jobs[3].name"),
        ("points[0][1]", "jobs[2].utility", "jobs[2].utility.points[0][1]"),
        ("", "timing", "timing"),
        ("", "", ""),
    ],
)
def test_within_a_larger_value(key, prefix, whole):
    inner = InvalidValue(key, "is wrong", "Mend it")
    outer = inner.within(prefix)
    assert (outer.key, outer.problem, outer.mend) == (whole, "is wrong", "Mend it")
    assert str(outer) == f"{whole} is wrong. Mend it.".lstrip()
    assert inner.key == key


def test_within_twice():
    error = InvalidValue("min", "is wrong", "Mend it").within("workers").within("jobs[0]")
    assert error.key == "jobs[0].workers.min"


@pytest.mark.parametrize("again", [lambda error: pickle.loads(pickle.dumps(error)), copy.copy, copy.deepcopy])
def test_errors_cross_processes(again):
    error = again(InvalidValue("a.b", "is wrong", "Mend it"))
    assert type(error) is InvalidValue
    assert (error.key, error.problem, error.mend) == ("a.b", "is wrong", "Mend it")
    assert str(error) == "a.b is wrong. Mend it."
    plain = again(BadFile("x.json: is empty."))
    assert type(plain) is BadFile
    assert str(plain) == "x.json: is empty."
