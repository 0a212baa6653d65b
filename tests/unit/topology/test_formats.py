"""Formats are recognised by content; complaints where they are not."""

from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gadget.errors import BadFile, BadInput, BadOption
from gadget.model.builders import build_fat_tree
from gadget.model.codec import write
from gadget.model.snapshot import Scenario
from gadget.topology.formats import FORMATS, find_format, read_topology
from gadget.topology.network import Topology
from gadget.topology.options import DEFAULT_OPTIONS
from gadget.topology.source import Source
from tests.unit.topology import test_ibnetdiscover, test_kubernetes, test_lingjun, test_slurm, test_volcano
from tests.unit.topology.test_topograph import instances

SAMPLES = {
    "slurm": test_slurm.TREE,
    "slurm-yaml": test_slurm.YAML,
    "ibnetdiscover": test_ibnetdiscover.FABRIC,
    "lingjun": test_lingjun.HEADER + "h1,G1,P1,S1\n",
    "volcano": test_volcano.hypernode("s0", 1, "Node=n0"),
    "kubernetes": test_kubernetes.oci("b1/r1", "b1/r2"),
    "topograph": instances("i1/a"),
    "gadget": "version: 1\nslots: 1\ncluster:\n  servers:\n  - {name: a, resources: {gpu: 1}}\njobs: []\n",
}


@pytest.mark.parametrize("name", FORMATS)
def test_every_format_is_recognised_by_its_content_alone(name: str, tmp_path: Path) -> None:
    path = tmp_path / "description"
    path.write_text(SAMPLES[name])
    found = read_topology(path)
    assert found.format == name
    assert found == read_topology(path, form=name)
    path.write_bytes(b"\xef\xbb\xbf" + SAMPLES[name].encode())
    assert read_topology(path) == found


@pytest.mark.parametrize("name", FORMATS)
@pytest.mark.parametrize("sample", SAMPLES)
def test_a_forced_format_reads_or_refuses(name: str, sample: str) -> None:
    source = Source(Path("x"), SAMPLES[sample].encode())
    try:
        found = FORMATS[name].read(source, DEFAULT_OPTIONS)
    except BadInput:
        assert name != sample
    else:
        assert isinstance(found, Topology)


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"", "is empty"),
        (b" \n\t\n", "is empty"),
        (b"hello\n", "is in no format that is known here"),
        (b"\xff\xfe\x00", "is not UTF-8 text"),
        (b"{}", "is in no format"),
    ],
)
def test_what_is_none_of_them_is_refused(content: bytes, said: str, tmp_path: Path) -> None:
    path = tmp_path / "x"
    path.write_bytes(content)
    with pytest.raises(BadFile, match=said):
        read_topology(path)


def test_an_unknown_format_is_refused_with_the_nearest() -> None:
    with pytest.raises(BadOption, match="nearest: 'slurm'"):
        find_format(Source(Path("x"), b""), "slrum")


def test_a_scenario_is_a_description_too(tmp_path: Path) -> None:
    path = tmp_path / "s.json"
    write(path, Scenario(build_fat_tree(4), (), 10))
    found = read_topology(path)
    assert {switch.tier for switch in found.switches} == {1, 2, 3}
    assert not found.is_tree
    assert len(found.cables) == 48


@pytest.mark.parametrize("name", FORMATS)
@given(data=st.data())
def test_damaged_files_are_read_or_refused_in_words(name: str, data: st.DataObject) -> None:
    text = SAMPLES[name]
    start = data.draw(st.integers(0, len(text)))
    end = data.draw(st.integers(start, min(len(text), start + 20)))
    patch = data.draw(st.text(alphabet=st.sampled_from("ab1[]{},:=\"'\n\t-# "), max_size=6))
    source = Source(Path("x"), (text[:start] + patch + text[end:]).encode())
    with suppress(BadInput):
        found = FORMATS[name].read(source, DEFAULT_OPTIONS)
        assert found.is_connected
        assert found.hosts
