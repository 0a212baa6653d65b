"""Commands that reach nobody, are gone, or are told things by the environment around the service."""

from pathlib import Path

import pytest

from gadget.backends.backend import EngineAway
from gadget.backends.slurm_answers import Refused
from gadget.backends.slurm_commands import CommandMissing, Slurm

SILENCE = "slurm_load_topo error: Unable to contact slurm controller (connect failure)"


def make(folder: Path, command: str, script: str) -> None:
    path = folder / command
    path.write_text(f"#!/bin/sh\n{script}\n")
    path.chmod(0o755)


def build(folder: Path, **environment: str) -> Slurm:
    return Slurm({"PATH": f"{folder}:/usr/bin:/bin", **environment})


@pytest.mark.parametrize("code", [0, 1])
def test_words_of_silence_with_nothing_printed_are_silence_whatever_the_exit_code(
    tmp_path: Path, code: int
) -> None:
    make(tmp_path, "scontrol", f"echo '{SILENCE}' >&2; exit {code}")
    with pytest.raises(EngineAway, match="slurmctld does not answer"):
        build(tmp_path).show_topology()


def test_an_answer_with_a_complaint_is_an_answer(tmp_path: Path) -> None:
    make(tmp_path, "scontrol", f"echo '{SILENCE}' >&2; echo SwitchName=a")
    assert build(tmp_path).show_topology() == "SwitchName=a\n"


def test_switches_that_slurm_does_not_have_are_none(tmp_path: Path) -> None:
    make(tmp_path, "scontrol", "echo 'No topology information available' >&2; exit 1")
    assert build(tmp_path).show_topology() == ""


def test_a_command_that_is_gone_or_cannot_be_run_is_an_engine_that_is_away(tmp_path: Path) -> None:
    slurm = Slurm({"PATH": str(tmp_path)})
    with pytest.raises(CommandMissing, match="PATH"):
        slurm.list_jobs()
    (tmp_path / "sbatch").write_text("")
    with pytest.raises(EngineAway, match="sbatch cannot be run"):
        slurm.submit(["x"])


def test_a_no_is_no_silence(tmp_path: Path) -> None:
    make(tmp_path, "sbatch", "echo 'sbatch: error: Invalid feature specification' >&2; exit 1")
    with pytest.raises(Refused, match="Invalid feature"):
        build(tmp_path).submit(["x"])


@pytest.mark.parametrize(
    "script", ["exit 1", "echo nonsense", "echo '{\"jobs\": []}'", f"echo '{SILENCE}' >&2"]
)
def test_books_that_are_not_there_know_nothing(tmp_path: Path, script: str) -> None:
    make(tmp_path, "sacct", script)
    assert build(tmp_path).read_books(7, "gadget-a@1") == ""
    assert Slurm({"PATH": "/no/such/folder"}).read_books(7, "gadget-a@1") == ""


def test_nothing_around_the_service_tells_our_commands_what_to_do(tmp_path: Path) -> None:
    names = ["SBATCH_ACCOUNT", "SQUEUE_STATES", "SCANCEL_STATE", "SRUN_DEBUG", "SLURM_JOB_ID", "GADGET_HOME"]
    make(tmp_path, "scontrol", "env")
    told = build(tmp_path, SLURM_CONF="c", SLURM_JWT="token", **dict.fromkeys(names, "x")).show_nodes()
    found = {line.partition("=")[0] for line in told.splitlines()}
    assert not found & set(names)
    assert {"SLURM_CONF=c", "SLURM_JWT=token"} <= set(told.splitlines())
