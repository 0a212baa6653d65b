"""What a rank is given beyond what the contract of engines sees, and whose word counts."""

from pathlib import Path

from gadget.backends.worker_environment import Seat, build_worker_environment, why_it_cannot_start
from gadget.model.program import Program
from tests.engines import build_launch


def build(base: dict[str, str], own: dict[str, str], seats: tuple[Seat, ...]) -> dict[str, str]:
    order = build_launch(
        "job", 1, [seat.server for seat in seats], "", env={"GADGET_TOKEN": "t"}, own_env=own
    )
    return build_worker_environment(
        order,
        seats,
        0,
        instance="x",
        master_port=9,
        checkpoint_dir=Path("/c"),
        interface="eth0",
        base=base,
    )


def test_the_service_lends_its_environment_but_nothing_of_its_own() -> None:
    env = build(
        {"PATH": "/bin", "GADGET_TOKEN": "old", "GADGET_SECRET": "s", "RANK": "7"}, {}, (Seat("a", "h", 1),)
    )
    assert env["PATH"] == "/bin"
    assert env["GADGET_TOKEN"] == "t"
    assert "GADGET_SECRET" not in env
    assert env["RANK"] == "0"


def test_the_job_has_the_last_word() -> None:
    env = build({"PATH": "/bin"}, {"PATH": "/own", "CUDA_VISIBLE_DEVICES": "3"}, (Seat("a", "h", 1, (0,)),))
    assert (env["PATH"], env["CUDA_VISIBLE_DEVICES"]) == ("/own", "3")


def test_a_ring_of_one_is_its_own_neighbour() -> None:
    env = build({}, {}, (Seat("a", "h", 1),))
    assert env["GADGET_NEXT"] == env["GADGET_PREVIOUS"] == env["GADGET_LISTEN"] == "h:1"


def test_a_command_is_looked_for_where_it_will_run(tmp_path: Path) -> None:
    tool = tmp_path / "tool"
    tool.write_text("#!/bin/sh\n")
    beside, bare = Program(command=("./tool",)), Program(command=("tool",))
    assert "may not be executed" in why_it_cannot_start(beside, tmp_path, {})
    tool.chmod(0o755)
    assert why_it_cannot_start(beside, tmp_path, {}) == ""
    assert "does not exist" in why_it_cannot_start(beside, tmp_path.parent, {})
    assert "not found on PATH" in why_it_cannot_start(bare, tmp_path, {"PATH": "/nowhere"})
    assert why_it_cannot_start(bare, tmp_path, {"PATH": str(tmp_path)}) == ""
