"""Profiles in files, and what is wrong with some."""

import pytest

from gadget import BadFile, InvalidValue, Timing
from gadget.model.codec import read_profiles
from gadget.model.profile import Profile, Profiles

TIMING = Timing(100, 4, 0.5, 32, 20, 4)
GOOD = """version: 1
profiles:
  - name: bert
    bandwidth_gbps: 5
    timing: {gradient_mb: 100, reduce_gbps: 4, forward_ms_per_sample: 0.5,
             batch: 32, backward_ms: 20, overhead_ms: 4}
"""


def test_a_file(tmp_path):
    path = tmp_path / "profiles.yaml"
    path.write_text(GOOD)
    assert read_profiles(path) == Profiles((Profile("bert", 5, TIMING),))


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("bandwidth_gbps: 5", "bandwidth_gbps: 0", ":4: profiles[0].bandwidth_gbps is 0"),
        ("bandwidth_gbps: 5", "bandwidth: 5", ":4: profiles[0].bandwidth is not a known key"),
        ("batch: 32", "batch: -1", ":6: profiles[0].timing.batch is -1"),
        ("name: bert", 'name: ""', ":3: profiles[0].name is"),
        ("profiles:", "profile:", ":2: profile is not a known key (nearest: 'profiles')"),
        ("version: 1", "version: 2", ":1: version is 2"),
    ],
)
def test_a_file_that_is_wrong(tmp_path, old, new, said):
    path = tmp_path / "profiles.yaml"
    path.write_text(GOOD.replace(old, new))
    with pytest.raises(BadFile) as caught:
        read_profiles(path)
    assert f"{path}{said}" in str(caught.value)


def test_names_are_unique():
    with pytest.raises(InvalidValue) as caught:
        Profiles((Profile("a", 1, TIMING), Profile("a", 2, TIMING)))
    assert caught.value.key == "profiles[1].name"
