"""--engine ray: what the operator says of a Ray cluster, and how its engine is built."""

import re
import socket
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from gadget.backends.backend import Backend
from gadget.backends.ray_engine import RayBackend
from gadget.backends.ray_link import RayLink
from gadget.errors import BadFile, BadOption, Unreachable
from gadget.model.cluster import Cluster
from gadget.model.yaml_text import YamlError, parse_yaml

if TYPE_CHECKING:
    from gadget.live.origin import Origin

DRIVER_LOG = "ray-driver.log"
_LISTENING_SECONDS = 10.0


@dataclass(frozen=True)
class RaySaid:
    """Options of `gadget serve` for Ray."""

    node_label: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME=VALUE",
            help="Ray: only nodes with this label are given to us; may be given again.",
        ),
    ] = None
    runtime_env: Annotated[
        Path | None,
        typer.Option(
            help="Ray: a YAML file with the runtime environment of all workers: working_dir, pip, env_vars …"
        ),
    ] = None

    @property
    def is_empty(self) -> bool:
        """True when nothing was said."""
        return not self.node_label and self.runtime_env is None


def build_ray(
    said: RaySaid, address: str | None, home: Path, folder: Path, cluster: Cluster | None
) -> Callable[["Origin", str], Backend]:
    """How the Ray engine is built: on the nodes that Ray has, linked as the cluster's file says."""
    check_address("auto" if address is None else address)
    labels = _parse_labels(said.node_label or ())
    runtime_env = {} if said.runtime_env is None else read_runtime_env(said.runtime_env)

    def build(origin: "Origin", instance: str) -> Backend:
        link = RayLink(address or "auto", runtime_env=runtime_env, log=home.absolute() / DRIVER_LOG)
        known = origin.state.cluster
        if not known.servers and address not in (None, "auto"):
            check_listening(address)
        return RayBackend(
            link,
            folder,
            instance,
            cluster=cluster,
            known=known if known.servers else None,
            only=labels,
        )

    return build


def _parse_labels(words: list[str] | tuple[str, ...]) -> dict[str, str]:
    labels = {}
    for text in words:
        name, equals, value = text.partition("=")
        if not name or not equals:
            raise BadOption(f"--node-label {text}: is no NAME=VALUE. Write pool=gadget, say.")
        labels[name] = value
    return labels


def check_address(address: str) -> None:
    """Refuse what Ray would take for something else, or wait for in vain."""
    if address == "auto":
        return
    host, colon, port = address.removeprefix("ray://").rpartition(":")
    is_port = bool(colon) and port.isdecimal() and 0 < int(port) <= 65535
    if not is_port or not re.fullmatch(r"[\w.:\[\]-]+", host) or host.startswith("-"):
        raise BadOption(
            f"--address {address}: is no address of a Ray head. Write HOST:6379 (the port of its head, not "
            "that of its dashboard), ray://HOST:10001 from a machine that is no node, or auto."
        )


def check_listening(address: str) -> None:
    """Before the first start: say at once that nobody listens there; Ray itself takes a minute for it."""
    host, _, port = address.removeprefix("ray://").rpartition(":")
    try:
        socket.create_connection((host.strip("[]"), int(port)), timeout=_LISTENING_SECONDS).close()
    except OSError as error:
        raise Unreachable(
            f"--address {address}: nobody answers there ({error.strerror or error}). "
            "Give the address of a Ray head that runs."
        ) from None


def read_runtime_env(path: Path) -> Mapping[str, Any]:
    """What `ray.init(runtime_env=…)` takes, from a file; files and folders in it are seen from there."""
    try:
        found = parse_yaml(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, YamlError) as error:
        raise BadFile(f"{path}: cannot be read ({error}). Correct it, or name another file.") from None
    if not isinstance(found, dict):
        raise BadFile(f"{path}: is no mapping. Write working_dir: … or pip: […], say.")
    return {name: _see_from(path.parent, name, value) for name, value in found.items()}


def _see_from(folder: Path, name: str, value: Any) -> Any:
    """A field of a runtime environment with absolute paths, where it names files that lie on this machine."""

    def see(given: Any) -> Any:
        is_path = isinstance(given, str) and "://" not in given
        return str((folder / given).absolute()) if is_path else given

    match name, value:
        case "py_modules", list():
            return [see(one) for one in value]
        case "pip", {"packages": str(listed)}:
            return {**value, "packages": see(listed)}
        case "conda", str():
            # Else it is the name of an environment that nodes have.
            return see(value) if value.endswith((".yaml", ".yml")) else value
        case "working_dir" | "pip" | "uv", str():
            return see(value)
    return value
