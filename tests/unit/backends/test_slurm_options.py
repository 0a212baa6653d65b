"""What an operator or a job may say to sbatch, and what rings keep for themselves."""

import shlex
from pathlib import Path

import pytest

from gadget.backends.ring_folder import RingFolder
from gadget.backends.slurm_hand import is_no_fault
from gadget.backends.slurm_options import (
    SlurmOptions,
    check_extra,
    find_warn_seconds,
    parse_time,
    says_whom_to_charge,
)
from gadget.backends.slurm_script import build_sbatch, why_not_handed_in
from gadget.cli.slurm_engine import Graft, SlurmSaid, build_slurm
from gadget.errors import BadOption
from gadget.model.resources import Resources
from tests.engines import TELL, build_cluster, build_launch


@pytest.mark.parametrize(
    "text",
    [
        "--comment=mine",
        "--comm mine",
        "--requeue",
        "--signal=USR2",
        "--output=/tmp/x",
        "-o/tmp/x",
        "-J name",
        "--array=1-3",
        "-a 1-3",
        "--nodelist=n1",
        "-w n1",
        "--wait",
        "-W",
        "--nice=3 --wrap=true",
        "--gpus-per-node=2",
        ":",
    ],
)
def test_options_that_rings_keep_for_themselves_are_refused(text: str) -> None:
    with pytest.raises(BadOption, match="--sbatch"):
        check_extra(shlex.split(text))


@pytest.mark.parametrize(
    ("text", "instead"),
    [("--time=3", "--ring-time"), ("-t 3", "--ring-time"), ("-p main", "--partition"), ("--qos=a", "--qos")],
)
def test_options_that_have_one_here_are_pointed_to(text: str, instead: str) -> None:
    with pytest.raises(BadOption, match=f"Give {instead}"):
        check_extra(shlex.split(text))


@pytest.mark.parametrize(
    "text",
    [
        "--reservation=lab",
        "--reservation lab",
        "--constraint=a100 --nice=7",
        "-C a100",
        "--export=ALL,A=b",
        "--exclude=n7",
        "-x n7",
        "--wait-all-nodes=1",
        "--time-min=3",
        "--mem-per-cpu=100",
        "",
    ],
)
def test_all_other_options_may_be_given(text: str) -> None:
    check_extra(shlex.split(text))


def test_the_command_line_refuses_them_before_anything_starts(tmp_path: Path) -> None:
    with pytest.raises(BadOption, match="--comment"):
        build_slurm(SlurmSaid(sbatch="--comment=mine"), tmp_path, None)
    with pytest.raises(BadOption, match="--ring-time"):
        build_slurm(SlurmSaid(ring_time="2"), tmp_path, None)


def test_servers_that_only_slurm_or_only_the_file_has_are_left_out_and_told_once(
    caplog: pytest.LogCaptureFixture,
) -> None:
    draw = Graft(build_cluster())  # s0, s1, s2
    nodes = {name: Resources({"gpu": 1}) for name in ("s0", "s1", "n7")}
    for _ in range(3):
        cluster = draw(nodes, "")
    assert [server.name for server in cluster.servers] == ["s0", "s1"]
    first, second = (record.getMessage() for record in caplog.records)
    assert "s2" in first
    assert "n7" in second
    with pytest.raises(BadOption, match="none of its servers"):
        draw({"n7": Resources({"gpu": 1})}, "")


def test_what_a_ring_says_comes_after_what_an_operator_says(tmp_path: Path) -> None:
    options = SlurmOptions("main", "lab", "", "", ("--comment=mine", "--requeue"))
    order = build_launch("a", 1, ["s0", "s0", "s1"], TELL)
    words = build_sbatch(order, RingFolder(tmp_path), options, "gadget:i:a@1")
    parts = " ".join(words).split(" : ")
    assert len(parts) == 2
    for part in parts:
        assert part.index("--comment=mine") < part.index("--comment=gadget:i:a@1")
        assert part.index("--requeue") < part.index("--no-requeue")


def test_a_job_says_whom_it_is_charged_to_and_over_the_operator() -> None:
    options = SlurmOptions("main", "lab", "normal", "", ())
    own = {"SBATCH_ACCOUNT": "theirs", "SBATCH_QOS": "quick", "SBATCH_WCKEY": "paper", "OTHER": "x"}
    assert options.words(own) == ["--partition=main", "--account=theirs", "--qos=quick", "--wckey=paper"]
    assert options.words({}) == ["--partition=main", "--account=lab", "--qos=normal"]
    assert says_whom_to_charge(build_launch("a", 1, ["s0"], TELL, own_env=own))
    assert not says_whom_to_charge(build_launch("a", 1, ["s0"], TELL))


@pytest.mark.parametrize(
    ("reason", "fault", "own_fault"),
    [
        ("Job violates accounting/QOS policy (job submit limit, …)", False, False),
        ("Requested time limit is invalid (missing or exceeds some limit)", False, False),
        ("Required node not available (down, drained or reserved)", False, False),
        ("Invalid account or account/partition combination specified", False, True),
        ("Invalid qos specification", False, True),
        ("Invalid feature specification", True, True),
        ("Requested node configuration is not available", True, True),
    ],
)
def test_a_refusal_is_the_jobs_fault_if_the_job_can_mend_it(
    reason: str, fault: bool, own_fault: bool
) -> None:
    assert is_no_fault(reason, charges_itself=False) is not fault
    assert is_no_fault(reason, charges_itself=True) is not own_fault


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("90", 5400),
        ("5:30", 330),
        ("2:00:00", 7200),
        ("1-12", 36 * 3600),
        ("1-12:30", 36.5 * 3600),
        ("0-0:0:7", 7),
        ("", None),
        ("UNLIMITED", None),
    ],
)
def test_times_are_read_as_sbatch_reads_them(text: str, seconds: float | None) -> None:
    assert parse_time(text) == seconds


def test_a_time_that_is_none_is_refused() -> None:
    with pytest.raises(BadOption, match="is no time"):
        parse_time("soon")


def test_the_warning_leaves_time_for_the_grace_and_a_limit_that_does_not_is_refused() -> None:
    assert find_warn_seconds(30) == 120
    assert find_warn_seconds(600) == 660
    assert SlurmOptions(time="3").why_too_short(30) == ""
    assert "120 s before" in SlurmOptions(time="2").why_too_short(30)
    assert "660 s before" in SlurmOptions(time="11").why_too_short(600)
    order = build_launch("a", 1, ["s0"], TELL)
    assert "--ring-time" in why_not_handed_in(order, SlurmOptions(time="2"))
    assert why_not_handed_in(order, SlurmOptions(time="3")) == ""
    assert f"USR1@{find_warn_seconds(30)}" in " ".join(
        build_sbatch(order, RingFolder(Path()), SlurmOptions(), "gadget:i:a@1")
    )
