"""Hostlists: what they stand for, what is none, and that folding and expanding undo each other."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gadget.errors import InvalidValue
from gadget.topology.hostlist import expand_hostlist, fold_hostlist


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("n1", "n1"),
        ("n[1-3,5]", "n1 n2 n3 n5"),
        ("n[08-11]", "n08 n09 n10 n11"),
        ("n[9-011]", "n9 n10 n11"),
        ("tux[0-1],beta, gamma[7]", "tux0 tux1 beta gamma7"),
        ("rack[1-2]n[3-4]", "rack1n3 rack1n4 rack2n3 rack2n4"),
        ("unit[0-1]-ib", "unit0-ib unit1-ib"),
        ("n[1,2[3-4]]", "n1 n23 n24"),
        ("[1-2]", "1 2"),
    ],
)
def test_a_hostlist_stands_for_its_names_in_order(text: str, names: str) -> None:
    assert expand_hostlist(text) == names.split()


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("n[1-3", "leaves a bracket open"),
        ("n1-3]", "closes a bracket that is not open"),
        ("n[3-1]", "runs backwards"),
        ("n[a-c]", "'a-c' in brackets"),
        ("n[]", "nothing between two commas"),
        ("n1,,n2", "nothing between two commas"),
        ("n1,", "nothing between two commas"),
        ("n[1-9999999]", "more than 1,000,000 names"),
        ("a[1-2000]b[1-2000]", "more than 1,000,000 names"),
        ("n[1-999999999999999999999]", "more than 1,000,000 names"),
        ("n[١-٣]", "in brackets"),
    ],
)
def test_what_is_no_hostlist_is_refused_with_the_reason(text: str, said: str) -> None:
    with pytest.raises(InvalidValue, match=said.replace("[", r"\[")):
        expand_hostlist(text)


@pytest.mark.parametrize(
    ("names", "text"),
    [
        ("n1 n2 n3 n5", "n[1-3,5]"),
        ("n9 n10 n011", "n[9-10,011]"),
        ("n08 n09 n10", "n[08-10]"),
        ("n1", "n1"),
        ("a b", "a,b"),
        ("a1 b1 a2", "a1,b1,a2"),
        ("rack1n1 rack1n2 rack2n1", "rack1n[1-2],rack2n1"),
        ("", ""),
    ],
)
def test_names_are_folded_where_only_the_last_number_differs(names: str, text: str) -> None:
    assert fold_hostlist(names.split()) == text


@pytest.mark.parametrize("name", ["a b", "a[1]", "a,b", "", "a=b", "a#b"])
def test_a_name_that_a_hostlist_cannot_hold_is_refused(name: str) -> None:
    with pytest.raises(InvalidValue, match="cannot stand in a hostlist"):
        fold_hostlist([name])


NAMES = st.lists(
    st.from_regex(r"[a-c.\-]{0,2}[0-9]{0,3}", fullmatch=True).filter(bool), min_size=1, max_size=30
)


@given(NAMES)
def test_expanding_what_was_folded_gives_the_names_back(names: list[str]) -> None:
    assert expand_hostlist(fold_hostlist(names)) == names


@given(st.integers(0, 10_000), st.integers(1, 300), st.integers(1, 6))
def test_a_run_of_names_folds_into_one_range(first: int, count: int, width: int) -> None:
    names = [f"n{number:0{width}d}" for number in range(first, first + count)]
    folded = fold_hostlist(names)
    assert "," not in folded
    assert expand_hostlist(folded) == names


@given(st.text(alphabet="n019[],- ", max_size=20))
def test_any_text_is_expanded_or_refused(text: str) -> None:
    try:
        names = expand_hostlist(text)
    except InvalidValue:
        return
    assert all(names)
