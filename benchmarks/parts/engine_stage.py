"""Engines to measure on: four servers in two racks, as real nodes in namespaces with limited links."""

import json
import os
import subprocess
import sys
import tempfile
import time
import uuid
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from tests.engines_ray import RayCluster
from tests.engines_slurm import SlurmCluster, build_slurm
from tests.wires import HEAD, build_wires, enter_network

from gadget.backends.backend import Backend
from gadget.backends.local import LocalBackend
from gadget.backends.ray_engine import RayBackend
from gadget.model.cluster import Cluster, Link, Server
from gadget.model.codec import write
from gadget.model.resources import Resources
from gadget.model.snapshot import Scenario

GBPS = 0.1
GPUS = 4
RACKS: Mapping[str, tuple[str, ...]] = {"r0": ("s0", "s1"), "r1": ("s2", "s3")}
SERVERS = tuple(server for rack in RACKS.values() for server in rack)
_WAIT_SECONDS = 60.0

Change = tuple[str, int]
"""A job that comes with so many workers, or goes (0)."""
Placements = Mapping[str, Sequence[str]]
"""For every job that is there at the end, the servers of its ranks."""

# Plain actors, one GPU each, as a user of Ray would write them; and Ray Train's default, a packed group.
_RAY = """
import json, sys, ray
from ray.util.placement_group import placement_group, remove_placement_group
from ray.util.scheduling_strategies import PlacementGroupSchedulingStrategy
address, how, changes = sys.argv[1], sys.argv[2], json.loads(sys.argv[3])
ray.init(address=address, log_to_driver=False)
hosts = {node["NodeID"]: node["Labels"].get("host") for node in ray.nodes()}

@ray.remote(num_gpus=1)
class Holder:
    def where(self):
        return ray.get_runtime_context().get_node_id()

actors, groups, found = {}, {}, {}
for job, size in changes:
    if size:
        options = [{}] * size
        if how == "pack":
            groups[job] = placement_group([{"CPU": 1, "GPU": 1}] * size, strategy="PACK")
            options = [
                {"scheduling_strategy": PlacementGroupSchedulingStrategy(groups[job], k)} for k in range(size)
            ]
        actors[job] = [Holder.options(**option).remote() for option in options]
        found[job] = [hosts[node] for node in ray.get([actor.where.remote() for actor in actors[job]])]
    else:
        for actor in actors.pop(job):
            ray.kill(actor)
        if job in groups:
            remove_placement_group(groups.pop(job))
        del found[job]
print(json.dumps(found))
"""


@dataclass
class Stage:
    """One engine that runs: how a service is started on it, and where it would place workers by itself."""

    name: str
    folder: Path
    cluster: Cluster
    build: Callable[[Path, str], Backend]
    serve: Sequence[str] = ()
    """Options of `gadget serve`."""
    enter: Sequence[str] = ()
    """What is put before a command of ours."""
    environment: Mapping[str, str] = field(default_factory=dict)
    defaults: Mapping[str, Callable[[Sequence[Change]], Placements]] = field(default_factory=dict)
    """The engine's own ways to place workers."""

    def gadget(self, *words: str, home: Path) -> list[str]:
        """A command of ours, and the environment that it needs before it."""
        return [
            *self.enter,
            "env",
            f"GADGET_HOME={home}",
            str(Path(sys.executable).with_name("gadget")),
            *words,
        ]


def build_racks() -> Cluster:
    links = [Link((server, rack), GBPS) for rack, servers in RACKS.items() for server in servers]
    amounts = Resources({"gpu": GPUS, "cpu": 2 * GPUS})
    return Cluster(
        tuple(Server(name, amounts) for name in SERVERS), tuple(RACKS), (*links, Link(("r0", "r1"), GBPS))
    )


@contextmanager
def staged(name: str) -> Iterator[Stage]:
    """The engine of this name, until the end of the block."""
    cluster = build_racks()
    with tempfile.TemporaryDirectory(prefix="bench-") as made:
        folder = Path(made)
        file = folder / "cluster.json"
        write(file, Scenario(cluster, (), 1, 4.0))
        with _STAGES[name](folder, cluster, ["--cluster", str(file)]) as stage:
            yield stage


@contextmanager
def _local(folder: Path, cluster: Cluster, options: Sequence[str]) -> Iterator[Stage]:
    yield Stage(
        "local",
        folder,
        cluster,
        lambda place, instance: LocalBackend(cluster, place, instance, network="namespaces"),
        [*options, "--network", "namespaces"],
    )


@contextmanager
def _ray(folder: Path, cluster: Cluster, options: Sequence[str]) -> Iterator[Stage]:
    ray = RayCluster(cluster)

    def build(place: Path, instance: str) -> Backend:
        return RayBackend(ray.link, place, instance, cluster=cluster, is_shared_link=True)

    def place(how: str, changes: Sequence[Change]) -> Placements:
        words = [*ray.enter, sys.executable, "-c", _RAY, ray.address, how, json.dumps(changes)]
        done = subprocess.run(words, capture_output=True, text=True, timeout=300, check=True)
        found: Placements = json.loads(done.stdout.splitlines()[-1])
        return found

    try:
        ray.start()
        yield Stage(
            "ray",
            folder,
            cluster,
            build,
            [*options, "--engine", "ray", "--address", ray.address],
            ray.enter,
            defaults={
                "plain actors": lambda changes: place("plain", changes),
                "a PACK placement group for each job": lambda changes: place("pack", changes),
            },
        )
    finally:
        ray.stop()


@contextmanager
def _slurm(folder: Path, cluster: Cluster, options: Sequence[str]) -> Iterator[Stage]:
    wires = build_wires(cluster, f"bench-{uuid.uuid4().hex[:12]}")
    lines = [f"SwitchName={rack} Nodes={','.join(servers)}" for rack, servers in RACKS.items()]
    topology = "\n".join([*lines, f"SwitchName=spine Switches={','.join(RACKS)}", ""])
    slurm = SlurmCluster(folder / "slurm", dict.fromkeys(SERVERS, GPUS), wires=wires, topology=topology)
    wires.make()
    try:
        slurm.start()
        environment = {**os.environ, **slurm.environment}
        yield Stage(
            "slurm",
            folder,
            cluster,
            lambda place, instance: build_slurm(place, instance, environment=environment),
            [*options, "--engine", "slurm", "--report", wires.address(HEAD), "--interface", wires.interface],
            enter_network(wires, HEAD),
            slurm.environment,
            {"sbatch --ntasks": lambda changes: _place_by_slurm(slurm, changes)},
        )
    finally:
        slurm.stop()
        wires.remove()


def _place_by_slurm(slurm: SlurmCluster, changes: Sequence[Change]) -> Placements:
    """Jobs of so many tasks with a GPU each, as a user of Slurm would hand them in."""
    found: dict[str, Sequence[str]] = {}
    numbers: dict[str, str] = {}
    for job, size in changes:
        if size:
            out = slurm.folder / f"{uuid.uuid4().hex}.out"
            # In order of their ranks.
            script = "srun sh -c 'echo $SLURM_PROCID $SLURMD_NODENAME'; echo all; sleep 600"
            words = [f"--ntasks={size}", "--gpus-per-task=1", f"--output={out}", f"--wrap={script}"]
            numbers[job] = slurm.run("sbatch", "--parsable", *words).stdout.strip()
            wait(lambda out=out: out.exists() and "all\n" in out.read_text())
            ranks = dict(line.split() for line in out.read_text().splitlines() if line != "all")
            found[job] = [ranks[str(rank)] for rank in range(size)]
        else:
            gone = numbers.pop(job)
            slurm.run("scancel", gone)
            del found[job]
            wait(lambda gone=gone: not slurm.run("squeue", "-h", "-j", gone).stdout.strip())
    slurm.run("scancel", *numbers.values())
    wait(lambda: set(slurm.states().values()) == {"idle"})
    return found


def wait(holds: Callable[[], object], seconds: float = _WAIT_SECONDS) -> None:
    """Until it is so."""
    deadline = time.monotonic() + seconds
    while not holds():
        if time.monotonic() > deadline:
            raise TimeoutError(f"waited {seconds:g} s in vain")
        time.sleep(0.02)


_STAGES = {"local": _local, "ray": _ray, "slurm": _slurm}
ENGINES = tuple(_STAGES)
