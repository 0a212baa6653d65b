"""Service, solver and workers are killed for real, again and again; every job does exactly its work."""

import signal
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from gadget.backends.netns import list_namespaces, why_no_namespaces
from tests.chaos.household import JOBS, Household, check_book

NETWORKS = ("loopback", "namespaces")


@pytest.fixture(params=NETWORKS)
def household(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Household]:
    if request.param == "namespaces" and (why := why_no_namespaces()):
        pytest.skip(why)
    made = Household(tmp_path / "home", request.param, seed=NETWORKS.index(request.param))
    yield made
    if made.service is not None and made.service.poll() is None:
        made.end()


def test_whoever_is_killed_every_job_does_its_work_once_and_nothing_is_left(household: Household) -> None:
    one = household
    one.start()
    one.submit()
    deaths = [
        *[one.kill_service] * 3,
        *[one.kill_solver] * 4,
        *[one.kill_worker] * 7,
        *[lambda: one.kill_worker(signal.SIGSTOP)] * 2,
    ]
    one.rng.shuffle(deaths)
    for death in deaths:
        time.sleep(float(one.rng.uniform(0.1, 0.6)))
        death()
        if one.service is not None and one.service.poll() is not None:
            time.sleep(float(one.rng.uniform(0.0, 0.5)))
            one.start()
            assert one.list_jobs().keys() == JOBS.keys()
    assert sum(one.killed.values()) >= 15, one.killed
    until = time.monotonic() + 120
    while set(one.list_jobs().values()) != {"finished"}:
        assert time.monotonic() < until, one.list_jobs()
        time.sleep(0.3)
    solvers = one.find_solvers()
    assert one.end() == 0
    for job, units in JOBS.items():
        check_book(one.read_book(job), units)
    assert one.find_all() == []
    assert not any(Path(f"/proc/{pid}").exists() for pid in solvers)
    if one.network == "namespaces":
        assert list_namespaces(one.instance) == []
