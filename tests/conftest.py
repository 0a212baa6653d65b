"""How hard the properties are tried: `--hypothesis-profile=thorough` tries twenty times as many examples.

Under CI=true the examples follow from the tests alone, so that a change fails for what it changed; everywhere
else they are new in every run, and what they find is a bug to mend. There a skipped test fails, too: what
tests need is installed and lies beside the project, and a check that did not run has not passed.
"""

import os
import re
from collections.abc import Iterator

import pytest
from hypothesis import HealthCheck, settings
from xdist.remote import Producer
from xdist.scheduler import LoadScopeScheduling

from tests.engines import build_cluster
from tests.engines_ray import RayCluster, running_ray

# A shared machine pauses now and then, so only the tests that are about speed set a deadline.
settings.register_profile("usual", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile("thorough", settings.get_profile("usual"), max_examples=2000)
settings.register_profile("ci", settings.get_profile("usual"), derandomize=True)
_IS_CI = os.environ.get("CI") == "true"
settings.load_profile("ci" if _IS_CI else "usual")

_ENGINE = re.compile(r"/test_(ray|slurm)(?:_\w+)?\.py|^tests/contract/.*\[(ray|slurm)\b")
_COMPUTES = re.compile(r"tests/(properties/|contract/test_policies)")


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Iterator[None] | pytest.TestReport:
    report: pytest.TestReport = yield
    if _IS_CI and report.skipped and not hasattr(report, "wasxfail"):
        report.outcome = "failed"
        report.longrepr = f"skipped where nothing may be: {report.longrepr}"
    return report


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Tests of a real Ray or Slurm are marked, and come first: they take longest.

    They mostly wait, so beside them run those that compute; the others, which wait too, come last.
    """
    for item in items:
        if find_engine(item.nodeid):
            item.add_marker(pytest.mark.engines)
    items.sort(key=lambda item: 0 if find_engine(item.nodeid) else 1 if _COMPUTES.match(item.nodeid) else 2)


class _EngineScheduling(LoadScopeScheduling):
    """Tests of one engine follow each other in one process, so that it starts once; others go anywhere."""

    def _split_scope(self, nodeid: str) -> str:
        return find_engine(nodeid) or nodeid


def pytest_xdist_make_scheduler(config: pytest.Config, log: Producer) -> LoadScopeScheduling:
    return _EngineScheduling(config, log)


def find_engine(nodeid: str) -> str:
    """The engine that a test is about, by its file or its parameter; empty if it is about none."""
    found = _ENGINE.search(nodeid)
    return found[1] or found[2] if found else ""


@pytest.fixture(scope="session")
def ray_cluster() -> Iterator[RayCluster]:
    """A Ray cluster of the servers that the contract of engines is about."""
    with running_ray(build_cluster()) as cluster:
        yield cluster
