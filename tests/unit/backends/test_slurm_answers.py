"""What Slurm's commands print is understood, whichever version prints it; and what a ring asks of sbatch."""

import json

import pytest

from gadget.backends.backend import EngineAway
from gadget.backends.slurm_answers import (
    Refused,
    SlurmJob,
    SlurmSettings,
    Standing,
    parse_books,
    parse_jobs,
    parse_settings,
)
from gadget.backends.slurm_nodes import SlurmNode, parse_nodes
from gadget.backends.slurm_script import Part, find_amounts, find_parts

NODE = (
    "NodeName=n1 Arch=x86_64 CPUAlloc=4 CPUEfctv=62 CPUTot=64 Gres=gpu:a100:4(S:0-1),gpu:2,nic:1 "
    "GresUsed=gpu:a100:1(IDX:0),gpu:0,nic:0 NodeAddr=10.0.0.1 OS=Linux 6.1 #1 SMP  RealMemory=2048 "
    "AllocMem=512 State={state} ThreadsPerCore=2 Partitions=main,other  CfgTRES=cpu=64{reason}\n"
)


def read(state: str, reason: str = "", *, counts_memory: bool = False) -> SlurmNode:
    (node,) = parse_nodes(NODE.format(state=state, reason=reason), counts_memory=counts_memory)
    return node


def test_a_node_has_the_sum_of_its_gpus_whatever_their_type() -> None:
    node = read("MIXED")
    assert (node.name, node.address, node.threads_per_core) == ("n1", "10.0.0.1", 2)
    assert node.has == {"gpu": 6, "nic": 1, "cpu": 62}
    assert node.used == {"gpu": 1, "nic": 0, "cpu": 4}
    assert node.partitions == {"main", "other"}


def test_memory_counts_where_slurm_counts_it() -> None:
    node = read("IDLE", counts_memory=True)
    assert (node.has["memory_gib"], node.used["memory_gib"]) == (2.0, 0.5)


def test_memory_that_is_set_aside_for_the_system_is_not_offered() -> None:
    node = read("IDLE MemSpecLimit=1024", counts_memory=True)
    assert node.has["memory_gib"] == 1.0


@pytest.mark.parametrize(
    ("used", "amounts"),
    [
        ("gpu:(null):2(IDX:0-1)", {"gpu": 2}),
        ("gpu:(null):2(IDX:0-1),gpu:a100:1(IDX:4),nic:0", {"gpu": 3, "nic": 0}),
        ("(null)", {}),
        ("gpu:a100:1(IDX:0,2-3)", {"gpu": 1}),
    ],
)
def test_gpus_whose_type_nobody_told_are_counted_as_used(used: str, amounts: dict[str, float]) -> None:
    line = NODE.format(state="MIXED", reason="").replace("gpu:a100:1(IDX:0),gpu:0,nic:0", used)
    (node,) = parse_nodes(line, counts_memory=False)
    assert node.used == {**amounts, "cpu": 4}


@pytest.mark.parametrize(
    ("state", "lost", "silent", "closed"),
    [
        ("IDLE", False, False, False),
        ("MIXED+PLANNED", False, False, False),
        ("ALLOCATED+DRAIN", False, False, True),
        ("IDLE*", False, True, False),
        ("IDLE+NOT_RESPONDING", False, True, False),
        ("UNKNOWN", False, True, False),
        ("DOWN*", True, True, False),
        ("DOWN+DRAIN", True, False, True),
        ("IDLE~", True, False, False),
        ("IDLE+CLOUD+POWERED_DOWN", True, False, False),
        ("MIXED+FAIL", False, False, True),
        ("ALLOCATED+FAILING", False, False, True),
        ("MIXED+POWER_DOWN", False, False, True),
        ("IDLE+POWERING_DOWN", False, False, True),
        ("IDLE+RESERVED", False, False, False),
    ],
)
def test_states_of_nodes(state: str, lost: bool, silent: bool, closed: bool) -> None:
    node = read(state)
    assert (node.is_lost, node.is_silent, node.is_closed) == (lost, silent, closed)


def test_an_operators_reason_is_text_and_nothing_else() -> None:
    node = read("IDLE+DRAIN", " Reason=State=IDLE Gres=gpu:99 [root@2026-01-01T00:00:00]")
    assert node.reason == "State=IDLE Gres=gpu:99"
    assert node.has["gpu"] == 6
    assert node.is_closed


def told(**fields: object) -> str:
    job = {"job_id": 7, "user_id": 1000, "comment": "c", "job_state": "RUNNING", "state_reason": "None"}
    return json.dumps({"jobs": [{**job, "het_job_id": 0, **fields}]})


def test_both_ways_to_write_a_job_are_read() -> None:
    expected = [SlurmJob(7, 5, "c", "RUNNING", "None")]
    assert parse_jobs(told(het_job_id=5), 1000) == expected
    newer = {"number": 5, "set": True, "infinite": False}
    assert parse_jobs(told(het_job_id=newer, job_state=["RUNNING"]), 1000) == expected


@pytest.mark.parametrize(
    ("state", "standing"),
    [
        ("PENDING", Standing.WAITING),
        (["PENDING"], Standing.WAITING),
        ("COMPLETING", Standing.LEAVING),
        (["COMPLETED", "COMPLETING"], Standing.LEAVING),
        (["RUNNING", "CONFIGURING"], Standing.HOLDING),
        ("NODE_FAIL", Standing.OVER),
        ("TIMEOUT", Standing.OVER),
    ],
)
def test_standings_of_jobs(state: object, standing: Standing) -> None:
    (job,) = parse_jobs(told(job_state=state), 1000)
    assert job.standing is standing


def test_jobs_of_others_are_none_of_ours() -> None:
    assert parse_jobs(told(), 1001) == []


@pytest.mark.parametrize(
    "text", ["", "{}", "[1]", '{"jobs": [{}]}', '{"jobs": 3}', told(job_state=[]), told(job_id="x")]
)
def test_what_cannot_be_understood_is_said_so(text: str) -> None:
    with pytest.raises(Refused, match="squeue"):
        parse_jobs(text, 1000)


def test_jobs_that_nobody_was_asked_for_are_no_empty_queue() -> None:
    # As 22.05 answers, with exit code 0, when slurmctld is down; and an empty queue.
    error = {"description": "Failed while looking for jobs", "error_number": -1, "source": "slurm_load_jobs"}
    with pytest.raises(EngineAway, match="Failed while looking for jobs"):
        parse_jobs(json.dumps({"errors": [error], "jobs": []}), 1000)
    assert parse_jobs('{"errors": [], "jobs": []}', 1000) == []


def books(*states: object, name: str = "gadget-a@1") -> str:
    return json.dumps({"jobs": [{"name": name, "state": {"current": state}} for state in states]})


@pytest.mark.parametrize(
    ("text", "state"),
    [
        (books("TIMEOUT"), "TIMEOUT"),
        (books(["NODE_FAIL"]), "NODE_FAIL"),
        (books("CANCELLED by 0"), "CANCELLED"),
        (books("COMPLETED", "PREEMPTED"), "PREEMPTED"),
        (books("COMPLETED", "COMPLETED"), "COMPLETED"),
        (books("RUNNING"), ""),
        (books("TIMEOUT", name="allocation"), "TIMEOUT"),
        (books("TIMEOUT", name="somebody-elses"), ""),
        (books(), ""),
    ],
)
def test_the_books_tell_how_a_job_ended(text: str, state: str) -> None:
    assert parse_books(text, "gadget-a@1") == state


@pytest.mark.parametrize("text", ["", "{}", '{"jobs": [{"name": "gadget-a@1"}]}'])
def test_books_that_cannot_be_understood_are_told(text: str) -> None:
    with pytest.raises(Refused, match="sacct"):
        parse_books(text, "gadget-a@1")


def test_settings_are_those_that_slurm_shows_or_its_defaults() -> None:
    shown = (
        "MessageTimeout          = 5 sec\nSelectTypeParameters    = CR_CPU_MEMORY\nSlurmdTimeout = 50 sec\n"
    )
    assert parse_settings(shown) == SlurmSettings(True, 5, 50)
    assert parse_settings("") == SlurmSettings(False, 10, 300)


def test_servers_with_as_many_workers_are_one_part() -> None:
    assert find_parts(["b", "a", "b", "c"]) == (Part(("b",), 2), Part(("a", "c"), 1))
    assert find_parts(["a", "b"]) == (Part(("a", "b"), 1),)


def test_amounts_are_whole_but_for_memory() -> None:
    assert find_amounts({"gpu": 2, "memory_gib": 1.5}) == {"cpu": 1, "gpu": 2, "memory_gib": 1.5}
    assert find_amounts({"cpu": 2.5, "gpu": 0}) == {"cpu": 3}
