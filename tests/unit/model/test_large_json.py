"""JSON larger than people write is read another way: it must mean the same and complain the same."""

import json

import pytest

from gadget import BadFile, read_decision, read_scenario, read_snapshot
from gadget.model.codec import HAND_WRITTEN_BYTES
from tests.samples import DECISION_JSON, SNAPSHOT_JSON
from tests.unit.model.complaints import changed, complaint


def padded(text):
    """The same document, so many blank lines longer that it counts as large."""
    return text.rstrip() + "\n" * HAND_WRITTEN_BYTES


def build_large_scenario(jobs=8000):
    """More than a megabyte of jobs, of all utility kinds."""
    kinds = [
        {"kind": "sigmoid", "priority": 50, "sensitivity": 0.3, "target": 900},
        {"kind": "sqrt"},
        {"kind": "log", "scale": 0.1},
        {"kind": "linear", "scale": 1e-3},
        {"kind": "table", "points": [[0, -1.5], [10, 5]]},
        {"kind": "energy", "progress": {"kind": "sqrt", "scale": 2}, "weight": 0.1},
    ]
    return {
        "version": 1,
        "slots": 200,
        "cluster": {"servers": [{"name": "s0", "resources": {"gpu": 8}}]},
        "jobs": [
            {
                "name": f"job-{place} é😀",
                "arrival": place % 50,
                "workers": {"min": 1, "max": 5},
                "resources": {"gpu": 0.1 * (place % 7 + 1)},
                "budget": {"gpu": 4000 + place},
                "bandwidth_gbps": place / 3,
                "rate": 120,
                "utility": kinds[place % len(kinds)],
            }
            for place in range(jobs)
        ],
    }


def test_a_large_scenario_means_the_same(tmp_path):
    large, small = tmp_path / "large.json", tmp_path / "small.json"
    document = build_large_scenario()
    large.write_text(json.dumps(document))
    assert large.stat().st_size > HAND_WRITTEN_BYTES
    scenario = read_scenario(large)
    assert len(scenario.jobs) == len(document["jobs"])
    for start in range(0, len(document["jobs"]), 2000):
        jobs = document["jobs"][start : start + 2000]
        small.write_text(json.dumps({**document, "jobs": jobs}))
        assert small.stat().st_size <= HAND_WRITTEN_BYTES
        assert read_scenario(small).jobs == scenario.jobs[start : start + 2000]


@pytest.mark.parametrize(("read", "text"), [(read_snapshot, SNAPSHOT_JSON), (read_decision, DECISION_JSON)])
def test_a_padded_file_means_the_same(tmp_path, read, text):
    path = tmp_path / "a.json"
    path.write_text(text)
    expected = read(path)
    path.write_text(padded(text))
    assert read(path) == expected


BAD = {
    "wrong type": ('"slots": 200', '"slots": "many"'),
    "unknown key": ('"served"', '"serve"'),
    "missing key": ('"slots": 200,', ""),
    "negative amount": ('"gpu": 8', '"gpu": -8'),
    "NaN": ("1400.5", "NaN"),
    "infinite": ("1e2", "1e999"),
    "many digits": ("1e2", "9" * 500),
    "unknown kind": ('"log"', '"lag"'),
    "other version": ('"version": 1', '"version": 1.0'),
    "link to nowhere": ('"ends": ["s0", "s1"]', '"ends": ["s0", "s2"]'),
    "past the end": ('"slot": 17', '"slot": 200'),
    "lone surrogate": ('"log"', '"\\ud800"'),
    "not JSON": ('"slots": 200', "slots: 200"),
    "deep": ('"slots": 200', '"slots": ' + "[" * 100_000),
}


@pytest.mark.parametrize(("old", "new"), BAD.values(), ids=BAD)
def test_a_bad_large_file_is_told_as_a_small_one(tmp_path, old, new):
    bad = changed(SNAPSHOT_JSON, old, new)
    small = complaint(tmp_path, bad, "bad.json", "snapshot")
    assert complaint(tmp_path, padded(bad), "bad.json", "snapshot") == small


def test_a_bad_job_among_thousands_is_found(tmp_path):
    document = build_large_scenario()
    document["jobs"][7321]["workers"]["min"] = 6
    path = tmp_path / "large.json"
    path.write_text(json.dumps(document, indent=0, ensure_ascii=False))
    with pytest.raises(BadFile) as caught:
        read_scenario(path)
    lines = path.read_text().splitlines()
    line = next(n for n, text in enumerate(lines, 1) if text.startswith('"min": 6'))
    assert str(caught.value) == (
        f"{path}:{line}: jobs[7321].workers.min is 6, above workers.max = 5. Lower min or raise max."
    )


def test_bytes_that_are_no_text(tmp_path):
    bad = SNAPSHOT_JSON.encode().replace(b"bert-2", b"bert-\xff", 1)
    small = complaint(tmp_path, bad, "bad.json", "snapshot")
    assert complaint(tmp_path, bad + b" " * HAND_WRITTEN_BYTES, "bad.json", "snapshot") == small
