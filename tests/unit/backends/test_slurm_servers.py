"""What nodes offer to rings, and when one counts as lost, by what a Slurm of ours says of them."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any, cast

from gadget.backends.backend import ClusterFound, ServerCameBack, ServerWentAway
from gadget.backends.ring_folder import Record
from gadget.backends.slurm_answers import SlurmSettings
from gadget.backends.slurm_commands import Slurm
from gadget.backends.slurm_servers import Servers
from gadget.backends.worker_environment import Seat
from gadget.topology.assumptions import Assumptions
from gadget.topology.slurm_live import build_slurm_cluster

NODE = (
    "NodeName={name} CPUAlloc={cpus} CPUEfctv=8 CPUTot=8 Gres=gpu:4 GresUsed=gpu:{gpus} NodeAddr={name} "
    "RealMemory=1 AllocMem=0 State={state} ThreadsPerCore={threads} Partitions=main\n"
)


@dataclass
class FakeSlurm:
    """Says of n1 and n2 what it is told to."""

    states: dict[str, str] = field(default_factory=lambda: {"n1": "IDLE", "n2": "IDLE"})
    cpus: dict[str, int] = field(default_factory=dict)
    gpus: dict[str, int] = field(default_factory=dict)
    threads: int = 1
    switches: str = "SwitchName=a Nodes=n1,n2"
    slurmd_seconds: float = 100

    def show_nodes(self) -> str:
        return "".join(
            NODE.format(
                name=name,
                state=state,
                cpus=self.cpus.get(name, 0),
                gpus=self.gpus.get(name, 0),
                threads=self.threads,
            )
            for name, state in self.states.items()
        )

    def show_topology(self) -> str:
        return self.switches

    def read_settings(self) -> SlurmSettings:
        return SlurmSettings(slurmd_seconds=self.slurmd_seconds)

    def ask(self, *_: str) -> str:
        return "main*\n"


def build(slurm: FakeSlurm, **settings: Any) -> Servers:
    draw = partial(build_slurm_cluster, assumptions=Assumptions(other_gbps=1))
    servers = Servers(cast(Slurm, slurm), draw, **settings)
    poll(servers, 0.0)
    return servers


def poll(
    servers: Servers,
    now: float,
    *ours: Record,
    signs: Callable[[str], object] = lambda _: None,
) -> list[object]:
    return list(servers.poll(now, ours, (), signs))


def offers(servers: Servers) -> dict[str, Mapping[str, float]]:
    return {server.name: dict(server.resources) for server in servers.cluster.servers}


def ring(*workers: str) -> Record:
    return Record(
        instance="i",
        boot="",
        job="a",
        number=1,
        workers=workers,
        routes=(),
        seats=tuple(Seat(name, name, 1) for name in workers),
        master_port=1,
        gpu_per_worker=1,
        amounts={"cpu": 1, "gpu": 1},
    )


WHOLE = {"cpu": 8, "gpu": 4}
NOTHING = {"cpu": 0, "gpu": 0}


def test_the_default_partition_is_named() -> None:
    assert build(FakeSlurm()).partition == "main"


def test_what_is_reserved_for_others_is_not_offered() -> None:
    servers = build(FakeSlurm({"n1": "IDLE+RESERVED", "n2": "IDLE"}))
    assert offers(servers) == {"n1": NOTHING, "n2": WHOLE}
    assert servers.away == {}


def test_what_slurm_keeps_for_a_job_that_waits_is_not_offered_unless_it_was_ours() -> None:
    servers = build(FakeSlurm({"n1": "IDLE+PLANNED", "n2": "MIXED+PLANNED"}))
    for now in range(5, 100, 5):
        servers.poll(now, (), ["n2"] if now < 60 else (), lambda _: None)
    assert offers(servers) == {"n1": NOTHING, "n2": WHOLE}
    assert servers.away == {}


def test_with_a_reservation_only_reserved_nodes_are_offered() -> None:
    slurm = FakeSlurm({"n1": "MIXED", "n2": "IDLE+RESERVED"})
    assert offers(build(slurm, has_reservation=True)) == {"n1": NOTHING, "n2": WHOLE}


def test_our_own_rings_stay_on_nodes_that_are_kept_for_others() -> None:
    slurm = FakeSlurm({"n1": "MIXED", "n2": "IDLE"}, cpus={"n1": 2}, gpus={"n1": 2})
    servers = build(slurm)
    for now in (1.0, 2.0):
        poll(servers, now, ring("n1", "n1"))
    assert offers(servers)["n1"] == WHOLE
    slurm.states["n1"] = "MIXED+RESERVED"
    for now in (3.0, 4.0):
        poll(servers, now, ring("n1", "n1"))
    assert offers(servers)["n1"] == {"cpu": 2, "gpu": 2}
    assert servers.away == {}


def test_gpus_of_a_node_whose_cores_are_all_taken_are_not_offered() -> None:
    assert offers(build(FakeSlurm(cpus={"n1": 8})))["n1"] == NOTHING
    assert offers(build(FakeSlurm(cpus={"n1": 7})))["n1"] == {"cpu": 1, "gpu": 4}
    assert offers(build(FakeSlurm(cpus={"n1": 7}, threads=2)))["n1"] == NOTHING


def test_a_node_is_lost_when_it_was_silent_for_a_part_of_slurms_own_patience() -> None:
    slurm = FakeSlurm()  # of 100 s a fifth
    servers = build(slurm)
    slurm.states["n1"] = "IDLE*"
    for now in (1.0, 10.0, 20.9):
        assert poll(servers, now) == []
    assert servers.silent == {"n1"}
    (report,) = poll(servers, 21.0)
    assert isinstance(report, ServerWentAway)
    assert servers.lost == {"n1"}
    slurm.states["n1"] = "IDLE"
    assert poll(servers, 22.0) == [ServerCameBack("n1")]


def test_the_operator_may_say_how_long() -> None:
    slurm = FakeSlurm()
    servers = build(slurm, silent_seconds=3.0)
    slurm.states["n1"] = "IDLE*"
    assert poll(servers, 1.0) == []
    assert len(poll(servers, 4.0)) == 1


def test_silence_begins_anew_when_slurm_itself_was_away() -> None:
    slurm = FakeSlurm()
    servers = build(slurm)
    slurm.states["n1"] = "IDLE*"
    poll(servers, 1.0)
    servers.note_gap()
    assert poll(servers, 500.0) == []
    assert poll(servers, 519.0) == []
    assert len(poll(servers, 520.0)) == 1


def test_a_silent_node_whose_workers_still_write_is_not_lost() -> None:
    slurm = FakeSlurm()
    servers = build(slurm)
    slurm.states["n1"] = "IDLE*"
    lines = 0
    for now in range(1, 200, 5):
        lines += 1
        assert poll(servers, now, signs=lambda _, lines=lines: lines) == []
    # When they stop, it is lost as any other.
    for now in range(200, 225, 5):
        poll(servers, now, signs=lambda _: lines)
    assert servers.lost == {"n1"}


def test_switches_are_read_anew_when_slurm_was_away() -> None:
    slurm = FakeSlurm()
    servers = build(slurm)
    assert {"a"} == set(servers.cluster.switches)
    slurm.switches = "SwitchName=b Nodes=n1,n2"
    assert poll(servers, 1.0) == []
    servers.note_gap()
    (report,) = poll(servers, 2.0)
    assert isinstance(report, ClusterFound)
    assert {"b"} == set(report.cluster.switches)
