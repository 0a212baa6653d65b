"""gadget fit: what it prints and leaves, on made-up and on real measurements, and clear refusals."""

import json
from pathlib import Path

import pytest

from gadget.model.codec import read_profiles, read_scenario
from tests.measuring import BERT_LIKE, build_shapes, format_placements, measure
from tests.traces import find_traces
from tests.unit.cli.conftest import Gadget

SCALABILITY = "num_nodes,num_replicas,local_bsz,step_time,sync_time\n6,6,8,1.7,0.5\n6,14,8,1.75,0.5\n"


@pytest.fixture
def traces(tmp_path: Path) -> Path:
    for name, seed in (("bert", 1), ("ncf", 2)):
        folder = tmp_path / "traces" / name
        folder.mkdir(parents=True)
        made = measure(BERT_LIKE, build_shapes(batches=(8, 32, 128)), noise=0.02, seed=seed)
        (folder / "placements.csv").write_text(format_placements(made))
    (tmp_path / "traces" / "bert" / "scalability.csv").write_text(SCALABILITY)
    return tmp_path / "traces"


def test_both_laws_by_default(gadget: Gadget, traces: Path) -> None:
    ended = gadget("fit", traces)
    assert ended.code == 0
    assert ended.err == ""
    rows = [line.split()[:5] for line in ended.out.splitlines() if line.startswith(("bert", "ncf"))]
    assert rows[:4] == [
        ["bert", "published", "104", "36", "104"],
        ["bert", "extended", "104", "36", "104"],
        ["ncf", "published", "102", "34", "102"],
        ["ncf", "extended", "102", "34", "102"],
    ]
    assert "step times tell no more" in ended.out


def test_json_and_the_same_bytes_again(gadget: Gadget, traces: Path) -> None:
    first, second = (gadget("fit", traces, "-o", "json", "--seed", 3) for _ in range(2))
    assert first == second
    found = json.loads(first.out)
    assert [one["name"] for one in found["applications"]] == ["bert", "ncf"]
    for one in found["applications"]:
        laws = one["laws"]
        assert laws["extended"]["median_error"] < laws["published"]["median_error"] < 0.1
        assert len(laws["extended"]["constants_of_parts"]) == 10
        assert "local_gbps" not in laws["published"]["timing"]
        assert laws["extended"]["timing"]["overlap"] == pytest.approx(0.5, abs=0.1)
    assert gadget("fit", traces, "-o", "json", "--seed", 4).out != first.out


def test_a_profile_can_be_used_in_a_job(gadget: Gadget, traces: Path) -> None:
    ended = gadget("fit", traces, "--gradient-mb", 50, "--gradient-mb", "bert=440", "--batch", "ncf=64",
                   "--reduce-gbps", 1000, "--write", "profiles.yaml", "--picture", "fit.svg")  # fmt: skip
    assert ended.code == 0
    assert ended.err == "written: profiles.yaml\nwritten: fit.svg\n"
    assert "median" in Path("fit.svg").read_text()
    bert, ncf = read_profiles("profiles.yaml").profiles
    assert (bert.name, bert.timing.gradient_mb, bert.timing.batch) == ("bert", 440, 32)
    assert (ncf.name, ncf.timing.gradient_mb, ncf.timing.batch) == ("ncf", 50, 64)
    assert bert.timing.reduce_gbps == 1000
    assert 0 < bert.bandwidth_gbps < (bert.timing.local_gbps or 0)
    text = Path("profiles.yaml").read_text()
    timing = text[text.index("timing:") : text.index("- name: ncf")].replace("\n", " ").strip()
    Path("scenario.yaml").write_text(
        "version: 1\nslots: 2\ncluster: {servers: [{name: s, resources: {gpu: 4}}]}\njobs:\n"
        "  - {name: j, workers: {max: 4}, resources: {gpu: 1}, bandwidth_gbps: 5, utility: {kind: sqrt}, "
        f"{timing}}}\n"
    )
    assert read_scenario("scenario.yaml").jobs[0].timing == bert.timing
    assert gadget("solve", "scenario.yaml", "--slot", 0).code == 0


def test_one_law_and_named_placements(gadget: Gadget, traces: Path) -> None:
    ended = gadget("fit", traces / "bert" / "placements.csv", "--model", "published", "--held-out", "44",
                   "--held-out", "1", "-o", "json", "--write", "p.json")  # fmt: skip
    (one,) = json.loads(ended.out)["applications"]
    assert list(one["laws"]) == ["published"]
    assert one["laws"]["published"]["held_out_rows"] == 6
    assert read_profiles("p.json").profiles[0].timing.local_gbps is None


def test_bad_rows_are_counted_and_strict_refuses(gadget: Gadget, traces: Path) -> None:
    path = traces / "ncf" / "placements.csv"
    path.write_text(path.read_text() + "11,8,soon,0\n11,8\n")
    ended = gadget("fit", traces, "-o", "json")
    assert ended.code == 0
    assert json.loads(ended.out)["rows_left_out"] == 2
    assert "2 of 104 rows cannot be used and are left out; line 104: step_time is 'soon'" in ended.err
    refused = gadget("fit", traces, "--strict", "--write", "p.yaml")
    assert refused.code == 2
    assert ":104: step_time is 'soon'" in refused.err
    assert refused.out == ""
    assert not Path("p.yaml").exists()


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("missing",), "there is no such file"),
        (("traces", "--gradient-mb", "brt=440"), "no application is called 'brt' (nearest: 'bert')"),
        (("traces", "--gradient-mb", "bert=much"), "'much' is not a number"),
        (("traces", "--batch", "0"), "--batch 0: is 0"),
        (("traces", "--gradient-mb", "nan"), "--gradient-mb nan: is nan"),
        (("traces", "--reduce-gbps", "-1"), "--reduce-gbps: is -1"),
        (("traces", "--reduce-gbps", "0.1"), "to reduce 100 MB alone would take"),
        (("traces", "--held-out", "9999"), "has no such placement"),
        (("traces", "--folds", "1"), "--folds"),
        (("traces", "--model", "cubic"), "--model"),
        (("traces", "--picture", "fit.gif"), "cannot be of kind '.gif'"),
        (("traces", "--write", "missing/p.yaml"), "cannot be written"),
        ((), "measurements"),
    ],
)
def test_what_cannot_be_done_is_refused_with_its_reason(
    gadget: Gadget, traces: Path, arguments: tuple[object, ...], said: str
) -> None:
    ended = gadget("fit", *arguments)
    assert ended.code == 2
    assert said.lower() in ended.err.lower()
    assert "Traceback" not in ended.err
    assert ended.out == ""


def test_measurements_that_tell_too_little(gadget: Gadget, tmp_path: Path) -> None:
    (tmp_path / "x.csv").write_text("placement,local_bsz,step_time\n1,8,1\n1,16,2\n")
    assert "has measurements of one placement only (1)" in gadget("fit", "x.csv").err
    (tmp_path / "x.csv").write_text("num_nodes,num_replicas,local_bsz,step_time\n1,1,8,1\n2,2,16,2\n")
    ended = gadget("fit", "x.csv")
    assert ended.code == 2
    assert "has no measurement of two or more workers" in ended.err


def test_real_measurements_are_told_within_8_percent_and_better_than_by_eq_1(gadget: Gadget) -> None:
    ended = gadget("fit", find_traces("pollux"), "-o", "json", "--strict")
    found = {one["name"]: one["laws"] for one in json.loads(ended.out)["applications"]}
    assert set(found) == {"bert", "cifar10", "deepspeech2", "ncf", "yolov3"}
    for laws in found.values():
        assert laws["extended"]["median_error"] < 0.08
        assert laws["extended"]["median_error"] < laws["published"]["median_error"]
        assert laws["extended"]["tail_error"] < laws["published"]["tail_error"]
