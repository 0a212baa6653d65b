"""Which engine is built from which options, and where workers are told to report."""

from pathlib import Path

import pytest

from gadget.backends.local import Network
from gadget.cli.engines import REPORT_PORT, Engine, EngineChoice, build_engine, find_mailbox
from gadget.cli.slurm_engine import SlurmSaid
from gadget.errors import BadOption


def choose(**said: object) -> EngineChoice:
    return EngineChoice(home=Path("home"), **said)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "said",
    [
        {"address": "10.0.0.1:6379"},
        {"shared": Path("/mnt")},
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
