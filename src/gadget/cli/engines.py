"""Which engine runs the rings, and how each is built from what the operator said."""

import socket
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from gadget.backends.backend import Backend
from gadget.backends.local import LocalBackend, Network
from gadget.backends.ray_engine import RayBackend
from gadget.backends.ray_link import RayLink
from gadget.errors import BadFile, BadOption
from gadget.model.cluster import Cluster
from gadget.model.yaml_text import YamlError, parse_yaml

if TYPE_CHECKING:
    from gadget.live.origin import Origin

ENGINE_FOLDER = "engine"
REPORT_PORT = 7078

Build = Callable[["Origin", str], Backend]
"""Makes the engine, given the journal's state and the name of this service."""


class Engine(StrEnum):
    """Where rings run."""

    LOCAL = "local"
    RAY = "ray"
    SLURM = "slurm"


EngineOption = Annotated[
    Engine,
    typer.Option(help="Where rings run: on this machine, on a Ray cluster or on a Slurm cluster."),
]
AddressOption = Annotated[
    str | None,
    typer.Option(help="Where the engine answers: HOST:PORT of a Ray head, ray://HOST:PORT, or auto."),
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
        "Default: engine/ in the folder of the service."
    ),
]
NodeLabelOption = Annotated[
    list[str] | None,
    typer.Option(help="NAME=VALUE: only Ray nodes with this label are given to us; may be given again."),
]
RuntimeEnvOption = Annotated[
    Path | None,
    typer.Option(
        help="A YAML file with the Ray runtime environment of all workers: working_dir, pip, env_vars …"
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
    address: str | None = None
    shared: Path | None = None
    node_labels: tuple[str, ...] = ()
    runtime_env: Path | None = None

    @property
    def folder(self) -> Path:
        """Where the engine keeps rings, logs and checkpoints."""
        return (self.shared or self.home / ENGINE_FOLDER).absolute()


def build_engine(choice: EngineChoice) -> Build:
    """How the engine is built once the journal is open; options that do not go together are refused."""
    if choice.engine is Engine.LOCAL:
        _refuse(choice, {"--address": choice.address, "--shared": choice.shared})
    elif choice.network is not Network.AUTO:
        raise BadOption(f"--network: the network of {choice.engine} is what it is. Leave it out.")
    if choice.engine is not Engine.RAY:
        _refuse(choice, {"--node-label": choice.node_labels, "--runtime-env": choice.runtime_env})
    return _BUILDERS[choice.engine](choice)


def build_local(choice: EngineChoice) -> Build:
    """How the local engine is built: on the cluster given, or on that of the journal."""

    def build(origin: "Origin", instance: str) -> Backend:
        servers = choice.cluster or origin.state.cluster
        if not servers.servers:
            raise BadOption("no servers are known yet. Give --cluster, a file or a shape such as leaf-spine.")
        return LocalBackend(servers, choice.folder, instance, network=choice.network)

    return build


def build_ray(choice: EngineChoice) -> Build:
    """How the Ray engine is built: on the nodes that Ray has, linked as the cluster's file says."""
    labels = {}
    for text in choice.node_labels:
        name, equals, value = text.partition("=")
        if not name or not equals:
            raise BadOption(f"--node-label {text}: is no NAME=VALUE. Write pool=gadget, say.")
        labels[name] = value
    runtime_env = {} if choice.runtime_env is None else _read_runtime_env(choice.runtime_env)

    def build(origin: "Origin", instance: str) -> Backend:
        link = RayLink(
            choice.address or "auto", runtime_env=runtime_env, log=choice.home.absolute() / "ray-driver.log"
        )
        known = origin.state.cluster
        return RayBackend(
            link,
            choice.folder,
            instance,
            cluster=choice.cluster,
            known=known if known.servers else None,
            only=labels,
        )

    return build


def _read_runtime_env(path: Path) -> dict[str, object]:
    try:
        found = parse_yaml(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, YamlError) as error:
        raise BadFile(f"{path}: cannot be read ({error}). Correct it, or name another file.") from None
    if not isinstance(found, dict):
        raise BadFile(f"{path}: is no mapping. Write working_dir: … or pip: […], say.")
    folder = found.get("working_dir")
    if isinstance(folder, str) and "://" not in folder:
        # As people expect of a path in a file.
        found["working_dir"] = str((path.parent / folder).absolute())
    return found


def _refuse(choice: EngineChoice, given: Mapping[str, object]) -> None:
    for name, value in given.items():
        if value:
            raise BadOption(f"{name}: the {choice.engine} engine has none. Leave it out.")


def find_mailbox(choice: EngineChoice, report: str | None) -> tuple[str, int] | None:
    """Where workers of other machines report: as said, or where the engine would reach this machine."""
    if choice.engine is Engine.LOCAL:
        if report is not None:
            raise BadOption("--report: workers of the local engine report on a socket file. Leave it out.")
        return None
    if report is None:
        return _find_own_address(choice.address), REPORT_PORT
    host, colon, port = report.rpartition(":")
    if not colon or report.endswith("]"):
        host, port = report, str(REPORT_PORT)
    if not host or not port.isdecimal() or int(port) > 65535:
        raise BadOption(f"--report {report}: is no HOST:PORT. Write 10.0.0.5:{REPORT_PORT}, say.")
    return host.removeprefix("[").removesuffix("]"), int(port)


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


def _build_later(choice: EngineChoice) -> Build:
    raise BadOption(f"--engine {choice.engine}: is not built yet. Choose local.")


_BUILDERS: Mapping[Engine, Callable[[EngineChoice], Build]] = {
    Engine.LOCAL: build_local,
    Engine.RAY: build_ray,
    Engine.SLURM: _build_later,
}
