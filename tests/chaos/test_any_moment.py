"""A controller that is killed, starved of disk, engine and solver at any moment keeps every law."""

from pathlib import Path

import pytest

from gadget.engine.state import JobStatus
from tests.chaos.mayhem import Mayhem

POLICIES = ("las", "fifo", "gadget")
SEEDS = 24
STEPS = 70


@pytest.mark.parametrize("seed", range(SEEDS))
def test_whatever_happens_no_law_is_broken_and_every_job_ends(memory_folder: Path, seed: int) -> None:
    one = Mayhem(memory_folder, seed, POLICIES[seed % len(POLICIES)], keep_ended=1_000 if seed % 4 else 3)
    for _ in range(STEPS):
        one.strike()
        one.step(float(one.rng.choice((0.5, 2.0, 8.0, 32.0))))
    one.calm_down()
    assert one.kills >= 3
    endings = {record.ending for record in one.controller.state.ended.values()}
    assert endings <= {JobStatus.FINISHED, JobStatus.LEFT}
