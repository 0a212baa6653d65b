"""Whatever bytes a file holds, reading gives a value or one line that says what is wrong; and soon."""

import json
from datetime import timedelta
from functools import cache
from tempfile import NamedTemporaryFile

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gadget import BadFile, Decision, Scenario, Snapshot, read_decision, read_scenario, read_snapshot
from gadget.model.codec import format_json
from gadget.model.encoding import to_document
from gadget.model.yaml_text import format_yaml, parse_yaml
from tests.samples import DECISION_JSON, SCENARIO_YAML, SNAPSHOT_JSON
from tests.strategies import decisions, printable_text, scenarios, snapshots

READERS = {
    "scenario": (read_scenario, Scenario),
    "snapshot": (read_snapshot, Snapshot),
    "decision": (read_decision, Decision),
}
SAMPLES = {"scenario": SCENARIO_YAML, "snapshot": SNAPSHOT_JSON, "decision": DECISION_JSON}
# Pieces that mean something to one of the two notations.
TOKENS = (
    *(
        "{",
        "}",
        "[",
        "]",
        ",",
        ":",
        ": ",
        "- ",
        "? ",
        "'",
        '"',
        "\\",
        "#",
        " #",
        "|",
        ">",
        "|2",
        "%",
        "@",
        "`",
    ),
    *("---\n", "...\n", "&a ", "*a", "<<: ", "<<: *a\n", "!", "!!str ", "!!int ", "!x ", "%YAML 1.1\n", "~"),
    *(
        "\n",
        "\n\n",
        "\r",
        "\r\n",
        "\t",
        " ",
        "  ",
        "\n  ",
        "\ufeff",
        "null",
        "true",
        "NaN",
        "-Infinity",
        ".inf",
    ),
    *(
        "0",
        "-1",
        "1e999",
        "1e-999",
        "9" * 30,
        "0x1F",
        "1.5.2",
        "-",
        "é",
        "😀",
        '"a":',
        "a: ",
        "[[",
        "{{",
        "}}",
    ),
    *('"kind": "sqrt"', "kind: table", '"points": [[0, 0]]', "version: 1\n", '"version": 1,', '"slots": 0'),
)
WEIRD = (
    *(None, True, False, 0, -1, 0.5, -0.0, 1e300, -1e300, 1e15, 1e-13, 10**20, 10**4000, "", "a", "s0", "é"),
    *([], {}, [[]], [{}], {"a": 1}, {"kind": "sqrt"}, {"kind": "nothing"}, ["s0", "s1"], [1, 2], "1", "NaN"),
)

# Generous: the usual example takes a few milliseconds.
soon = settings(deadline=timedelta(seconds=5))


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("files")


def check_answer(folder, kind, name, content):
    """A value of the right kind, or a complaint that begins with the file: one printable line, and short."""
    path = folder / name
    path.write_bytes(content)
    read, type_of_value = READERS[kind]
    try:
        value = read(path)
    except BadFile as error:
        said = str(error)
        assert said.startswith(str(path))
        assert len(said) < 1000 + len(str(path))
        assert said.isprintable()
    else:
        assert type(value) is type_of_value


@st.composite
def damaged(draw, text):
    """The text's bytes after one to four accidents."""
    content = text.encode()
    for _ in range(draw(st.integers(1, 4))):
        start = draw(st.integers(0, len(content)))
        end = min(len(content), start + draw(st.sampled_from((0, 1, 2, 8, 40))))
        chunk = content[start:end]
        content = content[:start] + draw(_accidents(chunk)) + content[end:]
        if draw(st.integers(0, 15)) == 0:
            content = content[: draw(st.integers(0, len(content)))]
    return content


def _accidents(chunk):
    """What may stand where a chunk stood: nothing, the chunk twice, a token, or bits turned round."""
    return st.one_of(
        st.just(b""),
        st.just(chunk * 2),
        st.sampled_from(TOKENS).map(lambda token: token.encode() + chunk),
        st.sampled_from(TOKENS).map(str.encode),
        st.just(bytes(byte ^ 1 for byte in chunk)),
        st.integers(0, 6).map(lambda bit: bytes(byte ^ (1 << bit) for byte in chunk)),
        st.binary(max_size=3),
    )


def as_texts(kind):
    """Valid texts of a kind, in either notation, with the name their notation asks for."""
    read, _ = READERS[kind]
    values = {"scenario": scenarios(), "snapshot": snapshots(), "decision": decisions(text=printable_text)}
    value = st.one_of(*[st.just(_read_sample(kind, read))] * 3, values[kind])
    return st.one_of(
        value.map(lambda value: ("a.json", format_json(value))),
        value.map(lambda value: ("a.yaml", format_yaml(to_document(value)))),
    )


@cache
def _read_sample(kind, read):
    with NamedTemporaryFile("w", encoding="utf-8") as file:
        file.write(SAMPLES[kind])
        file.flush()
        return read(file.name)


each_kind = pytest.mark.parametrize("kind", READERS)


@each_kind
@settings(soon, max_examples=200)
@given(data=st.data())
def test_damaged_texts(folder, kind, data):
    name, text = data.draw(as_texts(kind))
    check_answer(folder, kind, name, data.draw(damaged(text)))


@each_kind
@settings(soon, max_examples=150)
@given(data=st.data())
def test_weird_values_in_good_texts(folder, kind, data):
    """One or two values anywhere in a document replaced, keys renamed, doubled or dropped."""
    name, text = data.draw(as_texts(kind))
    document = json.loads(text) if name == "a.json" else parse_yaml(text)
    for _ in range(data.draw(st.integers(1, 2))):
        document = _with_a_weird_value(data.draw, document)
    style = data.draw(st.sampled_from(({"indent": 1}, {})))
    text = json.dumps(document, ensure_ascii=False, **style)
    check_answer(folder, kind, data.draw(st.sampled_from((name, "a.yaml", "a"))), text.encode())


def _with_a_weird_value(draw, here):
    if not isinstance(here, dict | list) or not here or draw(st.integers(0, 5)) == 0:
        return draw(st.sampled_from(WEIRD))
    if isinstance(here, list):
        place = draw(st.integers(0, len(here) - 1))
        return [*here[:place], _with_a_weird_value(draw, here[place]), *here[place + 1 :]]
    key = draw(st.sampled_from(sorted(here)))
    match draw(st.sampled_from(("inside", "inside", "inside", "rename", "drop", "add"))):
        case "rename":
            return {(draw(printable_text) if other == key else other): here[other] for other in here}
        case "drop":
            return {other: here[other] for other in here if other != key}
        case "add":
            return {**here, draw(printable_text): draw(st.sampled_from(WEIRD))}
        case _:
            return {**here, key: _with_a_weird_value(draw, here[key])}


@each_kind
@pytest.mark.parametrize("name", ["a.json", "a.yaml", "a"])
@settings(soon, max_examples=100)
@given(
    content=st.binary(max_size=200) | st.text(max_size=100).map(lambda text: text.encode(errors="replace"))
)
def test_random_bytes(folder, kind, name, content):
    check_answer(folder, kind, name, content)


@each_kind
@settings(soon, max_examples=200)
@given(tokens=st.lists(st.sampled_from(TOKENS), max_size=30), name=st.sampled_from(("a.json", "a.yaml", "a")))
def test_random_tokens(folder, kind, tokens, name):
    check_answer(folder, kind, name, "".join(tokens).encode())


@each_kind
def test_every_truncation_of_a_sample(folder, kind):
    text = SAMPLES[kind].encode()
    for name in ("a.json", "a.yaml"):
        for length in range(0, len(text), 3):
            check_answer(folder, kind, name, text[:length])
