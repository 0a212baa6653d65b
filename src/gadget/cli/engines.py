"""Which engine runs the rings, and how each is built from what the operator said."""

import socket
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum
from ipaddress import ip_address
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from gadget.backends.backend import Backend
from gadget.backends.local import LocalBackend, Network
from gadget.backends.still import StillBackend
from gadget.cli.engine_memory import EngineMemory, keep_engine, recall_engine
from gadget.cli.ray_engine import RaySaid, build_ray
from gadget.cli.slurm_engine import SlurmSaid, build_slurm
from gadget.errors import BadOption
from gadget.model.cluster import Cluster

if TYPE_CHECKING:
    from gadget.live.origin import Origin

ENGINE_FOLDER = "engine"
OBSERVER_FOLDER = "observer"
REPORT_PORT = 7078

Build = Callable[["Origin", str], Backend]
"""Makes the engine, given the journal's state and the name of this service."""


class Engine(StrEnum):
    """Where rings run."""

    LOCAL = "local"
    RAY = "ray"
    SLURM = "slurm"


EngineOption = Annotated[
    Engine | None,
    typer.Option(
        help="Where rings run: on this machine, on a Ray cluster or on a Slurm cluster. Default: as at the "
        "last start, or local.",
        show_default=False,
    ),
]
AddressOption = Annotated[
    str | None,
    typer.Option(
        help="Where the engine answers: HOST:PORT of a Ray head, ray://HOST:PORT, or auto. Default: as at "
        "the last start, or auto."
    ),
]
ReportOption = Annotated[
    str | None,
    typer.Option(
        help="HOST[:PORT] of this machine at which workers on other machines report. Default: the address "
        f"from which the engine is reached, port {REPORT_PORT}."
    ),
]
SharedOption = Annotated[
    Path | None,
    typer.Option(
        help="Folder that this machine and all servers see under the same path, for checkpoints and logs. "
        "Default: as at the last start, or engine/ in the folder of the service."
    ),
]


@dataclass(frozen=True, slots=True, kw_only=True)
class EngineChoice:
    """What the operator said of the engine."""

    engine: Engine = Engine.LOCAL
    home: Path
    cluster: Cluster | None = None
    """The servers and links of a file or shape."""
    network: Network = Network.AUTO
    observe: bool = False
    """Decisions are looked at only: nothing may be touched."""
    address: str | None = None
    shared: Path | None = None
    ray: RaySaid = field(default_factory=RaySaid)
    slurm: SlurmSaid = field(default_factory=SlurmSaid)

    @property
    def folder(self) -> Path:
        """Where the engine keeps rings, logs and checkpoints; who observes has none of the service's."""
        if self.observe:
            return (self.home / OBSERVER_FOLDER).absolute()
        return (self.shared or self.home / ENGINE_FOLDER).absolute()


def build_engine(choice: EngineChoice) -> Build:
    """How the engine is built once the journal is open; options that do not go together are refused."""
    if choice.engine is Engine.LOCAL:
        for name, given in (("--address", choice.address), ("--shared", choice.shared)):
            if given is not None:
                raise BadOption(f"{name}: the local engine has none. Leave it out, or name another --engine.")
    elif choice.network is not Network.AUTO:
        raise BadOption(f"--network: the network of {choice.engine} is what it is. Leave it out.")
    if choice.engine is not Engine.RAY and not choice.ray.is_empty:
        raise BadOption(
            f"--node-label and --runtime-env are options of Ray, and the engine is {choice.engine}. "
            "Leave them out, or give --engine ray."
        )
    if choice.engine is not Engine.SLURM and not choice.slurm.is_empty:
        raise BadOption(
            f"options of Slurm (see gadget serve --help) are given, and the engine is {choice.engine}. "
            "Leave them out, or give --engine slurm."
        )
    if choice.engine is Engine.SLURM and choice.address is not None:
        raise BadOption("--address: Slurm is found by its own configuration ($SLURM_CONF). Leave it out.")
    build = _BUILDERS[choice.engine](choice)
    if choice.observe:
        # Under another name no ring is ours: nothing is adopted, and nothing is ended.
        return lambda origin, instance: build(origin, f"{instance}-observer")

    def build_and_keep(origin: "Origin", instance: str) -> Backend:
        shared = None if choice.shared is None else str(choice.folder)
        said = EngineMemory(choice.engine, choice.address, shared)
        keep_engine(choice.home, said, len(origin.state.active))
        return build(origin, instance)

    return build_and_keep


def complete(choice: EngineChoice, engine: Engine | None) -> EngineChoice:
    """The choice with the engine that was said, or else that of the last start and where that was."""
    before = recall_engine(choice.home)
    if before is None or (engine is not None and engine != before.engine):
        return replace(choice, engine=engine or Engine.LOCAL)
    return replace(
        choice,
        engine=Engine(before.engine),
        address=before.address if choice.address is None else choice.address,
        shared=Path(before.shared) if choice.shared is None and before.shared else choice.shared,
    )


def build_local(choice: EngineChoice) -> Build:
    """How the local engine is built: on the cluster given, or that of the journal; not at all to observe."""

    def build(origin: "Origin", instance: str) -> Backend:
        servers = choice.cluster or origin.state.cluster
        if not servers.servers:
            raise BadOption("no servers are known yet. Give --cluster, a file or a shape such as leaf-spine.")
        if choice.observe:
            return StillBackend(servers)
        return LocalBackend(servers, choice.folder, instance, network=choice.network)

    return build


def find_mailbox(choice: EngineChoice, report: str | None) -> tuple[str, int] | None:
    """Where workers of other machines report: as said, or where the engine would reach this machine."""
    if choice.engine is Engine.LOCAL:
        if report is not None:
            raise BadOption("--report: workers of the local engine report on a socket file. Leave it out.")
        return None
    if choice.observe:
        return None  # nobody is started who could report
    if report is None:
        return _find_own_address(choice.address), REPORT_PORT
    host, colon, port = report.rpartition(":")
    if not colon or report.endswith("]"):
        host, port = report, str(REPORT_PORT)
    if not host or not port.isdecimal() or int(port) > 65535:
        raise BadOption(f"--report {report}: is no HOST:PORT. Write 10.0.0.5:{REPORT_PORT}, say.")
    return host.removeprefix("[").removesuffix("]"), int(port)


def is_loopback(host: str) -> bool:
    """True for an address at which a machine reaches only itself."""
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def _find_own_address(address: str | None) -> str:
    """The address of this machine on the way to the engine's host, or on the way out."""
    host = (address or "").removeprefix("ray://").rpartition(":")[0]
    # Nothing is sent: connecting a datagram socket only looks up the route.
    for target in (host, "192.0.2.1"):
        if target:
            with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
                try:
                    probe.connect((target, 9))
                except OSError:
                    continue
                return str(probe.getsockname()[0])
    return "127.0.0.1"


_BUILDERS: Mapping[Engine, Callable[[EngineChoice], Build]] = {
    Engine.LOCAL: build_local,
    Engine.RAY: lambda choice: build_ray(
        choice.ray, choice.address, choice.home, choice.folder, choice.cluster
    ),
    Engine.SLURM: lambda choice: build_slurm(choice.slurm, choice.folder, choice.cluster),
}
