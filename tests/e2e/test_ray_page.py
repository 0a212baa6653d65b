"""The page on Ray is followed from nothing: its commands start the cluster, the service and a job."""

import os
import re
import shutil
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from gadget.backends.netns import why_no_namespaces
from gadget.model.codec import read_cluster
from tests.engines_ray import RayCluster
from tests.rings import EXAMPLES
from tests.wires import HEAD

pytestmark = pytest.mark.skipif(bool(why_no_namespaces()), reason="needs network namespaces")

PAGE = Path(__file__).parents[2] / "docs/howto/ray.md"
FILE = re.compile(r"<!-- file: (\S+) -->\n```\w*\n(.*?)```", re.DOTALL)
BLOCK = re.compile(r"<!-- on: (\w+) -->\n```sh\n(.*?)```", re.DOTALL)
SHARED = "/mnt/shared"


@pytest.fixture
def machines(tmp_path: Path) -> Iterator[RayCluster]:
    """Machines without any Ray on them, and the files of the page."""
    for name, text in FILE.findall(PAGE.read_text()):
        (tmp_path / name).write_text(text.replace(SHARED, str(tmp_path)))
    (tmp_path / "code").mkdir()
    shutil.copy(EXAMPLES / "train_ring.py", tmp_path / "code")
    made = RayCluster(read_cluster(tmp_path / "cluster.yaml"))
    made.wires.make()
    yield made
    made.stop()


def test_the_page_leads_from_nothing_to_a_trained_job(machines: RayCluster, tmp_path: Path) -> None:
    blocks = dict(BLOCK.findall(PAGE.read_text()))
    assert set(blocks) == {"head", "node", "service", "client"}
    head = machines.wires.address(HEAD)
    env = {"HEAD": head, "SHARED": str(tmp_path), "GADGET_HOME": str(tmp_path / "home")}
    machines.run_on({HEAD: env}, blocks["head"])
    names = machines.cluster.server_by_name
    machines.run_on(
        {name: env | {"NAME": name, "ADDRESS": machines.wires.address(name)} for name in names},
        blocks["node"],
    )
    with subprocess.Popen(
        [*machines.enter, "sh", "-ec", f"exec {blocks['service']}"],
        cwd=tmp_path,
        env=os.environ | machines.environment() | env,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    ) as service:
        try:
            deadline = time.monotonic() + 120
            while not (tmp_path / "home" / "address").exists():
                assert service.poll() is None, service.communicate()[0]
                assert time.monotonic() < deadline
                time.sleep(0.2)
            printed = subprocess.run(
                [*machines.enter, "sh", "-ec", blocks["client"]],
                cwd=tmp_path,
                env=os.environ | machines.environment() | env,
                capture_output=True,
                text=True,
                timeout=180,
                check=False,
            )
        finally:
            service.terminate()
            told = service.communicate(timeout=60)[0]
    assert printed.returncode == 0, printed.stdout + printed.stderr + told
    assert "finished" in printed.stdout
    assert re.search(r"rank 0 of \d: step 20", printed.stdout), printed.stdout
    assert {"n0", "n1"} <= set(printed.stdout.split())
