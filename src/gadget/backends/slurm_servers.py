"""The servers that Slurm offers us: its nodes, less what is down, closed, or taken by jobs of others."""

import logging
import math
import re
from collections.abc import Callable, Collection, Mapping, Sequence

from gadget.backends.backend import ClusterFound, Report, ServerCameBack, ServerWentAway
from gadget.backends.local_folder import Record
from gadget.backends.slurm_commands import Refused, Slurm
from gadget.backends.slurm_nodes import SlurmNode, parse_nodes
from gadget.errors import BadOption, GadgetError
from gadget.model.cluster import Cluster
from gadget.model.resources import Resources

Draw = Callable[[Mapping[str, Resources], str], Cluster]
"""From servers and what `scontrol show topology` prints to a cluster."""

SILENT_SECONDS = 10.0
"""A node that does not answer Slurm for so long counts as lost, though Slurm itself may wait for minutes."""

_log = logging.getLogger(__name__)
Amounts = Mapping[str, Mapping[str, float]]


class Servers:
    """What is known of the nodes; one thread polls, any may read."""

    def __init__(self, slurm: Slurm, draw: Draw, partition: str) -> None:
        self._slurm = slurm
        self._draw = draw
        self._partition = partition
        self._is_open = False
        self._counts_memory = False
        self._nodes: dict[str, SlurmNode] = {}
        self._topology = ""
        self._silent_since: dict[str, float] = {}
        self._seen: Amounts = {}
        self._taken: Amounts = {}
        self.whole: Cluster = Cluster((), (), ())
        """As if nobody else were there."""
        self.cluster: Cluster = self.whole
        """Less what others take."""
        self.away: dict[str, str] = {}
        """Servers that cannot be used, and why."""
        self.lost: frozenset[str] = frozenset()
        """Those of them where nothing runs any more."""
        self.has_other_nodes = False
        """True when the last poll found other nodes than the one before."""

    @property
    def addresses(self) -> Mapping[str, str]:
        """Where each node is reached."""
        return {name: node.address for name, node in self._nodes.items()}

    def poll(self, now: float, holding: Sequence[Record], unsettled: Collection[str]) -> list[Report]:
        """Look at the nodes. `holding` are our rings with nodes; on `unsettled` ones some start or end."""
        if not self._is_open:
            self._open()
        told = self._slurm.show_nodes()
        nodes = {
            node.name: node
            for node in parse_nodes(told, counts_memory=self._counts_memory)
            if self._partition in node.partitions
        }
        if not nodes:
            raise Refused(f"partition {self._partition!r} has no nodes")
        is_first = not self._nodes
        self.has_other_nodes = _offers(nodes) != _offers(self._nodes)
        self._nodes = nodes
        reports = self._find_away(now)
        taken = _find_taken(nodes, holding)
        # Nodes and jobs are not looked at in one moment: what is seen twice is believed, and of a node where
        # rings start or end what was seen before.
        kept = {name: self._taken[name] for name in self._taken if name in unsettled and name in nodes}
        taken = {name: amounts for name, amounts in taken.items() if name not in unsettled} | kept
        if is_first or taken == self._seen:
            self._taken = taken
        self._seen = taken
        reports += self._redraw(is_first)
        return [] if is_first else reports

    def _open(self) -> None:
        """Learn what does not change while Slurm runs."""
        config = self._slurm.show_config()
        self._counts_memory = bool(re.search(r"SelectTypeParameters\s*=.*MEMORY", config, re.IGNORECASE))
        self._partition = self._partition or self._find_default()
        self._is_open = True

    def _find_default(self) -> str:
        names = self._slurm.ask("sinfo", "--noheader", "--format=%P").split()
        default = next((name[:-1] for name in names if name.endswith("*")), "")
        if not default:
            known = ", ".join(sorted(set(names)))
            raise BadOption(f"Slurm has no default partition. Choose one of {known} with --partition.")
        return default

    def _find_away(self, now: float) -> list[Report]:
        away: dict[str, str] = {}
        lost: set[str] = set()
        for name, node in self._nodes.items():
            if node.is_silent:
                self._silent_since.setdefault(name, now)
            else:
                self._silent_since.pop(name, None)
            is_silent = now - self._silent_since.get(name, now) >= SILENT_SECONDS
            if node.is_lost or is_silent:
                lost.add(name)
            if node.is_lost or is_silent or node.is_closed:
                away[name] = self.away.get(name) or node.describe()
        reports: list[Report] = [
            ServerWentAway(name, reason) for name, reason in away.items() if name not in self.away
        ]
        reports += [ServerCameBack(name) for name in self.away if name not in away and name in self._nodes]
        self.away, self.lost = away, frozenset(lost)
        return reports

    def _redraw(self, is_first: bool) -> list[Report]:
        if is_first or self.has_other_nodes:
            self._topology = self._slurm.show_topology()
        try:
            whole = self._draw(
                {name: Resources(node.has) for name, node in self._nodes.items()}, self._topology
            )
            cluster = self._draw(
                {name: _less(node.has, self._taken.get(name, {})) for name, node in self._nodes.items()},
                self._topology,
            )
        except GadgetError as error:
            if is_first:
                raise
            # Somebody changes Slurm's configuration; what was known holds until it makes sense again.
            _log.warning("the cluster cannot be drawn: %s", error)
            return []
        self.whole = whole
        if cluster == self.cluster:
            return []
        self.cluster = cluster
        return [ClusterFound(cluster)]


def _offers(nodes: Mapping[str, SlurmNode]) -> dict[str, tuple[str, dict[str, float]]]:
    return {name: (node.address, dict(node.has)) for name, node in nodes.items()}


def _less(has: Mapping[str, float], taken: Mapping[str, float]) -> Resources:
    return Resources({name: max(amount - taken.get(name, 0.0), 0.0) for name, amount in has.items()})


def _find_taken(nodes: Mapping[str, SlurmNode], holding: Sequence[Record]) -> Amounts:
    """What jobs that are not ours have taken on each node."""
    ours: dict[str, dict[str, float]] = {}
    for record in holding:
        for server in set(record.workers):
            count, node = record.workers.count(server), nodes.get(server)
            amounts = ours.setdefault(server, {})
            for name, amount in record.amounts.items():
                # Slurm gives whole cores.
                core = node.threads_per_core if name == "cpu" and node is not None else 1
                whole = math.ceil(amount * count / core) * core if core > 1 else amount * count
                amounts[name] = amounts.get(name, 0.0) + whole
    found: dict[str, dict[str, float]] = {}
    for name, node in nodes.items():
        mine = ours.get(name, {})
        rest = {what: amount - mine.get(what, 0.0) for what, amount in node.used.items()}
        if rest := {what: amount for what, amount in rest.items() if amount > 1e-6}:
            found[name] = rest
    return found
