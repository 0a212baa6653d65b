"""What really runs on a Slurm of the tests, by its queue, its processes and its books, judged by the referee.

Nothing is asked of the service: which nodes a ring has is the word of Slurm; which rank runs where is read in
the environment of the processes, where slurmd names the node.
"""

import json
import threading
from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from gadget.backends.local_processes import list_processes, read_environment
from gadget.model.cluster import Cluster, Link, Server
from gadget.model.job import ActiveJob, Job
from gadget.model.referee import find_violations
from gadget.model.resources import Resources
from gadget.model.ring import Allocation
from gadget.model.snapshot import Snapshot
from gadget.topology.hostlist import expand_hostlist
from tests.engines import build_ring
from tests.engines_slurm import SlurmCluster
from tests.rings import wait_until

Rings = Mapping[str, Mapping[int, tuple[str, ...]]]
"""Workers by job and number of the ring."""


@dataclass(frozen=True)
class Entry:
    """A part of a ring in the books."""

    job: str
    number: int
    begin: int
    end: int
    workers: tuple[str, ...]


class Witness:
    """Looks at Slurm again and again, and at the end at its books."""

    def __init__(self, slurm: SlurmCluster, jobs: list[Job]) -> None:
        self._slurm, self._jobs = slurm, jobs
        self._cluster = Cluster(
            tuple(Server(name, Resources({"gpu": gpus, "cpu": 8})) for name, gpus in slurm.gpus.items()),
            ("switch",),
            tuple(Link((name, "switch"), 1.0) for name in slurm.gpus),
        )
        self._ending = threading.Event()
        self.sizes: defaultdict[str, list[int]] = defaultdict(list)
        self.orders: set[tuple[str, int, tuple[str, ...]]] = set()
        """Rings whose ranks were all seen, in rank order."""
        self.faults: list[str] = []
        self._thread = threading.Thread(target=self._run)

    def __enter__(self) -> "Witness":
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._ending.set()
        self._thread.join()

    def size(self, job: str) -> int:
        """Of its ring now, by Slurm's queue."""
        return max(map(len, self._look_at_queue().get(job, {}).values()), default=0)

    def judge_books(self) -> int:
        """Judge all that ran since the start, when nothing does any more; gives the number of rings."""
        wait_until(lambda: all(entry.end for entry in self._read_books()), 30)
        entries = [entry for entry in self._read_books() if entry.end > entry.begin]
        for moment in sorted({entry.begin for entry in entries}):
            rings: dict[str, dict[int, tuple[str, ...]]] = {}
            for one in entries:
                if one.begin <= moment < one.end:
                    parts = rings.setdefault(one.job, {})
                    parts[one.number] = parts.get(one.number, ()) + one.workers
            self._judge(rings)
        return len({(entry.job, entry.number) for entry in entries})

    def _run(self) -> None:
        while not self._ending.wait(0.4):
            held, up = self._look_at_queue(), self._look_at_processes()
            found: dict[str, dict[int, tuple[str, ...]]] = {}
            for job, by_number in held.items():
                for number, workers in by_number.items():
                    order = up.get(job, {}).get(number)
                    # Nodes in rank order, once all ranks are up; until then as Slurm counts them up.
                    if order is not None and sorted(order) != sorted(workers):
                        self.faults.append(f"{job}@{number} has {workers} and runs on {order}")
                    found.setdefault(job, {})[number] = workers if order is None else order
                    if order is not None:
                        self.orders.add((job, number, order))
                    if not self.sizes[job] or self.sizes[job][-1] != len(workers):
                        self.sizes[job].append(len(workers))
            self._judge(found)

    def _judge(self, found: Rings) -> None:
        self.faults += [f"{job} runs as {sorted(rings)}" for job, rings in found.items() if len(rings) > 1]
        rings = [build_ring(job, workers) for job, many in found.items() for workers in many.values()]
        snapshot = Snapshot(self._cluster, tuple(map(ActiveJob, self._jobs)), 0, 1, 1.0)
        self.faults += map(str, find_violations(snapshot, Allocation(tuple(rings))))

    def _look_at_queue(self) -> Rings:
        """As Slurm has set nodes aside."""
        told = self._slurm.run("squeue", "--json")
        found: dict[str, dict[int, tuple[str, ...]]] = {}
        if told.returncode:
            return found
        for job in json.loads(told.stdout)["jobs"]:
            if job["comment"].startswith("gadget:") and job["job_state"] == "RUNNING":
                name, _, number = job["comment"].rpartition(":")[2].rpartition("@")
                by_number = found.setdefault(name, {})
                workers = _spread(job["nodes"], job["tasks"])
                by_number[int(number)] = by_number.get(int(number), ()) + workers
        return found

    def _look_at_processes(self) -> Rings:
        """By what each worker was started with; rings of which every rank is up."""
        ranks: defaultdict[tuple[str, int], dict[int, tuple[str, int]]] = defaultdict(dict)
        for env in self._environments():
            if env["GADGET_SERVER"] != (node := env["SLURMD_NODENAME"]):
                self.faults.append(f"rank {env['RANK']} for {env['GADGET_SERVER']} runs on {node}")
            key = env["GADGET_JOB"], int(env["GADGET_RING"])
            ranks[key][int(env["RANK"])] = node, int(env["WORLD_SIZE"])
        found: dict[str, dict[int, tuple[str, ...]]] = {}
        for (job, number), places in ranks.items():
            if all(len(places) == size for _, size in places.values()):
                found.setdefault(job, {})[number] = tuple(places[rank][0] for rank in sorted(places))
        return found

    def _environments(self) -> Iterable[Mapping[str, str]]:
        conf = self._slurm.environment["SLURM_CONF"]
        for process in list_processes():
            env = read_environment(process)
            if env.get("SLURM_CONF") == conf and "GADGET_RING" in env and "SLURMD_NODENAME" in env:
                yield env

    def _read_books(self) -> list[Entry]:
        fields = "jobname,start,end,alloccpus,nodelist"
        words = ("--allusers", "--allocations", "--noheader", "--parsable2", f"--format={fields}")
        # Times in seconds since 1970; each worker has one CPU.
        found = []
        for line in self._slurm.run("sacct", *words, SLURM_TIME_FORMAT="%s").stdout.splitlines():
            name, begin, end, cpus, nodes = line.split("|")
            if name.startswith("gadget-") and begin.isdecimal():
                job, _, number = name.removeprefix("gadget-").rpartition("@")
                ended = int(end) if end.isdecimal() else 0
                found.append(Entry(job, int(number), int(begin), ended, _spread(nodes, int(cpus))))
        return found


def _spread(nodes: str, count: int) -> tuple[str, ...]:
    names = expand_hostlist(nodes)
    return tuple(name for name in names for _ in range(count // len(names)))
