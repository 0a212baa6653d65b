"""How hard the properties are tried: `--hypothesis-profile=thorough` tries twenty times as many examples.

Under CI=true the examples follow from the tests alone, so that a change fails for what it changed; everywhere
else they are new in every run, and what they find is a bug to mend. There a skipped test fails, too: what
tests need is installed and lies beside the project, and a check that did not run has not passed.
"""

import os
from collections.abc import Iterator

import pytest
from hypothesis import HealthCheck, settings

# A shared machine pauses now and then, so only the tests that are about speed set a deadline.
settings.register_profile("usual", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile("thorough", settings.get_profile("usual"), max_examples=2000)
settings.register_profile("ci", settings.get_profile("usual"), derandomize=True)
_IS_CI = os.environ.get("CI") == "true"
settings.load_profile("ci" if _IS_CI else "usual")


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Iterator[None] | pytest.TestReport:
    report: pytest.TestReport = yield
    if _IS_CI and report.skipped and not hasattr(report, "wasxfail"):
        report.outcome = "failed"
        report.longrepr = f"skipped where nothing may be: {report.longrepr}"
    return report
