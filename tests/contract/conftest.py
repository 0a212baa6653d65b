"""A bench for each engine."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from gadget.backends.netns import why_no_namespaces
from tests.benches import Bench
from tests.engines import KINDS
from tests.engines_slurm import SlurmCluster, running_slurm, why_no_slurm


@pytest.fixture(scope="session")
def shared_slurm(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SlurmCluster]:
    """With the servers that the contract is about."""
    with running_slurm(tmp_path_factory.mktemp("slurm"), {"s0": 4, "s1": 4, "s2": 2}) as cluster:
        yield cluster


@pytest.fixture(params=KINDS)
def bench(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Bench]:
    if request.param != "local-loopback" and (why := why_no_namespaces()):
        pytest.skip(why)
    made = Bench(request.param, tmp_path / "engine")
    if made.kind == "slurm":
        if why := why_no_slurm():
            pytest.skip(why)
        made.slurm = request.getfixturevalue("shared_slurm")
    if made.kind == "ray":
        made.ray = request.getfixturevalue("ray_cluster")
    yield made
    made.close()
