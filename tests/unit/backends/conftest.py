"""A Slurm for the tests of its engine here, and engines on it."""

import json
import os
import stat
import time
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from gadget.backends.backend import RingKey
from tests.engines import Engine, find_workers
from tests.engines_slurm import SlurmCluster, build_slurm, why_no_slurm

GPUS = {"s0": 4, "s1": 4, "s2": 2}


@pytest.fixture(scope="session")
def slurm(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SlurmCluster]:
    """One that tests may hurt: they leave it whole."""
    if why := why_no_slurm():
        pytest.skip(why)
    cluster = SlurmCluster(tmp_path_factory.mktemp("slurm"), GPUS, accounts=("lab", "theirs"))
    try:
        cluster.start()
        yield cluster
    finally:
        cluster.stop()
        assert cluster.find_left() == []


@pytest.fixture
def bench(slurm: SlurmCluster, tmp_path: Path) -> Iterator["Bench"]:
    made = Bench(slurm, tmp_path / "engine")
    made.wait(lambda: slurm.states() == dict.fromkeys(GPUS, "idle"))
    try:
        yield made
    finally:
        for engine in made.engines:
            engine.backend.close(keep_rings=False)
        slurm.run("scancel", "--user=root")
    assert find_workers(made.instance) == []


class Bench:
    """Engines of one instance on one Slurm."""

    def __init__(self, slurm: SlurmCluster, folder: Path) -> None:
        self.slurm, self.folder = slurm, folder
        self.instance = uuid.uuid4().hex
        self.commands = folder.with_name("commands")
        """What stands here is run in place of Slurm's own."""
        self.commands.mkdir(parents=True)
        self.engines: list[Engine] = []

    def build(self, **settings: object) -> Engine:
        environment = {**os.environ, **self.slurm.environment}
        environment["PATH"] = f"{self.commands}:{environment['PATH']}"
        engine = Engine(build_slurm(self.folder, self.instance, environment=environment, **settings))
        self.engines.append(engine)
        return engine

    def beside(self) -> "Bench":
        """Another service, with a folder of its own."""
        other = Bench(self.slurm, self.folder.with_name("beside") / "engine")
        other.engines = self.engines
        return other

    def replace(self, command: str, script: str) -> Path:
        """Let engines run this `sh` in place of a command of Slurm; $real is the command itself."""
        path = self.commands / command
        aside = self.commands / f"{command}~"
        aside.write_text(f"#!/bin/sh\nreal=$(PATH=${{PATH#*:}} command -v {command})\n{script}\n")
        aside.chmod(aside.stat().st_mode | stat.S_IXUSR)
        aside.replace(path)
        return path

    def jobs(self, key: RingKey) -> list[dict[str, Any]]:
        """The jobs of a ring, by Slurm's queue."""
        told = json.loads(self.slurm.run("squeue", "--json", "--states=all").stdout)["jobs"]
        return [job for job in told if job["comment"] == f"gadget:{self.instance}:{key}"]

    def occupy(self, *options: str) -> str:
        """A job that somebody hands in by hand; gives its number once it has its nodes."""
        handed = self.slurm.run("sbatch", "--parsable", "--output=/dev/null", *options, "--wrap=sleep 600")
        number = handed.stdout.strip()
        assert number.isdecimal(), handed.stderr
        self.wait(lambda: self.state(number) == "RUNNING")
        return number

    def state(self, number: str) -> str:
        return self.slurm.run("squeue", "-h", "-t", "all", "-j", number, "-o", "%T").stdout.strip()

    def wait(self, is_so: Callable[[], bool]) -> None:
        deadline = time.monotonic() + 60
        while not is_so():
            assert time.monotonic() < deadline
            time.sleep(0.05)

    def up(self, number: int) -> int:
        return len(list(self.folder.rglob(f"up.{number}.*")))
