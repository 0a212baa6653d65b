"""Cases that once went wrong: odd files, odd paths, odd numbers."""

import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from gadget import (
    ActiveJob,
    Allocation,
    BadFile,
    BadInput,
    Cluster,
    Decision,
    InvalidValue,
    Job,
    Log,
    Resources,
    Ring,
    Scenario,
    Server,
    Sigmoid,
    Snapshot,
    Sqrt,
    Status,
    Table,
    Timing,
    build_ring4,
    build_torus,
    find_false_claims,
    find_violations,
    read_decision,
    read_scenario,
    read_snapshot,
    write,
)
from gadget.files import write_whole
from gadget.model.codec import format_json
from gadget.model.yaml_text import parse_yaml
from tests.properties.test_utility import exact_sigmoid_gain
from tests.samples import SCENARIO_YAML, SNAPSHOT_JSON
from tests.unit.model.complaints import changed, complaint


def test_one_worker_needs_no_bandwidth() -> None:
    job = Job(
        name="j",
        resources=Resources({"gpu": 1}),
        max_workers=1,
        utility=Sqrt(),
        bandwidth_gbps=0,
        timing=Timing(100, 4, 0.5, 32, 20, 4),
    )
    assert ActiveJob(job, 2).gains([0, 1], 60)[1] > 0


@pytest.mark.parametrize("target", ["/dev/stdout", "/dev/fd/1", "/proc/self/fd/1"])
def test_a_pipe_behind_dev_stdout(target: str) -> None:
    s = f"from pathlib import Path; from gadget.files import *; write_whole(Path({target!r}), b'out')"
    assert subprocess.run([sys.executable, "-c", s], capture_output=True, check=False).stdout == b"out"


def test_string_bomb(tmp_path: Path) -> None:
    text = (
        "slots: [&s "
        + "x" * 200_000
        + ", &a0 [*s,*s,*s,*s], "
        + ", ".join(f"&a{i} [{','.join([f'*a{i - 1}'] * 9)}]" for i in range(1, 6))
        + "]\n"
    )
    p = tmp_path / "bad.yaml"
    p.write_text(text)
    s = (
        "import resource, sys; from gadget import *\n"
        "resource.setrlimit(resource.RLIMIT_AS, (2**31, 2**31))\n"
        "try: read_scenario(sys.argv[1])\nexcept BadFile as e: print(e)"
    )
    r = subprocess.run([sys.executable, "-c", s, p], capture_output=True, text=True, check=False)
    assert r.stdout.startswith(str(p)), r.stderr[-300:]


@pytest.mark.parametrize(
    "doc",
    [
        '{"a\\nb": 1}',
        '{"\\u001b[31m": 1}',
        '{"slots": "a\x7fb"}',
        '{"slots": "a\u2028b"}',
        '{"slots": "a\u202eb"}',
    ],
)
def test_printable(tmp_path: Path, doc: str) -> None:
    complaint(tmp_path, doc, "bad.json")


@pytest.mark.parametrize("text", ["a: !%0Ax 1", "a\tb: 1", "a: !<%1B> 1"])
def test_printable_yaml(tmp_path: Path, text: str) -> None:
    complaint(tmp_path, text)


def test_merge_key_as_resource(tmp_path: Path) -> None:
    s = Scenario(Cluster((Server("s", Resources({"<<": 1})),), (), ()), (), 1)
    for n in ("a.json", "a.yaml"):
        write(tmp_path / n, s)
        assert read_scenario(tmp_path / n) == s


def test_progress_key(tmp_path: Path) -> None:
    found = complaint(tmp_path, changed(SCENARIO_YAML, "[20, 7.5]", "[10, 7.5]"))
    assert "jobs[1].utility.progress.points[2][0]" in found
    assert found.startswith("bad.yaml:35:")


def test_progress_kind(tmp_path: Path) -> None:
    found = complaint(tmp_path, changed(SCENARIO_YAML, "kind: table", "kind: tabel"))
    assert "Choose one of sqrt, log, linear, sigmoid, table." in found, found


def test_long_digits_name(tmp_path: Path) -> None:
    complaint(tmp_path, changed(SCENARIO_YAML, "{gpu: 8,", "{'[" + "9" * 5000 + "]': -1,"))


def test_surrogates(tmp_path: Path) -> None:
    p = tmp_path / "a.yaml"
    p.write_text(SNAPSHOT_JSON.replace("bert-2", "\\ud83d\\ude00"))
    assert read_snapshot(p).jobs[0].job.name == "😀"


def test_surrogates_line(tmp_path: Path) -> None:
    t = changed(SNAPSHOT_JSON, '"slots": 200', '"slots": 0').replace("bert-2", "\\ud83d\\ude00")
    assert complaint(tmp_path, t, "bad.json", "snapshot").startswith("bad.json:4:")


def test_log_backward() -> None:
    assert np.isfinite(Log().gain(1e30, 0.0))


def test_sigmoid_small_sens() -> None:
    u = Sigmoid(1, 1e-12, 0)
    assert float(u.gain(1e12, 1e12 + 1)) == pytest.approx(
        exact_sigmoid_gain(u, 1e12, 1e12 + 1), rel=1e-9, abs=0
    )


def test_table_decimals() -> None:
    assert Table(((0, 0), (0.1, 0.3), (0.2, 0.6), (0.3, 0.9))).concave


def test_huge_int() -> None:
    with pytest.raises(InvalidValue):
        Resources({"g": 10**400})


def test_torus() -> None:
    with pytest.raises(InvalidValue):
        build_torus([10**6] * 60)


def test_np_float(tmp_path: Path) -> None:
    scenario = Scenario(Cluster((Server("s", Resources({"g": np.float64(0.5)})),), (), ()), (), 1)
    write(tmp_path / "a.yaml", scenario)
    assert read_scenario(tmp_path / "a.yaml") == scenario


def test_np_objective(tmp_path: Path) -> None:
    d = Decision(
        slot=0,
        policy="p",
        allocation=Allocation(),
        waiting=(),
        objective=np.float64(0.5),
        upper_bound=None,
        status=Status.HEURISTIC,
    )
    write(tmp_path / "a.yaml", d)
    assert read_decision(tmp_path / "a.yaml") == d


def test_symlink_loop(tmp_path: Path) -> None:
    (tmp_path / "l").symlink_to("l")
    with pytest.raises(BadFile):
        write_whole(tmp_path / "l", b"")


def test_emoji_name(tmp_path: Path) -> None:
    path = tmp_path / ("😀" * 63)
    write_whole(path, b"x")
    assert path.read_bytes() == b"x"


def test_nul(tmp_path: Path) -> None:
    with pytest.raises(BadFile):
        write_whole(tmp_path / "a\0b", b"")


def test_equal_decisions_same_bytes() -> None:
    d = Decision(
        slot=0,
        policy="p",
        allocation=Allocation(),
        waiting=(),
        objective=8,
        upper_bound=8,
        status=Status.OPTIMAL,
    )
    e = replace(d, objective=8.0, upper_bound=8.0)
    assert d == e
    assert format_json(d) == format_json(e)


def test_nan_decision_write(tmp_path: Path) -> None:
    d = Decision(
        slot=0,
        policy="p",
        allocation=Allocation(),
        waiting=(),
        objective=float("nan"),
        upper_bound=None,
        status=Status.HEURISTIC,
    )
    for n in ("a.json", "a.yaml"):
        with pytest.raises(BadInput):
            write(tmp_path / n, d)


def test_optimal_with_gap() -> None:
    sn = Snapshot(build_ring4(), (), slot=0, slots=1)
    d = Decision(
        slot=0,
        policy="p",
        allocation=Allocation(),
        waiting=(),
        objective=0.0,
        upper_bound=100.0,
        status=Status.OPTIMAL,
    )
    assert find_false_claims(sn, d)


def test_violation_printable() -> None:
    sn = Snapshot(
        build_ring4(),
        (
            ActiveJob(
                Job(
                    name="j",
                    resources=Resources({"gpu": 1}),
                    max_workers=2,
                    utility=Sqrt(),
                    bandwidth_gbps=0,
                    rate=1,
                )
            ),
        ),
        slot=0,
        slots=1,
    )
    for v in find_violations(
        sn, Allocation((Ring("j", ("s1", "s2"), (("s1", "a\n\x1b[31m"), ("s2", "s1"))),))
    ):
        assert str(v).isprintable()


def test_delete_amounts() -> None:
    r = Resources({"a": 1})
    with pytest.raises(AttributeError):
        del r._amounts


def test_quoted_bang() -> None:
    assert parse_yaml('[! "12"]') == ["12"]


def test_key_anchor() -> None:
    assert parse_yaml("&k name: 1\nb: *k\n") == {"name": 1, "b": "name"}


def test_crowded_racks() -> None:
    s = "import numpy, gadget; rng = numpy.random.default_rng(0)\n"
    s += "print(len(gadget.build_paper_cluster(rng, servers=30, racks=(30, 30)).switches))"
    ended = subprocess.run([sys.executable, "-c", s], timeout=60, check=True, capture_output=True, text=True)
    assert ended.stdout == "31\n"


def test_private_part(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    p = tmp_path / "a"
    p.write_bytes(b"")
    p.chmod(0o600)
    seen: list[int] = []
    real = Path.chmod
    monkeypatch.setattr(
        Path, "chmod", lambda self, m: (seen.append(self.stat().st_mode & 0o777), real(self, m))
    )
    write_whole(p, b"secret")
    assert all(m & 0o077 == 0 for m in seen), [oct(m) for m in seen]
