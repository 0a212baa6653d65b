"""What is written is what is read, in both notations, whatever the names."""

import json

import jsonschema
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gadget import read_decision, read_scenario, read_snapshot, write
from gadget.model.codec import format_json, read_profiles
from gadget.model.documents import build_schema
from tests.strategies import ODD_NAMES, decisions, printable_text, profiles, scenarios, snapshots

KINDS = {
    "scenario": (scenarios(wild=True), read_scenario),
    "snapshot": (snapshots(wild=True), read_snapshot),
    "decision": (decisions(), read_decision),
    "profiles": (profiles(wild=True), read_profiles),
}
SUFFIXES = (".json", ".yaml")
each_kind = pytest.mark.parametrize("kind", KINDS)
each_suffix = pytest.mark.parametrize("suffix", SUFFIXES)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("files")


@each_suffix
@each_kind
@settings(max_examples=80)
@given(data=st.data())
def test_what_is_written_is_read_and_written_again_alike(folder, kind, suffix, data):
    values, read = KINDS[kind]
    value = data.draw(values)
    path = folder / f"{kind}{suffix}"
    write(path, value)
    written = path.read_bytes()
    found = read(path)
    assert found == value
    write(path, found)
    assert path.read_bytes() == written


@each_kind
@settings(max_examples=60)
@given(data=st.data(), style=st.sampled_from([{"indent": 2}, {"separators": (",", ":")}, {"indent": "\t"}]))
def test_json_means_the_same_to_the_yaml_reader(folder, kind, data, style):
    values, read = KINDS[kind]
    # A detail may hold characters (line separators, controls) that YAML has no way to hold unescaped.
    value = data.draw(decisions(text=printable_text) if kind == "decision" else values)
    path = folder / f"{kind}-of-json.yaml"
    path.write_text(json.dumps(json.loads(format_json(value)), ensure_ascii=False, **style), "utf-8")
    assert read(path) == value


@each_kind
@settings(max_examples=50)
@given(data=st.data())
def test_what_is_written_keeps_to_the_schema(kind, data):
    values, _ = KINDS[kind]
    document = json.loads(format_json(data.draw(values)))
    jsonschema.Draft202012Validator(build_schema(kind)).validate(document)


@pytest.mark.parametrize("kind", KINDS)
def test_the_schema_is_one(kind):
    jsonschema.Draft202012Validator.check_schema(build_schema(kind))


@each_suffix
@pytest.mark.parametrize("name", [*ODD_NAMES, "a" * 1100], ids=ascii)
def test_every_odd_name_survives(tmp_path, suffix, name):
    """As the name of a server, a switch, a job and a resource at once (a key, in the last)."""
    document = {
        "version": 1,
        "slots": 1,
        "cluster": {
            "servers": [{"name": name, "resources": {name: 1}}],
            "switches": [f"{name}.switch"],
            "links": [{"ends": [name, f"{name}.switch"], "gbps": 1}],
        },
        "jobs": [
            {
                "name": name,
                "workers": {"max": 1},
                "resources": {name: 1},
                "bandwidth_gbps": 0,
                "rate": 1,
                "utility": {"kind": "linear"},
            }
        ],
    }
    source = tmp_path / "source.json"
    source.write_text(json.dumps(document), "utf-8")
    copy = tmp_path / f"copy{suffix}"
    write(copy, read_scenario(source))
    scenario = read_scenario(copy)
    assert scenario.cluster.nodes == (name, f"{name}.switch")
    assert scenario.jobs[0].name == name
    assert dict(scenario.jobs[0].resources) == {name: 1}
