"""A controller that is killed, starved of disk, engine and solver at any moment keeps every law."""

from pathlib import Path

import pytest

from gadget.engine.state import JobStatus
from tests.chaos.mayhem import Mayhem

LIGHT = ("las", "fifo", "drf", "srtf")


@pytest.mark.parametrize(
    ("seed", "policy", "steps"),
    [*((seed, LIGHT[seed % 4], 70) for seed in range(22)), (22, "gadget", 30), (23, "gadget-paper", 30)],
)
def test_whatever_happens_no_law_is_broken_and_every_job_ends(
    memory_folder: Path, seed: int, policy: str, steps: int
) -> None:
    one = Mayhem(memory_folder, seed, policy, keep_ended=1_000 if seed % 5 else 3)
    for _ in range(steps):
        one.strike()
        one.step(float(one.rng.choice((0.5, 2.0, 8.0, 32.0))))
    one.calm_down()
    assert one.kills >= steps // 20
    endings = {record.ending for record in one.controller.state.ended.values()}
    assert endings <= {JobStatus.FINISHED, JobStatus.LEFT}
