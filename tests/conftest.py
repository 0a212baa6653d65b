"""How hard the properties are tried: `--hypothesis-profile=thorough` tries twenty times as many examples.

Under CI=true the examples follow from the tests alone, so that a change fails for what it changed; everywhere
else they are new in every run, and what they find is a bug to mend. There a skipped test fails, too: what
tests need is installed and lies beside the project, and a check that did not run has not passed.
"""

import os
from collections.abc import Iterator

import pytest
from hypothesis import HealthCheck, settings

from tests.engines import build_cluster
from tests.engines_ray import RayCluster, running_ray

# A shared machine pauses now and then, so only the tests that are about speed set a deadline.
settings.register_profile("usual", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile("thorough", settings.get_profile("usual"), max_examples=2000)
settings.register_profile("ci", settings.get_profile("usual"), derandomize=True)
_IS_CI = os.environ.get("CI") == "true"
settings.load_profile("ci" if _IS_CI else "usual")

_FIXTURES = {"ray": {"ray_cluster", "machines"}, "slurm": {"slurm"}}
_ENGINES = tuple(_FIXTURES)


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
    """Tests that need a real Ray or Slurm are marked; those of one engine share a process and its start.

    They take longest, so they come first.
    """
    for item in items:
        if engine := _find_engine(item):
            item.add_marker(pytest.mark.engines)
            item.add_marker(pytest.mark.xdist_group(engine))
    items.sort(key=lambda item: item.get_closest_marker("engines") is None)


def _find_engine(item: pytest.Item) -> str:
    """By what a test is given, or where it stands."""
    given = getattr(item, "callspec", None)
    if given is not None and given.params.get("bench") in _ENGINES:
        return str(given.params["bench"])
    fixtures = set(getattr(item, "fixturenames", ()))
    found = [engine for engine in _ENGINES if fixtures & _FIXTURES[engine]]
    found += [engine for engine in _ENGINES if item.path.stem == f"test_{engine}_engine"]
    return found[0] if found else ""


@pytest.fixture(scope="session")
def ray_cluster() -> Iterator[RayCluster]:
    """A Ray cluster of the servers that the contract of engines is about."""
    with running_ray(build_cluster()) as cluster:
        yield cluster
