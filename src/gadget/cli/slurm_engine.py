"""--engine slurm: what the operator says of a Slurm cluster, and how its engine is built."""

import logging
import os
import shlex
from collections.abc import Callable, Mapping, Sequence, Set
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from gadget.backends.backend import Backend
from gadget.backends.slurm import SlurmBackend
from gadget.backends.slurm_options import SlurmOptions, check_extra
from gadget.backends.slurm_servers import Draw
from gadget.cli.topology_options import parse_assumptions
from gadget.errors import BadOption
from gadget.model.cluster import Cluster, Server
from gadget.model.resources import Resources
from gadget.topology.slurm_live import build_slurm_cluster

if TYPE_CHECKING:
    from gadget.live.origin import Origin


_log = logging.getLogger(__name__)


@dataclass(frozen=True)
class SlurmSaid:
    """Options of `gadget serve` for Slurm."""

    gbps: Annotated[
        list[str] | None,
        typer.Option(
            metavar="[TIER=]GBPS",
            help="Slurm: bandwidth of each link up to a tier of switches, or of all, where topology.conf has "
            "no LinkSpeed. Or give --cluster with a file that has the links.",
        ),
    ] = None
    partition: Annotated[
        str, typer.Option(help="Slurm: partition of the rings. Default: Slurm's default partition.")
    ] = ""
    account: Annotated[str, typer.Option(help="Slurm: account that the rings are charged to.")] = ""
    qos: Annotated[str, typer.Option(help="Slurm: quality of service of the rings.")] = ""
    ring_time: Annotated[
        str,
        typer.Option(
            metavar="TIME",
            help="Slurm: time limit of each ring, as sbatch --time; before it ends, its workers write a "
            "checkpoint, and the next ring goes on. Default: the partition's.",
        ),
    ] = ""
    sbatch: Annotated[
        str,
        typer.Option(metavar="OPTIONS", help="Slurm: more options of sbatch, such as '--reservation=lab'."),
    ] = ""
    interface: Annotated[
        str, typer.Option(help="Slurm: network interface of the nodes for gloo (GLOO_SOCKET_IFNAME).")
    ] = ""
    pending_seconds: Annotated[
        float,
        typer.Option(min=1, help="Slurm: a ring that waits so long in the queue is taken out of it."),
    ] = 60.0
    silent_seconds: Annotated[
        float | None,
        typer.Option(
            min=1,
            help="Slurm: a node that does not answer Slurm for so long counts as lost, unless workers there "
            "still write logs. Default: a fifth of SlurmdTimeout, from 10 to 60.",
        ),
    ] = None

    @property
    def is_empty(self) -> bool:
        """True when nothing was said."""
        return self == SlurmSaid()


def build_slurm(said: SlurmSaid, folder: Path, cluster: Cluster | None) -> Callable[["Origin", str], Backend]:
    """How the Slurm engine is built: nodes and switches are Slurm's; links may be a file's."""
    try:
        extra = tuple(shlex.split(said.sbatch))
    except ValueError as error:
        raise BadOption(f"--sbatch {said.sbatch}: cannot be read ({error}). Mend its quotes.") from None
    check_extra(extra)
    conf = os.environ.get("SLURM_CONF")
    if conf and not Path(conf).exists():
        raise BadOption(f"SLURM_CONF={conf}: there is no such file. Correct the variable, or unset it.")
    if cluster is not None and said.gbps:
        raise BadOption("--gbps: --cluster has the bandwidths. Leave one of them out.")
    options = SlurmOptions(said.partition, said.account, said.qos, said.ring_time, extra)
    if short := options.why_too_short(0.0):
        raise BadOption(f"{short}.")
    draw: Draw
    if cluster is None:
        draw = partial(build_slurm_cluster, assumptions=parse_assumptions(said.gbps, None, None))
    else:
        draw = Graft(cluster)

    def build(origin: "Origin", instance: str) -> Backend:
        return SlurmBackend(
            folder,
            instance,
            draw,
            options=options,
            known=origin.state.cluster,
            interface=said.interface,
            pending_seconds=said.pending_seconds,
            silent_seconds=said.silent_seconds,
        )

    return build


class Graft:
    """Slurm's nodes on the links of a file; nodes that only one of them knows are left out, and told of."""

    def __init__(self, network: Cluster) -> None:
        self._network = network
        self._told: set[str] = set()

    def __call__(self, servers: Mapping[str, Resources], told: str) -> Cluster:  # noqa: ARG002
        """The cluster of both; the links are the file's, so what Slurm tells of switches is not needed."""
        names = {server.name for server in self._network.servers}
        missing = names - servers.keys()
        if missing == names:
            raise BadOption(
                f"--cluster: Slurm has none of its servers (it has {_list(sorted(servers))}). "
                "Name servers as Slurm names its nodes."
            )
        self._warn(missing, "Slurm does not have them in this partition")
        self._warn(servers.keys() - names, "the file does not have them, so they are not used")
        rest = self._network.without(frozenset(missing))
        return Cluster(
            tuple(Server(server.name, servers[server.name]) for server in rest.servers),
            rest.switches,
            rest.links,
        )

    def _warn(self, names: Set[str], why: str) -> None:
        if fresh := sorted(names - self._told):
            self._told.update(fresh)
            shown = ", ".join(fresh[:5]) + (" …" if len(fresh) > 5 else "")
            _log.warning("--cluster: %d servers are left out (%s): %s", len(fresh), shown, why)


def _list(names: Sequence[str]) -> str:
    """The first few."""
    return ", ".join(names[:5]) + (" …" if len(names) > 5 else "")
