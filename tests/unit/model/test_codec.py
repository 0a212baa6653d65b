"""Reading files: what every bad input is answered with, and what good ones mean."""

import json
from dataclasses import replace

import numpy as np
import pytest

from gadget import (
    BadFile,
    Energy,
    Log,
    Sigmoid,
    Status,
    Table,
    Timing,
    read_decision,
    read_scenario,
    read_snapshot,
)
from gadget.model.codec import format_json, parse_decision, read
from gadget.model.prices import Prices
from tests.samples import DECISION_JSON, SCENARIO_YAML, SNAPSHOT_JSON
from tests.unit.model.complaints import READERS, complaint


def test_a_scenario(tmp_path):
    path = tmp_path / "a.yaml"
    path.write_text(SCENARIO_YAML)
    scenario = read_scenario(path)
    assert (scenario.slots, scenario.slot_seconds) == (200, 60)
    assert scenario.cluster.nodes == ("s0", "s1", "rack0", "core")
    assert scenario.cluster.servers[1].resources == {"gpu": 4, "memory_gib": 256}
    assert scenario.cluster.neighbours["rack0"] == {"s0": 100, "s1": 40, "core": 1600}
    first, second = scenario.jobs
    assert (first.name, first.arrival, first.min_workers, first.max_workers) == ("resnet-7", 3, 1, 5)
    assert (first.resources, first.budget) == ({"gpu": 1}, {"gpu": 4000})
    assert (first.bandwidth_gbps, first.rate, first.timing) == (2.5, 120, None)
    assert first.utility == Sigmoid(50, 0.3, 900)
    assert (second.arrival, second.min_workers, second.budget, second.rate) == (0, 1, None, None)
    assert second.timing == Timing(100, 4, 0.5, 32, 20, 4)
    assert second.utility == Energy(Table(((0, 0), (10, 5), (20, 7.5))), 0.1, 1, 1, 0)


def test_a_snapshot(tmp_path):
    path = tmp_path / "a.json"
    path.write_text(SNAPSHOT_JSON)
    snapshot = read_snapshot(str(path))
    assert (snapshot.slot, snapshot.slots, snapshot.slot_seconds) == (17, 200, 60)
    (active,) = snapshot.jobs
    assert (active.served, active.work_done, active.job.utility) == (12, 1400.5, Log(3))
    (ring,) = snapshot.running.rings
    assert (ring.job, ring.workers, ring.routes) == ("bert-2", ("s0", "s1"), (("s0", "s1"), ("s1", "s0")))


def test_a_resize_cost_is_read_and_written_where_there_is_one(tmp_path):
    path = tmp_path / "a.json"
    path.write_text(SNAPSHOT_JSON.replace('"rate": 120,', '"rate": 120, "resize_cost": 30,'))
    costly = read_snapshot(path)
    assert costly.jobs[0].job.resize_cost == 30
    assert '"resize_cost": 30,' in format_json(costly)
    path.write_text(SNAPSHOT_JSON)
    free = read_snapshot(path)
    assert free.jobs[0].job.resize_cost == 0
    assert "resize_cost" not in format_json(free)
    path.write_text(SNAPSHOT_JSON.replace('"rate": 120,', '"rate": 120, "resize_cost": -1,'))
    with pytest.raises(BadFile, match=r"jobs\[0\]\.resize_cost is -1"):
        read_snapshot(path)


def test_deadline_and_priority_are_read_and_written_where_they_say_something(tmp_path):
    path = tmp_path / "a.json"
    path.write_text(SNAPSHOT_JSON.replace('"rate": 120,', '"rate": 120, "deadline": 40, "priority": 2.5,'))
    urgent = read_snapshot(path)
    assert (urgent.jobs[0].job.deadline, urgent.jobs[0].job.priority) == (40, 2.5)
    assert '"deadline": 40,' in format_json(urgent)
    assert '"priority": 2.5,' in format_json(urgent)
    path.write_text(SNAPSHOT_JSON)
    plain = read_snapshot(path)
    assert (plain.jobs[0].job.deadline, plain.jobs[0].job.priority) == (None, 1)
    assert not any(key in format_json(plain) for key in ("deadline", "priority"))


@pytest.mark.parametrize(
    ("keys", "said"),
    [
        ('"deadline": 0,', r"jobs\[0\]\.deadline is 0"),
        ('"deadline": 7.5,', r"jobs\[0\]\.deadline"),
        ('"deadline": "soon",', r"jobs\[0\]\.deadline"),
        ('"arrival": 9, "deadline": 9,', r"jobs\[0\]\.deadline is 9, not after arrival = 9"),
        ('"priority": 0,', r"jobs\[0\]\.priority is 0"),
        ('"priority": -1,', r"jobs\[0\]\.priority is -1"),
        ('"priorty": 2,', r"priorty.*priority"),
    ],
)
def test_deadlines_and_priorities_that_are_none(tmp_path, keys, said):
    path = tmp_path / "a.json"
    path.write_text(SNAPSHOT_JSON.replace('"rate": 120,', f'"rate": 120, {keys}'))
    with pytest.raises(BadFile, match=said):
        read_snapshot(path)


def test_prices_are_not_written(tmp_path):
    """A file starts cold."""
    path = tmp_path / "a.json"
    path.write_text(SNAPSHOT_JSON)
    snapshot, decision = read_snapshot(path), parse_decision(DECISION_JSON.encode())
    prices = Prices(snapshot.cluster, np.ones((2, 1)), np.ones(2))
    for value in (snapshot, decision):
        priced = replace(value, prices=prices)
        assert priced == value
        assert format_json(priced) == format_json(value)


@pytest.mark.parametrize("how", ["file", "line"])
def test_a_decision(tmp_path, how):
    path = tmp_path / "a.json"
    path.write_text(DECISION_JSON)
    decision = read_decision(path) if how == "file" else parse_decision(DECISION_JSON.encode())
    assert (decision.slot, decision.policy, decision.seed) == (17, "gadget", 0)
    assert (decision.objective, decision.upper_bound, decision.status) == (431.7, 432, Status.CERTIFIED)
    assert decision.seconds == 0.041
    assert decision.allocation.ring_of["bert-2"].workers == ("s0", "s0", "s1")
    (waiting,) = decision.waiting
    assert (waiting.job, waiting.reason, waiting.detail) == (
        "vgg-1",
        "capacity",
        "9 gpu: no server has them",
    )
    assert (decision.surrogate.objective, decision.surrogate.upper_bound) == (431.7, None)


@pytest.mark.parametrize(
    "line", [b"", b"{", b"[]", b"{}", b'{"version": 2}', b"\xff", DECISION_JSON.encode()[:-9]]
)
def test_a_line_that_is_no_decision(line):
    with pytest.raises(ValueError, match=r".+"):
        parse_decision(line)


def test_one_line_of_json_is_read_back(tmp_path):
    decision = parse_decision(DECISION_JSON.encode())
    line = format_json(decision, indent=None)
    assert line.count("\n") == 1
    assert parse_decision(line.encode()) == decision


@pytest.mark.parametrize("name", ["a.yaml", "a.YML", "a.txt", "a", "a.json.bak"])
def test_content_tells_what_the_name_does_not(tmp_path, name):
    """YAML wherever the name does not say JSON; JSON too, where the name says neither."""
    path = tmp_path / name
    path.write_text(SCENARIO_YAML)
    expected = read_scenario(path)
    path.write_text(format_json(expected))
    assert read_scenario(path) == expected


@pytest.mark.parametrize(
    ("text", "name", "expected"),
    [
        (SCENARIO_YAML, "a.yaml", read_scenario),
        (SNAPSHOT_JSON, "a.json", read_snapshot),
        (DECISION_JSON, "a", read_decision),
    ],
)
def test_a_file_of_any_kind(tmp_path, text, name, expected):
    path = tmp_path / name
    path.write_text(text)
    assert read(path) == expected(path)


def test_a_file_of_no_kind(tmp_path):
    path = tmp_path / "bad.json"
    for content, said in (
        ("", "is empty. Give a scenario, snapshot or decision as JSON or YAML."),
        ("{", "is not JSON: EOF while parsing an object at line 1 column 1. Give a scenario, snapshot or"),
        ("[]", "the document is []. It should be: mapping of keys to values."),
        ("{}", "version is missing. Add it."),
    ):
        path.write_text(content)
        with pytest.raises(BadFile) as caught:
            read(path)
        assert str(caught.value).startswith(f"{path}: {said}")


def test_a_byte_order_mark_is_passed_over(tmp_path):
    for name, text, read_one in (
        ("a.json", SNAPSHOT_JSON, read_snapshot),
        ("a.yaml", SCENARIO_YAML, read_scenario),
    ):
        path = tmp_path / name
        path.write_bytes(text.encode())
        expected = read_one(path)
        path.write_bytes(text.encode("utf-8-sig"))
        assert read_one(path) == expected


# ---- files that are no document at all

JUNK = {
    "empty": (b"", "is empty. Give a {kind} as JSON or YAML."),
    "blank": (b" \n\t\n", "is empty. Give a {kind} as JSON or YAML."),
    "a mark and nothing": (b"\xef\xbb\xbf", "is empty. Give a {kind} as JSON or YAML."),
}


@pytest.mark.parametrize("kind", READERS)
@pytest.mark.parametrize("name", ["bad.json", "bad.yaml", "bad"])
@pytest.mark.parametrize(("content", "said"), JUNK.values(), ids=JUNK)
def test_files_with_nothing_in_them(tmp_path, kind, name, content, said):
    assert complaint(tmp_path, content, name, kind) == f"{name}: {said.format(kind=kind)}"


@pytest.mark.parametrize("kind", READERS)
@pytest.mark.parametrize(
    ("name", "content", "said"),
    [
        ("bad.json", b"{", "is not JSON: EOF while parsing an object at line 1 column 1."),
        ("bad.json", b'{"a": 1}}', "is not JSON: trailing characters at line 1 column 9."),
        ("bad.json", b'{"a": 1,}', "is not JSON: trailing comma at line 1 column 9."),
        ("bad.json", b"{'a': 1}", "is not JSON: key must be a string at line 1 column 2."),
        ("bad.json", b'{"a": \xff}', "is not JSON: expected value at line 1 column 7."),
        ("bad.json", b'{"a": "\xff"}', "is not JSON: "),
        ("bad.json", b"slots: 3", "is not JSON: expected value at line 1 column 1."),
        ("bad.json", bytes(range(256)), "is not JSON: expected value at line 1 column 1."),
        ("bad.json", b'{"a": 1, "a": 2}', 'is not JSON: Detected duplicate key "a" at line 1 column 14.'),
        ("bad.json", b'{"a": %s}' % (b"9" * 5000), "is not JSON: number out of range at line 1"),
        ("bad.json", b"[" * 300 + b"]" * 300, "is not JSON: recursion limit exceeded at line 1"),
        ("bad.json", b"[" * 100_000, "is not JSON: recursion limit exceeded at line 1"),
        ("bad.json", b'{"a":' * 100_000, "is not JSON: recursion limit exceeded at line 1"),
        ("bad.yaml", b"\x00\x01\x02", "is not a {kind} as YAML: control characters are not allowed."),
        ("bad.yaml", b"slots: \xff", "is not UTF-8 text (byte 7)."),
        ("bad", bytes(range(256)), "is not UTF-8 text (byte 128)."),
        ("bad.yaml", "slots: 1".encode("utf-16"), "is not UTF-8 text (byte 0)."),
    ],
)
def test_files_that_are_no_text_of_ours(tmp_path, kind, name, content, said):
    found = complaint(tmp_path, content, name, kind)
    assert found.startswith(f"{name}: {said.format(kind=kind)}")
    assert found.endswith((f" Give a {kind} as JSON or YAML.", "are not allowed."))


@pytest.mark.parametrize("kind", READERS)
@pytest.mark.parametrize("content", ["3", "[]", '"text"', "null", "true"])
@pytest.mark.parametrize("name", ["bad.json", "bad.yaml"])
def test_documents_that_are_no_mapping(tmp_path, kind, content, name):
    assert complaint(tmp_path, content, name, kind).split(": ", 1)[1] == (
        f"the document is {content}. It should be: mapping of keys to values."
    )


@pytest.mark.parametrize("read", READERS.values(), ids=READERS)
def test_no_such_file_and_no_file_at_all(tmp_path, read):
    with pytest.raises(BadFile, match=r"gone\.json: there is no such file\. Correct the path\.$"):
        read(tmp_path / "gone.json")
    with pytest.raises(BadFile, match=r": is a directory, not a file\. Name a file in it\.$"):
        read(tmp_path)


def test_a_file_of_another_kind(tmp_path):
    """The first key that does not belong is named."""
    assert complaint(tmp_path, DECISION_JSON, "bad.json", "scenario").startswith(
        "bad.json:2: slot is not a known key (nearest: 'slots'). Known here: version, slots, "
    )
    assert complaint(tmp_path, SCENARIO_YAML, "bad.yaml", "decision").startswith(
        "bad.yaml:2: slots is not a known key (nearest: 'slot'). Known here: version, slot, "
    )


def test_what_is_written_can_be_any_json_style(tmp_path):
    """Spaces, order of keys and escapes do not matter."""
    path = tmp_path / "a.json"
    path.write_text(SNAPSHOT_JSON)
    expected = read_snapshot(path)
    document = dict(reversed(json.loads(SNAPSHOT_JSON).items()))
    path.write_text(json.dumps(document, separators=(",", ":")).replace("bert", "\\u0062\\u0065rt"))
    assert read_snapshot(path) == expected
