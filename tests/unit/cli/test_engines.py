"""Which engine is built from which options, and where workers are told to report."""

from pathlib import Path

import pytest

from gadget.backends.local import Network
from gadget.cli.engines import REPORT_PORT, Engine, EngineChoice, build_engine, find_mailbox
from gadget.cli.ray_engine import RaySaid, read_runtime_env
from gadget.cli.slurm_engine import SlurmSaid
from gadget.errors import BadFile, BadOption
from gadget.live.origin import Origin, begin_live


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
        {"engine": Engine.RAY, "address": "127.0.0.1:1"},
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
