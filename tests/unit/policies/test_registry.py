"""Policies by name, and what is said to a name nobody knows."""

import pytest

from gadget.errors import BadOption
from gadget.policies.fifo import Fifo
from gadget.policies.gadget import Gadget
from gadget.policies.objectives import Objective
from gadget.policies.registry import DEFAULT_POLICY, POLICIES, add_options, build_policy
from gadget.policies.ring_placement import Placer
from gadget.policies.sjf_bco import SjfBco


def test_options_follow_the_name() -> None:
    assert build_policy("fifo") == Fifo()
    assert build_policy("fifo:workers=2,backfill=true") == Fifo(workers=2, backfill=True)
    assert build_policy("fifo:backfill=off") == Fifo()
    weighed = Gadget(objective=Objective.ENERGY, energy_weight=2.5)
    assert build_policy("gadget:energy_weight=2.5,objective=energy") == weighed
    assert build_policy("gadget:gap=0.01,majorant=no") == Gadget(gap=0.01, majorant=False)


def test_who_is_not_named_is_gadget_and_common_options_reach_those_that_have_them() -> None:
    assert build_policy(DEFAULT_POLICY) == Gadget()
    assert build_policy("gadget:gap=0.1", gap=0.2, time_limit=3.0) == Gadget(gap=0.1, time_limit=3.0)
    assert build_policy("fifo", gap=0.2, time_limit=3.0) == Fifo()


def test_a_placement_reaches_all_policies_that_do_not_optimise() -> None:
    optimising = {"gadget", "gadget-paper", "optimal"}
    for name in POLICIES:
        chosen = build_policy(name, placement=Placer.GADGET)
        assert getattr(chosen, "placement", None) == (None if name in optimising else Placer.GADGET)
    assert build_policy("fifo:placement=greedy", placement=Placer.GADGET) == Fifo()
    assert build_policy("sjf-bco") == SjfBco(placement=None)
    assert build_policy("sjf-bco:placement=greedy") == SjfBco(placement=Placer.GREEDY)


def test_common_options_can_be_told_in_the_name() -> None:
    assert add_options("fifo", placement=Placer.GADGET) == "fifo:placement=gadget"
    assert add_options("fifo:workers=2", placement="gadget", gap=0.1) == "fifo:workers=2,placement=gadget"
    assert add_options("fifo:placement=greedy", placement="gadget") == "fifo:placement=greedy"
    assert add_options("gadget", placement="gadget") == "gadget"
    assert add_options("fifo", placement=None) == "fifo"
    # Who that is will be asked later.
    assert add_options("fifi", placement="gadget") == "fifi"


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
        ("fifo:placement=best", "Choose one of greedy, gadget"),
        ("fifo:backfill=on,backfill=off", "an option is given twice"),
        ("las:queues=1/two", "Give numbers, joined by '/'"),
        ("gadget:energy_weight=1", "energy_weight is looked at with objective=energy alone"),
        ("gadget:energy_weight=2,objective=fairness", "Add objective=energy, or leave energy_weight out"),
    ],
)
def test_bad_names_and_options_are_refused(text: str, said: str) -> None:
    with pytest.raises(BadOption) as caught:
        build_policy(text)
    assert said in str(caught.value)
