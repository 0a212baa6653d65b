"""Policies by name, and what is said to a name nobody knows."""

import pytest

from gadget.errors import BadOption
from gadget.policies.fifo import Fifo
from gadget.policies.gadget import Gadget
from gadget.policies.registry import DEFAULT_POLICY, build_policy


def test_options_follow_the_name() -> None:
    assert build_policy("fifo") == Fifo()
    assert build_policy("fifo:workers=2,backfill=true") == Fifo(workers=2, backfill=True)
    assert build_policy("fifo:backfill=off") == Fifo()
    assert build_policy("gadget:gap=0.01,majorant=no") == Gadget(gap=0.01, majorant=False)


def test_who_is_not_named_is_gadget_and_common_options_reach_those_that_have_them() -> None:
    assert build_policy(DEFAULT_POLICY) == Gadget()
    assert build_policy("gadget:gap=0.1", gap=0.2, time_limit=3.0) == Gadget(gap=0.1, time_limit=3.0)
    assert build_policy("fifo", gap=0.2, time_limit=3.0) == Fifo()


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("fifi", "'fifi' is no policy (nearest: 'fifo')"),
        ("", "'' is no policy"),
        ("fifo:worker=2", "no option 'worker' (nearest: 'workers')"),
        ("fifo:workers=two", "option workers cannot be 'two'"),
        ("fifo:workers=0", "workers is 0"),
        ("fifo:backfill=maybe", "option backfill cannot be 'maybe'"),
        ("fifo:workers", "option workers cannot be ''"),
    ],
)
def test_bad_names_and_options_are_refused(text: str, said: str) -> None:
    with pytest.raises(BadOption) as caught:
        build_policy(text)
    assert said in str(caught.value)
