"""gadget trace, gadget feasibility: numbers, scenarios and clear refusals."""

import json
import os
import signal
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path

import pytest

from gadget.cli.amounts import read_sample, read_span
from gadget.errors import BadOption
from gadget.model.builders import build_ring4
from gadget.model.codec import read_scenario
from tests.unit.cli.conftest import Gadget
from tests.unit.workloads.traces import samples

CLUSTER = """\
servers:
  - {name: s0, resources: {gpu: 4}}
  - {name: s1, resources: {gpu: 4}}
switches: [w]
links:
  - {ends: [s0, w], gbps: 10}
  - {ends: [s1, w], gbps: 10}
"""


@pytest.fixture
def files(tmp_path: Path) -> Path:
    """A folder with a file of each format, a cluster and throughputs."""
    for name, (_, texts) in samples.SAMPLES.items():
        for number, text in enumerate(texts):
            (tmp_path / f"{name.replace(' ', '-')}{number or ''}").write_text(text)
    (tmp_path / "cluster.yaml").write_text(CLUSTER)
    (tmp_path / "throughputs.json").write_text(samples.THROUGHPUTS)
    return tmp_path


@pytest.mark.usefixtures("files")
class TestShow:
    def test_numbers_by_hand(self, gadget: Gadget) -> None:
        ended = gadget("trace", "show", "tiresias", "--gpus", 100, "-o", "json")
        assert ended.code == 0
        found = json.loads(ended.out)
        assert (found["source"], found["jobs"], found["span_seconds"]) == ("tiresias", 2, 30)
        assert found["jobs_by_gpus"] == {"1": 1, "8": 1}
        work = 164 + 8 * 147
        assert found["offered_load"] == pytest.approx(work / 30)
        assert found["load_share"] == pytest.approx(work / 30 / 100)
        assert found["duration_seconds"]["most"] == 164
        assert sum(found["arrivals"]) == 2
        assert found["bad_rows"] == 0

    @pytest.mark.parametrize("name", [name.replace(" ", "-") for name in samples.SAMPLES])
    def test_every_format_is_shown(self, gadget: Gadget, name: str) -> None:
        more = [f"{name}1", f"{name}2"] if "pai" in name else []
        ended = gadget("trace", "show", name, *more, "--cluster", "cluster.yaml")
        assert ended.code == 0
        assert "Jobs submitted" in ended.out
        assert "bad rows: none" in ended.out
        assert ended.err == ""

    def test_bad_rows_are_shown_or_refused(self, gadget: Gadget) -> None:
        Path("bad").write_text(samples.PHILLY + "x\n" * 7)
        shown = gadget("trace", "show", "bad")
        assert shown.code == 0
        assert "bad rows: 7" in shown.out
        assert "bad:6: has 1 columns, not 5" in shown.out
        assert "… and 2 more" in shown.out
        refused = gadget("trace", "show", "bad", "--strict")
        assert refused.code == 2
        assert "bad:6: has 1 columns" in refused.err

    @pytest.mark.parametrize("suffix", ["svg", "png", "pdf"])
    def test_pictures_are_drawn_the_same_each_time(self, gadget: Gadget, suffix: str) -> None:
        for name in ("a", "b"):
            picture = f"{name}.{suffix}"
            assert gadget("trace", "show", "philly", "--gpus", 4, "--picture", picture).code == 0
        assert Path(f"a.{suffix}").read_bytes() == Path(f"b.{suffix}").read_bytes()

    def test_standard_input_is_read(self, gadget: Gadget, monkeypatch: pytest.MonkeyPatch) -> None:
        with Path("pollux").open() as file:
            monkeypatch.setattr("sys.stdin", file)
            ended = gadget("trace", "show", "-")
        assert "pollux: 2 jobs" in ended.out

    @pytest.mark.parametrize(
        ("arguments", "said"),
        [
            (("nothing",), "no such file"),
            (("cluster.yaml",), "no known format. Known: Google 2011"),
            (("philly", "pollux"), "one format at a time"),
            (("philly", "--gpus", 4, "--cluster", "ring4"), "--gpus and --cluster"),
            (("philly", "--gpus", -1), "--gpus"),
            (("philly", "--picture", "x.bmp"), "Use .svg, .png or .pdf"),
            (("philly", "--from", "soon"), "--from soon"),
            (("philly", "--from", "9d"), "no job is submitted"),
            (("philly", "--throughputs", "throughputs.json"), "these are of philly"),
            (("pollux", "--assume-duration", "brt=1h"), "nearest: 'bert'"),
            (("pollux", "--assume-duration", "bert=x"), "--assume-duration x"),
            (("philly", "-o", "xml"), "xml"),
        ],
    )
    def test_refusals(self, gadget: Gadget, arguments: tuple[object, ...], said: str) -> None:
        ended = gadget("trace", "show", *arguments)
        assert ended.code == 2
        assert said in ended.err
        assert "Traceback" not in ended.err


@pytest.mark.usefixtures("files")
class TestConvert:
    def test_a_scenario_that_simulate_reads(self, gadget: Gadget) -> None:
        ended = gadget(
            "trace", "convert", "tiresias", "--cluster", "cluster.yaml", "--elastic", "1:2x",
            "--slots", 6, "-o", "x.yaml",
        )  # fmt: skip
        assert ended.code == 0
        assert "Feasibility: 2 jobs" in ended.out
        scenario = read_scenario("x.yaml")
        assert [(job.name, job.arrival, job.min_workers, job.max_workers) for job in scenario.jobs] == [
            ("0", 0, 1, 2),
            ("1", 0, 1, 16),
        ]
        assert [job.work for job in scenario.jobs] == pytest.approx([164 / 60, 8 * 147 / 60])
        run = gadget("simulate", "x.yaml", "--policy", "fifo", "--processes", 0, "-o", "out")
        assert run.code == 0

    def test_same_seed_same_bytes(self, gadget: Gadget) -> None:
        rows = "".join(f"{n},1,{n * 9},5,m,{60 + n},1\n" for n in range(200))
        Path("many").write_text(samples.TIRESIAS.splitlines()[0] + "\n" + rows)
        for name, seed in (("a", 1), ("b", 1), ("c", 2)):
            options = ("--sample", 20, "--bandwidth-gbps", "0.1:5", "--seed", seed, "-o", f"{name}.json")
            assert gadget("trace", "convert", "many", "--cluster", "ring4", *options).code == 0
        a, b, c = (Path(f"{name}.json").read_bytes() for name in "abc")
        assert a == b != c
        assert len(read_scenario("a.json").jobs) == 20

    def test_an_interrupt_leaves_no_file(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.chdir(tmp_path)
        os.mkfifo("slow")
        call = "from gadget.cli.main import main; main()"
        arguments = ("trace", "convert", "slow", "--cluster", "ring4", "-o", "x.yaml")
        process = subprocess.Popen([sys.executable, "-c", call, *arguments], cwd=tmp_path)
        while process.poll() is None:
            with suppress(OSError):  # nobody reads from it yet
                pipe = os.open("slow", os.O_WRONLY | os.O_NONBLOCK)
                os.write(pipe, samples.PHILLY.encode())
                process.send_signal(signal.SIGINT)
                break
            time.sleep(0.05)
        assert process.wait(60) == 130
        os.close(pipe)
        assert not [path for path in tmp_path.iterdir() if "x.yaml" in path.name]

    def test_standard_output_holds_the_scenario_alone(self, gadget: Gadget) -> None:
        arguments = ("trace", "convert", "tiresias", "--cluster", "ring4:gpus=8")
        printed = gadget(*arguments, "-o", "-")
        gadget(*arguments, "-o", "x.yaml")
        assert printed.out == Path("x.yaml").read_text()
        assert "Feasibility" in printed.err

    def test_windows_throughputs_and_priorities(self, gadget: Gadget) -> None:
        gadget(
            "trace", "convert", "gavel-of-10", "--cluster", "ring4", "--throughputs", "throughputs.json",
            "--from", "2m", "--slot-seconds", 10, "--rate", 2, "--utility", "sqrt", "-o", "x.json",
        )  # fmt: skip
        (job,) = read_scenario("x.json").jobs
        assert (job.arrival, job.work, job.rate, job.utility.kind) == (0, 40, 2, "sqrt")
        assert float(job.utility.value(40)) == pytest.approx(4)

    def test_jobs_that_can_never_run_are_told(self, gadget: Gadget) -> None:
        ended = gadget("trace", "convert", "tiresias", "--cluster", "ring4:gpus=1", "-o", "x.json")
        assert ended.code == 0
        assert "Jobs that can never run: 1 (1 too-large)" in ended.out
        judged = gadget("feasibility", "x.json")
        assert judged.code == 1
        assert "its smallest ring has 8 workers" in judged.out
        document = json.loads(gadget("feasibility", "x.json", "-o", "json").out)
        assert document["never"][0]["job"] == "1"
        assert document["capacity"] == 4

    @pytest.mark.parametrize(
        ("arguments", "said"),
        [
            (("pollux", "--cluster", "ring4"), "--assume-duration 1h"),
            (("philly", "--cluster", "ring5"), "nearest: 'ring4'"),
            (("philly", "--cluster", "nothing.yaml"), "no such file"),
            (("philly", "--cluster", "philly"), "cluster"),
            (("philly", "--cluster", "x" * 5000), "cannot be read"),
            (("philly", "--cluster", "ring4:gpu=3"), "nearest: 'gpus'"),
            (("philly", "--cluster", "ring4:gpus=many"), "gpus is 'many'"),
            (("philly", "--cluster", "fat-tree:k=3"), "odd number"),
            (("philly", "--cluster", "torus:dims=4by4"), "dims is 4by4"),
            (("philly", "--cluster", "ring4", "--elastic", "2y"), "--elastic 2y"),
            (("philly", "--cluster", "ring4", "--sample", "0"), "--sample 0"),
            (("philly", "--cluster", "ring4", "--sample", "120%"), "--sample 120%"),
            (("philly", "--cluster", "ring4", "--bandwidth-gbps", "5:1"), "--bandwidth-gbps 5:1"),
            (("philly", "--cluster", "ring4", "--slot-seconds", 0), "--slot-seconds"),
            (("philly",), "--cluster"),
        ],
    )
    def test_refusals_leave_no_file(self, gadget: Gadget, arguments: tuple[object, ...], said: str) -> None:
        ended = gadget("trace", "convert", *arguments, "-o", "x.yaml")
        assert ended.code == 2
        assert said in ended.err
        assert "Traceback" not in ended.err
        assert not Path("x.yaml").exists()


@pytest.mark.usefixtures("files")
def test_a_cluster_is_read_wherever_it_stands(gadget: Gadget) -> None:
    indented = "cluster:\n" + "".join(f"  {line}\n" for line in CLUSTER.splitlines())
    Path("under.yaml").write_text(indented)
    Path("scenario.yaml").write_text(f"version: 1\nslots: 3\n{indented}jobs: []\n")
    Path("snapshot.yaml").write_text(f"version: 1\nslots: 3\nslot: 1\n{indented}jobs: []\n")
    written = set()
    for name in ("cluster", "under", "scenario", "snapshot"):
        ended = gadget("trace", "convert", "tiresias", "--cluster", f"{name}.yaml", "-o", "x.yaml")
        assert ended.code == 0, ended.err
        written.add(Path("x.yaml").read_bytes())
    assert len(written) == 1


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (CLUSTER.replace("gpu: 4", "gpu: -4", 1), "c.yaml:2: servers[0].resources"),
        (CLUSTER.replace("gbps: 10", "gbs: 10", 1), "c.yaml:6: links[0].gbs is not a known key"),
        (CLUSTER.replace("s1, w", "s9, w", 1), "c.yaml:7: links[1].ends name 's9'"),
        (CLUSTER.replace("  - {ends: [s1, w], gbps: 10}\n", ""), "links leave 's1'"),
        ("cluster: {servers: []}\n", "cluster.servers"),
        ("cluster: 3\n", "cluster is 3"),
        ("[1]\n", "the document"),
    ],
)
def test_a_bad_cluster_is_told_with_its_line(gadget: Gadget, text: str, said: str) -> None:
    Path("c.yaml").write_text(text)
    Path("trace").write_text(samples.TIRESIAS)
    ended = gadget("trace", "convert", "trace", "--cluster", "c.yaml", "-o", "x.yaml")
    assert ended.code == 2
    assert said in ended.err


def test_a_shape_is_what_generate_makes(gadget: Gadget) -> None:
    Path("trace").write_text(samples.TIRESIAS)
    gadget("trace", "convert", "trace", "--cluster", "ring4:gpus=8,gbps=25", "-o", "x.yaml")
    cluster = read_scenario("x.yaml").cluster
    assert [server.name for server in cluster.servers] == [s.name for s in build_ring4().servers]
    assert {link.gbps for link in cluster.links} == {25}


def test_feasibility_of_a_scenario_that_fits(gadget: Gadget) -> None:
    gadget("generate", "ring4", "--jobs", 3, "-o", "x.yaml")
    ended = gadget("feasibility", "x.yaml")
    assert ended.code == 0
    assert "every job could run if it were alone" in ended.out


@pytest.mark.parametrize(
    ("text", "seconds"),
    [("90", 90), ("90s", 90), ("15m", 900), ("15min", 900), ("1.5h", 5400), ("1d12h", 129_600), ("0", 0)],
)
def test_spans(text: str, seconds: float) -> None:
    assert read_span("--to", text) == seconds


@pytest.mark.parametrize("text", ["", "h", "-3", "3x", "1d12", "1 d", "9" * 50, "1e5", "nan", "99999999w"])
def test_what_is_no_span(text: str) -> None:
    with pytest.raises(BadOption, match="--to"):
        read_span("--to", text)


def test_samples() -> None:
    assert read_sample("500") == 500
    assert read_sample("10%") == pytest.approx(0.1)
    assert read_sample("0.25") == 0.25
    assert read_sample("1") == 1
    assert read_sample("100%") == read_sample("1.0") == float("inf")
    for text in ("0", "-3", "1.5", "x", "nan", "inf", "0%"):
        with pytest.raises(BadOption, match="--sample"):
            read_sample(text)
