"""YAML as it is read: 1.2 scalars, anchors and merges that mean something, and nothing without bound."""

import math
import subprocess
import sys
import time

import pytest

from gadget import read_scenario
from gadget.model.yaml_text import YamlError, format_yaml, parse_yaml
from tests.samples import SCENARIO_YAML
from tests.unit.model.complaints import changed, complaint

# ---- scalars


@pytest.mark.parametrize(
    ("text", "value"),
    [
        *((word, True) for word in ("true", "True", "TRUE")),
        *((word, False) for word in ("false", "False", "FALSE")),
        *((word, None) for word in ("null", "Null", "NULL", "~", "")),
        *((word, word) for word in ("yes", "No", "on", "off", "y", "tRue", "nUll")),
        ("12", 12),
        ("-0", 0),
        ("+7", 7),
        ("007", 7),
        ("1.5", 1.5),
        (".5", 0.5),
        ("5.", 5.0),
        ("1e3", 1000.0),
        ("1E-3", 0.001),
        ("-1.5e+2", -150.0),
        (".inf", math.inf),
        ("-.INF", -math.inf),
        *(
            (word, word)
            for word in ("0x1F", "0o17", "0b1", "1_000", "12:30:45", "2001-01-01", "1e", "e3", ".")
        ),
        ("'12'", "12"),
        ('"true"', "true"),
        ("'~'", "~"),
        ("!!str 12", "12"),
        ('"a\\u00e9\\x41\\n"', "aéA\n"),
        ("|\n  a\n  b\n", "a\nb\n"),
        (">\n  a\n  b\n", "a b\n"),
    ],
)
def test_scalars(text, value):
    (found,) = parse_yaml(f"- {text}\n")
    assert found == value
    assert type(found) is type(value)


def test_not_a_number():
    assert [math.isnan(value) for value in parse_yaml("[.nan, .NaN, .NAN]")] == [True, True, True]


def test_keys_are_text_always():
    assert parse_yaml("{1: a, true: b, ~: c, 1e3: d, 'x y': e}") == {
        "1": "a",
        "true": "b",
        "~": "c",
        "1e3": "d",
        "x y": "e",
    }


def test_numbers_too_long_for_a_whole_are_too_large_for_all():
    whole, huge = parse_yaml(f"[{'9' * 399}, {'9' * 100_000}]")
    assert whole == 10**399 - 1
    assert huge == math.inf


def test_lines_of_keys_and_items():
    lines = {}
    parse_yaml("a: 1\nb:\n  - x\n  - {c: 2,\n     d: 3}\n", lines)
    assert lines == {
        ("a",): 1,
        ("b",): 2,
        ("b", 0): 3,
        ("b", 1): 4,
        ("b", 1, "c"): 4,
        ("b", 1, "d"): 5,
    }


# ---- anchors, aliases, merges


def test_aliases_stand_for_what_they_name():
    assert parse_yaml("a: &x [1, {b: 2}]\nc: *x\nd: &y text\ne: *y\n") == {
        "a": [1, {"b": 2}],
        "c": [1, {"b": 2}],
        "d": "text",
        "e": "text",
    }


def test_an_anchor_may_be_set_anew():
    assert parse_yaml("[&a 1, *a, &a 2, *a]") == [1, 1, 2, 2]


@pytest.mark.parametrize(
    ("text", "whole"),
    [
        ("{<<: {a: 1, b: 2}, b: 3}", {"a": 1, "b": 3}),
        ("{b: 3, <<: {a: 1, b: 2}}", {"a": 1, "b": 3}),
        ("{<<: [{a: 1}, {a: 2, b: 2}]}", {"a": 1, "b": 2}),
        ("{<<: []}", {}),
        ("{<<: {<<: {a: 1}, b: 2}, c: 3}", {"a": 1, "b": 2, "c": 3}),
    ],
)
def test_merges(text, whole):
    assert parse_yaml(text) == whole


def test_a_scenario_with_anchors_and_merges(tmp_path):
    """Jobs that share most of their keys, as people write them."""
    plain, short = tmp_path / "plain.yaml", tmp_path / "short.yaml"
    plain.write_text(SCENARIO_YAML)
    short.write_text(
        changed(SCENARIO_YAML, "  - name: resnet-7", "  - &first\n    name: resnet-7")
        + "  - {<<: *first, name: resnet-8, arrival: 9}\n"
    )
    first, _, third = read_scenario(short).jobs
    assert first == read_scenario(plain).jobs[0]
    assert (third.name, third.arrival) == ("resnet-8", 9)
    assert (third.utility, third.budget, third.rate) == (first.utility, first.budget, first.rate)


def test_a_complaint_about_a_merged_key_names_the_line_of_the_merge(tmp_path):
    text = changed(SCENARIO_YAML, "  - name: resnet-7", "  - &first\n    name: resnet-7")
    text += "  - {<<: *first, arrival: 9}\n"
    assert complaint(tmp_path, text) == (
        "bad.yaml:38: jobs[2].name is 'resnet-7', as is jobs[0].name. Rename one of them."
    )


# ---- what is no document of ours

REFUSED = {
    "key twice": ("slots: 1\nversion: 1\nslots: 2\n", 3, "the key 'slots' is given twice"),
    "key twice in braces": ("a: {b: 1, b: 2}\n", 1, "the key 'b' is given twice"),
    "key twice by quotes": ("a: {b: 1, 'b': 2}\n", 1, "the key 'b' is given twice"),
    "merge of a number": ("a: 1\n<<: 3\n", 2, "'<<' merges mappings only"),
    "merge of a list of numbers": ("<<: [3]\n", 1, "'<<' merges mappings only"),
    "alias of nothing": ("a: 1\nb: *gone\n", 2, "the alias *gone has no anchor that ends before it"),
    "alias of itself": ("a: &a [1, *a]\n", 1, "the alias *a has no anchor that ends before it"),
    "alias of itself as a mapping": ("&a {b: *a}\n", 1, "the alias *a has no anchor that ends before it"),
    "second document": ("slots: 1\n---\nslots: 2\n", 2, "holds a second document; keep one to a file"),
    "empty second document": ("slots: 1\n---\n", 2, "holds a second document; keep one to a file"),
    "tag of Python": (
        "!!python/object:os.system {a: 1}\n",
        1,
        "the tag tag:yaml.org,2002:python/object:os.system",
    ),
    "tag of a call": ("a: !!python/object/apply:os.abort []\n", 1, "means nothing here; leave it out"),
    "tag of one's own": ("a: 1\nb: !mine 3\n", 2, "the tag !mine means nothing here; leave it out"),
    "binary": ("a: !!binary aGk=\n", 1, "the tag tag:yaml.org,2002:binary means nothing here; leave it out"),
    "tag of a set": ("!!set {a, b}\n", 1, "the tag tag:yaml.org,2002:set means nothing here; leave it out"),
    "list as key": ("? [a]\n: 1\n", 1, "a key is no plain text"),
    "mapping as key": ("{{a: 1}: 2}\n", 1, "a key is no plain text"),
    "alias as key": ("a: &a b\n*a : 2\n", 2, "a key is no plain text"),
    "200 levels": ("a: " + "[" * 200 + "]" * 200, 1, "nests deeper than 64 levels"),
    "200 levels of mappings": ("{a: " * 200 + "1" + "}" * 200, 1, "nests deeper than 64 levels"),
    "200 levels of dashes": ("- " * 200 + "1", 1, "nests deeper than 64 levels"),
    "200 levels of lines": ("".join(" " * n + "a:\n" for n in range(200)), 65, "nests deeper than 64 levels"),
    "100,000 levels": ("[" * 100_000, 1, "nests deeper than 64 levels"),
    "100,000 levels of mappings": ("{a: " * 100_000, 1, "nests deeper than 64 levels"),
    "never closed": ("a: [1,\n", 2, "did not find expected node content"),
    "tab for a space": ("a:\n\t- 1\n", 2, "found character that cannot start any token"),
    "no colon": ("a: 1\nb\n", 3, "could not find expected ':'"),
}


@pytest.mark.parametrize(("text", "line", "said"), REFUSED.values(), ids=REFUSED)
def test_what_is_refused(tmp_path, text, line, said):
    began = time.perf_counter()
    found = complaint(tmp_path, text)
    assert time.perf_counter() - began < 1
    assert found.startswith(f"bad.yaml:{line}: is not a scenario as YAML: ")
    assert said in found


def test_as_deep_as_allowed():
    value = parse_yaml("[" * 64 + "]" * 64)
    for _ in range(63):
        (value,) = value
    assert value == []
    with pytest.raises(YamlError, match="nests deeper than 64 levels"):
        parse_yaml("[" * 65 + "]" * 65)


def bomb(levels, first):
    """Each level repeats the one before nine times."""
    rows = [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 9)}]\n" for n in range(1, levels)]
    return f"a0: &a0 {first}\n{''.join(rows)}"


# A process of its own, held to a quarter of a GiB beyond what it starts with.
READ_WITH_LITTLE_MEMORY = """
import resource, sys
from gadget import BadFile, read_scenario
pages = int(open("/proc/self/statm").read().split()[0])
most = pages * resource.getpagesize() + 2**28
resource.setrlimit(resource.RLIMIT_AS, (most, most))
try:
    read_scenario(sys.argv[1])
except BadFile as error:
    print(error)
"""


@pytest.mark.parametrize(
    ("text", "line"),
    [
        (bomb(30, "[1, 1, 1, 1, 1, 1, 1, 1, 1]"), 8),
        (bomb(30, "{b: laugh}"), 8),
        (bomb(30, "{b: laugh}").replace("[", "{<<: [").replace("]", "]}"), 8),
        (f"a: &a [{'1, ' * 5000}]\nb: [{'*a, ' * 5000}]\n", 2),
    ],
    ids=["billion laughs", "mappings", "merges", "quadratic"],
)
def test_a_document_cannot_multiply_itself(tmp_path, text, line):
    path = tmp_path / "bad.yaml"
    path.write_text(text)
    began = time.perf_counter()
    ran = subprocess.run(
        [sys.executable, "-c", READ_WITH_LITTLE_MEMORY, path], capture_output=True, text=True, check=True
    )
    # Starting Python and importing numpy is most of it.
    assert time.perf_counter() - began < 5
    assert ran.stdout == (
        f"{path}:{line}: is not a scenario as YAML: "
        "grows past 10,000,000 values when its aliases are written out.\n"
    )


def test_below_the_bound_aliases_may_multiply():
    value = parse_yaml(bomb(6, "[1]"))["a5"]
    for _ in range(5):
        assert len(value) == 9
        value = value[-1]
    assert value == [1]


# ---- writing


def test_written_yaml_is_for_people():
    assert format_yaml({"version": 1, "jobs": [{"name": "a", "resources": {"gpu": 1}}], "switches": []}) == (
        "version: 1\njobs:\n- name: a\n  resources: {gpu: 1}\nswitches: []\n"
    )


def test_written_yaml_has_no_anchors():
    shared = {"gpu": 1}
    assert "&" not in format_yaml([shared, shared])


@pytest.mark.parametrize("text", ["yes", "1e3", "1", "~", "0x1F", "null", "a: b", "# a", "", "1_0", "12:30"])
def test_text_that_could_be_something_else_is_quoted(text):
    assert format_yaml([text]).strip() in (f"['{text}']", f'["{text}"]')
