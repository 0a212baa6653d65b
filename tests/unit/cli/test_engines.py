"""Which engine is built from which options, and where workers are told to report."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from gadget.backends.local import Network
from gadget.cli.engines import REPORT_PORT, Engine, EngineChoice, build_engine, complete, find_mailbox
from gadget.cli.ray_engine import RaySaid, read_runtime_env
from gadget.cli.slurm_engine import SlurmSaid
from gadget.engine.apply import apply
from gadget.engine.events import JobsArrived
from gadget.errors import BadFile, BadOption, Unreachable
from gadget.live.origin import Origin, begin_live
from tests.engines import build_cluster, build_job


def choose(**said: object) -> EngineChoice:
    return EngineChoice(home=Path("home"), **said)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "said",
    [
        {"address": "10.0.0.1:6379"},
        {"shared": Path("/mnt")},
        {"ray": RaySaid(node_label=["pool=a"])},
        {"engine": Engine.SLURM, "ray": RaySaid(runtime_env=Path("env.yaml"))},
        {"engine": Engine.RAY, "ray": RaySaid(node_label=["pool"])},
        {"engine": Engine.RAY, "network": Network.LOOPBACK},
        {"engine": Engine.SLURM, "network": Network.NAMESPACES},
        {"engine": Engine.SLURM, "address": "10.0.0.1:6817"},
        {"slurm": SlurmSaid(partition="gpu")},
        {"engine": Engine.SLURM, "slurm": SlurmSaid(sbatch="--comment='open")},
        {"engine": Engine.SLURM, "slurm": SlurmSaid(gbps=["fast"])},
    ],
)
def test_options_of_another_engine_are_refused(said: dict[str, object]) -> None:
    with pytest.raises(BadOption):
        build_engine(choose(**said))


@pytest.mark.parametrize(
    ("report", "found"),
    [
        ("10.0.0.5:9", ("10.0.0.5", 9)),
        ("host", ("host", REPORT_PORT)),
        ("[::1]:8", ("::1", 8)),
        ("[::1]", ("::1", REPORT_PORT)),
    ],
)
def test_workers_report_where_it_is_said(report: str, found: tuple[str, int]) -> None:
    assert find_mailbox(choose(engine=Engine.RAY), report) == found


def test_by_default_they_report_where_the_engine_is_reached_from() -> None:
    assert find_mailbox(choose(engine=Engine.RAY, address="127.0.0.1:6379"), None) == (
        "127.0.0.1",
        REPORT_PORT,
    )
    assert find_mailbox(choose(), None) is None


@pytest.mark.parametrize("report", [":7", "host:", "host:x", "host:70000"])
def test_what_is_no_address_is_refused(report: str) -> None:
    with pytest.raises(BadOption):
        find_mailbox(choose(engine=Engine.RAY), report)
    with pytest.raises(BadOption):
        find_mailbox(choose(), report)


def test_the_folder_is_the_shared_one_or_in_the_home() -> None:
    assert choose().folder == Path("home/engine").absolute()
    assert choose(shared=Path("/mnt/x")).folder == Path("/mnt/x")


@pytest.mark.parametrize(
    "said",
    [
        {"engine": Engine.SLURM, "slurm": SlurmSaid(gbps=["100"])},
        {"engine": Engine.RAY},
    ],
)
def test_who_observes_goes_by_another_name_so_that_no_ring_is_theirs(
    tmp_path: Path, said: dict[str, object]
) -> None:
    origin = Origin(begin_live(30.0), 0, None)
    names = []
    for observe in (False, True):
        choice = EngineChoice(home=tmp_path, observe=observe, shared=tmp_path / "shared", **said)  # type: ignore[arg-type]
        names.append((build_engine(choice)(origin, "one").instance, choice.folder))  # type: ignore[attr-defined]
    (name, folder), (observer, elsewhere) = names
    assert (name, folder) == ("one", tmp_path / "shared")
    assert observer != name
    assert elsewhere == tmp_path / "observer"


def start(choice: EngineChoice, jobs: Sequence[str] = ()) -> None:
    """Build the engine of a service whose journal has these jobs."""
    state = begin_live(30.0)
    if jobs:
        arrived = JobsArrived(tuple(build_job(name, None) for name in jobs))
        state = apply(state, arrived)
    build_engine(choice)(Origin(state, 0, None), "one")


def test_an_engine_that_was_said_once_holds_for_later_starts(tmp_path: Path) -> None:
    said = EngineChoice(home=tmp_path, shared=tmp_path / "shared", slurm=SlurmSaid(gbps=["1"]))
    first = complete(said, Engine.SLURM)
    assert first == replace(said, engine=Engine.SLURM)
    start(first)
    assert complete(EngineChoice(home=tmp_path), None) == EngineChoice(
        home=tmp_path, engine=Engine.SLURM, shared=tmp_path / "shared"
    )
    other = complete(EngineChoice(home=tmp_path), Engine.RAY)
    assert (other.engine, other.shared) == (Engine.RAY, None)
    assert complete(EngineChoice(home=tmp_path / "fresh"), None).engine is Engine.LOCAL


def test_while_jobs_are_unfinished_their_rings_stay_where_they_are(tmp_path: Path) -> None:
    slurm = EngineChoice(home=tmp_path, engine=Engine.SLURM, slurm=SlurmSaid(gbps=["1"]))
    start(slurm, ["job"])
    start(slurm, ["job"])
    elsewhere = replace(slurm, shared=tmp_path / "other")
    for choice in (EngineChoice(home=tmp_path, cluster=build_cluster()), elsewhere):
        with pytest.raises(BadOption, match=r"a job is unfinished.*--engine slurm"):
            start(choice, ["job"])
    start(replace(slurm, slurm=SlurmSaid(gbps=["2"])), ["job"])
    start(elsewhere)
    with pytest.raises(BadOption, match="2 jobs are"):
        start(slurm, ["a", "b"])


def test_a_memory_that_cannot_be_read_is_told(tmp_path: Path) -> None:
    (tmp_path / "engine.json").write_text("{")
    with pytest.raises(BadFile, match=r"engine\.json"):
        complete(EngineChoice(home=tmp_path), None)


def test_where_nobody_listens_a_first_start_says_so_at_once(tmp_path: Path) -> None:
    choice = EngineChoice(home=tmp_path, engine=Engine.RAY, address="127.0.0.1:1")
    with pytest.raises(Unreachable, match=r"127\.0\.0\.1:1: nobody answers"):
        start(choice)


@pytest.mark.parametrize(
    "address", ["", ":6379", "head", "head:0", "head:70000", "a b:1", "-5:1", "http://h:1", "h:x"]
)
def test_what_is_no_address_of_a_head_is_refused(address: str) -> None:
    with pytest.raises(BadOption, match="--address"):
        build_engine(choose(engine=Engine.RAY, address=address))


def test_a_runtime_environment_is_read_and_its_folder_is_seen_from_the_file(tmp_path: Path) -> None:
    path = tmp_path / "env.yaml"
    path.write_text("working_dir: ./code\nenv_vars: {A: b}\n")
    assert read_runtime_env(path) == {"working_dir": str(tmp_path / "code"), "env_vars": {"A": "b"}}
    path.write_text("working_dir: s3://bucket/code.zip\n")
    assert read_runtime_env(path) == {"working_dir": "s3://bucket/code.zip"}


@pytest.mark.parametrize("text", [None, "- a list\n", "a: [\n"])
def test_what_is_no_runtime_environment_is_refused(tmp_path: Path, text: str | None) -> None:
    path = tmp_path / "env.yaml"
    if text is not None:
        path.write_text(text)
    with pytest.raises(BadFile, match=r"env\.yaml"):
        build_engine(choose(engine=Engine.RAY, ray=RaySaid(runtime_env=path)))
