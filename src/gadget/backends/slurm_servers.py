"""The servers that Slurm offers us: its nodes, less what is down, closed, or taken by jobs of others."""

import logging
import math
from collections.abc import Callable, Collection, Mapping, Sequence

from gadget.backends.backend import ClusterFound, Report, ServerCameBack, ServerWentAway
from gadget.backends.ring_folder import Record
from gadget.backends.slurm_answers import Refused, SlurmSettings
from gadget.backends.slurm_commands import Slurm
from gadget.backends.slurm_nodes import SlurmNode, parse_nodes
from gadget.errors import BadOption, GadgetError
from gadget.model.cluster import Cluster
from gadget.model.resources import Resources

Draw = Callable[[Mapping[str, Resources], str], Cluster]
"""From servers and what `scontrol show topology` prints to a cluster."""

Signs = Callable[[str], object]
"""What changes on a server while rings of ours are alive there."""

# A node that does not answer Slurm for this part of Slurm's own patience counts as lost, within these bounds.
_SILENT_PART = 0.2
_SILENT_SECONDS = (10.0, 60.0)
# Slurm plans anew every `bf_interval`, 30 s by default.
_PLANNED_SECONDS = 60.0

_log = logging.getLogger(__name__)
Amounts = Mapping[str, Mapping[str, float]]


class Servers:
    """What is known of the nodes; one thread polls, any may read."""

    def __init__(
        self,
        slurm: Slurm,
        draw: Draw,
        partition: str = "",
        *,
        has_reservation: bool = False,
        silent_seconds: float | None = None,
    ) -> None:
        """A node that does not answer Slurm for `silent_seconds` is lost; by default as Slurm is patient."""
        self._slurm = slurm
        self._draw = draw
        self._has_reservation = has_reservation
        self._said_silent_seconds = silent_seconds
        self._is_open = False
        self._is_stale = True
        """True when the switches are to be read."""
        self._nodes: dict[str, SlurmNode] = {}
        self._topology = ""
        self._silent_since: dict[str, float] = {}
        self._signs: dict[str, object] = {}
        self._planned_since: dict[str, float] = {}
        self._planned: set[str] = set()
        self._seen: Amounts = {}
        self._taken: Amounts = {}
        self.partition = partition
        """Of the rings; Slurm's default one, once that is known, if nobody chose."""
        self.settings = SlurmSettings()
        self.whole: Cluster = Cluster((), (), ())
        """As if nobody else were there."""
        self.cluster: Cluster = self.whole
        """Less what others take."""
        self.away: dict[str, str] = {}
        """Servers that cannot be used, and why."""
        self.lost: frozenset[str] = frozenset()
        """Those of them where nothing runs any more."""
        self.silent: frozenset[str] = frozenset()
        """Servers that do not answer Slurm, or are lost."""
        self.has_other_nodes = False
        """True when the last poll found other nodes than the one before."""

    @property
    def addresses(self) -> Mapping[str, str]:
        """Where each node is reached."""
        return {name: node.address for name, node in self._nodes.items()}

    def note_gap(self) -> None:
        """Slurm was away: nobody knows since when nodes are silent, or what has changed."""
        self._silent_since.clear()
        self._is_stale = True

    def poll(
        self, now: float, holding: Sequence[Record], unsettled: Collection[str], signs: Signs
    ) -> list[Report]:
        """Look at the nodes. `holding` are our rings with nodes; on `unsettled` ones some start or end.

        The time is a steady one.
        """
        if not self._is_open:
            self._open()
        told = self._slurm.show_nodes()
        found = parse_nodes(told, counts_memory=self.settings.counts_memory)
        nodes = {node.name: node for node in found if self.partition in node.partitions}
        if not nodes:
            if self._nodes:
                raise Refused(f"partition {self.partition!r} has no nodes any more")
            known = sorted({name for node in found for name in node.partitions})
            raise BadOption(f"--partition {self.partition}: has no nodes. Slurm has {', '.join(known)}.")
        is_first = not self._nodes
        self.has_other_nodes = _offers(nodes) != _offers(self._nodes)
        self._nodes = nodes
        reports = self._find_away(now, signs)
        self._note_plans(now, unsettled)
        taken = _find_taken(nodes, holding, self._is_open_to_us)
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
        self.settings = self._slurm.read_settings()
        self.partition = self.partition or self._find_default()
        self._is_open = True

    @property
    def _silent_seconds(self) -> float:
        if self._said_silent_seconds is not None:
            return self._said_silent_seconds
        least, most = _SILENT_SECONDS
        return min(max(self.settings.slurmd_seconds * _SILENT_PART, least), most)

    def _is_open_to_us(self, node: SlurmNode) -> bool:
        """Whether Slurm would give rings anything of what is free there."""
        return node.name not in self._planned and node.is_reserved == self._has_reservation

    def _note_plans(self, now: float, unsettled: Collection[str]) -> None:
        """Find nodes that Slurm keeps for jobs of others that wait.

        It may have been for a ring of ours, and it takes Slurm a while to say that it is so no more.
        """
        since = {
            name: self._planned_since.get(name, now)
            for name, node in self._nodes.items()
            if node.is_planned and name not in unsettled
        }
        self._planned_since = since
        self._planned = {name for name, began in since.items() if now - began >= _PLANNED_SECONDS}

    def _find_default(self) -> str:
        names = self._slurm.ask("sinfo", "--noheader", "--format=%P").split()
        default = next((name[:-1] for name in names if name.endswith("*")), "")
        if not default:
            known = ", ".join(sorted(set(names)))
            raise BadOption(f"Slurm has no default partition. Choose one of {known} with --partition.")
        return default

    def _find_away(self, now: float, signs: Signs) -> list[Report]:
        away: dict[str, str] = {}
        lost: set[str] = set()
        silent: set[str] = set()
        for name, node in self._nodes.items():
            is_silent = node.is_silent and self._is_silent_for_long(name, now, signs)
            if not node.is_silent:
                self._silent_since.pop(name, None)
            if node.is_lost or is_silent:
                lost.add(name)
            if node.is_lost or node.is_silent:
                silent.add(name)
            if node.is_lost or is_silent or node.is_closed:
                away[name] = self.away.get(name) or node.describe()
        reports: list[Report] = [
            ServerWentAway(name, reason) for name, reason in away.items() if name not in self.away
        ]
        reports += [ServerCameBack(name) for name in self.away if name not in away and name in self._nodes]
        self.away, self.lost, self.silent = away, frozenset(lost), frozenset(silent)
        return reports

    def _is_silent_for_long(self, name: str, now: float, signs: Signs) -> bool:
        """Whether neither Slurm nor anything of ours there has been heard of for long."""
        before, self._signs[name] = self._signs.get(name), signs(name)
        if name in self.lost:
            return True
        if name not in self._silent_since or self._signs[name] != before:
            self._silent_since[name] = now
        return now - self._silent_since[name] >= self._silent_seconds

    def _redraw(self, is_first: bool) -> list[Report]:
        if self._is_stale or self.has_other_nodes:
            self._topology = self._slurm.show_topology()
            self._is_stale = False
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


def _find_taken(
    nodes: Mapping[str, SlurmNode], holding: Sequence[Record], is_open: Callable[[SlurmNode], bool]
) -> Amounts:
    """What jobs that are not ours have taken on each node, or is kept for them."""
    ours = _find_ours(nodes, holding)
    found: dict[str, dict[str, float]] = {}
    for name, node in nodes.items():
        mine = ours.get(name, {})
        rest = _without(node.used, mine)
        # Each worker needs a core, so where others have all of them nothing else can be had.
        has_core = node.has["cpu"] - rest.get("cpu", 0.0) >= node.threads_per_core
        if not is_open(node) or not has_core:
            rest = _without(node.has, mine)
        if rest:
            found[name] = rest
    return found


def _find_ours(nodes: Mapping[str, SlurmNode], holding: Sequence[Record]) -> dict[str, dict[str, float]]:
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
    return ours


def _without(amounts: Mapping[str, float], mine: Mapping[str, float]) -> dict[str, float]:
    rest = {name: amount - mine.get(name, 0.0) for name, amount in amounts.items()}
    return {name: amount for name, amount in rest.items() if amount > 1e-6}
